"""What a sentence is about: one of seven topics, by its words.

Plain words of a topic count two, words that many topics share one, words that leave no doubt more. The topic with most
points is meant; of equal ones the first in the order of `CATEGORIES`. What stands in back-ticks is a name, and speaks
for a tool only.
"""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled
from swarmlore.rules.signal_phrases import RECURRING
from swarmlore.rules.topic_words import MORE, OF_CODE, TOOL_NAMES, WORDS

UNKNOWN = "Unknown"
# Words of every day that are tools where they stand as a command.
_AS_COMMANDS = (
    r"`[a-z][\w.-]* [\w./:-][^`]{0,80}`|"
    r"`(?:make|just|task|go|nix|fish|turbo|gem|composer|react|spring|compose|wheel)\b|\b(?:gnu|run|through|by|via"
    r"|calls?) make\b"
    r"|\bmake (?:test|lint|gen|build|install|check|seed|dev|format|fmt|clean|generate|run|up|deploy|docs|all|bench"
    r"|setup)\b"
    r"|\bdocker compose\b|\bmoment(?:\.js|js)\b"
)
CATEGORIES = (*(name for name, _ in WORDS), UNKNOWN)
_ENOUGH = 2
_AT_HEAD = 0.6
_BEHIND = 0.7
_LEAST_HEAD = 12
_READ_CHARS = 2_000
_HEAD = (
    r"[,;:(–—]|\b(?:for|because|so|since|when|if|otherwise|that|which|until|unless|instead|like|even"
    r"|without)\b"
)
# What was found out is a skill, unless its words are plainly of another topic.
_LEANING = {"caveat": ("Tools", 3.0), "change": ("Tools", 2.0)}
_AGAIN = 4.0  # a fix that was needed before
_SKILLED = {"cause": 5.5, "fix": 5.5, "found": 4.5, "effort": 6.0, "insight": 4.5}
# Things of programs: what holds for them is no business rule.
_OF_PROGRAMS = (
    r"\b(?:error|exception|string|number|loop|thread|process|bug|crash|regex|parser|pointer|promise|boolean|value"
    r"|list"
    r"|map|array"
    r"|object|byte|file|folder|path|page|button|header|footer|label|modal|banner|warning|message|line|function|method"
    r"|class"
    r"|variable|fix|code|timeout|lock|race|leak|disk|memory|cpu|browser|server|client|request|response|json|xml|html"
    r"|css|sql"
    r"|url|id|ids|field|form|input|output|screen|icon|menu|sidebar|answer|reply|question|prompt|log|logs|cache|thing"
    r"|stuff"
    r"|edit|program|data|byte|pixel|font|text|word|sentence|step|generated|avatar|dashboard)s?\b|[`/_=<>]|\w\.\w"
    r"|[a-z][A-Z]"
)
# What holds for the things of a trade: "a claim can only be reopened once", "commission is always calculated on …".
_THINGS = (
    r"(?:(?:remember|note|the rule is|keep in mind|no|and|but)[:,]? )*(?:that )?(?!(?:always|never|don't|do|stop|you"
    r"|we|i|it|this|that"
    r"|they|he|she|please|use|run|keep|make|no|not|must|only|if|when|there|what|how|why|be|ask|avoid|put|call|let"
    r"|write|say"
    r"|all the|from|in|on|at|before|after|for|with|by|as|so|just)\b)(?:(?:an?|the|each|every|all|our|some"
    r"|any) )?[a-z-]+"
    r"(?: [a-z-]+){0,4} (?:can(?:not)?|may|must|always|never|has|have|gets?|expires?|consists?|belongs?|counts?|is"
    r"|are)\b"
)
_USED = (
    r"\b(?:[Uu]s(?:e|ing|ed)|through|via) [A-Z][a-z]+\b|[Cc]hose [A-Z`][\w.`-]+ over|\bfrom [A-Z`][\w.`-]+ to [A-Z`]"
    r"|replaced [A-Z`][\w.`-]+ with"
)
_FLAG = r"(?<!\w)--[a-z][\w-]{2,}|\b[A-Z][A-Z_]{3,}=|(?:^|\s)\./\w"


