"""Statements: parse a short text into the tokens that matter, each with the word that modifies it ("not", "before").

"Use pnpm, not npm" becomes use · pnpm · not|npm, and so does "Instead of npm, use pnpm", in another order. Two texts
with the same tokens in the same order say the same; `domain.policy.contradiction` compares the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from swarmlore.domain.language.tokenizer import stem

# Words that can be added or left out without changing the content of a lesson.
_FILLERS = """
    a an the this that these those it its itself they them their there i you he she we us our ours your yours my me
    is are was were be been being am do does did doing have has had having will would shall get gets got
    and also too as so such very really quite just simply basically actually please note remember ensure etc eg ie e.g
    i.e namely okay ok well hence thus therefore thereby else btw fyi imo kindly always must should ought can could may
    might then which who whom whose what whatever how respectively currently nowadays own here way thing things plus
    but although though however yet still already explicitly really certainly definitely obviously ever
    importantly generally like upon happen happens happened occur occurs occurred properly correctly
    specifically particular tip hint reminder lesson learned fact careful aware sure vs versus
"""
FILLERS = frozenset(_FILLERS.split())

# Small words that open a phrase which may stand at either end of a sentence without changing its meaning.
_OPENERS = """
    in on at for of with to into onto via through within across per about during if when whenever while where as since
    because
"""
OPENERS = frozenset(_OPENERS.split())

# Small words that modify the next word: "before x" differs from "after x" and from "x".
_BINDERS = (
    "before after from over under above below until till than by or only outside against except unless beyond behind"
)
BINDERS = frozenset(_BINDERS.split())

_NEGATORS = "not no never none nothing neither nor without nobody nowhere"
NEGATORS = frozenset(_NEGATORS.split())

_VERBS = """
    use run set add need require live listen return throw raise fail break support expect own maintain approve review
    lead handle contain hold store define host serve generate produce create publish accept reject send receive read
    write depend belong take has have keep start stop wait retry expire mean allow deny cause trigger prefer avoid
    enable disable call put install deploy push pull commit merge pin log
"""
VERBS = frozenset(map(stem, _VERBS.split()))

# Contractions, with and without their apostrophe.
_SHORT = "can could did do does had has have is are must need should was were would ai"
CONTRACTIONS = {f"{verb}nt": verb for verb in _SHORT.split()} | {"cant": "can", "wont": "will", "shant": "shall"}

# Phrases and their shorter form; "!" is a negation.
_PHRASES = """
    in order to = to; so as to = to; make sure =; makes sure =; be sure to =; make certain =; do not forget to =;
    do not forget =; remember to =; keep in mind =; note that =; be aware that =; it is important to =; it is =;
    there is =; there are =; instead of using = !; instead of = !; rather than using = !; rather than = !;
    as opposed to = !; in place of = !; prior to = before; ahead of = before;
    subsequent to = after; no longer = !; not any more = !; not anymore = !; not only =; but also =; as well as =;
    as well =; such as =; due to = because; because of = because; owing to = because; on account of = because;
    the reason is = because; so that = to; in case of = if; in case = if; as soon as = when; as long as = if;
    every time = when; each time = when; whenever = when; at the time = when; by means of = with;
    with the help of = with; by using = with; through the use of = with; make use of = use; makes use of = use;
    is able to = can; are able to = can; need to = must; needs to = must; needed to = must; have to = must;
    has to = must; had to = must; is required to = must; are required to = must; are supposed to = should;
    is supposed to = should; are meant to = should; is meant to = should; want to =; wants to =; going to =;
    a lot of = many; lots of = many; a number of = several; turn on = enable; turned on = enable; turns on = enable;
    switch on = enable; switched on = enable; turn off = disable; turned off = disable; turns off = disable;
    switch off = disable; switched off = disable; get rid of = remove; take out = remove; set up = setup;
    sets up = setup; setting up = setup; log in = login; logs in = login; sign in = login; log out = logout;
    sign out = logout; clean up = cleanup; cleans up = cleanup; start up = start; starts up = start;
    shut down = shutdown; shuts down = shutdown; time out = timeout; times out = timeout; timed out = timeout;
    timing out = timeout; look at = check; look into = check; pull request = pr; pull requests = pr;
    merge request = pr; environment variable = envvar; environment variables = envvar; env var = envvar;
    env vars = envvar; env variable = envvar; env variables = envvar; command line = cli; data base = database;
    file name = filename; time stamp = timestamp; user name = username; code base = codebase; back end = backend;
    front end = frontend; white space = whitespace; run time = runtime; work flow = workflow;
    sub directory = subfolder; at least = >=; no less than = >=; no fewer than = >=; not less than = >=;
    a minimum of = >=; at minimum = >=; at most = <=; no more than = <=; not more than = <=; a maximum of = <=;
    up to = <=; more than = >; greater than = >; higher than = >; larger than = >; bigger than = >; less than = <;
    fewer than = <; lower than = <; smaller than = <; equal to = ==; equals to = ==; not equal = !=; out of = from;
    as of = since; starting with = since; starting from = since; right before = before; right after = after;
    just before = before; just after = after; on top of = above; and or = or; or else = or; all of = all;
    each of = all; every single = all; any of = any; only if = only when; must be set to = set to; all the time =;
    at all times =; under no circumstances = !; on no account = !; by no means = !; not allowed to = !;
    is forbidden to = !; refrain from using = !use; refrain from = !; stay away from = !use; steer clear of = !use;
    stop using = !use; avoid using = !use; do not have to = optional; does not have to = optional;
    do not need to = optional; does not need to = optional; need not = optional; is not required to = optional;
    are not required to = optional; not strictly = optional;
    otherwise = or
