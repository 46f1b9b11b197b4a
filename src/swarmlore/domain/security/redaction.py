"""Find secrets in a text and replace each by `[redacted:<rule>]`.

A secret is found in four ways, cheapest first: by a provider's own prefix or shape; by a phrase around it (a URL with
a password, an Authorization header, a PEM block); by the name it is assigned to, if that mentions a provider; and by
a name that says it is secret. No expression is compiled before a keyword of its rule occurs, so that the hook can
import this module alone.
"""

from __future__ import annotations

import re
from functools import cache

from swarmlore.domain.security import secret_formats, secret_values
from swarmlore.domain.security.secret_formats import ALPHABETS
from swarmlore.domain.security.secret_values import (
    has_digit_or_mixed_case,
    is_hash,
    is_password,
    is_placeholder,
    is_random,
    is_random_or_digits,
    is_spread,
    is_varied,
    words_of,
)

# Expressions for what joins a name and its value, and for what joins two words of a name.
_ASSIGNED = r"""["'\])]{0,3}\s{0,3}(?:=>|:=|[=:,])\s{0,3}["'`]?"""
_NAME_JOINT = r"[_ .\-]?"
_UUID = "<H8>-<H4>-<H4>-<H4>-<H12>"


@cache
def compiled(shape: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled regular expression of a shape."""
    return re.compile(expand(shape), flags | re.ASCII)


@cache
def at_other_lengths(shape: str, *, open_end: bool = False) -> str:
    """Return a shape with runs of 4 characters less to 8 more; with `open_end`, the last run has no limit."""
    shape = shape.replace("<U>", _UUID)

    def other(run: re.Match[str]) -> str:
        is_open = run[4] or (open_end and run.end() == len(shape))
        return f"<{run[1]}{max(1, int(run[2]) - 4)}{'+' if is_open else f',{int(run[3] or run[2]) + 8}'}>"

    return re.sub(r"<([A-Za-z])(\d+)(?:,(\d+))?(\+)?>", other, shape)


def any_run(shape: str) -> str:
    """Return an expression for ten or more characters of the kinds that a shape uses."""
    plain = re.sub(r"\(\?[:=]", "", expand(shape))
    return rf"[\w\-{''.join(char for char in '+/=.:$%' if char in plain)}]{{10,}}(?<![.:])"


def expand(shape: str) -> str:
    """Expand the placeholders of a shape (`<w36>`, `<U>`, `<=>`, `<_>`) into a regular expression."""
    shape = shape.replace("<U>", _UUID).replace("<=>", _ASSIGNED).replace("<_>", _NAME_JOINT)
    return re.sub(r"<([A-Za-z])(\d+)(,\d+)?(\+)?>", _expand_run, shape)


def _expand_run(match: re.Match[str]) -> str:
    alphabet, least, most, open_end = match.groups()
    # Possessive, so that an open run is matched once without backtracking.
    count = f"{{{least},}}+" if open_end else f"{{{least}{most or ''}}}"
    return f"[{ALPHABETS[alphabet]}]{count}"


# Characters before an assignment in which its name may start.
NAME_REACH = 72
# Longest value that a later word of its sentence may call a secret.
LONGEST_SPOKEN = 4096

# A quote followed by a value, or an assignment sign and an unquoted value. A lookahead matches the value, so that an
# assignment inside another one is found too. The value must have a feature that is rare in words: a digit, a symbol,
# alternating case, or very many letters.
_RARE_IN_WORDS = r"(?=\S{0,80}?(?:[0-9!@#$^*~]|[a-z][A-Z][a-z]?[A-Z]|[A-Za-z]{12}))"
_ASSIGNMENT = (
    rf"[\"'`]{_RARE_IN_WORDS}(?=([^\s\"'`\\<>]{{6,512}}))"
    r"|(?:=>|:=|->|<-|\?=|\|\||[=:](?:[ \t][|>][+\-]?\r?\n[ \t]{1,16})?|%3[AaDd](?:%22)?|>\s{0,20})"
    rf"[ \t]{{0,4}}{_RARE_IN_WORDS}"
    r"(?=([^\s\"'`\\<>,;&|(){}\[\]=?]{6,512}={0,3}(?::\w{8,200})?))"
)
_REST = r"[^\s\"'`\\<>,;&|(){}\[\]]*+"
# A word that announces a secret in a sentence, or before the value of an option.
_SPOKEN = (
    r"(?:token|secret|key|credentials?|passw(?:or[dt]|d)|passphrase|pwd|pat|kennwort|geheimnis|schl(?:\u00fc|ue)ssel)"
    r"(?!\w|[.\-]\w)"
)
# Most words between that word and its value; a value that is short or may be a hash needs the words of `_LEADS_TO`.
WORDS_BETWEEN = 8
SHORTEST_FAR = 16
_NEXT_WORD = r"(\s{0,9})(\S{1,4096})"
_IN_WORD = r"[^\s\"'`\\<>,;(){}\[\]*|:=\u2190-\u21ff][^\s\"'`\\<>,;(){}\[\]]*(?<![.:!?*|])"
_LEADS_TO = (
    r"(?: ?(?:(?:for|of|in|on|at|f\u00fcr|von|vom|zu|im|der|des)(?: [\w.\-]{1,20}){1,4}?"
    r"|is|was|are|be|been|being|now|with|value|named|to|as|it|like|set|new|old|current|currently|changed|rotated|we|i|you"
    r"|use|used|uses|should|must|may|can|will|has|have|had|here|by|from|the|our|a|equals|called|reads|says"
    r"|ist|war|sei|lautet|hei\u00dft|heisst|hat|den|dem|das|wert|auf|mit|als|jetzt|nun|neue[rns]?|alte[rns]?|aktuell|wird"
    r"|soll|muss|wir|nehmen|hier)(?= |\Z))*"
)
# The reverse order: a value, then a phrase that calls it the token of something.
_SPOKEN_AFTER = (
    r"(?:\s(?:as|als)\s(?:(?:the|our|my|an?|its|your)\s)?|(?:\s(?:is|was)\s|,\s|\s?\(|\s[\-\u2013\u2014]\s)"
    r"(?:the|our|my|an?|its|your)\s|\s(?:ist|war)\s(?:das|der|die|unser|mein|dein|ein)\s)"
    r"((?:\s{0,2}[\w.\-]{1,20}\s){0,4}?(?:token|secret|key|credential|passw(?:or)?[dt]|passphrase|kennwort|geheimnis))\b"
    r"(?!-|\s{1,3}(?!(?:and|at|but|by|for|from|in|of|on|or|that|to|when|which|with|und|oder|f\u00fcr|im|zu[mr]|auf|mit)\b)\w)"
)
# An ampersand belongs to a password unless it starts the next query field, an entity or another command.
_AFTER_AND = r"(?:&(?!&|[\w.\-%\[\]]{1,60}=|(?:[a-z]{2,6}|#\d{1,5});)[^\s\"'`\\<>,;&|(){}\[\]]++)++"
_NAME = r"[\w.\- ]*"
# A name with a type annotation, or with a call around the value: `token: str = "…"`, `token = bytes.fromhex("…")`.
_DECLARED = (
    r"(\w{2,60})\??(?:\s?:\s?[&\w\[\]'.]{2,20}(?: str)?\s?=\s?"
    r"|\s?:?=\s?(?:new |await )?[A-Za-z][\w.:]{1,30}\()[\"'`]?\Z"
)
_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


def find_assigned(text: str) -> list[tuple[int, int, str]]:
    """Return the spans of secret values that are assigned to a name, each with its rule."""
    spans = []
    judged = covered = 0
    for match in compiled(_ASSIGNMENT).finditer(text):
        quoted = match.lastindex == 1
        value = match[1] if quoted else match[2].rstrip(".:")
        start = match.start(1 if quoted else 2)
        end = start + len(value)
        called = not quoted and compiled(r" ?\{|[(\[]|<(?!/)").match(text, end)
        # Skip code, parts of a secret, and the rest of a value that was already judged: `a:b:c` has one value.
        if called or start < covered or (match.start() < judged and text[match.start()] == ":"):
            continue
        judged = 0 if quoted else end
        in_query = text[max(0, match.start() - 4) : match.start()] in ("?key", "&key")
        rule = rule_for_value(_name_before(text, match.start()), value, spoken=in_query)
        if rule:
            covered = _end_of_value(text, end, value, whole=quoted or rule != "password")
            spans.append((start, covered, rule))
    return spans


def find_spoken(text: str) -> list[tuple[int, int, str]]:
    """Return the spans of random values that a word of the same sentence calls a secret, each with its rule."""
    spans = []
    for match in compiled(_SPOKEN, re.IGNORECASE).finditer(text):
        start, value = _value_behind(text, match.end())
        assigned = text[match.end() : match.end() + 3].lstrip("\"'`*").startswith((":", "="))
        if value and (rule := rule_for_value(_name_at_word(text, match), value, spoken=not assigned)):
            spans.append((start, start + len(value), rule))
    for match in compiled(_SPOKEN_AFTER, re.IGNORECASE).finditer(text):
        reach = text[max(0, match.start() - LONGEST_SPOKEN) : match.start()].rstrip("\"'`)")
        end = max(0, match.start() - LONGEST_SPOKEN) + len(reach)
        value = reach[max(map(reach.rfind, " \n\t\"'`(")) + 1 :]
        if is_random_or_digits(value) and (rule := rule_for_value(match[1], value, spoken=True)):
            spans.append((end - len(value), end, rule))
    return spans


def _name_at_word(text: str, match: re.Match[str]) -> str:
    """Return the name that ends in this secret word; a word with an umlaut counts as "key"."""
    return "key" if match[0].lower().startswith("schl") else _name_before(text, match.end())


def _value_behind(text: str, end: int) -> tuple[int, str]:
    """Return the start and text of the random value that follows a word in its sentence; (0, "") if none does."""
    between: list[str] = []
    at = end
    while len(between) <= WORDS_BETWEEN and (word := compiled(_NEXT_WORD).match(text, at)):
        if "\n" in word[1] and text[at - 1] not in ":|>":
            break
        value = compiled(_IN_WORD).search(word[2])
        if value and not word[1]:  # a path, a call, or the rest of a name
            break
        if value and compiled(_RARE_IN_WORDS).match(value[0]) and is_random_or_digits(value[0]):
            plain = len(value[0]) < SHORTEST_FAR or is_hash(value[0])
            return (word.start(2) + value.start(), value[0]) if _leads_to(between, plain=plain) else (0, "")
        between += [value[0].lower().rstrip(".:!?")] if value else []
        at = word.end()
        if word[2].endswith((".", "!", "?", ";")):
            break
    return 0, ""


def _leads_to(between: list[str], *, plain: bool) -> bool:
    """Tell whether the words before a value introduce a secret, not an id; a `plain` value needs a stricter match."""
    if between and not words_of(secret_values.PLAIN_NAMES).isdisjoint((between[0], between[-1])):
        return False
    return not plain or bool(compiled(_LEADS_TO).fullmatch(" ".join(between)))


def _end_of_value(text: str, end: int, value: str, *, whole: bool) -> int:
    """Return the end of a secret value; a very long value, or one cut at a sign of code, is extended."""
    goes_on = len(value) >= 512 or value.endswith("=") or text[end : end + 1] in ("=", "?")
    rest = compiled(_REST).match(text, end) if goes_on else None
    end = rest.end() if rest else end
    continued = None if whole else compiled(_AFTER_AND).match(text, end)
    return continued.end() if continued else end


def _name_before(text: str, end: int) -> str:
    """Return the name that ends before an assignment: an identifier, or a few words of one line."""
    tail = text[max(0, end - NAME_REACH) : end].removesuffix("%22")
    stripped = tail.rstrip()
    name = _last_name((stripped if stripped.endswith((":", "=")) else tail).rstrip(" \t\"'`])\\=:+?!|<>,(-"))
    if around := compiled(_DECLARED).search(tail):
        name = around[1]
    elif name.lower() in ("value", "default"):
        # `name: API_TOKEN` and `value: …` are two fields; the first one holds the name.
        end = text.rfind(name, 0, end)
        name = _last_name(text[max(0, end - NAME_REACH) : end].rstrip(" \t\r\n\"'`,;{=:"))
    return name


def _last_name(tail: str) -> str:
    match = compiled(_NAME).match(tail[::-1])
    return match[0][::-1].strip() if match else ""


def rule_for_value(name: str, value: str, *, spoken: bool = False) -> str | None:
    """Return the rule that makes a value secret, given the name it is assigned to or named by; None if it is none."""
    words = _words_of_name(name)
    joined = "".join(words[-5:])
    if not words or _is_plain(words):
        return None
    secret = _is_secret_name(name, words, joined)
    if secret or value.isdigit() or is_random(value):
        provider = _provider_of(name, value, secret or words[-1] == "key")
        if provider:
            return provider
    if joined.endswith(_endings(secret_values.PASSWORD_NAMES)) or words[-1] in words_of(secret_values.PASSWORD_WORDS):
        return "password" if is_password(value) else None
    secret = secret or _is_key(words, spoken or not is_hash(value))
    return "generic-secret" if secret and "://" not in value and is_random_or_digits(value) else None


def rule_for_json_value(names: tuple[str, ...], value: str, *, alone: bool) -> str | None:
    """Return the rule that makes a value secret below these JSON keys; None if the last key is harmless."""
    words = _words_of_name(names[-1])
    if not (alone or is_random_or_digits(value)) or (words and _is_plain(words)):
        return None
    return next(filter(None, (rule_for_value(name, value) for name in reversed(names))), None)


def _words_of_name(name: str) -> list[str]:
    """Split a name into lower-case words, without trailing words such as `value` or `prod`."""
    words = [word.lower() for word in compiled(_NAME_WORD).findall(name)]
    while words and words[-1] in words_of(secret_values.TAIL_WORDS):
        words.pop()
    if words and words[-1] in ("tokens", "secrets", "keys", "passwords"):
        words[-1] = words[-1][:-1]
    return words


def _is_plain(words: list[str]) -> bool:
    """Tell whether the last words of a name mark its value as harmless, such as `id` or `public key`."""
    return words[-1] in words_of(secret_values.PLAIN_NAMES) or any(
        "".join(words[-count:]) in words_of(secret_values.PUBLIC_NAMES) for count in (1, 2, 3)
    )


def _is_secret_name(name: str, words: list[str], joined: str) -> bool:
    """Tell whether a name says that its value is secret."""
    if joined.endswith(_endings(secret_values.SECRET_NAMES)) or words[-1] in words_of(secret_values.SECRET_WORDS):
        return True
    # Inside a sentence only the last word counts: "the token bucket of build: …" is about a build.
    return " " not in name and not words_of(secret_values.SECRET_STEMS).isdisjoint(words)


@cache
def _endings(text: str) -> tuple[str, ...]:
    """Return the words of a list as a tuple, for `str.endswith`."""
    return tuple(words_of(text))


def _is_key(words: list[str], alone: bool) -> bool:
    """Tell whether a name ends in a secret key: `acme_key` does, `cache_key` does not, a bare `key` only if `alone`."""
    return words[-1] == "key" and (words[-2] not in words_of(secret_values.PLAIN_KEYS) if len(words) > 1 else alone)


@cache
def _contexts() -> dict[str, list[tuple[str, str]]]:
    """Map each word that names a provider to its rules and shapes."""
    contexts: dict[str, list[tuple[str, str]]] = {}
    for rule, words, shape in secret_formats.CONTEXT:
        for word in words.split():
            contexts.setdefault(word, []).append((rule, f"(?:{shape})"))
    return contexts


def _provider_of(name: str, value: str, named_secret: bool) -> str | None:
    """Return the rule of the provider that a name mentions, if the value has the shape of its secrets."""
    lower = name.lower()
    contexts = _contexts()
    for word in filter(lower.__contains__, contexts):
        # For code hosts and CI the name alone is not enough: their names are often assigned hashes and ids.
        alone = lower.endswith(word.rstrip("_-")) and word not in words_of(secret_values.CODE_HOSTS)
        if _starts_word(name, lower.find(word)) and (named_secret or alone):
            for rule, shape in contexts[word]:
                exact = compiled(shape).fullmatch(value) and is_varied(value)
                if exact or (is_random_or_digits(value) and compiled(at_other_lengths(shape)).fullmatch(value)):
                    return rule
    return None


def _starts_word(name: str, at: int) -> bool:
    """Tell whether a word starts at a position: `myBoxKey` and `my_box_key` mention a box, `toolbox_key` does not."""
    return at == 0 or not name[at - 1].isalpha() or (name[at].isupper() and name[at - 1].islower())


RULES_VERSION = secret_formats.RULES_VERSION

Span = tuple[int, int, str]

# A redaction can expose a neighbour (a token glued to another), so the search repeats until nothing is found.
PASSES = 12
# No token with its prefix is shorter than this; shorter words are not searched for prefixes.
SHORTEST_TOKEN = 16


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace every secret by `[redacted:<rule>]`; return the clean text and the rules that fired, in order."""
    fired: dict[str, None] = {}
    for _ in range(PASSES):
        spans = _merge_overlaps(_find_spans(_mask_redactions(text)))
        if not spans:
            break
        fired.update((rule, None) for _, _, rule in spans)
        text = _replace(text, spans)
    return text, tuple(fired)


def redact_json_value(names: tuple[str, ...], text: str) -> tuple[str, tuple[str, ...]]:
    """Redact the words of a JSON value that its keys (nearest last) call secret; return text and rules fired."""
    rules = {word: rule_for_json_value(names, word, alone=word == text) for word in text.split()} if names else {}
    fired = {word: rule for word, rule in rules.items() if rule}
    for word in sorted(fired, key=len, reverse=True):
        text = text.replace(word, f"[redacted:{fired[word]}]")
    return text, tuple(dict.fromkeys(fired.values()))


@cache
def rule_names() -> frozenset[str]:
    """Return the names of all rules that can fire."""
    tokens = (*secret_formats.PREFIXED, *secret_formats.LOOSE, *secret_formats.SHAPED)
    named = {row[0] for row in (*tokens, *secret_formats.CONTEXT, *secret_values.WORDED)}
    return frozenset(named | {"generic-secret", "password", "tenant-address", "kubernetes-secret"})


def _mask_redactions(text: str) -> str:
    """Mask the marks of earlier redactions, at equal length, with a character that no rule takes for a secret."""
    if "[redacted:" not in text:
        return text
    return compiled(r"\[redacted:([a-z0-9\-]{1,40})\]").sub(_mask_redaction, text)


def _mask_redaction(match: re.Match[str]) -> str:
    return "[" * len(match[0]) if match[1] in rule_names() else match[0]


def _replace(text: str, spans: list[Span]) -> str:
    """Replace each span of a text by the mark of its rule."""
    parts: list[str] = []
    done = 0
    for start, end, rule in spans:
        parts += (text[done:start], f"[redacted:{rule}]")
        done = end
    return "".join((*parts, text[done:]))


def _merge_overlaps(spans: list[Span]) -> list[Span]:
    """Sort spans and merge overlapping ones under the rule of the first."""
    kept: list[Span] = []
    for start, end, rule in sorted(spans, key=lambda span: (span[0], -span[1])):
        if kept and start < kept[-1][1]:
            first, last, joined = kept.pop()
            start, end, rule = first, max(last, end), joined
        kept.append((start, end, rule))
    return kept


def _find_spans(text: str) -> list[Span]:
    """Return all spans of secrets in a text; of two equal spans the more exact rule comes first."""
    spans: list[Span] = []
    long_words = " ".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN])
    if long_words:
        spans = _find_by_keyword(_token_rules(), _TOKEN_HEAD, long_words, text)
    return spans + _find_by_keyword(_phrase_rules(), _PHRASE_HEAD, text.lower(), text) + find_assigned(text)