def category_of(text: str, stated: bool = False, way: str = "") -> str:
    """The topic of a sentence. One `stated` as a rule or a fact, and of no trade of ours, is of the business; what was
    found out in some `way` and is of no other topic is a skill in the making.
    """
    low = text.lower().replace("’", "'")
    best, most = UNKNOWN, _ENOUGH - 1.0
    for name, points in points_of(text, way).items():
        if points > most:
            best, most = name, points
    if best != UNKNOWN or way == "decision":
        return "Architecture" if best == UNKNOWN else best
    return "Domain" if stated and _speaks_of_things(text, low) else UNKNOWN


def points_of(text: str, way: str = "") -> dict[str, float]:
    """What speaks for each topic: the explanation of a choice."""
    text = text[:_READ_CHARS]
    low = text.lower().replace("’", "'")
    bare = compiled(r"`[^`]{0,200}`").sub(lambda name: " " * len(name[0]), low)
    head = _head(low)
    found = {}
    for name, words in WORDS:
        tool = name == "Tools"
        said = low.replace("`", " ") if tool else bare
        found[name] = _points(said, (*MORE.get(name, ()), *words), OF_CODE if name == "Domain" else "", head)
        if tool:
            found[name] += _tool_points(text, low)
    found["New Skill"] += _SKILLED.get(way, 0)
    if way == "fix" and compiled(RECURRING).search(low):
        found["New Skill"] += _AGAIN
    if way in _SKILLED:  # a cause is seldom one of style or of habit, though tests and names are spoken of
        found["Process"] *= 0.6
        found["Code Style"] *= 0.6
    if way in _LEANING:
        name, points = _LEANING[way]
        found[name] += points
    return found


def _head(low: str) -> int:
    """Where the part of a sentence ends that says what it is about: before its reason, its place, its purpose."""
    cut = compiled(_HEAD).search(low, min(len(low), _LEAST_HEAD))
    return cut.start() if cut else len(low)


def _speaks_of_things(text: str, low: str) -> bool:
    """Whether it says what holds for something, and names nothing that programs are made of."""
    return compiled(_THINGS).match(low) is not None and compiled(_OF_PROGRAMS).search(text) is None


def _tool_points(text: str, low: str) -> int:
    """What flags and commands count, and a name that is used: "we use Lombok"."""
    if compiled(_FLAG).search(text) or compiled(_AS_COMMANDS).search(low):
        return 3
    return 2 if compiled(_USED).search(text) else 0


def _points(low: str, words: tuple[tuple[int, str], ...], unless: str, head: int) -> float:
    """What the different words of one topic count together; each place counts once, at its highest, the head more."""
    spans = [
        (points, -match.start(), match.end(), match[0].rstrip("s"))
        for points, pattern in words
        for match in compiled(rf"(?<![\w./-])(?:{pattern})(?![\w-]){unless}").finditer(low)
    ]
    total, said = 0.0, set()
    taken: list[tuple[int, int]] = []
    for points, start, end, word in sorted(spans, reverse=True):
        if word in said or any(-start < other_end and other < end for other, other_end in taken):
            continue
        taken.append((-start, end))
        said.add(word)
        total += points + _AT_HEAD if -start < head else points * _BEHIND
    return total


def names_tool(text: str) -> bool:
    """Whether a text names a tool, a command line, a flag or a variable of the environment."""
    low = text.lower()
    named = compiled(rf"(?<![\w./-])(?:{TOOL_NAMES})(?![\w-])").search(low.replace("`", " "))
    return bool(
        named or compiled(_USED).search(text) or compiled(_AS_COMMANDS).search(low) or compiled(_FLAG).search(text)
    )
