"""What is in the home of a user before anything of ours: files of each client, written as people write.

The installer has to leave what is not its own as it is. `@URL@` and `@PROJECT@` stand for the model and the project.
"""

from __future__ import annotations

CLAUDE_SETTINGS = """{
    "model": "sonnet", "cleanupPeriodDays": 30,
    "permissions": {"allow": ["Bash(git status:*)"]},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
}
"""
CLAUDE_STATE = '{"hasCompletedOnboarding": true, "projects": {"@PROJECT@": {"hasTrustDialogAccepted": true}}}\n'
CODEX_CONFIG = """# my own settings
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode    = "danger-full-access"   # a throw-away machine
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "@URL@/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1

[projects."@PROJECT@"]
trust_level = "trusted"
"""
GEMINI_SETTINGS = """{
\t"security": {"auth": {"selectedType": "gemini-api-key"}},
\t"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
\t"privacy": {"usageStatisticsEnabled": false},
\t"hooks": {
\t\t"SessionEnd": [{"hooks": [{"type": "command", "name": "mine", "command": "true", "timeout": 3000}]}]
\t}
}
"""
COPILOT_CONFIG = '{"trusted_folders": ["@PROJECT@"], "banner": "never"}'
COPILOT_HOOKS = '{"version": 1, "hooks": {"sessionEnd": [{"type": "command", "bash": "true", "timeoutSec": 3}]}}\n'
COPILOT_SERVERS = '{\n  "mcpServers": {}\n}'
OPENCODE_CONFIG = """{
  "$schema": "https://opencode.ai/config.json",
  // no network here
  "autoupdate": false, "share": "disabled",
  "model": "scripted/scripted", "small_model": "scripted/scripted",
  "enabled_providers": ["scripted"],
  "permission": {"*": "allow"}, /* a throw-away machine */
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "@URL@/v1", "apiKey": "none"},
      "models": {"scripted": {"tool_call": true, "limit": {"context": 128000, "output": 8192}}},
    }, // the only one
  },
}
"""

# By their place in the user's home.
FILES = {
    ".claude.json": CLAUDE_STATE,
    ".claude/settings.json": CLAUDE_SETTINGS,
    ".codex/config.toml": CODEX_CONFIG,
    ".gemini/settings.json": GEMINI_SETTINGS,
    ".copilot/config.json": COPILOT_CONFIG,
    ".copilot/hooks/mine.json": COPILOT_HOOKS,
    ".copilot/mcp-config.json": COPILOT_SERVERS,
    ".config/opencode/opencode.jsonc": OPENCODE_CONFIG,
}