"""


def _phrases() -> dict[str, dict[tuple[str, ...], tuple[str, ...]]]:
    """Return the phrase table by first word, longest phrase first."""
    table: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {}
    pairs = [item.split(" = ") for item in " ".join(_PHRASES.split()).split("; ")]
    for words in sorted(pairs, key=lambda pair: -len(pair[0].split())):
        source = tuple(words[0].rstrip(" =").split())
        target = " ".join(words[1:]).replace("!use", "not use").split()
        table.setdefault(source[0], {})[source] = tuple("not" if word == "!" else word for word in target)
    return table


PHRASES = _phrases()

# Synonyms in lessons, without words that are also commands or names (run, pull, drop, tmp).
_SAME = """
    all every each entire whole; many multiple several numerous; big large huge; small tiny little; quick fast rapid;
    slow sluggish; start begin commence launch; end finish complete; stop halt cease; delete remove erase;
    change modify alter adjust; show display; hide conceal; check verify validate confirm inspect examine validation;
    fix repair solve resolve; break corrupt; fail crash die; error failure problem issue fault bug;
    need require demand necessary needed required mandatory obligatory compulsory requirement;
    create generate produce creation generation; choose select pick; prefer favor favour; keep retain preserve maintain;
    put place; allow permit; cause trigger; hang freeze stall; sometimes occasionally;
    usually normally typically commonly mostly; rarely seldom; often frequently;
    approximately roughly around circa; enough sufficient; wrong; correct right proper;
    same identical; different distinct; important crucial vital essential critical;
    folder directory dir directories; repo repository repositories; config configuration configure configurations;
    docs documentation doc; dependency dependencies dep deps; argument arg args arguments;
    parameter param params parameters; function func; library lib libs libraries; app application applications;
    database db databases dbs; prod production; dev development; env environment; auth authentication;
    admin administrator; info information; js javascript; ts typescript; postgres postgresql; k8s kubernetes;
    mongo mongodb; node nodejs node.js; vue vuejs vue.js; nextjs next.js; react reactjs react.js; go golang;
    ci cicd ci/cd; pr prs; temp temporary; spec specs specification; performance perf; sync synchronous synchronously;
    async asynchronous asynchronously; deploy deployment deployments; migrate migration migrations;
    install installation; initialize initialise init initialization initialisation; serialize serialise serialization;
    optimize optimise optimization; normalize normalise normalization; authorize authorise authorization;
    execute execution; compile compilation; connect connection connections; expire expiry expiration;
    automatic automatically auto; manual manually; local locally; remote remotely; global globally; direct directly;
    sequential sequentially; parallel concurrently concurrent; color colour; behavior behaviour; center centre;
    cancel cancellation; license licence; developer developers; customer customers; wipe purge; store save persist;
    call invoke; obtain acquire; use utilize utilise employ leverage; try attempt; tell inform notify;
    look appear seem; give provide supply; contain hold; live reside sit; mean imply; depend rely;
    increase raise grow; decrease reduce lower shrink; silently quietly; immediately instantly; eventually finally;
    additional extra further; previous former prior; latest newest; old outdated; broken faulty;
    flaky unstable intermittent; restart relaunch; approval sign-off; example sample; answer reply respond;
    accelerate speed-up; faster quicker; bigger larger; describe explain; fetch retrieve;
    mac macos osx; ios; iphone; people person; prevent avert; uppercase upper-case; lowercase lower-case
