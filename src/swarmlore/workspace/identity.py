"""Who acts on this machine: a person at a terminal, an agent under a client, or an unknown process."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import ConfigError

PERSON = "person"
# Variables that agent clients set for the commands they run.
_CLIENTS = {
    "CLAUDECODE": "claude",
    "CODEX_SANDBOX": "codex",
    "CODEX_THREAD_ID": "codex",
    "OPENCODE": "opencode",
    "GEMINI_CLI": "gemini",
    "COPILOT_CLI": "copilot",
    "COPILOT_AGENT_SESSION_ID": "copilot",
}
_ROLES = ("lead", "worker")


def find_caller(env: Mapping[str, str], project: str, *, interactive: bool, client: str) -> Caller:
    """Return the caller: a person only at an interactive terminal outside of any agent, else the agent or the
    client."""
    role = env.get("SWARMLORE_ROLE") or "worker"
    if role not in _ROLES:
        raise ConfigError(f"SWARMLORE_ROLE is {role!r}", "one of: " + ", ".join(_ROLES))
    agent = env.get("SWARMLORE_AGENT") or client_of(env)
    if agent == PERSON:
        raise ConfigError(f"SWARMLORE_AGENT is {agent!r}", "that name is kept for people: choose another")
    if not agent and interactive:
        return Caller(project, PERSON, "person", trust=3)
    return Caller(project, agent or client, role, trust=2)


def client_of(env: Mapping[str, str]) -> str:
    """Return the agent client that runs this process, or ''."""
    return next((client for variable, client in _CLIENTS.items() if env.get(variable)), "")


def may_change(caller: Caller, memory: Memory) -> bool:
    """Return whether a caller may change a memory: its own in any tier; shared ones of others only as lead or
    person."""
    return (memory.owner == caller.agent != "") or (caller.leads and memory.tier != "agent")
