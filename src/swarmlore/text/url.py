"""Addresses of servers: what people may see of them."""

from __future__ import annotations

import re

_SECRET = re.compile(r"([?&\s]\w*(?:pass|secret|token|key)\w*=)('[^']*'|[^&\s]*)", re.IGNORECASE)


def without_password(url: str) -> str:
    """The address without whatever may be a password in it. Rather too little is shown than too much: a password that
    was not encoded may hold any character, so everything up to the last @ counts as one."""
    shown = _SECRET.sub(r"\1…", f" {url}")[1:]
    return re.sub(r"(://[^:/?#@]*):.*@", r"\1@", shown)


def user_of(url: str) -> str:
    """The user that an address names, or ''."""
    found = re.match(r"\w+://([^:/?#@]*)(?::[^/?#]*)?@", url) or re.search(r"(?:^|[?&\s])user=([^&\s]+)", url)
    return found[1] if found else ""


def is_ambiguous(url: str) -> bool:
    """Whether a password that was not encoded makes it unclear where the host begins."""
    login = url.partition("://")[2].partition("?")[0]
    return login.count("@") > 1 or "#" in login or "/" in login.rpartition("@")[0]