"""


def _same() -> dict[str, str]:
    """Map each stem to the stem of its synonym group. The first mention of a word decides its group."""
    table: dict[str, str] = {}
    for group in " ".join(_SAME.split()).split(";"):
        stems = [stem(word) for word in group.split()]
        first = table.get(stems[0], stems[0])
        for each in stems:
            table.setdefault(each, first)
    return table


SAME = _same()


def canonical(word: str) -> str:
    """Return the stem that represents a lower-case word and its synonyms."""
    base = stem(word)
    return SAME.get(base, base)


# Words read as the negation of another: "disable x" is "not enable x".
_DENIED = """
    disable/enable deactivate/enable forbid/allow disallow/allow deny/allow prohibit/allow ban/allow exclude/include
    omit/include false/true incorrect/correct invalid/valid unnecessary/needed unneeded/needed unsupported/supported
    unsafe/safe insecure/secure untrusted/trusted
"""
DENIED = {canonical(pair.split("/")[0]): canonical(pair.split("/")[1]) for pair in _DENIED.split()}

_OPPOSITES = """
    always/never/sometimes/rarely/usually must/may enable/disable use/avoid recommended/discouraged before/after
    first/last left/right top/bottom up/down min/max minimum/maximum sync/async increase/decrease raise/lower
    allow/deny/forbid on/off true/false with/without yes/no add/remove/delete include/exclude start/stop open/close
    lock/unlock above/below over/under inside/outside internal/external public/private local/remote/global read/write
    input/output request/response client/server frontend/backend upstream/downstream success/failure succeed/fail
    pass/fail required/optional mandatory/optional ascending/descending asc/desc newer/older newest/oldest
    latest/earliest new/old next/previous early/late earlier/later more/less/fewer most/least higher/lower high/low
    bigger/smaller greater/lesser better/worse easier/harder stronger/weaker heavier/lighter closer/farther
    cheaper/pricier stricter/looser wider/narrower deeper/shallower rise/fall large/small long/short longer/shorter
    fast/slow faster/slower wide/narrow hot/cold eager/lazy strict/loose lenient/strict mutable/immutable
    static/dynamic manual/automatic explicit/implicit serial/parallel sequential/parallel single/multiple single/double
    safe/unsafe valid/invalid secure/insecure trusted/untrusted encrypted/plaintext compressed/uncompressed
    signed/unsigned cached/uncached blocking/nonblocking stateless/stateful idempotent/nonidempotent
    synchronous/asynchronous incremental/full shallow/deep soft/hard inclusive/exclusive optimistic/pessimistic
    push/pull send/receive upload/download import/export encode/decode encrypt/decrypt compress/decompress
    serialize/deserialize install/uninstall attach/detach connect/disconnect mount/unmount subscribe/unsubscribe
    register/unregister show/hide visible/hidden accept/reject/refuse approve/reject grant/revoke keep/drop
    keep/discard retain/discard append/prepend prefix/suffix leading/trailing inner/outer parent/child
    ancestor/descendant source/target source/destination origin/destination horizontal/vertical row/column width/height
    odd/even positive/negative empty/full all/none all/some all/any everything/nothing everyone/nobody best/worst
    good/bad right/wrong correct/incorrect same/different equal/unequal dev/staging/prod/test debug/release
    primary/replica master/slave leader/follower buy/sell merge/rebase squash/merge tabs/spaces camelcase/snakecase
    uppercase/lowercase upper/lower singular/plural relative/absolute forward/backward forwards/backwards ltr/rtl
    weekday/weekend day/night morning/evening daily/weekly/monthly/hourly/nightly once/twice and/or in/out to/from
    for/against if/unless until/since present/absent known/unknown supported/unsupported supported/deprecated
    deprecated/recommended stable/unstable stable/beta online/offline active/inactive warm/cold foreground/background
    ingress/egress inbound/outbound reader/writer producer/consumer publisher/subscriber bind/unbind freeze/thaw
    pin/unpin stage/unstage block/unblock block/allow quote/unquote escape/unescape wrap/unwrap pack/unpack zip/unzip
    indent/dedent inline/external throw/return throw/catch eager/deferred early/deferred lazily/eagerly
    case-sensitive/case-insensitive linux/macos/windows android/ios unit/integration/e2e get/post/put/patch/delete
