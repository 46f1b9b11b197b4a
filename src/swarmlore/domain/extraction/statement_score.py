"""How much a person's statement holds beyond the task at hand: weak signs, each with its points, added up.

No single sign decides. Who does not act ("we can't", "nobody runs"), why ("otherwise …"), what of all of its kind
("SKUs carry leading zeros"), in reply to what: together they tell a fact of the project from a report, a wish or an
order. Every sign has a name, so that a sum can be explained.
"""

from __future__ import annotations

from functools import lru_cache

from swarmlore.domain.extraction import correction_patterns as shape
from swarmlore.domain.extraction.correction_patterns import (
    ADDED_TASK,
    HOUSE_RULE,
    POINTING,
    STANDING,
    TASK_STARTS,
    USE,
    compiled,
    contrasts,
    names_something,
    openings,
)
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, MIN_CHARS, Found, tidy
from swarmlore.domain.extraction.user_words import Said
from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words
from swarmlore.frozen import frozen

EXCERPT_CHARS = 300
MOST_OPENINGS = 8
# What is typed in haste, and what belongs to the task behind a fact: "…, so don't bother cleaning up".
_HASTE = r"\b(do|does|did|ca|is|are|wo|was|were|should|must|could|would|has|have)nt\b"
_NO_TROUBLE = r"(?<=.{15}),?\s+(?:so|and) (?:please )?(?:don't|no need to) (?:bother|worry)\b.*$"
_PREAMBLE = r"[^,;:`/.]{6,90}:\s+(?=\S)"
_OURS_WITHIN = (
    r"(?<=.{15})\b(?:since|because|as|and|but)\s+(?=(?:we (?:are|can't|cannot|must|have to)|nobody|no one)\b)"
)
_APOSTROPHES = str.maketrans("’‘´", "'''")


@frozen
class Clause:
    """A sentence without its opening, as written and in lower case, and the marks that the opening left."""

    text: str
    low: str
    marks: frozenset[str]


def open_sentence(sentence: str, marks: frozenset[str]) -> Clause:
    """Take off what a sentence opens with."""
    text = plain(sentence)
    for _ in range(MOST_OPENINGS):
        low = text.lower()
        for name, pattern in openings():
            if taken := pattern.match(low):
                text, marks = text[taken.end() :], marks | {name}
                break
        else:
            break
    return close_sentence(text, marks)


def plain(sentence: str) -> str:
    """A sentence with the apostrophes that it should have."""
    text = sentence.translate(_APOSTROPHES)
    return compiled(_HASTE, 2).sub(r"\1n't", text) if "nt" in text.lower() else text


def close_sentence(text: str, marks: frozenset[str]) -> Clause:
    """Take off what it ends with: thanks, marks, "in the future"."""
    text = compiled(r",? (?:got it|ok|okay|right|understood|please|alright)\?$", 2).sub("", text)
    text = compiled(r"[\s,]+(?:please|pls|thanks|thank you|thx|ok|okay|danke|merci|gracias|bitte)$", 2).sub(
        "", text.rstrip(" !.…,;:")
    )
    if "bother" in text or "worry" in text:
        text = compiled(_NO_TROUBLE, 2).sub("", text)
    ended = compiled(rf"[\s,]+(?:{STANDING}|{HOUSE_RULE})$").search(text.lower())
    if ended:
        text, marks = text[: ended.start()], marks | {"standing"}
    return Clause(text, text.lower(), marks)


def clauses_of(clause: Clause) -> list[Clause]:
    """The whole, then what follows each comma, each with its own opening."""
    found = [clause]
    task = first_word(clause.low) in TASK_STARTS
    for cut in compiled(r"[,;:–—]\s+|\s-\s+|\s(?:and|but|so)\s+").finditer(clause.text):
        if task and cut[0][0] == ":":
            break  # "translate: never push to main"
        rest = open_sentence(clause.text[cut.end() :], frozenset())
        if rest.low:
            found.append(rest)
    return found[:MOST_OPENINGS]