# --- tokens and phrases: rules behind a keyword ---


class Rule:
    """One expression of the table and the test that its match must pass; at other lengths a match must look random."""

    __slots__ = ("_flags", "_shape", "_skip", "_test", "name", "order")

    count = 0

    def __init__(self, name: str, shape: str, test: str, skip: int = 0, flags: int = 0) -> None:
        self.name = name
        self.order = Rule.count  # of two rules with the same match, the first in the table wins
        Rule.count += 1
        self._shape = shape
        self._test = test
        self._skip = skip  # length of the prefix: redacted with the token, but not part of the randomness test
        self._flags = flags

    def find(self, text: str, way: int) -> list[Span]:
        """Return the spans of this rule's secrets, using its exact (`way` 0) or its looser expression (`way` 1)."""
        spans = []
        for expression, test in self.expressions()[way : way + 1]:
            for match in compiled(expression, self._flags).finditer(text):
                group = match.lastindex or 0
                if _TESTS[test](match, match[group][self._skip :]) and not _is_inside_base64(match, group):
                    spans.append((*match.span(group), self.name))
        return spans

    def expressions(self) -> list[tuple[str, str]]:
        """Return the shape and the same shape at other lengths, each with its test."""
        other = at_other_lengths(self._shape)
        return [(self._shape, self._test)] + [(other, "random_or_digits")] * (other != self._shape)


