"""Commands that destroy a file system or run unseen code, however they are spelled.

A lesson that names one is refused even where it warns of it: it would be shown to an agent that has a shell. The text
comes in folded (`text.clean.fold`). Before it is judged, the spellings a shell sees through are undone: quotes and
backslashes inside words, `$IFS` for a space, `{rm,-rf,/}`, `\\x72\\x6d`. Wrappers (`env`, `nice`, `xargs`, `sh -c`, a
full path) need no rule of their own, since the command is looked for anywhere in the text.
"""

from __future__ import annotations

import re
from functools import cache

_QUOTES = str.maketrans("", "", "'\"\\^[]")
_RM_FLAGS = frozenset("rfvidop")  # "o": PowerShell's -fo
_OPERANDS_BEFORE_FLAGS = 3

# What must all be in the text, the pattern, the name of the rule. Every gap is bounded: a search takes linear time.
_PATTERNS = (
    (
        ("rm", "do"),
        r"\b(?:sudo|doas)\s{1,9}(?:(?:-\S{1,20}(?:\s{1,9}(?!rm\b)[\w./]{1,30})?|\w{1,30}=\S{0,40}"
        r"|env|command|builtin|exec|nice|nohup|time|xargs)\s{1,9}){0,4}(?:/\S{1,30}/)?rm\b",
        "sudo rm",
    ),
    (("mkfs",), r"\bmkfs\b", "mkfs"),
    (("dd", "f="), r"(?<![\w-])dd\s{1,9}(?:[^\s;|&]{1,60}\s{1,9}){0,5}(?:if=|of=/dev/)", "dd"),
    ((":", "(", "{"), r"(?<!\w):\s?\(\s?\)\s{0,9}\{", "fork bomb"),
    (
        ("{", "|", "&"),
        r"\b(\w{1,32})\s{0,3}(?:\(\s{0,3}\))?\s{0,3}\{\s{0,9}\1\s{0,3}\|\s{0,3}\1\s{0,3}&",
        "fork bomb",
    ),
    (("%0",), r"%0\s{0,3}\|\s{0,3}%0", "fork bomb"),
    (("fork", "while"), r"\bfork\s{1,3}while\s{1,3}fork\b", "fork bomb"),
    (("chmod",), r"\bchmod\s{1,9}(?:-\S{1,20}\s{1,9}){0,4}(?:0?777\b|(?:a|ugo)[+=]rwx\b)", "chmod 777"),
    (("deltree",), r"\bdeltree\b", "deltree"),
    (("/s", "r"), r"\b(?:rmdir|rd)\s{1,9}(?:/q\s{1,9})?/s\b", "rmdir /s"),
    (
        ("rm", " -"),
        r"\b(?:python[\d.]{0,5}|ruby|perl|node|bun|deno|php)\s{1,9}(?:-[\w:.=]{1,20}\s{1,9}){0,3}--?(?:c|e|r|eval|p|print)\b"
        r"[^\n]{0,200}\b(?:rmtree|rm_rf|rmsync|rmdirsync|removesync|rimraf)\b",
        "inline delete",
    ),
    (("$", "-"), r"\$(?:\w{1,20}|\{\w{1,20}\}|\([^)\n]{0,60}\))\s{1,9}-(?:rf|fr)\b", "rm -rf"),
    (("`", " -"), r"`[^`\n]{1,60}`\s{1,9}-(?:rf|fr)\b", "rm -rf"),
)
_DECODER = r"\b(?:base64\s{1,9}(?:-\w\s{1,9})?(?:-di?|--decode)\b|xxd\s{1,9}(?:-p\s{1,9})?-r)"
_SHELL = r"(?:sudo\s{1,9})?(?:/\S{0,20}/)?\b(?:ba|z|da|k)?sh\b"

# `eval` is judged with its quotes in place. As a call it is refused, but for `model.eval()`: an empty method call
# evaluates nothing. As a command it needs a shell-like argument where prose may stand ("; eval loss rises").
_EVALS = (
    r"(?<![\w$])eval\((?!\))|(?<![\w$.])eval\(\)",
    r"(?:^|[\n;|&`({]|\b(?:then|do|else)\s)\s{0,9}eval\s{1,9}[\"'$`({]",
    r"(?:&&|\|\||\||`|\$\()\s{0,9}eval\s{1,9}[\w./~-]",
    r"\beval\s{1,9}[\"']?[$`][({\w]",
)

