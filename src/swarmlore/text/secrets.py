"""Find secrets in a text and replace each by `[redacted:<rule>]`.

Four ways to a secret, cheapest first: a provider's own prefix or shape; a phrase around it (a URL with a password, an
Authorization header, a PEM block); a value assigned to a name that mentions a provider; a value assigned to a name that
says it is secret. No expression is compiled before a keyword of its rule occurs, so that a hook may import this alone.
"""

from __future__ import annotations

import re

from swarmlore.text import secret_rules, secret_words
from swarmlore.text.secret_values import (
    has_telling_kinds,
    is_claimed,
    is_password,
    is_placeholder,
    is_random,
    is_spread,
    is_varied,
    words_of,
)

RULES_VERSION = secret_rules.RULES_VERSION

Span = tuple[int, int, str]

# A redaction can free a neighbour (a token glued to another), so the text is read again until nothing is found.
PASSES = 12
# No token is shorter than this together with its prefix; shorter words are not searched for prefixes.
SHORTEST_TOKEN = 16
# How far before an assignment its name may start.
NAME_REACH = 72

_names: set[str] = set()

_ASSIGNED = r"""["'\])]{0,3}\s{0,3}(?:=>|:=|[=:,])\s{0,3}["'`]?"""
_NAME_JOINT = r"[_ .\-]?"


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace every secret by `[redacted:<rule>]`; return the clean text and the rules that fired, in order."""
    fired: dict[str, None] = {}
    for _ in range(PASSES):
        spans = _settle(_find(_hide_marks(text)))
        if not spans:
            break
        fired.update((rule, None) for _, _, rule in spans)
        text = _replace(text, spans)
    return text, tuple(fired)


def rule_names() -> frozenset[str]:
    """Return the name of every rule that can fire."""
    if not _names:
        tables = (
            secret_rules.PREFIXED,
            secret_rules.LOOSE,
            secret_rules.SHAPED,
            secret_rules.CONTEXT,
            secret_words.WORDED,
        )
        _names.update(row[0] for rows in tables for row in rows)
        _names.update(("generic-secret", "password", "tenant-address", "kubernetes-secret"))
    return frozenset(_names)


def _hide_marks(text: str) -> str:
    """Cover the marks of earlier redactions, at equal length, with a character that no rule takes for a secret."""
    if "[redacted:" not in text:
        return text
    return _pattern(r"\[redacted:([a-z0-9\-]{1,40})\]").sub(_hide_mark, text)


def _hide_mark(match: re.Match[str]) -> str:
    return "[" * len(match[0]) if match[1] in rule_names() else match[0]


def _replace(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, rule in spans:
        parts += (text[done:start], f"[redacted:{rule}]")
        done = end
    return "".join((*parts, text[done:]))


def _settle(spans: list[Span]) -> list[Span]:
    """Sort spans and join those that overlap under the rule of the first."""
    kept: list[Span] = []
    for start, end, rule in sorted(spans, key=lambda span: (span[0], -span[1])):
        if kept and start < kept[-1][1]:
            first, last, joined = kept.pop()
            start, end, rule = first, max(last, end), joined
        kept.append((start, end, rule))
    return kept


def _find(text: str) -> list[Span]:
    """Return all spans; of two equal ones the first, more exact one will count."""
    spans: list[Span] = []
    long_words = " ".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN])
    if long_words:
        spans = _find_by_keyword(_token_rules(), _TOKEN_HEAD, long_words, text)
    return spans + _find_by_keyword(_phrase_rules(), _PHRASE_HEAD, text.lower(), text) + _find_assigned(text)


class Rule:
    """One expression of the table, compiled when it is first needed."""

    __slots__ = ("_flags", "_pattern", "_shape", "_skip", "_test", "name")

    def __init__(self, name: str, shape: str, test: str, skip: int = 0, flags: int = 0) -> None:
        self.name = name
        self._shape = shape
        self._test = test
        self._skip = skip  # length of the prefix, which goes with the token but says nothing about its randomness
        self._flags = flags
        self._pattern: re.Pattern[str] | None = None

    def find(self, text: str) -> list[Span]:
        """Return where this rule's secrets stand."""
        if self._pattern is None:
            self._pattern = re.compile(_expand(self._shape), self._flags | re.ASCII)
        spans = []
        for match in self._pattern.finditer(text):
            group = match.lastindex or 0
            if _TESTS[self._test](match, match[group][self._skip :]):
                spans.append((*match.span(group), self.name))
        return spans