"""


def _opposites() -> dict[str, frozenset[str]]:
    """Map each stem to the stems of its opposites."""
    table: dict[str, set[str]] = {}
    for group in _OPPOSITES.split():
        words = {canonical(word) for word in group.split("/")}
        for word in words:
            table.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites()

# Words that limit or reverse a statement: adding or losing one always changes the content.
_WEIGHTY = """
    only except unless until lack lacks miss missing missed fail fails break broken skip ignore prevent refuse forget
    stop drop deprecated obsolete removed partly partially almost nearly half double triple twice rarely hardly
    sometimes usually maybe perhaps possibly probably optionally temporarily experimental exactly approximately
    second third fourth unlike despite instead vice versa none zero unlimited unsupported impossible
    unsafe harmful wrong bad false danger dangerous again former obsolete legacy
"""
# Scopes a statement may be restricted to. Two statements that differ here can both be true.
_SCOPES = """
    dev staging prod production test testing qa preview sandbox ci linux macos mac osx windows wsl
    android ios ubuntu debian alpine fedora arm arm64 x86 amd64 chrome firefox safari edge mobile desktop tablet
    frontend backend client server browser unit integration e2e smoke min max minimum maximum read write reads writes
    request response requests responses input output upload uploads download downloads ingress egress inbound outbound
    width height reader writer producer consumer publisher subscriber admin guest go python rust java kotlin swift ruby
    php javascript typescript css html sql bash
