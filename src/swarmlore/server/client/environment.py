"""Which server the environment names, and the token for it. Small: hooks and proxies read it too."""

from __future__ import annotations

from swarmlore.errors import ConfigError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


URL, TOKEN = "SWARMLORE_URL", "SWARMLORE_TOKEN"


def token_in(env: Mapping[str, str]) -> str:
    """The token that the environment holds."""
    if not env.get(TOKEN):
        raise ConfigError(f"{URL} is set, but not {TOKEN}", "ask whoever runs the server for a token")
    return env[TOKEN]