def behind_preamble(clause: Clause) -> Clause | None:
    """What stands behind the colon of a sentence that only announces it: "One remark though: …"."""
    opened = compiled(_PREAMBLE).match(clause.text)
    if opened is None or first_word(clause.low) in TASK_STARTS:
        return None
    rest = open_sentence(clause.text[opened.end() :], clause.marks | {"preamble"})
    return rest if rest.low else None


def ours_within(clause: Clause) -> Clause | None:
    """The clause inside of a sentence that speaks of what "we" may or do: "… since we are bound by contract to …"."""
    opened = compiled(_OURS_WITHIN, 2).search(clause.text)
    return Clause(clause.text[opened.end() :], clause.low[opened.end() :], clause.marks) if opened else None


def first_word(low: str) -> str:
    return low.split(None, 1)[0].rstrip(",:") if low.strip() else ""


def stands_alone(low: str) -> bool:
    """Whether a text says something without what it points at."""
    content = content_of(low)
    points = compiled(
        r" (?:it|that|this|these|those|them|so)(?=$|[,;.]| (?:here|anymore|any more|again|ever|instead|either|too|in"
        r"|at|the)\b)"
    )
    if points.search(low) and len(content) < 3:
        return False
    return len(content) > 1 or (len(content) == 1 and (shape.names_something(low) or shape.is_named_tool(low)))


def content_of(low: str) -> list[str]:
    """The words that say something by themselves."""
    return [word for word in split_words(low) if word not in STOP_WORDS and word not in POINTING and len(word) > 1]


def lesson_of(clause: Clause, said: Said, kind: str, confidence: str) -> Found | None:
    """A clause as it is written down, if it has the length of a lesson."""
    text = tidy(compiled(ADDED_TASK, 2).sub("", clause.text))
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        return None
    return Found(text, kind, confidence, said.text[:EXCERPT_CHARS])


ENOUGH = 4
ENOUGH_ALONE = 5  # where it replies to nobody
_STEM = 5  # letters that words of one family share
_READ_CHARS = 4_000  # of the end of what the agent said
# Words of any talk about any work.
_ANY_WORK = frozenset(
    "added changed updated fixed tests test file files code done make made using used this that with from into have"
    " been there which what when then they them now also still only just will would should function line lines"
    " works work working change update need needs".split()
)
_CLAUSE = r"(?!and\b|not\b|but\b|please\b|so\b|or\b|if\b|when\b|then\b|can\b|could\b|i\b)"
_VERB = (
    r"(?:is|are|has|have|isn't|aren't|does|do|doesn't|don't|can|can't|cannot|must|may|will|won't|needs?|uses?|runs?"
    r"|goes|go|gets?|takes?|comes?|lives?|keeps?|holds?|reads?|writes?|sends?|calls?|returns?|expects?|accepts?|allows?"
    r"|rejects?|requires?|depends?|breaks?|stands?|carr(?:y|ies)|ships?|starts?|ends?|stays?|belongs?|contains?|starts?"
    r"|owns?|wants?|pays?|counts?|means?|knows?|sees?|makes?|gives?|lets?|points?|limits?|supports?|generates?"
    r"|overwrites?|ignores?|drops?|locks?|costs?|follows?|deploys?|delivers?|happens?|works?|links?|includes?)"
)
_INSTEAD_USE = r"(?:read|write|load|fetch|get|store|put|send|keep|take)\b[^,;:]{2,60}\binstead\b"
_PEOPLE = r"(?:we|you|one|nobody|no one|no-one|none of us|developers|people|agents)"
_NOT_OURS = r"(?!be\b|see\b|tell\b|say\b|wait\b|find\b|reproduce\b|log\b|connect\b|reach\b|open\b|expect\b|believe\b)"
# What opens a statement: a name, things of a kind; not "the …", which may be one thing that was just looked at.
_OF_ITS_KIND = (
    r"(?!(?:the|this|that|these|those|an?|my|your|his|her|it|its|they|there|i|you|we|he|she|some|two|three|both|most"
    r"|here|users?|customers?|people|still|if|when|what|why|how|where|which|who|yes|ok|in|on|at|for|with|from|by"
    r"|nothing|everything|something|looks?|seems?|sounds?|works|not|just|all|every|each|any|no|now)\b)"
)
_STATES = (
    r"(?:too|still|broken|empty|wrong|off|cut|gone|missing|slow|weird|ugly|red|green|blank|stuck|down|back|fine|good"
    r"|great|ok|okay|perfect|nice|done|ready|failing|in the way|not (?:there|visible|working|centered|aligned)|there"
    r"|waiting|happy|busy|on vacation|better|worse|bigger|smaller|visible|hidden|unreadable|misaligned|confusing|hard)"
)