"""
SCOPES = frozenset(map(canonical, _SCOPES.split()))
# Often left out; replacing one by another is caught as a replaced word.
LIGHT = frozenset(("all", "any", "some"))
WEIGHTY = (frozenset(map(canonical, _WEIGHTY.split())) | frozenset(OPPOSITES) | SCOPES) - LIGHT

# Units by dimension, with their size in the first unit of it.
UNITS: dict[str, tuple[str, float]] = {}
for _dimension, _sizes in {
    "ms": "ms:1 msec:1 msecs:1 millisecond:1 milliseconds:1 millis:1 us:0.001 µs:0.001 microsecond:0.001 "
    "microseconds:0.001 ns:0.000001 nanosecond:0.000001 nanoseconds:0.000001 s:1000 sec:1000 secs:1000 second:1000 "
    "seconds:1000 m:60000 min:60000 mins:60000 minute:60000 minutes:60000 h:3600000 hr:3600000 hrs:3600000 "
    "hour:3600000 hours:3600000 d:86400000 day:86400000 days:86400000 w:604800000 week:604800000 weeks:604800000",
    "month": "month:1 months:1 year:12 years:12",
    "B": "B:1 byte:1 bytes:1 kb:1000 KB:1000 kB:1000 kilobyte:1000 kilobytes:1000 mb:1000000 MB:1000000 "
    "megabyte:1000000 megabytes:1000000 gb:1000000000 GB:1000000000 gigabyte:1000000000 gigabytes:1000000000 "
    "tb:1000000000000 TB:1000000000000 terabyte:1000000000000 terabytes:1000000000000 kib:1024 KiB:1024 mib:1048576 "
    "MiB:1048576 Mi:1048576 gib:1073741824 GiB:1073741824 Gi:1073741824",
    "bit": "b:1 bit:1 bits:1 Kb:1000 Kbit:1000 Mb:1000000 Mbit:1000000 Gb:1000000000 Gbit:1000000000",
    "%": "%:1 percent:1 pct:1",
    "char": "char:1 chars:1 character:1 characters:1",
    "": "k:1000 K:1000 x:1 times:1",
    "M": "M:1 million:1",
    "G": "G:1 billion:1",
    "hz": "hz:1 Hz:1 khz:1000 kHz:1000 KHz:1000 mhz:1000000 MHz:1000000 ghz:1000000000 GHz:1000000000",
    "px": "px:1 pixel:1 pixels:1",
    **{unit: f"{unit}:1" for unit in ("T", "em", "rem", "pt", "vh", "vw", "fps", "rpm")},
    "rps": "rps:1 qps:1",
    "bps": "bps:1 kbps:1000 Kbps:1000 mbps:1000000 Mbps:1000000 gbps:1000000000 Gbps:1000000000",
    "cores": "core:1 cores:1 cpu:1 cpus:1",
    "lines": "line:1 lines:1",
    "tokens": "token:1 tokens:1",
}.items():
    for _item in _sizes.split():
        _unit, _size = _item.rsplit(":", 1)
        UNITS[_unit] = (_dimension, float(_size))

_COUNTS = "zero one two three four five six seven eight nine ten eleven twelve"
COUNTS = {word: str(value) for value, word in enumerate(_COUNTS.split())} | {"twice": "2", "thrice": "3", "dozen": "12"}

MAX_DIGITS = 12
OPERATORS = re.compile(r"(<=|>=|==|!=|~=|->|=>|&&|\|\||<|>|=)")
_NUMBER = re.compile(r"([-+]?)v?(\d[\d,_]*(?:\.\d+)*|\.\d+)([A-Za-zµ%]*)\+?")
_THOUSANDS = re.compile(r"\d{1,3}(?:[,_]\d{3})+")
_COMPOUND = re.compile(r"(?=.*[a-z])[A-Za-z]+(?:-[A-Za-z]+)+")
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)-([A-Za-z]+)")
_SHORTENED = re.compile(r"[a-z]+'(?:s|re|ll|ve|d|m)")
_ABOUT = re.compile(r"~\d+[A-Za-z%]*")
_SPELLING = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": " - ", "…": " ", "→": " -> ",
                           "≥": ">=", "≤": "<=", "≠": "!=", "\u00a0": " "})  # fmt: skip
_OPENING = "([{\"'`"
_CLOSING = ")]}\"'`,;:.!?"
_BREAKS = frozenset(",;:.!?)")
_QUOTES = frozenset("\"'`")

# Prefixes that change the meaning: "non-blocking" is one word, not "blocking" with an addition.
_TURNING_PARTS = "non un no anti pre post re de dis in im multi sub co semi over under mis cross auto inter"
_TURNING = frozenset(_TURNING_PARTS.split())


class Piece(NamedTuple):
    """One written word; `breaks` says that a comma or the like follows."""

    text: str
    quoted: bool = False
    breaks: bool = False
    first: bool = False
    solid: bool = False
    """Part of a hyphenated word: the "in" of "opt-in" is no preposition."""


def written_words(text: str) -> list[Piece]:
    """Split a text into words, with phrases, contractions and units replaced by their plain form."""
    return _join_units(_replace_phrases(list(_pieces(text))))


def _pieces(text: str) -> Iterator[Piece]:
    """Split a text into words without the punctuation around them."""
    first, quoted = True, False
    for chunk in text.translate(_SPELLING).split():
        core, breaks, opens, closes = _strip(chunk)
        quoted = quoted or opens
        if core.strip("-*•#&/\\.") or core == "&&":
            yield from _split(core, quoted, breaks, first)
            first = chunk[-1] in ".!?"
        elif not first:
            yield Piece("", breaks=True)
        quoted = quoted and not closes


def _strip(chunk: str) -> tuple[str, bool, bool, bool]:
    """Return a chunk without punctuation, whether a break follows, and whether quotes open and close."""
    core = chunk.lstrip(_OPENING)
    opens = any(sign in _QUOTES for sign in chunk[: len(chunk) - len(core)])
    end = len(core)
    while end and core[end - 1] in _CLOSING and not (core[end - 1] in ")]}" and set("([{") & set(core[:end])):
        end -= 1
    tail, core = core[end:], core[:end].removesuffix("()")
    return core, not _BREAKS.isdisjoint(tail), opens, any(sign in _QUOTES for sign in tail)


def _split(core: str, quoted: bool, breaks: bool, first: bool) -> Iterator[Piece]:
    """Split operators, lists without spaces and ordinary hyphenated words; identifiers stay whole."""
    parts, solid = [core.removeprefix("~") if _ABOUT.fullmatch(core) else core], False
    if "://" not in core and OPERATORS.search(core):
        parts = [part for part in OPERATORS.split(core) if part]
    elif "," in core and not _NUMBER.fullmatch(core):
        parts = [part for part in core.split(",") if part]
    elif _COMPOUND.fullmatch(core) and stem(core.lower()) not in SAME:
        parts, solid = _compound(core), True
    elif core[-1] == "+" and _NUMBER.fullmatch(core):
        parts = [">=", core[:-1]]
    elif counted := _COUNTED.fullmatch(core):
        parts = list(counted.groups()) if counted[2] in UNITS else [core]
    for place, part in enumerate(parts):
        yield Piece(part, quoted, breaks and place == len(parts) - 1, first and place == 0, solid)


def _compound(core: str) -> list[str]:
    parts = core.split("-")
    if parts[0].lower() in _TURNING:
        return ["".join(parts[:2]), *parts[2:]]
    return parts


def _replace_phrases(pieces: list[Piece]) -> list[Piece]:
    """Replace phrases, contractions and word operators by the words they stand for."""
    expanded = [part for piece in pieces for part in _expand(piece)]
    result: list[Piece] = []
    place = 0
    while place < len(expanded):
        length, replacement = _phrase_at(expanded, place)
        if length:
            last = expanded[place + length - 1]
            result += [Piece(word, first=expanded[place].first) for word in replacement]
            if last.breaks:
                result.append(Piece("", breaks=True))
        else:
            result.append(expanded[place])
        place += length or 1
    return result


def _expand(piece: Piece) -> list[Piece]:
    """Split `don't` and `dont` into two words; strip the tail of `it's` and `the team's`."""
    lower = piece.text.lower()
    if lower.endswith("n't"):
        verb = CONTRACTIONS.get(lower.replace("'", ""), lower[:-3])
    elif lower in CONTRACTIONS:
        verb = CONTRACTIONS[lower]
    elif lower == "cannot":
        verb = "can"
    elif _SHORTENED.fullmatch(lower):
        return [piece._replace(text=piece.text.split("'")[0])]
    else:
        return [piece]
    return [Piece(verb, first=piece.first), Piece("not", breaks=piece.breaks)]


def _phrase_at(pieces: list[Piece], place: int) -> tuple[int, tuple[str, ...]]:
    """Return the length and replacement of the phrase that begins at this place, or (0, ())."""
    for source, target in PHRASES.get(pieces[place].text.lower(), {}).items():
        here = pieces[place : place + len(source)]
        if len(here) == len(source) and all(
            piece.text.lower() == word and not piece.quoted for piece, word in zip(here, source, strict=True)
        ):
            # "at least" is an operator only before a number.
            if target and target[0] in ("<", ">", "<=", ">=") and not counts(pieces, place + len(source)):
                continue
            return len(source), target
    return 0, ()


def counts(pieces: list[Piece], place: int) -> bool:
    """Return whether a number stands at this place."""
    text = pieces[place].text.lower() if place < len(pieces) else ""
    return text in COUNTS or bool(_NUMBER.fullmatch(text))


def _join_units(pieces: list[Piece]) -> list[Piece]:
    """Join `30 seconds` into one piece, and turn `18 or newer` into an operator and its number."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        if last and not last.breaks and piece.text in UNITS and counts([last], 0):
            number = COUNTS.get(last.text.lower(), last.text)
            if number[-1].isdigit():
                result[-1] = piece._replace(text=number + piece.text, first=last.first)
                continue
        after_or = len(result) > 1 and result[-1].text.lower() in ("or", "and") and _NUMBER.fullmatch(result[-2].text)
        if after_or and piece.text.lower() in ("newer", "later", "higher", "above", "up"):
            result[-2:] = [Piece(">="), result[-2]._replace(breaks=piece.breaks)]
            continue
        result.append(piece)
    return result


