"""Find secrets in a text and replace each by `[redacted:<rule>]`.

Four ways to a secret, cheapest first: a provider's own prefix or shape; a phrase around it (a URL with a password, an
Authorization header, a PEM block); a value assigned to a name that mentions a provider; a value assigned to a name that
says it is secret. No expression is compiled before a keyword of its rule occurs, so that a hook may import this alone.
"""

from __future__ import annotations

import re
from functools import cache

from swarmlore.text import secret_rules, secret_words
from swarmlore.text.secret_names import find_assigned, find_spoken, judge_under
from swarmlore.text.secret_patterns import any_run, at_other_lengths, compiled
from swarmlore.text.secret_values import (
    has_telling_kinds,
    is_drawn,
    is_hash,
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


def redact_under(names: tuple[str, ...], text: str) -> tuple[str, tuple[str, ...]]:
    """Do the same to the words of a text that the keys above it, the nearest last, call secret."""
    rules = {word: judge_under(names, word, alone=word == text) for word in text.split()} if names else {}
    fired = {word: rule for word, rule in rules.items() if rule}
    for word in sorted(fired, key=len, reverse=True):
        text = text.replace(word, f"[redacted:{fired[word]}]")
    return text, tuple(dict.fromkeys(fired.values()))


@cache
def rule_names() -> frozenset[str]:
    """Return the name of every rule that can fire."""
    tokens = (*secret_rules.PREFIXED, *secret_rules.LOOSE, *secret_rules.SHAPED)
    named = {row[0] for row in (*tokens, *secret_rules.CONTEXT, *secret_words.WORDED)}
    return frozenset(named | {"generic-secret", "password", "tenant-address", "kubernetes-secret"})


def _hide_marks(text: str) -> str:
    """Cover the marks of earlier redactions, at equal length, with a character that no rule takes for a secret."""
    if "[redacted:" not in text:
        return text
    return compiled(r"\[redacted:([a-z0-9\-]{1,40})\]").sub(_hide_mark, text)


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
    return spans + _find_by_keyword(_phrase_rules(), _PHRASE_HEAD, text.lower(), text) + find_assigned(text)


# --- tokens and phrases: rules behind a keyword ---


class Rule:
    """One expression of the table and the test that a value it finds must pass; at other lengths it must look drawn."""

    __slots__ = ("_flags", "_shape", "_skip", "_test", "name", "order")

    count = 0

    def __init__(self, name: str, shape: str, test: str, skip: int = 0, flags: int = 0) -> None:
        self.name = name
        self.order = Rule.count  # of two rules that find the same, the one that stands first in the table counts
        Rule.count += 1
        self._shape = shape
        self._test = test
        self._skip = skip  # length of the prefix, which goes with the token but says nothing about its randomness
        self._flags = flags

    def find(self, text: str, way: int) -> list[Span]:
        """Return where this rule's secrets stand, by one of its expressions."""
        spans = []
        for expression, test in self.expressions()[way : way + 1]:
            for match in compiled(expression, self._flags).finditer(text):
                group = match.lastindex or 0
                if _TESTS[test](match, match[group][self._skip :]) and not _is_inside_base64(match, group):
                    spans.append((*match.span(group), self.name))
        return spans

    def expressions(self) -> list[tuple[str, str]]:
        """Return the shape and the same at other lengths, each with its test."""
        other = at_other_lengths(self._shape)
        return [(self._shape, self._test)] + [(other, "drawn")] * (other != self._shape)


class PrefixRule(Rule):
    """A token that begins with a prefix. A weak prefix must start a word, and what follows must look random.

    The expressions are put together when the prefix occurs: there are hundreds, and a hook meets none of them.
    """

    __slots__ = ("_prefix", "_weak")

    def __init__(self, name: str, prefix: str, shape: str, weak: bool) -> None:
        super().__init__(name, shape, "random" if weak else "varied", skip=len(prefix))
        self._prefix = prefix
        self._weak = weak

    def expressions(self) -> list[tuple[str, str]]:
        # The look behind follows the prefix: an expression that begins with fixed text is searched much faster.
        prefix = re.escape(self._prefix)
        start = rf"({prefix}(?<![\w\-]{prefix})" if self._weak else f"({prefix}(?<![A-Za-z0-9]{prefix})"
        other = at_other_lengths(self._shape, open_end=True) if self._weak else any_run(self._shape)
        test = "mixed" if self._weak and "<h" not in self._shape.lower() and "<U>" not in self._shape else "random"
        return [(f"{start}{self._shape}){_end_of(self._shape)}", self._test), (f"{start}{other})", test)]


class SpokenRule(Rule):
    """A value beside the word that says what it is, in a sentence or as an option of a command."""

    __slots__ = ()

    def find(self, text: str, way: int) -> list[Span]:
        """Return where the values stand, each with its own rule."""
        return [] if way else find_spoken(text)


class TenantRule(Rule):
    """The address of somebody's own server at a host."""

    __slots__ = ()

    def __init__(self, host: str) -> None:
        super().__init__("tenant-address", host, "named", flags=re.IGNORECASE)

    def expressions(self) -> list[tuple[str, str]]:
        return [(secret_words.TENANT_ADDRESS.format(re.escape(self._shape)), self._test)]


# Keywords by the first characters of their first word. Most texts share few such heads with the table, so that most
# keywords are never searched for. Keywords that need not start a word stand under the empty head.
Index = dict[bytes, list[tuple[str, Rule]]]

_TOKEN_HEAD = 2
_PHRASE_HEAD = 4
_SEPARATORS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))