@frozen
class Heard:
    """What surrounds a statement: what the agent had said, and whether the user takes that back beside it."""

    before: str = ""
    reversed: bool = False

    @property
    def asked(self) -> bool:
        return self.before.rstrip().endswith("?")

    @property
    def stems(self) -> frozenset[str]:
        return _stems_heard(self.before[-_READ_CHARS:])


@lru_cache(maxsize=4)  # every statement of a prompt is held against the same words
def _stems_heard(before: str) -> frozenset[str]:
    return _stems(before.lower())


# Signs that show in the words of a statement in lower case, without its opening.
_SIGNS = (
    ("nobody may", 2, rf"^{_PEOPLE} (?:can't|cannot|can not|must|mustn't|may|have to|has to|are (?:\w+ly )?(?:bound"
     rf"|obliged"
     rf"|required|supposed|not allowed|only allowed|stuck)|aren't allowed) {_NOT_OURS}\w"),
    ("who does", 2, r"\b(?:nobody|no one|no-one|everybody|everyone) (?!knows|cares|noticed|said|complained|is|was|will"
     r"|has|wants|likes|loves|understands)\w+s\b"),
    ("ours", 1, r"^(?:we|we're|our|ours|in our|at our)\b|\bwith us\b|\bour (?:convention|rule|policy|habit)\b"),
    ("our things", 1, r"^our [\w-]+"),
    ("all of them", 2, r"^(?:all|every|each|any|no|anything|everything) (?!good\b|done\b|right\b|clear\b|set\b|looks?\b"
     r"|fine\b|works?\b|user gets\b|of (?:it|this|that)\b)[\w/.-]{2,}"),
    ("of its kind", 1, rf"^{_OF_ITS_KIND}(?:[\w`'./():-]+ ){{1,5}}?(?:only |always |never |all |just )?{_VERB}\b"),
    ("all of a kind", 1, rf"^{_OF_ITS_KIND}(?:[\w-]+ ){{0,2}}?[\w-]+[^su\W]s (?:only |always |never |all |can |can't "
     rf"|must |may )?"
     r"(?:are|aren't|have|don't|can't|cannot|go|come|live|stay|get|need|be|use|belong|carry|depend|target|run"
     r"|[a-z]+[^s\W])\b"),
    ("binding", 1, r"\b(?:must|mustn't|has to|have to|(?:is|are)(?:n't| not) (?:\w+-safe|allowed|supported|permitted"
     r"|valid|rolled out|available|reachable)"
     r"|may only"
     r"|can only|can't be|cannot be|(?:is|are) (?:required|forbidden)|(?:doesn't|does not|don't|do not) (?:allow|permit"
     r"|accept|exist|retry|support|check)"
     r"|only|never|always|stays?|enforces?)\b"),
    ("meant so", 2, r"\b(?:by design|on purpose|intentional(?:ly)?|deliberate(?:ly)?|for a reason|that's why"
     r"|that is why|is there"
     r" (?:for|because))\b"),
    ("for good", 2, r"\b(?:is|are|stays?|isn't|aren't|that's|it's) (?:\w+ )?(?:frozen|protected|reserved|generated"
     r"|vendored|shared (?:with|by)"
     r"|deprecated|legacy|off[- ]limits|read-only|immutable|append-only|in maintenance(?: mode)?|on (?:its"
     r"|their) way out"
     r"|managed by|owned by|run by|maintained by|handled by|enforced by|case-sensitive|a (?:generated|vendored|legacy"
     r"|shared|public|protected)|generated|an? internal|single-threaded)\b"),
    ("reason", 2, r"\bbecause\b|\botherwise\b|\bor else\b|\bso that\b|\bdue to\b|, (?:since|as|for) (?!of\b|soon\b"
     r"|well\b"
     r"|long\b|monday|tuesday|wednesday|thursday|friday|yesterday|last\b|this\b|now\b)\w"),
    ("therefore", 2, r",? so (?:only|no|never|always|an?|the|our|any\w*|every\w*|each|all|we|you|they|it|don't"
     r"|[\w-]+s) "
     r"(?!tests? needed|can you|could you|go ahead)\S"),
    ("explained", 1, rf"[,;:–—.] (?:{_CLAUSE}[^,;:]{{2,80}}\b{_VERB}\b|(?:the|our|their|they|they're|it|it's|we|there"
     rf"|nobody|those|these) (?!\w+ed\b)\w+)"),
    ("instructs", 1, r"[,.;:–—] (?:please )?(?:use|change|put|take|call|schedule|edit|run|ask|keep|target|go through"
     r"|stick"
     r" (?:to|with)|stay (?:on|with)|see) (?!it\b|that\b|this\b|them\b|a look\b)\S"),
    ("use", 1, rf"^(?:{USE}|{_INSTEAD_USE})[^;]{{0,90}}[,;:–—.] (?=\S)"),
    ("instead", 1, r"\binstead\b(?! of)"),
    ("for a kind", 1, rf"^(?:for|in|on|with) (?!now\b|this\b|that\b|the\b|me\b|us\b)[^,;]{{3,60}}\b{_VERB}\b"),
    ("none", 1, r"\bno [\w-]+ (?:is|are|gets?|may|can)\b"),
    ("taste", -2, r"\b(?:simpler|easier|nicer|prettier|better|shorter|cleaner|quicker|cooler|looks? (?:nice|good"
     r"|better))\b"),
    ("here", 1, r"\bhere\b|\beverywhere\b|\bin (?:this|our) (?:repo\w*|project|code ?base|team|company|shop|app|service"
     r"|product|organi[sz]ation)\b|\bby hand\b|\bin (?:production|prod|ci)\b"),
    ("first person", -4, r"(?:^|[\s,;])(?:i|i'm|i've|i'd|i'll|my|me)\b(?!/)"),
    ("about you", -3, r"^you(?:'re|'ve|'ll|'d)?\b(?! (?:can't|cannot|can not|must|mustn't|may not|may only|have to|need"
     r" to|don't)\b)|\byou (?:missed|forgot|have missed|did|made|broke)\b"),
    ("wish", -3, r"^(?:we|they|users?|customers?) (?:also |really |still |just )?(?:need|want|would|should|could"
     r"|might|may"
     r" want|will|were|had|got|see|saw|get|hope|plan)\b|\bshould(?:n't)?\b|^(?!each|every|all"
     r"|any)[^,;]{2,60}\bneeds? (?:an?|to be|more|some|another)\b"
     r"|\bthere should\b|\bwould\b|\bplease\b|\balso (?:accept|return|show|have|need|work|be|support|include|contain"
     r"|send)\b|\bmust be (?:shown|bold|bigger|smaller|visible|the|a)\b|\bthen$"),
    ("needs one", -1, r"^(?:each|every|all|any)\b[^,;]{2,60}\bneeds? (?:an?|to be|more|some|another)\b"),
    ("no exceptions", 2, r"\b(?:no exceptions?|without exception|under no circumstances|by law|by contract"
     r"|contractually)\b"),
    ("points", -2, r"^(?:it|it's|this|that|that's|they|they're|these|those|there|there's|he|she)\b"),
    ("one thing", -1, r"^(?:the|an?|my|your|both)\b"),
    ("state", -3, rf"\b(?:is|are|looks?|seems?|feels?|was|were|gets?|got|goes|comes out)(?: now| all| just| really"
     rf"| very| so| quite| a bit| not| almost)? {_STATES}\b(?! (?:of|by|from|to|for|in|at|every)\b)"),
    ("trouble", -3, r"^(?:our |the |some )?(?:users|customers|people|clients|consumers|testers|somebody"
     r"|someone) (?:\w+ly )?(?:can't"
     r"|cannot|don't|complain|see|get|say|report|are|have)\b|\b(?:race|vanish\w*|climbs?|grows|growing"
     r"|goes up(?! to\b)|dead|leaks?"
     r"|duplicates?|suddenly|happen(?:s|ing) only|only happens?|never (?:terminates?|ends?|stops?|finish\w*|arrives?"
     r"|goes? away)"
     r"|is not a function|overlaps?|covers|flickers?|jumps?|wraps|lags|dies|stuck|shows?(?! that)|doesn't match"
     r"|does not match|oomkilled|too \w+ly)\b"
     r"|\b(?:fails|failed|failing|crash(?:es|ed)?|hangs?|timed? out|doesn't work"
     r"|not working|sometimes|randomly|all the time|works for me|killed|explodes|flaky|no idea|something|ready)\b"
     r"|\b\d+ ?%|\babout \d+ in \d+"),
    ("of that time", -3, r"\b(?:was|were|had|did|lost|went|came|got|happened|called|yesterday|last (?:week|night"
     r"|time)|this morning"
     r"|just now|earlier|today|tonight|tomorrow|this week|right now|currently|for now|at the moment|friday|monday"
     r"|by now"
     r"|luckily|\d+ \w+ left|on vacation|waiting|almost|at \d)\b"),
)  # fmt: skip
_MARKS = {"wrong": 2, "told": 2, "note": 2, "actually": 1, "preamble": 1, "reversed": 2}
_BINDING = frozenset(("nobody may", "who does", "no exceptions", "all of them"))
# A sign that says nothing beside others.
_INSTEAD = {
    "of its kind": {"nobody may", "trouble"},
    "one thing": {"reason", "therefore", "reversed"},
}
_ORDERS = TASK_STARTS | frozenset(
    "leave keep use call take import don't do not go ask stop avoid wait ignore skip stick pick choose drop pass touch"
    " edit never always please prefer make let be just then get bring restore commit push send stay hurry mind throw"
    " return raise store inject feel fold spin kick hold treat follow apply download upload log enable disable".split()
)