def number_of(text: str) -> str:
    """Normalise a number and its unit for comparison: `1 min` and `60s` are equal, `3.1` and `3.10` are not."""
    if text in COUNTS:
        return COUNTS[text]
    found = _NUMBER.fullmatch(text)
    if not found:
        return ""
    sign, digits, unit = found.groups()
    if "," in digits or "_" in digits:
        if not _THOUSANDS.fullmatch(digits):
            return ""
        digits = digits.replace(",", "").replace("_", "")
    digits = "0" + digits if digits[0] == "." else digits
    if unit:
        # With more digits than a float keeps, different numbers would be equal.
        if unit not in UNITS or digits.count(".") > 1 or len(digits) > MAX_DIGITS:
            return ""
        dimension, size = UNITS[unit]
        digits = f"{float(digits) * size:.15g}{dimension}"
    return sign.replace("+", "") + digits


_NAME_WITH_NUMBER = re.compile(r"[A-Za-z]+-?\d+[A-Za-z]*")
_HUMP = re.compile(r"[a-z][A-Z]")

_NAMING = frozenset(("called", "named", "spelled", "titled"))
_STATES = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_IRREGULAR = "run set built kept written sent done made put read held lost given taken found chosen"
_PARTICIPLES = frozenset(_IRREGULAR.split())
_DUTY = frozenset(("must", "should", "always", "ought"))
_CHANCE = frozenset(("may", "might", "could", "can", "optionally", "sometimes"))
_PREFERENCE = frozenset(("prefer", "prefers", "preferred", "favor", "favour", "choose", "chose"))
_OPENING_FILLERS = {**dict.fromkeys(_STATES, "is"), "and": "and", "plus": "and", "also": "and"}
_LIMITS = {"over": ">", "above": ">", "beyond": ">", "under": "<", "below": "<", "till": "until"}
_OPENING_SIGNS = {"->": "to", "=>": "to", "=": "is"}
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!=", "~="))