def _expand(shape: str) -> str:
    """Write out the notation of the table."""
    shape = shape.replace("<U>", "<H8>-<H4>-<H4>-<H4>-<H12>").replace("<=>", _ASSIGNED).replace("<_>", _NAME_JOINT)
    return re.sub(r"<([A-Za-z])(\d+)(,\d+)?(\+)?>", _expand_run, shape)


def _expand_run(match: re.Match[str]) -> str:
    alphabet, least, most, open_end = match.groups()
    # Possessive, so that an open run is read once whatever follows.
    count = f"{{{least},}}+" if open_end else f"{{{least}{most or ''}}}"
    return f"[{secret_rules.ALPHABETS[alphabet]}]{count}"


# --- tokens and phrases: rules behind a keyword ---

# Keywords by the first characters of their first word. Most texts share few such heads with the table, so that most
# keywords are never searched for. Keywords that need not start a word stand under the empty head.
Index = dict[bytes, list[tuple[str, Rule]]]

_TOKEN_HEAD = 2
_PHRASE_HEAD = 4
_SEPARATORS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))

_tokens: Index = {}
_phrases: Index = {}


def _words(text: str) -> list[bytes]:
    return text.encode("ascii", "replace").translate(_SEPARATORS).split()


def _add(index: Index, keyword: str, rule: Rule, size: int) -> None:
    head = _words(keyword)[0][:size] if keyword[0].isalnum() else b""
    index.setdefault(head, []).append((keyword.removeprefix("*"), rule))


def _find_by_keyword(index: Index, size: int, haystack: str, text: str) -> list[Span]:
    heads = {word[:size] for word in _words(haystack)}
    heads.add(b"")
    rules = {rule for head in heads & index.keys() for keyword, rule in index[head] if keyword in haystack}
    return sorted(span for rule in rules for span in rule.find(text)) if rules else []


def _token_rules() -> Index:
    if not _tokens:
        for name, prefixes, shape in secret_rules.PREFIXED:
            for prefix in prefixes.split():
                _add(_tokens, prefix, _prefix_rule(name, prefix, shape, len(prefix) <= 3), _TOKEN_HEAD)
        for name, prefixes, shape in secret_rules.LOOSE:
            for prefix in prefixes.split():
                _add(_tokens, prefix, _prefix_rule(name, prefix, shape, True), _TOKEN_HEAD)
        for name, keywords, shape, test in secret_rules.SHAPED:
            rule = Rule(name, shape, test)
            for keyword in keywords.split():
                _add(_tokens, keyword, rule, _TOKEN_HEAD)
    return _tokens


def _prefix_rule(name: str, prefix: str, shape: str, weak: bool) -> Rule:
    """Make the rule of one prefix; a weak prefix must start a word, and what follows must look random."""
    start = r"(?<![\w\-])" if weak else "(?<![A-Za-z0-9])"
    return Rule(
        name, f"{start}({re.escape(prefix)}{shape}){_end_of(shape)}", "random" if weak else "varied", len(prefix)
    )


def _end_of(shape: str) -> str:
    """Return what must not follow a token, so that a longer run of its alphabet is no match."""
    if shape.endswith(("+>", "}", "}+", "=", ")?")):
        return ""
    alphabet = shape[shape.rfind("<") + 1 :][:1]
    return {"u": r"(?![\w\-])", "e": r"(?![\w=\-])", "c": r"(?![\w\-])", "b": r"(?![\w+/])"}.get(alphabet, r"(?!\w)")


