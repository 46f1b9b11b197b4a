"""Values assigned to a name: secret if the name says so, or mentions a provider whose secrets have that shape."""

from __future__ import annotations

import re
from functools import cache

from swarmlore.text import secret_rules, secret_words
from swarmlore.text.secret_patterns import at_other_lengths, compiled
from swarmlore.text.secret_values import is_drawn, is_hash, is_password, is_random, is_varied, words_of

# How far before an assignment its name may start.
NAME_REACH = 72
# How long a value may be that a sentence calls a secret behind it.
LONGEST_SPOKEN = 4096

# A quote with a value behind it, or a sign and a value without quotes. The value is only looked at, not consumed, so
# that an assignment inside another one is found as well. It must hold something that is rare in words: a digit, a
# symbol, cases that change to and fro, or very many letters.
_RARE_IN_WORDS = r"(?=\S{0,80}?(?:[0-9!@#$^*~]|[a-z][A-Z][a-z]?[A-Z]|[A-Za-z]{12}))"
_ASSIGNMENT = (
    rf"[\"'`]{_RARE_IN_WORDS}(?=([^\s\"'`\\<>]{{6,512}}))"
    r"|(?:=>|:=|->|<-|\?=|\|\||[=:](?:[ \t][|>][+\-]?\r?\n[ \t]{1,16})?|%3[AaDd](?:%22)?|>\s{0,20})"
    rf"[ \t]{{0,4}}{_RARE_IN_WORDS}"
    r"(?=([^\s\"'`\\<>,;&|(){}\[\]=?]{6,512}={0,3}(?::\w{8,200})?))"
)
_REST = r"[^\s\"'`\\<>,;&|(){}\[\]]*+"
# The word that says secret in a sentence, or before the value of an option.
_SPOKEN = (
    r"(?:token|secret|key|credentials?|passw(?:or[dt]|d)|passphrase|pwd|pat|kennwort|geheimnis|schl(?:\u00fc|ue)ssel)"
    r"(?!\w|[.\-]\w)"
)
# How many words may stand between it and its value; which of them lead to a value that is short or may be a hash.
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
# The other way round: a value, and that it is the token of something.
_SPOKEN_AFTER = (
    r"(?:\s(?:as|als)\s(?:(?:the|our|my|an?|its|your)\s)?|(?:\s(?:is|was)\s|,\s|\s?\(|\s[\-\u2013\u2014]\s)"
    r"(?:the|our|my|an?|its|your)\s|\s(?:ist|war)\s(?:das|der|die|unser|mein|dein|ein)\s)"
    r"((?:\s{0,2}[\w.\-]{1,20}\s){0,4}?(?:token|secret|key|credential|passw(?:or)?[dt]|passphrase|kennwort|geheimnis))\b"
    r"(?!-|\s{1,3}(?!(?:and|at|but|by|for|from|in|of|on|or|that|to|when|which|with|und|oder|f\u00fcr|im|zu[mr]|auf|mit)\b)\w)"
)
# An ampersand belongs to a password unless it begins the next field of a query, an entity, or another command.
_AFTER_AND = r"(?:&(?!&|[\w.\-%\[\]]{1,60}=|(?:[a-z]{2,6}|#\d{1,5});)[^\s\"'`\\<>,;&|(){}\[\]]++)++"
_NAME = r"[\w.\- ]*"
# A name with its type, or with a call around the value: `token: str = "…"`, `token = bytes.fromhex("…")`.
_DECLARED = (
    r"(\w{2,60})\??(?:\s?:\s?[&\w\[\]'.]{2,20}(?: str)?\s?=\s?"
    r"|\s?:?=\s?(?:new |await )?[A-Za-z][\w.:]{1,30}\()[\"'`]?\Z"
)
_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


def find_assigned(text: str) -> list[tuple[int, int, str]]:
    """Return where secret values stand that are assigned to a name, and by which rule."""
    spans = []
    done = covered = 0
    for match in compiled(_ASSIGNMENT).finditer(text):
        quoted = match.lastindex == 1
        value = match[1] if quoted else match[2].rstrip(".:")
        start = match.start(1 if quoted else 2)
        end = start + len(value)
        called = not quoted and compiled(r" ?\{|[(\[]|<(?!/)").match(text, end)
        # Code, part of a secret, or the rest of a value that was judged: `a:b:c` has one value.
        if called or start < covered or (match.start() < done and text[match.start()] == ":"):
            continue
        done = 0 if quoted else end
        asked = text[max(0, match.start() - 4) : match.start()] in ("?key", "&key")
        rule = judge(_name_before(text, match.start()), value, spoken=asked)
        if rule:
            covered = _end_of(text, end, value, whole=quoted or rule != "password")
            spans.append((start, covered, rule))
    return spans