class PrefixRule(Rule):
    """A token that begins with a prefix. A weak prefix must start a word, and the rest must look random.

    The expressions are built when the prefix occurs: there are hundreds, and a hook needs none of them.
    """

    __slots__ = ("_prefix", "_weak")

    def __init__(self, name: str, prefix: str, shape: str, weak: bool) -> None:
        super().__init__(name, shape, "random" if weak else "varied", skip=len(prefix))
        self._prefix = prefix
        self._weak = weak

    def expressions(self) -> list[tuple[str, str]]:
        """Return the expressions for the exact shape and for other lengths, each with its test."""
        # The lookbehind follows the prefix: a regular expression that begins with fixed text searches much faster.
        prefix = re.escape(self._prefix)
        start = rf"({prefix}(?<![\w\-]{prefix})" if self._weak else f"({prefix}(?<![A-Za-z0-9]{prefix})"
        other = at_other_lengths(self._shape, open_end=True) if self._weak else any_run(self._shape)
        test = "mixed" if self._weak and "<h" not in self._shape.lower() and "<U>" not in self._shape else "random"
        return [(f"{start}{self._shape}){_end_guard(self._shape)}", self._test), (f"{start}{other})", test)]


class SpokenRule(Rule):
    """A value next to a word that calls it a secret, in a sentence or as an option of a command."""

    __slots__ = ()

    def find(self, text: str, way: int) -> list[Span]:
        """Return the spans of the values, each with the rule that fits it."""
        return [] if way else find_spoken(text)