def _phrase_rules() -> Index:
    if not _phrases:
        for name, keywords, shape, test in secret_words.WORDED:
            rule = Rule(name, shape, test, flags=re.IGNORECASE)
            for keyword in keywords.split(","):
                _add(_phrases, keyword, rule, _PHRASE_HEAD)
        for host in secret_words.TENANT_HOSTS.split():
            shape = secret_words.TENANT_ADDRESS + re.escape(host) + _ADDRESS_END
            _add(_phrases, host, Rule("tenant-address", shape, "named", flags=re.IGNORECASE), _PHRASE_HEAD)
        manifest = ManifestRule("kubernetes-secret", _MANIFEST_DATA, "any", flags=re.MULTILINE)
        _add(_phrases, "kind", manifest, _PHRASE_HEAD)
    return _phrases


_ADDRESS_END = r")(?![\w.\-]|/\w)"
# The data block of a manifest: all deeper lines in YAML, all up to the brace in JSON.
_MANIFEST_DATA = (
    r"^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+\S[^\n]{0,4000}(?:\n|\Z)){1,200})"
    r"|[\"'](?:data|stringData)[\"']\s{0,4}:\s{0,4}\{([^{}]{1,20000})"
)
_MANIFEST_VALUE = r"[\w.\-]+[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'|>$<{\[,][^\s\"',]*)"


class ManifestRule(Rule):
    """Every value in the data block of a Secret manifest, however plain it looks."""

    def find(self, text: str) -> list[Span]:
        """Return where the values stand."""
        if not _pattern(r"(?i:kind[\"']?\s{0,3}:\s{0,3}[\"']?secret\b)").search(text):
            return []
        values = _pattern(_MANIFEST_VALUE)
        return [
            (*value.span(1), self.name)
            for start, end, _ in super().find(text)
            for value in values.finditer(text, start, end)
            if not is_placeholder(value[1])
        ]


# --- what a value must be, given where it was found ---


def _is_login(match: re.Match[str], value: str) -> bool:
    """A password beside its user name may be any word but a placeholder or the name again (`test:test`)."""
    return bool(value) and value != match[1] and not is_placeholder(value) and not value.isspace()


def _is_header(match: re.Match[str], value: str) -> bool:
    """An Authorization header holds a credential unless plain words or code stand there."""
    return has_telling_kinds(value) and len(set(value)) >= 5 and not is_placeholder(value)


_TESTS = {
    "any": lambda match, value: True,
    "spread": lambda match, value: is_spread(value),
    "varied": lambda match, value: is_varied(value),
    "random": lambda match, value: is_random(value),
    "named": lambda match, value: len(set(value)) > 3 and not is_placeholder(value),
    "account": lambda match, value: is_random(value) or (value.isdigit() and is_varied(value)),
    "password": lambda match, value: is_password(value),
    "login": _is_login,
    "header": _is_header,
}

# --- values assigned to a name ---

# The value is only looked at, not consumed, so that an assignment inside another one is found as well. It must hold
# something that is rare in words: a digit, a symbol, or cases that change to and fro.
_ASSIGNMENT = (
    r"(?:=>|:=|->|\?=|\|\||[=:>]|,(?=[ \t]{0,4}[\"'`]))[ \t]{0,4}(?=\S{0,80}?(?:[0-9!@#$^*~]|[a-z][A-Z][a-z]?[A-Z]))"
    r"(?:\\?[\"'`](?=([^\s\"'`\\<>]{6,512}))|(?=([^\s\"'`\\<>,;&|(){}\[\]=?]{6,512}={0,3}(?::\w{8,200})?)))"
)
_REST = r"[^\s\"'`\\<>,;&|(){}\[\]]*+"
_NAME = r"[\w.\- ]*"
_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"

_compiled: dict[str, re.Pattern[str]] = {}
_contexts: dict[str, list[tuple[str, str]]] = {}
_name_endings: dict[str, tuple[str, ...]] = {}


def _pattern(expression: str) -> re.Pattern[str]:
    if expression not in _compiled:
        _compiled[expression] = re.compile(_expand(expression), re.ASCII)
    return _compiled[expression]


