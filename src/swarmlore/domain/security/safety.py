"""Check a text for unsafe content: destructive commands, weakened security, prompt injection, control characters.

Commands, weakening advice, control characters and active markup are rejected, because a terminal, browser or prompt
template would act on them. Prompt injection is quarantined for review; risky but common commands only warn. The check
is one layer of the validation gate: a text that passes is still shown to agents as fenced data.
"""

from __future__ import annotations

import re

from swarmlore.domain.language.unicode import clean, fold
from swarmlore.domain.security.prompt_injection import compiled, find_override
from swarmlore.frozen import frozen

_QUOTES = str.maketrans("", "", "'\"\\^[]")
_RM_FLAGS = frozenset("rfvidop")  # "o": PowerShell's -fo
_OPERANDS_BEFORE_FLAGS = 3

# Substrings that must all occur, pattern, rule name. Every gap is bounded, so that a search takes linear time.
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
    (("{", "|", "&"), r"\b(\w{1,32})\s{0,3}(?:\(\s{0,3}\))?\s{0,3}\{\s{0,9}\1\s{0,3}\|\s{0,3}\1\s{0,3}&", "fork bomb"),
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

# `eval` is matched before quotes are removed. A call is rejected except an empty method call such as `model.eval()`,
# which evaluates nothing. The command needs a shell-like argument, because prose has it too ("; eval loss rises").
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


def find_dangerous_command(folded: str) -> str:
    """Return the name of the first destructive command in a folded text, or ""."""
    if "eval" in folded and any(compiled(pattern).search(folded) for pattern in _EVALS):
        return "eval"
    for view in _shell_readings(folded):
        if "rm" in view and _has_forced_rm(view):
            return "rm -rf"
        if ("base64" in view or "xxd" in view) and _decodes_into_a_shell(view):
            return "decode to shell"
        for needles, pattern, name in _PATTERNS:
            for needle in needles:
                if needle not in view:
                    break
            else:
                if compiled(pattern).search(view):
                    return name
    return ""


def find_risky_words(folded: str) -> list[str]:
    """Return the names of commands that deserve a warning but are too common in good lessons to be rejected."""
    return [name for needle, pattern, name in _WARNINGS if needle in folded and compiled(pattern).search(folded)]


def _shell_readings(folded: str) -> list[str]:
    """Return the text without shell quoting, plus one reading per expansion that may join or split words."""
    if "\\" in folded:
        folded = compiled(r"\\(?:x([0-9a-f]{2})|([0-3][0-7]{2}))").sub(_unescape, folded.replace("\\\n", " "))
    bare = folded.translate(_QUOTES)
    views = [bare]
    if "$" in bare:
        spaced = compiled(r"\$(?:ifs\b|\{ifs[^}\s]{0,9}\})(?:\$\d)?").sub(" ", bare)
        views.append(compiled(r"\$(?:[@*]|\{[@*!]?\w{0,20}\})").sub("", spaced))
    if "{" in bare and "," in bare:
        views.append(compiled(r"\{([^{}\s]{1,80})\}").sub(lambda braces: braces[1].replace(",", " "), bare))
    return views


def _unescape(match: re.Match[str]) -> str:
    """Return the character of a hexadecimal or octal escape."""
    return chr(int(match[1], 16) if match[1] else int(match[2], 8))


def _has_forced_rm(view: str) -> bool:
    """Tell whether an `rm` has both a recursive and a force flag, in any spelling and order."""
    return any("rm" in segment and _is_forced_rm(segment.split()) for segment in compiled(r"[;|&]").split(view))


def _is_forced_rm(words: list[str]) -> bool:
    """Tell whether the words of one command hold an `rm` with a recursive and a force flag."""
    flags: set[str] = set()
    operands = _OPERANDS_BEFORE_FLAGS + 1  # words before the first "rm" are not its flags
    for word in words:
        if "rm" in word and compiled(r"(?<![\w-])rm[)}`]{0,3}$").search(word[-40:]):
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
    """Return the `rm` flags in one word as letters; "both" for `--no-preserve-root`."""
    name = word.lstrip("-")
    if name == "no-preserve-root":
        return {"both"}
    if len(name) > 2 and ("recursive".startswith(name) or name == "recurse"):
        return {"r"}
    if len(name) > 2 and "force".startswith(name):
        return {"f"}
    return set(name) if not word.startswith("--") and _RM_FLAGS.issuperset(name) else set()


def _decodes_into_a_shell(view: str) -> bool:
    """Tell whether decoded data is piped or substituted into a shell, which hides the command that would run."""
    for found in compiled(_DECODER).finditer(view):
        after = view[found.end() : found.end() + 100]
        before = view[max(0, found.start() - 100) : found.start()]
        if "sh" in after and compiled(rf"[^|\n]{{0,60}}\|\s{{0,9}}{_SHELL}").match(after):
            return True
        if "sh" in before and compiled(rf"{_SHELL}[^\n]{{0,20}}[$<]\(").search(before):
            return True
    return False


DANGEROUS = "dangerous command pattern detected"
DEGRADING = "security-degrading instruction detected"
INJECTION = "injection pattern detected"
OVERRIDE = "instruction override attempt"

_SEVERITY = ("reject", "quarantine", "warn")


@frozen
class Finding:
    """One problem of a text: the action to take, the reason shown, and the rule that matched."""

    action: str
    reason: str
    rule: str