def find_spoken(text: str) -> list[tuple[int, int, str]]:
    """Return where drawn values stand beside a word of the same sentence that says what they are, and by which rule."""
    spans = []
    for match in compiled(_SPOKEN, re.IGNORECASE).finditer(text):
        start, value = _value_behind(text, match.end())
        assigned = text[match.end() : match.end() + 3].lstrip("\"'`*").startswith((":", "="))
        if value and (rule := judge(_spoken_name(text, match), value, spoken=not assigned)):
            spans.append((start, start + len(value), rule))
    for match in compiled(_SPOKEN_AFTER, re.IGNORECASE).finditer(text):
        reach = text[max(0, match.start() - LONGEST_SPOKEN) : match.start()].rstrip("\"'`)")
        end = max(0, match.start() - LONGEST_SPOKEN) + len(reach)
        value = reach[max(map(reach.rfind, " \n\t\"'`(")) + 1 :]
        if is_drawn(value) and (rule := judge(match[1], value, spoken=True)):
            spans.append((end - len(value), end, rule))
    return spans


def _spoken_name(text: str, match: re.Match[str]) -> str:
    """Return the name that ends in a word which says secret; a word with an umlaut stands alone."""
    return "key" if match[0].lower().startswith("schl") else _name_before(text, match.end())


def _value_behind(text: str, end: int) -> tuple[int, str]:
    """Return the drawn value that follows a word in its sentence, and where it starts; or no value."""
    between: list[str] = []
    at = end
    while len(between) <= WORDS_BETWEEN and (word := compiled(_NEXT_WORD).match(text, at)):
        if "\n" in word[1] and text[at - 1] not in ":|>":
            break
        value = compiled(_IN_WORD).search(word[2])
        if value and not word[1]:  # a path, a call, or the rest of a name
            break
        if value and compiled(_RARE_IN_WORDS).match(value[0]) and is_drawn(value[0]):
            plain = len(value[0]) < SHORTEST_FAR or is_hash(value[0])
            return (word.start(2) + value.start(), value[0]) if _leads_to(between, plain=plain) else (0, "")
        between += [value[0].lower().rstrip(".:!?")] if value else []
        at = word.end()
        if word[2].endswith((".", "!", "?", ";")):
            break
    return 0, ""


def _leads_to(between: list[str], *, plain: bool) -> bool:
    """Tell whether the words between speak of a value and not of an id; in plain terms, if it may be something else."""
    if between and not words_of(secret_words.PLAIN_NAMES).isdisjoint((between[0], between[-1])):
        return False
    return not plain or bool(compiled(_LEADS_TO).fullmatch(" ".join(between)))


def _end_of(text: str, end: int, value: str, *, whole: bool) -> int:
    """Return where a secret value ends: one that is very long, or has a sign of code in it, goes on."""
    goes_on = len(value) >= 512 or value.endswith("=") or text[end : end + 1] in ("=", "?")
    rest = compiled(_REST).match(text, end) if goes_on else None
    end = rest.end() if rest else end
    more = None if whole else compiled(_AFTER_AND).match(text, end)
    return more.end() if more else end


def _name_before(text: str, end: int) -> str:
    """Return the name that ends before an assignment: an identifier, or a few words of one line."""
    tail = text[max(0, end - NAME_REACH) : end].removesuffix("%22")
    stripped = tail.rstrip()
    name = _last_name((stripped if stripped.endswith((":", "=")) else tail).rstrip(" \t\"'`])\\=:+?!|<>,(-"))
    if around := compiled(_DECLARED).search(tail):
        name = around[1]
    elif name.lower() in ("value", "default"):
        # `name: API_TOKEN` and `value: …` are two fields; the first one names.
        end = text.rfind(name, 0, end)
        name = _last_name(text[max(0, end - NAME_REACH) : end].rstrip(" \t\r\n\"'`,;{=:"))
    return name