def _find_assigned(text: str) -> list[Span]:
    spans = []
    done = 0
    for match in _pattern(_ASSIGNMENT).finditer(text):
        quoted = match.lastindex == 1
        value = match[1] if quoted else match[2].rstrip(".:!")
        start = match.start(1 if quoted else 2)
        end = start + len(value)
        called = not quoted and text[end : end + 1] in ("(", "[")
        # Code, or the rest of a value that was judged: `a:b:c` has one value.
        if called or (match.start() < done and text[match.start()] == ":"):
            continue
        done = end
        rule = _judge(_name_before(text, match.start()), value)
        if rule:
            rest = _pattern(_REST).match(text, end) if len(value) >= 512 else None
            spans.append((start, rest.end() if rest else end, rule))
    return spans


def _name_before(text: str, end: int) -> str:
    """Return the name that ends before an assignment: an identifier, or a few words of one line."""
    name = _last_name(text[max(0, end - NAME_REACH) : end].rstrip(" \t\"'`])\\=:+?!|-"))
    if name.lower() in ("value", "default"):
        # `name: API_TOKEN` and `value: …` are two fields; the first one names.
        end = text.rfind(name, 0, end)
        name = _last_name(text[max(0, end - NAME_REACH) : end].rstrip(" \t\r\n\"'`,;{=:"))
    return name


def _last_name(tail: str) -> str:
    match = _pattern(_NAME).match(tail[::-1])
    return match[0][::-1].strip() if match else ""


def _judge(name: str, value: str) -> str | None:
    """Return the rule by which a value is secret, given the name it is assigned to."""
    words = [word.lower() for word in _pattern(_NAME_WORD).findall(name)]
    while words and words[-1] in words_of("TAIL_WORDS"):
        words.pop()
    joined = "".join(words[-5:])
    if not words or words[-1] in words_of("PLAIN_NAMES") or _is_public_name(words):
        return None
    secret = _is_secret_name(words, joined)
    if secret or value.isdigit() or is_random(value):
        provider = _provider_of(name, value)
        if provider or is_claimed(value):
            return provider
    if joined.endswith(_endings("PASSWORD_NAMES")) or words[-1] in words_of("PASSWORD_WORDS"):
        return "password" if is_password(value) else None
    if (secret or _is_key_variable(name, words, value)) and "://" not in value and is_random(value):
        return "generic-secret"
    return None


def _is_public_name(words: list[str]) -> bool:
    return any("".join(words[-count:]) in words_of("PUBLIC_NAMES") for count in (1, 2, 3))


def _is_secret_name(words: list[str], joined: str) -> bool:
    if joined.endswith(_endings("SECRET_NAMES")) or words[-1] in words_of("SECRET_WORDS"):
        return True
    return not words_of("SECRET_STEMS").isdisjoint(words)


def _endings(name: str) -> tuple[str, ...]:
    if name not in _name_endings:
        _name_endings[name] = tuple(words_of(name))
    return _name_endings[name]


def _is_key_variable(name: str, words: list[str], value: str) -> bool:
    """Tell whether a name is an environment variable SOMETHING_KEY; the value must then be long."""
    return (
        words[-1] == "key"
        and len(words) > 1
        and name.isupper()
        and len(value) >= 20
        and words[-2] not in words_of("PLAIN_KEYS")
    )


def _provider_of(name: str, value: str) -> str | None:
    """Return the provider that a name mentions if the value has the shape of its secrets."""
    if not _contexts:
        for rule, listed, shape in secret_rules.CONTEXT:
            for word in listed.split():
                _contexts.setdefault(word, []).append((rule, shape))
    lower = name.lower()
    for word in filter(lower.__contains__, _contexts):
        if _starts_word(name, lower.find(word)):
            for rule, shape in _contexts[word]:
                if _pattern(f"(?:{shape})").fullmatch(value) and is_varied(value):
                    return rule
    return None


def _starts_word(name: str, at: int) -> bool:
    """Tell whether a word starts at a place: `myBoxKey` and `my_box_key` mention a box, `toolbox_key` does not."""
    return at == 0 or not name[at - 1].isalpha() or (name[at].isupper() and name[at - 1].islower())
