"""The address of a git remote as an identity: host and path, never who logs in or with what.

Every spelling of one address gives one identity, and an identity is its own identity. Upper and lower case stay in
paths: some hosts fold them and others do not, and two names for one project can be joined later, while two projects
under one name would read each other's memories.
"""

from __future__ import annotations

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "http": "80", "https": "443", "git": "9418"}
# Where hosts offer ssh to people whose network lets nothing else through.
_SIDE_DOORS = {
    "ssh.github.com:443": "github.com",
    "altssh.gitlab.com:443": "gitlab.com",
    "altssh.bitbucket.org:443": "bitbucket.org",
}
_COMMANDS = ("ext", "fd")  # "addresses" that run a program: they say nothing about where a repository is
_KEPT_ENCODED = "%/?#@:"
_SCHEME_MARKS = "+-."
_ROUNDS = 8  # a spelling inside a spelling; each round shortens the text, and no honest address needs a third


def normalise_remote(url: str) -> str:
    """An address as an identity, or '' where it is none."""
    text = "".join(character for character in url if character.isprintable()).strip()
    for _ in range(_ROUNDS if text else 0):
        former, text = text, _normalised(text).strip()
        if text in (former, ""):
            break
    return text


def is_local(url: str) -> bool:
    """Whether an address is a path on this machine, as git reads it."""
    if "://" in url:
        return url[:7].lower() == "file://"
    colon = url.find(":")
    return colon < 0 or "/" in url[:colon] or is_windows(url)


def local_path(url: str) -> str:
    """The path that a local address names."""
    if "://" not in url:
        return url
    host, slash, path = url.partition("://")[2].partition("/")
    path = _decoded(path, "")
    if is_windows(path):
        return path
    return slash + path if host.lower() in ("", "localhost") else f"//{host}/{path}"


def is_windows(path: str) -> bool:
    return path.startswith("\\\\") or (path[:1].isalpha() and path[1:2] == ":" and path[2:3] in ("/", "\\"))


def _normalised(text: str) -> str:
    helper, double, address = text.partition("::")
    if double and helper in _COMMANDS:
        return ""
    if double and helper.replace("-", "").isalnum() and ("://" in address or address.startswith("/")):
        return address  # a helper program and what it is given
    if is_local(text) and ("://" in text or "@" not in text.partition("/")[0]):
        return _place(local_path(text))
    scheme, mark, rest = text.partition("://")
    if mark and scheme and all(letter.isalnum() or letter in _SCHEME_MARKS for letter in scheme):
        return _of_url(rest, _DEFAULT_PORTS.get(scheme.lower(), ""))
    return _of_short_form(text)


def _of_url(rest: str, default_port: str) -> str:
    """`user:word@host:port/path?query`"""
    authority, _, path = rest.partition("/")
    decoded = _decoded(authority, "")
    port = decoded.rpartition(":")[2]
    if "@" not in decoded and port and ":" in decoded and not port.isdigit() and decoded[-1] != "]" and "@" in path:
        # A password with a bare slash: nothing before the last @ is worth keeping.
        authority, _, path = rest[rest.rindex("@") + 1 :].partition("/")
        decoded = _decoded(authority, "")
    path = path.partition("?")[0].partition("#")[0]
    return _joined(_host(decoded.rpartition("@")[2], default_port), _decoded(path, _KEPT_ENCODED))


def _of_short_form(text: str) -> str:
    """`user@host:path` as ssh's copy command has it, `[user@host:port]:path`, or an identity with a port."""
    head, slash, rest = text.partition("/")
    known = head if head.startswith("[") else _without_user(head)
    if known.startswith("["):
        inner, _, after = known[1:].partition("]")
        inner = inner.rpartition("@")[2]
        host = f"[{inner}]" if inner.count(":") > 1 else inner
    else:
        host, _, after = known.partition(":")
    after = after.removeprefix(":")
    if after.isdigit() and slash and known == head:  # nobody logs in: our own way to write a port
        return _joined(_host(f"{host}:{after}", ""), rest)
    return _joined(_host(host, "22"), f"{after}/{rest}")


def _without_user(head: str) -> str:
    """What is left of `user@host:…` and of `user:word@host…`, which git would take for a host called `user`."""
    host, colon, path = head.partition(":")
    host = host.rpartition("@")[2]
    word, at, true_host = path.rpartition("@")
    login = word or (at and ":" in true_host)  # `host:@team/app` has neither: that is a path
    return true_host if colon and login and not host.startswith("[") else host + colon + path


def _host(authority: str, default_port: str) -> str:
    """Host and unusual port, in lower case."""
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        host, port = host + "]", port.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    host = "".join(letter for letter in host.lower() if letter not in "/\\?#@ ").rstrip(".")
    port = port.lstrip("0") if port.isdigit() and port.isascii() else ""
    if door := _SIDE_DOORS.get(f"{host}:{port}"):
        return door
    return f"{host}:{port}" if host and port and port != default_port else host


def _joined(host: str, path: str) -> str:
    return "/".join((host, *_parts(path))) if host and host != "[]" else ""


def _parts(path: str, *, climbs: bool = False) -> list[str]:
    """The folders of a path without what does not change it; `x.git`, `x/.git` and `x` are one repository."""
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
    """A path that is not looked at: of another machine, or gone."""
    if is_windows(path):
        path = path.replace("\\", "/")
        path = path[0].upper() + path[1:]
    lead = "//" if path.startswith("//") and not path.startswith("///") else "/" if path.startswith("/") else ""
    return lead + "/".join(_parts(path, climbs=not lead)) or "."


def _decoded(text: str, kept: str) -> str:
    """Without %XX, but for characters that would mean something else; until nothing is left to decode."""
    while "%" in text:
        former, text = text, _decoded_once(text, kept)
        if former == text:
            break
    return text


def _decoded_once(text: str, kept: str) -> str:
    made, at = "", 0
    while at < len(text):
        run = at
        while text[run : run + 1] == "%" and _is_hex(text[run + 1 : run + 3]):
            run += 3
        made += _characters(text[at:run], kept) if run > at else text[at]
        at = max(run, at + 1)
    return made


def _is_hex(digits: str) -> bool:
    return len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits)


def _characters(run: str, kept: str) -> str:
    """What a run of %XX stands for; bytes that are no text stay as they are."""
    try:
        letters = bytes.fromhex(run.replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return run.upper()
    return "".join(_encoded(letter) if letter in kept or not letter.isprintable() else letter for letter in letters)


def _encoded(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode())