def _last_name(tail: str) -> str:
    match = compiled(_NAME).match(tail[::-1])
    return match[0][::-1].strip() if match else ""


def judge(name: str, value: str, *, spoken: bool = False) -> str | None:
    """Return the rule by which a value is secret, given the name it is assigned to, or that stands before it."""
    words = _words(name)
    joined = "".join(words[-5:])
    if not words or _is_plain(words):
        return None
    secret = _is_secret_name(name, words, joined)
    if secret or value.isdigit() or is_random(value):
        provider = _provider_of(name, value, secret or words[-1] == "key")
        if provider:
            return provider
    if joined.endswith(_endings(secret_words.PASSWORD_NAMES)) or words[-1] in words_of(secret_words.PASSWORD_WORDS):
        return "password" if is_password(value) else None
    secret = secret or _is_key(words, spoken or not is_hash(value))
    return "generic-secret" if secret and "://" not in value and is_drawn(value) else None


def judge_under(names: tuple[str, ...], value: str, *, alone: bool) -> str | None:
    """Return the rule by which a value is secret below keys of JSON: one of them says so, and the last is not plain."""
    words = _words(names[-1])
    if not (alone or is_drawn(value)) or (words and _is_plain(words)):
        return None
    return next(filter(None, (judge(name, value) for name in reversed(names))), None)


def _words(name: str) -> list[str]:
    """Return the words of a name, without those behind it that say nothing of what it is."""
    words = [word.lower() for word in compiled(_NAME_WORD).findall(name)]
    while words and words[-1] in words_of(secret_words.TAIL_WORDS):
        words.pop()
    if words and words[-1] in ("tokens", "secrets", "keys", "passwords"):
        words[-1] = words[-1][:-1]
    return words


def _is_plain(words: list[str]) -> bool:
    return words[-1] in words_of(secret_words.PLAIN_NAMES) or any(
        "".join(words[-count:]) in words_of(secret_words.PUBLIC_NAMES) for count in (1, 2, 3)
    )


def _is_secret_name(name: str, words: list[str], joined: str) -> bool:
    if joined.endswith(_endings(secret_words.SECRET_NAMES)) or words[-1] in words_of(secret_words.SECRET_WORDS):
        return True
    # Inside a sentence only the last word counts: "the token bucket of build: …" is about a build.
    return " " not in name and not words_of(secret_words.SECRET_STEMS).isdisjoint(words)


@cache
def _endings(text: str) -> tuple[str, ...]:
    return tuple(words_of(text))


def _is_key(words: list[str], alone: bool) -> bool:
    """Tell whether words end in a key that may be secret: `acme_key` is one, `cache_key` is not; a `key` perhaps."""
    return words[-1] == "key" and (words[-2] not in words_of(secret_words.PLAIN_KEYS) if len(words) > 1 else alone)


@cache
def _contexts() -> dict[str, list[tuple[str, str]]]:
    """Map each word that names a provider to rules and shapes."""
    contexts: dict[str, list[tuple[str, str]]] = {}
    for rule, words, shape in secret_rules.CONTEXT:
        for word in words.split():
            contexts.setdefault(word, []).append((rule, f"(?:{shape})"))
    return contexts


def _provider_of(name: str, value: str, named_secret: bool) -> str | None:
    """Return the provider that a name mentions if the value has the shape of its secrets."""
    lower = name.lower()
    contexts = _contexts()
    for word in filter(lower.__contains__, contexts):
        # Hosts and builders of code assign hashes and ids all day; of others the name alone says enough.
        alone = lower.endswith(word.rstrip("_-")) and word not in words_of(secret_words.CODE_HOSTS)
        if _starts_word(name, lower.find(word)) and (named_secret or alone):
            for rule, shape in contexts[word]:
                exact = compiled(shape).fullmatch(value) and is_varied(value)
                if exact or (is_drawn(value) and compiled(at_other_lengths(shape)).fullmatch(value)):
                    return rule
    return None


def _starts_word(name: str, at: int) -> bool:
    """Tell whether a word starts at a place: `myBoxKey` and `my_box_key` mention a box, `toolbox_key` does not."""
    return at == 0 or not name[at - 1].isalpha() or (name[at].isupper() and name[at - 1].islower())