# Required substring, pattern, rule name. "JavaScript: prefer const" is a label and passes; `javascript:` directly
# before code, or named as a kind of link, is rejected.
_INJECTIONS = (
    ("system", r"\A[\s#*\[<(|_-]{0,8}system\s{0,9}[\]>)|*_]{0,4}\s{0,9}:", "role marker"),
    ("<script", r"<script", "script tag"),
    ("javascript:", r"javascript:(?:\S|\s{0,9}(?:[\w.]{1,40}\s?[(=]|ur[il]|link|href|scheme|protocol))", "script link"),
    ("__proto__", r"__proto__", "prototype trick"),
    ("constructor", r"\bconstructor\s{0,3}\[", "prototype trick"),
    (".prototype", r"\.prototype\s{0,3}\[", "prototype trick"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

# The object may follow its verb within fifty characters of the same sentence (after "no": of the same clause).
_GAP = r"(?:[^.!?\n]|\.(?=\S)){0,50}?"
_CLAUSE = r"(?:[^.!?\n,;:()]|\.(?=\S)){0,50}?"
_OFF = r"\b(?:disabl(?:es?|ing)|deactivat(?:es?|ing)|(?:turn|switch)(?:e?s|ing)?\s{1,3}off)\b"
_SKIP = r"\b(?:skip(?:s|ping)?|bypass(?:es|ing)?)\b"
_AUTH = r"o?auth2?|authn|authz|authenticat(?:ion|e|ing)|authori[sz]ation|[2m]fa"
_DEGRADING = (
    (
        ("firewall", "tls", "ssl", "2fa", "mfa", "factor", "security"),
        rf"{_OFF}{_GAP}\b(?:firewalls?|m?tls|ssl|[2m]fa|(?:two|multi)[- ]?factor|security)\b",
        "protection turned off",
    ),
    (("auth", "2fa", "mfa"), rf"{_SKIP}{_GAP}\b(?:{_AUTH})\b", "authentication skipped"),
    (("cert",), rf"(?:\bignor(?:es?|ing)\b|{_SKIP}){_GAP}\bcert(?:ificate)?s?\b", "certificate ignored"),
    (("validation",), rf"\bno\b{_CLAUSE}\bvalidation\b", "no validation"),
    (("password",), rf"\bremov(?:es?|ing)\b{_GAP}\bpasswords?\b", "password removed"),
)
# "Never disable TLS" passes: a negation governs the phrase. "Never forget to disable TLS" does not, so words that
# reverse the negation must not stand between.
_NEGATED = (
    r"(?:\bnever|n't|\b(?:do|does|must|should|shall|may|can|will|to|is|are) ?not|\bdont|\bavoid|\bwithout|\binstead of"
    r"|\brather than|\b(?:nobody|no one) (?:may|should|can)|\bforbid\w{0,5}|\bprohibit\w{0,5}|\bprevent\w{0,3}"
    r"|\brefus\w{1,3})\s{1,3}"
    r"(?:(?!forget|hesitat|fail|neglect|omit|afraid|shy|worry|mind|only|just\b)[\w-]{1,15}\s{1,3}){0,2}\Z"
)
_NEGATION_WITHIN = 60

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)


def inspect_safety(text: str) -> tuple[Finding, ...]:
    """Return the safety problems of a cleaned text, most severe first."""
    findings = [Finding("reject", INJECTION, rule) for rule in _find_injections(text)]
    for folded in _readings(text):
        findings += _inspect_reading(folded)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _SEVERITY.index(finding.action)))


def _readings(text: str) -> list[str]:
    """Return the folded text; if invisible characters remain, one copy without them and one with spaces instead."""
    if text.isascii() or not _INVISIBLE.search(text):
        return [fold(text)]
    return [fold(clean(text)[0]), fold(_INVISIBLE.sub(" ", text))]


def _inspect_reading(folded: str) -> list[Finding]:
    """Return the problems of one folded reading of a text."""
    findings = []
    if command := find_dangerous_command(folded):
        findings.append(Finding("reject", DANGEROUS, command))
    if advice := _find_degrading_advice(folded):
        findings.append(Finding("reject", DEGRADING, advice))
    if override := find_override(folded):
        findings.append(Finding("quarantine", OVERRIDE, override))
    return findings + [Finding("warn", f"may hold a risky command: {rule}", rule) for rule in find_risky_words(folded)]


def _find_injections(text: str) -> list[str]:
    """Return the injection rules that match the raw text, before any normalisation except lower case."""
    low = text.lower()
    found = [rule for needle, pattern, rule in _INJECTIONS if needle in low and compiled(pattern).search(low)]
    if not text.isprintable() and _CONTROL.search(text):
        found.insert(0, "control character")
    return found


def _find_degrading_advice(folded: str) -> str:
    """Return the name of the first rule for advice that weakens security, or ""."""
    for objects, pattern, rule in _DEGRADING:
        if any(thing in folded for thing in objects) and _occurs_unnegated(compiled(pattern), folded):
            return rule
    return ""


def _occurs_unnegated(pattern: re.Pattern[str], folded: str) -> bool:
    """Tell whether the phrase occurs at least once without a negation that governs it."""
    found = pattern.search(folded)
    while found:
        before = folded[max(0, found.start() - _NEGATION_WITHIN) : found.start()]
        if not compiled(_NEGATED).search(before):
            return True
        found = pattern.search(folded, found.start() + 1)  # "never disable logs, disable TLS": the second one counts
    return False