_WARNINGS = (
    ("format", r"\bformat\b", "format"),
    ("kill", r"\bkill\s{1,9}-(?:s\s{0,3})?(?:9|kill|sigkill)\b", "kill -9"),
    ("pkill", r"\bpkill\b", "pkill"),
    ("killall", r"\bkillall\b", "killall"),
    ("`", r"`[^`]{1,500}`", "back-ticks"),
    ("$(", r"\$\(", "command substitution"),
    (
        "git",
        r"\bgit\s{1,9}(?:-\S{1,30}\s{1,9}){0,3}(?:reset\s{1,9}(?:[^\s;|&]{1,40}\s{1,9}){0,3}--hard|stash\s{1,9}(?:drop|clear)"
        r"|push\s{1,9}(?:[^\s;|&]{1,40}\s{1,9}){0,4}(?:-f|--force|--mirror)(?![\w-])|clean\s{1,9}-\w{0,5}f"
        r"|branch\s{1,9}-d\s{1,9}(?:-f|--force)|checkout\s{1,9}(?:\S{1,40}\s{1,9})?--\s|filter-branch)",
        "git command that discards work",
    ),
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_dangerous_command(folded: str) -> str:
    """The name of the first destroying command in a folded text, or nothing."""
    if "eval" in folded and any(_compiled(pattern).search(folded) for pattern in _EVALS):
        return "eval"
    for view in _as_a_shell_reads(folded):
        if "rm" in view and _removes_by_force(view):
            return "rm -rf"
        if ("base64" in view or "xxd" in view) and _decodes_into_a_shell(view):
            return "decode to shell"
        for needles, pattern, name in _PATTERNS:
            for needle in needles:
                if needle not in view:
                    break
            else:
                if _compiled(pattern).search(view):
                    return name
    return ""


def find_risky_words(folded: str) -> list[str]:
    """Names of what deserves a warning but is too common in good lessons to be refused."""
    return [name for needle, pattern, name in _WARNINGS if needle in folded and _compiled(pattern).search(folded)]


def _as_a_shell_reads(folded: str) -> list[str]:
    """The text without quoting; more than one reading where an expansion may join or part words."""
    if "\\" in folded:
        folded = _compiled(r"\\(?:x([0-9a-f]{2})|([0-3][0-7]{2}))").sub(_unescape, folded.replace("\\\n", " "))
    bare = folded.translate(_QUOTES)
    views = [bare]
    if "$" in bare:
        spaced = _compiled(r"\$(?:ifs\b|\{ifs[^}\s]{0,9}\})(?:\$\d)?").sub(" ", bare)
        views.append(_compiled(r"\$(?:[@*]|\{[@*!]?\w{0,20}\})").sub("", spaced))
    if "{" in bare and "," in bare:
        views.append(_compiled(r"\{([^{}\s]{1,80})\}").sub(lambda braces: braces[1].replace(",", " "), bare))
    return views


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16) if match[1] else int(match[2], 8))


def _removes_by_force(view: str) -> bool:
    """Whether an `rm` is given both a recursive and a force flag, in any spelling and order."""
    return any("rm" in segment and _forces(segment.split()) for segment in _compiled(r"[;|&]").split(view))


def _forces(words: list[str]) -> bool:
    flags: set[str] = set()
    operands = _OPERANDS_BEFORE_FLAGS + 1  # none of the words before an "rm" are its flags
    for word in words:
        if "rm" in word and _compiled(r"(?<![\w-])rm[)}`]{0,3}$").search(word[-40:]):
            flags, operands = set(), 0
        elif operands > _OPERANDS_BEFORE_FLAGS:
            continue
        elif word.startswith("-"):
            flags |= _rm_flags(word.rstrip("`.,:()"))
            if "both" in flags or flags >= {"r", "f"}:
                return True
        else:
            operands += 1
    return False


def _rm_flags(word: str) -> set[str]:
    name = word.lstrip("-")
    if name == "no-preserve-root":
        return {"both"}
    if len(name) > 2 and ("recursive".startswith(name) or name == "recurse"):
        return {"r"}
    if len(name) > 2 and "force".startswith(name):
        return {"f"}
    return set(name) if not word.startswith("--") and _RM_FLAGS.issuperset(name) else set()


def _decodes_into_a_shell(view: str) -> bool:
    """Whether something decoded is piped into a shell or substituted into one: what would run cannot be seen."""
    for found in _compiled(_DECODER).finditer(view):
        after = view[found.end() : found.end() + 100]
        before = view[max(0, found.start() - 100) : found.start()]
        if "sh" in after and _compiled(rf"[^|\n]{{0,60}}\|\s{{0,9}}{_SHELL}").match(after):
            return True
        if "sh" in before and _compiled(rf"{_SHELL}[^\n]{{0,20}}[$<]\(").search(before):
            return True
    return False