class TenantRule(Rule):
    """The address of a customer's own server at a hosting provider."""

    __slots__ = ()

    def __init__(self, host: str) -> None:
        super().__init__("tenant-address", host, "named", flags=re.IGNORECASE)

    def expressions(self) -> list[tuple[str, str]]:
        """Return the regular expression for `NAME=https://customer.<host>`, an address that identifies a customer."""
        return [(secret_values.TENANT_ADDRESS.format(re.escape(self._shape)), self._test)]


# Keywords by the first characters of their first word. Most texts share few such heads with the table, so most
# keywords are never searched for. Keywords that may stand inside a word are under the empty head.
Index = dict[bytes, list[tuple[str, Rule]]]

_TOKEN_HEAD = 2
_PHRASE_HEAD = 4
_SEPARATORS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))


def _words(text: str) -> list[bytes]:
    """Split a text into its ASCII letter and digit runs, as bytes."""
    return text.encode("ascii", "replace").translate(_SEPARATORS).split()


def _add(index: Index, keyword: str, rule: Rule, size: int) -> None:
    """Add a rule to the index under the first characters of its keyword."""
    head = _words(keyword)[0][:size] if keyword[0].isalnum() else b""
    index.setdefault(head, []).append((keyword.removeprefix("*"), rule))


def _find_by_keyword(index: Index, size: int, haystack: str, text: str) -> list[Span]:
    """Run the rules whose keyword occurs in the haystack and return their spans in the text."""
    heads = {word[:size] for word in _words(haystack)}
    heads.add(b"")
    rules = {rule for head in heads & index.keys() for keyword, rule in index[head] if keyword in haystack}
    in_order = sorted(rules, key=lambda rule: rule.order)
    return [span for way in (0, 1) for rule in in_order for span in rule.find(text, way)]


