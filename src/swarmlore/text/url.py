"""Addresses of servers as people may see them."""

from __future__ import annotations

import re


def without_password(url: str) -> str:
    """The address without the password in it, wherever that stands."""
    shown = re.sub(r"([?&\s]password=)('[^']*'|[^&\s]*)", r"\1…", f" {url}")[1:]
    return re.sub(r"(://[^:/?#@]*):[^/?#]*@", r"\1@", shown)


def user_of(url: str) -> str:
    """The user that an address names, or ''."""
    found = re.match(r"\w+://([^:/?#@]*)(?::[^/?#]*)?@", url) or re.search(r"(?:^|[?&\s])user=([^&\s]+)", url)
    return found[1] if found else ""