def _words(text: str) -> list[bytes]:
    return text.encode("ascii", "replace").translate(_SEPARATORS).split()


def _add(index: Index, keyword: str, rule: Rule, size: int) -> None:
    head = _words(keyword)[0][:size] if keyword[0].isalnum() else b""
    index.setdefault(head, []).append((keyword.removeprefix("*"), rule))


def _find_by_keyword(index: Index, size: int, haystack: str, text: str) -> list[Span]:
    heads = {word[:size] for word in _words(haystack)}
    heads.add(b"")
    rules = {rule for head in heads & index.keys() for keyword, rule in index[head] if keyword in haystack}
    in_order = sorted(rules, key=lambda rule: rule.order)
    return [span for way in (0, 1) for rule in in_order for span in rule.find(text, way)]


@cache
def _token_rules() -> Index:
    index: Index = {}
    for table in (secret_rules.PREFIXED, secret_rules.LOOSE):
        for name, prefixes, shape in table:
            for prefix in prefixes.split():
                weak = (
                    table is secret_rules.LOOSE or len(prefix) <= 3 or prefix in words_of(secret_words.COMMON_PREFIXES)
                )
                _add(index, prefix, PrefixRule(name, prefix, shape, weak), _TOKEN_HEAD)
    for name, keywords, shape, test in secret_rules.SHAPED:
        rule = Rule(name, shape, test)
        for keyword in keywords.split():
            _add(index, keyword, rule, _TOKEN_HEAD)
    return index


def _end_of(shape: str) -> str:
    """Return what must not follow a token, so that a longer run of its alphabet is no match."""
    if shape.endswith(("+>", "}", "}+", "=", ")?")):
        return ""
    alphabet = shape[shape.rfind("<") + 1 :][:1]
    return {"u": r"(?![\w\-])", "e": r"(?![\w=\-])", "c": r"(?![\w\-])", "b": r"(?![\w+/])"}.get(alphabet, r"(?!\w)")


@cache
def _phrase_rules() -> Index:
    index: Index = {}
    for name, keywords, shape, test in secret_words.WORDED:
        rule = Rule(name, shape, test, flags=re.IGNORECASE)
        for keyword in keywords.split(","):
            _add(index, keyword, rule, _PHRASE_HEAD)
    spoken = SpokenRule("generic-secret", "", "any")
    for word in secret_words.SPOKEN_WORDS.split(","):
        _add(index, word, spoken, _PHRASE_HEAD)
    for host in secret_words.TENANT_HOSTS.split():
        _add(index, host, TenantRule(host), _PHRASE_HEAD)
    _add(index, "kind", ManifestRule("kubernetes-secret", _MANIFEST_DATA, "any", flags=re.MULTILINE), _PHRASE_HEAD)
    return index


# The data block of a manifest: all deeper lines in YAML, all up to the brace in JSON.
_MANIFEST_DATA = (
    r"^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+\S[^\n]{0,4000}(?:\n|\Z)){1,200})"
    r"|[\"'](?:data|stringData)[\"']\s{0,4}:\s{0,4}\{([^{}]{1,20000})"
)
_MANIFEST_VALUE = r"[\w.\-]+[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'|>$<{\[,][^\s\"',]*)"


class ManifestRule(Rule):
    """Every value in the data block of a Secret manifest, however plain it looks."""

    def find(self, text: str, way: int) -> list[Span]:
        """Return where the values stand."""
        if not compiled(r"(?i:kind[\"']?\s{0,3}:\s{0,3}[\"']?secret\b)").search(text):
            return []
        values = compiled(_MANIFEST_VALUE)
        return [
            (*value.span(1), self.name)
            for start, end, _ in super().find(text, way)
            for value in values.finditer(text, start, end)
            if not is_placeholder(value[1])
        ]


# --- what a value must be, given where it was found ---


def _is_login(match: re.Match[str], value: str) -> bool:
    """A password beside its user name may be any word but a placeholder or the name again (`test:test`)."""
    return bool(value) and value != match[1] and not is_placeholder(value) and not value.isspace()


def _is_header(match: re.Match[str], value: str) -> bool:
    """An Authorization header holds a credential unless plain words or code stand there."""
    return is_random(value) or (has_telling_kinds(value) and len(set(value)) >= 5 and not is_placeholder(value))


def _is_inside_base64(match: re.Match[str], group: int) -> bool:
    """Tell whether a token is part of a longer run of base64, where any short prefix turns up sooner or later."""
    start = match.start(group)
    before = match.string[max(0, start - 80) : start]
    if compiled(r"(?:;base64,|sha\d{3}[=:\-]|h1:)\Z").search(before):
        return True
    if before[-1:] not in ("+", "/", "\n") or compiled(r"[^A-Za-z0-9+/=]").search(match[group]):
        return False
    long = len(match[group]) >= 60
    run = compiled(r"<b60+>\r?\n\Z" if before[-1] == "\n" else r"<b8+>\Z" if long else r"<b24+>\Z").search(before)
    return bool(run and is_random(compiled(r"A{3,}").sub("A", run[0])))  # zero bytes are runs of A


_TESTS = {
    "any": lambda match, value: True,
    "spread": lambda match, value: is_spread(value),
    "varied": lambda match, value: is_varied(value),
    "random": lambda match, value: is_random(value),
    "named": lambda match, value: len(set(value)) > 3 and not is_placeholder(value),
    "mixed": lambda match, value: is_random(value) and not is_hash(value),
    "drawn": lambda match, value: is_drawn(value),
    "password": lambda match, value: is_password(value),
    "login": _is_login,
    "header": _is_header,
}