@cache
def _token_rules() -> Index:
    """Build the index of rules for tokens by prefix or fixed shape."""
    index: Index = {}
    for table in (secret_formats.PREFIXED, secret_formats.LOOSE):
        for name, prefixes, shape in table:
            for prefix in prefixes.split():
                weak = (
                    table is secret_formats.LOOSE
                    or len(prefix) <= 3
                    or prefix in words_of(secret_values.COMMON_PREFIXES)
                )
                _add(index, prefix, PrefixRule(name, prefix, shape, weak), _TOKEN_HEAD)
    for name, keywords, shape, test in secret_formats.SHAPED:
        rule = Rule(name, shape, test)
        for keyword in keywords.split():
            _add(index, keyword, rule, _TOKEN_HEAD)
    return index


def _end_guard(shape: str) -> str:
    """Return the lookahead after a token, so that a longer run of its alphabet is no match."""
    if shape.endswith(("+>", "}", "}+", "=", ")?")):
        return ""
    alphabet = shape[shape.rfind("<") + 1 :][:1]
    return {"u": r"(?![\w\-])", "e": r"(?![\w=\-])", "c": r"(?![\w\-])", "b": r"(?![\w+/])"}.get(alphabet, r"(?!\w)")


@cache
def _phrase_rules() -> Index:
    """Build the index of rules for secrets within a phrase, an address or a manifest."""
    index: Index = {}
    for name, keywords, shape, test in secret_values.WORDED:
        rule = Rule(name, shape, test, flags=re.IGNORECASE)
        for keyword in keywords.split(","):
            _add(index, keyword, rule, _PHRASE_HEAD)
    spoken = SpokenRule("generic-secret", "", "any")
    for word in secret_values.SPOKEN_WORDS.split(","):
        _add(index, word, spoken, _PHRASE_HEAD)
    for host in secret_values.TENANT_HOSTS.split():
        _add(index, host, TenantRule(host), _PHRASE_HEAD)
    _add(index, "kind", ManifestRule("kubernetes-secret", _MANIFEST_DATA, "any", flags=re.MULTILINE), _PHRASE_HEAD)
    return index