# A place to work on ("src/x.py: …"), what somebody is doing, what a program printed.
_NO_STATEMENT = (
    r"(?:if|when|what|why|how|who|where|which|can|could|would|do|does|is|are|whatever)\b|no wait|forget "
    r"|(?!(?:all|only|both|half|in|on|at|for|with|from|by|of|to|as|not|after|before|under|since|here|like"
    r"|than)\b)[a-z]{3,}"
    r" (?:the|an?|this|that|these|those|it|them|some) "
    r"|(?=[^\s:]{0,120}[/.]\w)[\w./@-]{2,120}(?::| [–—-]) |[a-z]{3,}ing (?:an?|the|up|in|from) "
    r"|.{0,60}\berror\b.{0,20}:|select |option '"
    r"|all (?:tests|checks) "
)
_DOES = rf"\b{_VERB}\b|^(?:\S{{1,40}} ){{1,5}}\w{{2,}}[^su\W]s\b|^(?:we|they|nobody|everybody|everyone|no one) \w"
# "commit messages are …", "test keys come …": a kind of things, though its first word could be an order.
_USE_FOR_REASON = (
    rf"(?:{USE}|{_INSTEAD_USE})[^,;:]{{0,90}}(?:[,;:–—] |\. )(?!please\b|then\b|and\b|i\b|we'll\b"
    rf"|or\b)[^,;]{{2,60}}\b{_VERB}\b"
)
_NAMED_KIND = rf"\w+ [\w-]+s {_VERB}\b"