class Token(NamedTuple):
    """One word, number or identifier that matters, in canonical form and as written."""

    word: str
    kind: str = "word"
    """word, name, number, code or operator"""
    bound: str = ""
    opener: str = ""
    """The small word or the break ("," or "^" for the beginning) before it."""
    written: str = ""
    quoted: bool = False

    @property
    def key(self) -> str:
        """Return the text that decides whether two tokens are equal."""
        return f"{self.bound}|{self.word}" if self.bound else self.word

    @property
    def weighty(self) -> bool:
        """Return whether adding or losing the token changes the content, not only the wording."""
        return self.kind != "word" or bool(self.bound) or self.word in WEIGHTY


class Statement(NamedTuple):
    """The parsed content of a short text."""

    tokens: tuple[Token, ...]
    words: frozenset[str]
    """All words, including fillers."""
    verb: str = ""
    verb_at: int = 0
    """Tokens before the first verb; 0 if it comes first or none is known."""
    modality: str = ""
    passive: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(token.key for token in self.tokens)


@lru_cache(maxsize=1024)
def read(text: str) -> Statement:
    """Parse a short text into a statement. Never fails; unknown words are taken as written."""
    return _Reader().read(written_words(text))


class _Reader:
    """Single-pass parser of pieces; negations and prepositions are held until the word they modify."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.words: set[str] = set()
        self.denied = False
        self.binder = ""
        self.opener = "^"
        self.exact = False
        self.verb = ""
        self.verb_at = 0
        self.passive = False
        self.state = False

    def read(self, pieces: list[Piece]) -> Statement:
        for piece, following in zip(pieces, [*pieces[1:], Piece("")], strict=False):
            if piece.text:
                self._take(piece, following)
            if piece.breaks:
                self._close()
        self._close()
        duty, chance = bool(self.words & _DUTY), bool(self.words & _CHANCE)
        modality = ("must" if duty else "may") if duty != chance else ""
        return Statement(tuple(self.tokens), frozenset(self.words), self.verb, self.verb_at, modality, self.passive)

    def _take(self, piece: Piece, following: Piece) -> None:
        lower = piece.text.lower()
        plain = "" if _is_a_name(piece) else lower
        self.words.add(lower)
        self._notice_verb(lower, following.text.lower())
        if lower in NEGATORS:
            # "No, use x" denies the text before it, not x.
            self.denied ^= not (lower == "no" and piece.breaks)
        elif stem(lower) == "avoid" or (lower == "stop" and following.text.endswith("ing")):
            self._avoid(following)
        elif plain in BINDERS or (plain == "to" and self._prefers(following)):
            self._bind(plain, counts([following], 0))
        elif plain in ("on", "off") and self._switches(plain):
            pass
        elif plain in OPENERS:
            self._open(plain, counts([following], 0))
        elif plain in FILLERS:
            self.exact = False
            self.opener = _OPENING_FILLERS.get(plain, self.opener)
        elif piece.text in _COMPARISONS:
            self.binder = f"{self.binder} {piece.text}".strip()
        elif piece.text in _OPENING_SIGNS:
            self.opener = _OPENING_SIGNS[piece.text]
        else:
            self._add(_token(piece, self.exact))
            self.exact = lower in _NAMING

    def _avoid(self, following: Piece) -> None:
        """Read `avoid x` as `do not use x`, and `avoid committing x` as `do not commit x`."""
        self.denied = not self.denied
        if following.text and not following.text.lower().endswith("ing"):
            self._add(Token("use", written="avoid"))

    def _bind(self, word: str, counts: bool) -> None:
        # "prefer x over y" says "x, not y", and so does "prefer x to y".
        if word == "to" or (word == "over" and self.words & _PREFERENCE):
            self.denied = not self.denied
        else:
            self.binder = f"{self.binder} {_LIMITS.get(word, word) if counts else word}".strip()
        self.opener = word

    def _open(self, word: str, counts: bool) -> None:
        # "since 3.11" says "3.11 or newer".
        if word == "since" and counts:
            self.binder = f"{self.binder} >=".strip()
        self.opener = word

    def _prefers(self, following: Piece) -> bool:
        """Return whether `to` stands between a preferred thing and its alternative."""
        preferred = self.tokens and self.tokens[-1].word != "prefer" and self.words & {"prefer", "prefers"}
        return bool(preferred) and stem(following.text.lower()) not in VERBS

    def _switches(self, word: str) -> bool:
        """Read `turn the cache off` as `disable the cache`."""
        for place, token in enumerate(self.tokens[-4:], start=max(0, len(self.tokens) - 4)):
            if token.word in ("turn", "switch"):
                bound = token.bound if word == "on" else _denied(token.bound)
                self.tokens[place] = token._replace(word=canonical("enable"), bound=bound)
                return True
        return False

    def _add(self, token: Token) -> None:
        denied = self.denied
        if token.word in LIGHT and not denied:
            # "before every commit" is before the commit.
            self.tokens.append(token._replace(opener=self.opener))
            return
        if token.word in DENIED and token.kind == "word":
            token, denied = token._replace(word=DENIED[token.word]), not denied
        bound = " ".join(filter(None, (self.binder, "not" if denied else "")))
        self.tokens.append(token._replace(bound=bound, opener=self.opener))
        self.denied, self.binder, self.opener = False, "", ""

    def _close(self) -> None:
        """Attach a held word to the token before a break: "x must not be.", "read-only", "the day before"."""
        if self.denied and self.tokens:
            self.tokens[-1] = self.tokens[-1]._replace(bound=_denied(self.tokens[-1].bound))
        elif self.denied:
            self.tokens.append(Token("not", "operator"))
        elif self.binder and self.tokens:
            self.tokens[-1] = self.tokens[-1]._replace(bound=f"{self.tokens[-1].bound} {self.binder}".strip())
        self.denied, self.binder, self.opener, self.exact = False, "", ",", False

    def _notice_verb(self, lower: str, following: str) -> None:
        """Record the first verb, and whether the sentence is passive."""
        if self.state and (lower.endswith("ed") or lower in _PARTICIPLES):
            self.passive = True
        self.state = lower in _STATES or (self.state and lower in ("not", "always", "never", "only"))
        if self.verb:
            return
        base = stem(lower)
        # "docker run needs x": a bare form is the verb only at the beginning and after a plural.
        agrees = base != lower.removesuffix("e") or not self.tokens or self.tokens[-1].written.endswith("s")
        if lower in _STATES or lower in _DUTY or lower in _CHANCE or (agrees and base in VERBS):
            self.verb = f"{base} the" if following in ("the", "our") else base
            self.verb_at = len(self.tokens)


def _denied(bound: str) -> str:
    return bound.removesuffix("not").strip() if bound.endswith("not") else f"{bound} not".strip()


def _is_a_name(piece: Piece) -> bool:
    """Return whether a small word is a name: the method GET, the region US, module A, the "in" of "opt-in"."""
    if piece.solid:
        return piece.text != "only"
    return piece.text in ("GET", "LET", "US", "IT") or (piece.text in ("A", "I") and not piece.first)


def _token(piece: Piece, exact: bool) -> Token:
    text, lower = piece.text, piece.text.lower()
    if number := number_of(lower if lower in COUNTS else text):
        return Token(number, "number", written=text)
    if OPERATORS.fullmatch(text) or (len(text) == 1 and not text.isalnum()):
        return Token(text, "operator", written=text)
    if not exact and stem(lower) in SAME:
        return Token(canonical(lower), written=text, quoted=piece.quoted)
    if text.isalpha() and not (_HUMP.search(text) and text[0].islower()):
        kind = "name" if not piece.first and not text.islower() else "word"
        word = lower if exact or _HUMP.search(text) else canonical(lower)
        return Token(word, kind, written=text, quoted=piece.quoted)
    return Token(_code(text, piece.first), "code", written=text, quoted=piece.quoted)


def _code(text: str, first: bool) -> str:
    """Normalise an identifier: case counts, except at the start of a sentence and in names such as `UTF-8` and `S3`."""
    if _NAME_WITH_NUMBER.fullmatch(text) or (first and text[1:].islower()):
        return text.lower()
    return text[1:] if text[0] == "$" and text[1:].isupper() else text
