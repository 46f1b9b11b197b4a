"""Git remotes: normalise the address of a remote to an identity of host and path, without login or password.

Every spelling of one address gives one identity, and an identity is its own identity. Upper and lower case stay in
paths: some hosts fold them and others do not. Two names for one project can be joined later, but two projects under one
name would read each other's memories.
"""

from __future__ import annotations

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "http": "80", "https": "443", "git": "9418"}
# Hosts for ssh over the port of https, for networks that block other ports.
_SSH_OVER_HTTPS = {
    "ssh.github.com:443": "github.com",
    "altssh.gitlab.com:443": "gitlab.com",
    "altssh.bitbucket.org:443": "bitbucket.org",
}
_COMMANDS = ("ext", "fd")  # git transports that run a program, so that they name no place
_KEPT_ENCODED = "%/?#@:"
_SCHEME_MARKS = "+-."
_HEX = frozenset("0123456789abcdefABCDEF")
_ROUNDS = 8  # nested spellings; each round shortens the text, and no honest address needs a third


def normalise_remote(url: str) -> str:
    """Return an address as an identity, or '' if it is none."""
    text = "".join(character for character in url if character.isprintable()).strip()
    for _ in range(_ROUNDS if text else 0):
        former, text = text, _normalised(text).strip()
        if text in (former, ""):
            break
    return text


def is_local(url: str) -> bool:
    """Return whether an address is a path on this machine, as git reads it."""
    if "://" in url:
        return url[:7].lower() == "file://"
    colon = url.find(":")
    return colon < 0 or "/" in url[:colon] or is_windows(url)


def local_path(url: str) -> str:
    """Return the path that a local address names."""
    if "://" not in url:
        return url
    host, slash, path = url.partition("://")[2].partition("/")
    path = _decoded(path, "")
    if is_windows(path):
        return path
    return slash + path if host.lower() in ("", "localhost") else f"//{host}/{path}"


def is_windows(path: str) -> bool:
    """Return whether a path begins with a Windows drive or is a UNC path."""
    return path.startswith("\\\\") or (path[:1].isalpha() and path[1:2] == ":" and path[2:3] in ("/", "\\"))


def _normalised(text: str) -> str:
    """Normalise one spelling of an address; the result may be a spelling in turn."""
    helper, double, address = text.partition("::")
    if double and helper in _COMMANDS:
        return ""
    if double and helper.replace("-", "").isalnum() and ("://" in address or address.startswith("/")):
        return address  # a remote helper and its address
    if is_local(text) and ("://" in text or "@" not in text.partition("/")[0]):
        return _place(local_path(text))
    scheme, mark, rest = text.partition("://")
    if mark and scheme and all(letter.isalnum() or letter in _SCHEME_MARKS for letter in scheme):
        return _of_url(rest, _DEFAULT_PORTS.get(scheme.lower(), ""))
    return _of_short_form(text)


def _of_url(rest: str, default_port: str) -> str:
    """Return the identity of `user:password@host:port/path?query`."""
    authority, _, path = rest.partition("/")
    decoded = _decoded(authority, "")
    port = decoded.rpartition(":")[2]
    if "@" not in decoded and port and ":" in decoded and not port.isdigit() and decoded[-1] != "]" and "@" in path:
        # A password with a bare slash: drop everything before the last @.
        authority, _, path = rest[rest.rindex("@") + 1 :].partition("/")
        decoded = _decoded(authority, "")
    path = path.partition("?")[0].partition("#")[0]
    return _joined(_host(decoded.rpartition("@")[2], default_port), _decoded(path, _KEPT_ENCODED))


def _of_short_form(text: str) -> str:
    """Return the identity of scp's `user@host:path`, of `[user@host:port]:path`, or of an identity with a port."""
    head, slash, rest = text.partition("/")
    known = head if head.startswith("[") else _without_user(head)
    if known.startswith("["):
        inner, _, after = known[1:].partition("]")
        inner = inner.rpartition("@")[2]
        host = f"[{inner}]" if inner.count(":") > 1 else inner
    else:
        host, _, after = known.partition(":")
    after = after.removeprefix(":")
    if after.isdigit() and slash and known == head:  # no login: our own notation of a port
        return _joined(_host(f"{host}:{after}", ""), rest)
    return _joined(_host(host, "22"), f"{after}/{rest}")


def _without_user(head: str) -> str:
    """Remove the login from `user@host:…` and `user:word@host…`; git would take the latter for a host `user`."""
    host, colon, path = head.partition(":")
    host = host.rpartition("@")[2]
    word, at, true_host = path.rpartition("@")
    login = word or (at and ":" in true_host)  # `host:@team/app` has neither, so it is a path
    return true_host if colon and login and not host.startswith("[") else host + colon + path


def _host(authority: str, default_port: str) -> str:
    """Return host and non-default port, in lower case."""
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        host, port = host + "]", port.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    host = "".join(letter for letter in host.lower() if letter not in "/\\?#@ ").rstrip(".")
    port = port.lstrip("0") if port.isdigit() and port.isascii() else ""
    if real_host := _SSH_OVER_HTTPS.get(f"{host}:{port}"):
        return real_host
    return f"{host}:{port}" if host and port and port != default_port else host


def _joined(host: str, path: str) -> str:
    return "/".join((host, *_parts(path))) if host and host != "[]" else ""


def _parts(path: str, *, climbs: bool = False) -> list[str]:
    """Split a path into folders, without those that change nothing; `x.git`, `x/.git` and `x` are one repository."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and (not climbs or (parts and parts[-1] != "..")):
            del parts[-1:]
        elif part.strip() not in ("", "."):
            parts.append(part)
    while parts and parts[-1].rstrip().endswith(".git"):
        parts[-1] = parts[-1].rstrip()[: -len(".git")]
        if not parts[-1].strip():
            parts.pop()
    return parts


def _place(path: str) -> str:
    """Normalise a local path without looking at the disk: it may be of another machine, or gone."""
    if is_windows(path):
        path = path.replace("\\", "/")
        path = path[0].upper() + path[1:]
    lead = "//" if path.startswith("//") and not path.startswith("///") else "/" if path.startswith("/") else ""
    return lead + "/".join(_parts(path, climbs=not lead)) or "."


def _decoded(text: str, kept: str) -> str:
    """Decode %XX repeatedly, except characters that would change the meaning."""
    while "%" in text:
        former, text = text, _decoded_once(text, kept)
        if former == text:
            break
    return text


def _decoded_once(text: str, kept: str) -> str:
    made, at = "", 0
    while at < len(text):
        run = at
        while text[run : run + 1] == "%" and len(digits := text[run + 1 : run + 3]) == 2 and set(digits) <= _HEX:
            run += 3
        made += _characters(text[at:run], kept) if run > at else text[at]
        at = max(run, at + 1)
    return made


def _characters(run: str, kept: str) -> str:
    """Decode a run of %XX; bytes that are not UTF-8 stay encoded."""
    try:
        letters = bytes.fromhex(run.replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return run.upper()
    return "".join(
        "".join(f"%{byte:02X}" for byte in letter.encode()) if letter in kept or not letter.isprintable() else letter
        for letter in letters
    )