# "soft delete, the tax office wants …", in answer to a choice that was offered.
_CHOICE = (
    r"((?!no\b|yes\b|ok|the\b|this\b|that\b|it\b)[\w/+.-]{2,30}(?: [\w/+.-]{2,30}){0,3})(?:[,:;–—] | - |\. )(\S.{14,})$"
)
_OFFERS = r"\beither\b|\bor\b|\bwhereas\b|\bboth\b|\balternativ|\bversus\b|\bvs\b|\bwhich\b|; |\?\s*$"
_NO_REASON = r"(?:i|i'm|i'd|please|can|could|then|now|and|but|it's|let's|you|don't|do|add|make|just|maybe|if|for now)\b"
_SHORT_ORDER = 9  # words
_TAKES_BACK = (
    r"(?:please |pls |but |and |then |no,? |ok,? |so )*(?:leave|keep|put|revert|undo|restore|roll|bring|take|remove"
    r"|drop|change|move|stop|don't)"
    r" (?:\w+ ){0,3}?(?:it|them|that|this|these|those|back|alone)\b"
)


def holds_in_general(text: str, marks: frozenset[str], heard: Heard) -> bool:
    """Whether the signs that a statement holds beyond this task outweigh those that it does not."""
    least = ENOUGH if heard.before else ENOUGH_ALONE
    return is_statement(text.lower()) and sum(signs_of(text, marks, heard).values()) >= least


