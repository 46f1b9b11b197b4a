"""HTTP client of a remote server: `RemoteLore` has the methods of `Lore`."""

from __future__ import annotations

from swarmlore.errors import ConfigError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


URL, TOKEN = "SWARMLORE_URL", "SWARMLORE_TOKEN"


def token_in(env: Mapping[str, str]) -> str:
    """Return the token of the environment; raise ConfigError if it is not set."""
    if not env.get(TOKEN):
        raise ConfigError(f"{URL} is set, but not {TOKEN}", "ask whoever runs the server for a token")
    return env[TOKEN]