# The data block of a manifest: all deeper indented lines in YAML, all up to the closing brace in JSON.
_MANIFEST_DATA = (
    r"^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+\S[^\n]{0,4000}(?:\n|\Z)){1,200})"
    r"|[\"'](?:data|stringData)[\"']\s{0,4}:\s{0,4}\{([^{}]{1,20000})"
)
_MANIFEST_VALUE = r"[\w.\-]+[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'|>$<{\[,][^\s\"',]*)"


class ManifestRule(Rule):
    """Every value in the data block of a Kubernetes Secret manifest, however harmless it looks."""

    def find(self, text: str, way: int) -> list[Span]:
        """Return the spans of the values in the data blocks."""
        if not compiled(r"(?i:kind[\"']?\s{0,3}:\s{0,3}[\"']?secret\b)").search(text):
            return []
        values = compiled(_MANIFEST_VALUE)
        return [
            (*value.span(1), self.name)
            for start, end, _ in super().find(text, way)
            for value in values.finditer(text, start, end)
            if not is_placeholder(value[1])
        ]


# --- tests that a match must pass ---


def _is_login(match: re.Match[str], value: str) -> bool:
    """Tell whether the text beside a user name is a password: no placeholder and not the name (`test:test`)."""
    return bool(value) and value != match[1] and not is_placeholder(value) and not value.isspace()


def _is_header(match: re.Match[str], value: str) -> bool:
    """Tell whether an Authorization header holds a credential, not plain words or code."""
    return is_random(value) or (has_digit_or_mixed_case(value) and len(set(value)) >= 5 and not is_placeholder(value))


def _is_inside_base64(match: re.Match[str], group: int) -> bool:
    """Tell whether a token is part of a longer base64 run, where any short prefix occurs by chance."""
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
    "random_or_digits": lambda match, value: is_random_or_digits(value),
    "password": lambda match, value: is_password(value),
    "login": _is_login,
    "header": _is_header,
}