def binds_all(text: str) -> bool:
    """Whether a statement says what nobody may or everybody does: a rule, though it is told as a fact."""
    return any(name in _BINDING and compiled(pattern).search(text.lower()) for name, _, pattern in _SIGNS)


def signs_of(text: str, marks: frozenset[str], heard: Heard) -> dict[str, int]:
    """The signs that a statement shows, with their points: the explanation of its sum."""
    low = text.lower()
    found = {name: points for name, points, pattern in _SIGNS if compiled(pattern).search(low)}
    found |= {name: points for name, points in _MARKS.items() if name in marks}
    for sign, others in _INSTEAD.items():
        if not others.isdisjoint(found):
            found.pop(sign, None)
    said = {
        "names": names_something(text),
        "contrast": contrasts(low),
        "asked": heard.asked,
    }
    found |= {name: 1 for name, there in said.items() if there}
    if heard.reversed:
        found["reversed"] = 2
    if not heard.stems.isdisjoint(_stems(low)):
        found["taken up"] = 2  # it speaks of what the agent had spoken of: who reports something new does not
    return found


def _stems(low: str) -> frozenset[str]:
    words = set(compiled(r"[a-z0-9][\w-]{2,}").findall(low)) - _ANY_WORK - STOP_WORDS
    return frozenset(_stem(word) for word in words)


def _stem(word: str) -> str:
    ending = next((ending for ending in ("ing", "ed", "es", "e", "s") if word.endswith(ending)), "")
    return word.removesuffix(ending)[:_STEM]


def is_statement(low: str) -> bool:
    """Whether it is a statement: it opens with no order, and somebody or something does or is something."""
    low = low.removeprefix("only ")  # "only mac-02 holds the certificate" and "only touch en.json"
    first = low.split(None, 1)[0].rstrip(",:") if low.strip() else ""
    ordered = (
        first in _ORDERS and compiled(_NAMED_KIND).match(low) is None and compiled(_USE_FOR_REASON).match(low) is None
    )
    if ordered or compiled(_NO_STATEMENT).match(low):
        return False
    return compiled(_DOES).search(low) is not None


def chooses(text: str, heard: Heard) -> bool:
    """Whether it takes one of the ways that the agent had named, and says why: "REST. Partners should …"."""
    found = compiled(_CHOICE, 2).match(text)
    if found is None:
        return False
    words, reason = _stems(found[1].lower()), found[2].lower()
    why = compiled(rf"\b{_VERB}\b").search(reason) is not None and compiled(_NO_REASON).match(reason) is None
    return (
        bool(words)
        and why
        and words <= heard.stems
        and compiled(_OFFERS, 2).search(heard.before[-_READ_CHARS:]) is not None
    )


def takes_back(sentence: str) -> bool:
    """Whether a short sentence orders to undo or to leave what the agent did: "Leave them in.", "Put it back."."""
    low = sentence.lower().replace("’", "'")
    return len(low.split()) <= _SHORT_ORDER and compiled(rf"{_TAKES_BACK}[^?]{{0,60}}$").match(low) is not None


def behind_order(text: str) -> str:
    """The statement behind an order that takes something back: "leave it, the sandbox is down every night"."""
    order = compiled(rf"{_TAKES_BACK}[^,;:?]{{0,40}}[,;:–—] (?=\S)", 2).match(text)
    return text[order.end() :] if order else ""
