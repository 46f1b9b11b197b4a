"""Score how much a user's statement holds beyond the current task: weak signs with points, added up.

No single sign decides. Signs are such as a general subject ("we can't", "nobody runs"), a reason ("otherwise …"), a
whole kind ("SKUs carry leading zeros") or a reply to the agent. Their sum separates facts of the project from
reports, wishes and orders. Every sign has a name, so that a score can be explained.
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
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, MIN_CHARS, CandidateLesson, tidy
from swarmlore.domain.extraction.message_text import Sentence
from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words
from swarmlore.frozen import frozen

EXCERPT_CHARS = 300
MOST_OPENINGS = 8
# Contractions without an apostrophe, and a part of the task behind a fact: "…, so don't bother cleaning up".
_HASTE = r"\b(do|does|did|ca|is|are|wo|was|were|should|must|could|would|has|have)nt\b"
_NO_TROUBLE = r"(?<=.{15}),?\s+(?:so|and) (?:please )?(?:don't|no need to) (?:bother|worry)\b.*$"
_PREAMBLE = r"[^,;:`/.]{6,90}:\s+(?=\S)"
_OURS_WITHIN = (
    r"(?<=.{15})\b(?:since|because|as|and|but)\s+(?=(?:we (?:are|can't|cannot|must|have to)|nobody|no one)\b)"
)
_APOSTROPHES = str.maketrans("’‘´", "'''")


@frozen
class Clause:
    """A sentence without its opening, as written and in lower case, with the marks that the opening left."""

    text: str
    low: str
    marks: frozenset[str]


def open_sentence(sentence: str, marks: frozenset[str]) -> Clause:
    """Remove the opening phrases of a sentence and keep a mark for each."""
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
    """Restore missing apostrophes in a sentence ("dont", typographic quotes)."""
    text = sentence.translate(_APOSTROPHES)
    return compiled(_HASTE, 2).sub(r"\1n't", text) if "nt" in text.lower() else text


def close_sentence(text: str, marks: frozenset[str]) -> Clause:
    """Remove the closing phrases of a sentence: thanks, punctuation, "in the future"."""
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
    """Return the whole clause, then the part after each comma or conjunction, each with its own opening removed."""
    found = [clause]
    task = first_word(clause.low) in TASK_STARTS
    for cut in compiled(r"[,;:–—]\s+|\s-\s+|\s(?:and|but|so)\s+").finditer(clause.text):
        if task and cut[0][0] == ":":
            break  # "translate: never push to main"
        rest = open_sentence(clause.text[cut.end() :], frozenset())
        if rest.low:
            found.append(rest)
    return found[:MOST_OPENINGS]


def clause_after_preamble(clause: Clause) -> Clause | None:
    """Return the clause after a colon if the part before it only announces it: "One remark though: …"."""
    opened = compiled(_PREAMBLE).match(clause.text)
    if opened is None or first_word(clause.low) in TASK_STARTS:
        return None
    rest = open_sentence(clause.text[opened.end() :], clause.marks | {"preamble"})
    return rest if rest.low else None


def clause_about_us(clause: Clause) -> Clause | None:
    """Return the subordinate clause about what "we" may or do: "… since we are bound by contract to …"."""
    opened = compiled(_OURS_WITHIN, 2).search(clause.text)
    return Clause(clause.text[opened.end() :], clause.low[opened.end() :], clause.marks) if opened else None


def first_word(low: str) -> str:
    """Return the first word of a lower-case text, without a trailing comma or colon."""
    return low.split(None, 1)[0].rstrip(",:") if low.strip() else ""


def is_self_contained(low: str) -> bool:
    """Tell whether a text makes sense without the context it refers to."""
    content = content_of(low)
    points = compiled(
        r" (?:it|that|this|these|those|them|so)(?=$|[,;.]| (?:here|anymore|any more|again|ever|instead|either|too|in"
        r"|at|the)\b)"
    )
    if points.search(low) and len(content) < 3:
        return False
    return len(content) > 1 or (len(content) == 1 and (shape.names_something(low) or shape.is_named_tool(low)))


def content_of(low: str) -> list[str]:
    """Return the content words of a lower-case text: no stop words, no words that only refer."""
    return [word for word in split_words(low) if word not in STOP_WORDS and word not in POINTING and len(word) > 1]


def lesson_of(clause: Clause, sentence: Sentence, kind: str, confidence: str) -> CandidateLesson | None:
    """Return a clause as a candidate lesson, or None if it is too short or too long."""
    text = tidy(compiled(ADDED_TASK, 2).sub("", clause.text))
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        return None
    return CandidateLesson(text, kind, confidence, sentence.text[:EXCERPT_CHARS])


ENOUGH = 4
ENOUGH_ALONE = 5  # points needed if the prompt replies to no message
_STEM = 5  # letters that related words share
_READ_CHARS = 4_000  # characters read at the end of the agent's message
# Words that occur in any talk about work.
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
# The subject of a general statement: a name or a kind of things; not "the …", which may be one single thing.
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
class StatementContext:
    """What surrounds a statement: the agent's last message, and whether the prompt reverts the agent's work."""

    before: str = ""
    reversed: bool = False

    @property
    def asked(self) -> bool:
        """Tell whether the agent's last message ended with a question."""
        return self.before.rstrip().endswith("?")

    @property
    def stems(self) -> frozenset[str]:
        """Return the word stems at the end of the agent's last message."""
        return _stems_heard(self.before[-_READ_CHARS:])


@lru_cache(maxsize=4)  # every statement of a prompt is compared with the same words
def _stems_heard(before: str) -> frozenset[str]:
    return _stems(before.lower())


# Signs in a lower-case statement without its opening: name, points, pattern.
_SIGNS = (
    ("nobody may", 2, rf"^{_PEOPLE} (?:can't|cannot|can not|must|mustn't|may|have to|has to|are (?:\w+ly )?(?:bound"
     rf"|obliged|required|supposed|not allowed|only allowed|stuck)|aren't allowed) {_NOT_OURS}\w"),
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
     r"|valid|rolled out|available|reachable)|may only|can only|can't be|cannot be|(?:is|are) (?:required|forbidden)"
     r"|(?:doesn't|does not|don't|do not) (?:allow|permit|accept|exist|retry|support|check)|only|never|always|stays?"
     r"|enforces?)\b"),
    ("meant so", 2, r"\b(?:by design|on purpose|intentional(?:ly)?|deliberate(?:ly)?|for a reason|that's why"
     r"|that is why|is there (?:for|because))\b"),
    ("for good", 2, r"\b(?:is|are|stays?|isn't|aren't|that's|it's) (?:\w+ )?(?:frozen|protected|reserved|generated"
     r"|vendored|shared (?:with|by)|deprecated|legacy|off[- ]limits|read-only|immutable|append-only"
     r"|in maintenance(?: mode)?|on (?:its|their) way out|managed by|owned by|run by|maintained by|handled by"
     r"|enforced by|case-sensitive|a (?:generated|vendored|legacy|shared|public|protected)|generated|an? internal"
     r"|single-threaded)\b"),
    ("reason", 2, r"\bbecause\b|\botherwise\b|\bor else\b|\bso that\b|\bdue to\b|, (?:since|as|for) (?!of\b|soon\b"
     r"|well\b|long\b|monday|tuesday|wednesday|thursday|friday|yesterday|last\b|this\b|now\b)\w"),
    ("therefore", 2, r",? so (?:only|no|never|always|an?|the|our|any\w*|every\w*|each|all|we|you|they|it|don't"
     r"|[\w-]+s) (?!tests? needed|can you|could you|go ahead)\S"),
    ("explained", 1, rf"[,;:–—.] (?:{_CLAUSE}[^,;:]{{2,80}}\b{_VERB}\b|(?:the|our|their|they|they're|it|it's|we|there"
     rf"|nobody|those|these) (?!\w+ed\b)\w+)"),
    ("instructs", 1, r"[,.;:–—] (?:please )?(?:use|change|put|take|call|schedule|edit|run|ask|keep|target|go through"
     r"|stick (?:to|with)|stay (?:on|with)|see) (?!it\b|that\b|this\b|them\b|a look\b)\S"),
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
     r"|might|may want|will|were|had|got|see|saw|get|hope|plan)\b|\bshould(?:n't)?\b|^(?!each|every|all"
     r"|any)[^,;]{2,60}\bneeds? (?:an?|to be|more|some|another)\b|\bthere should\b|\bwould\b|\bplease\b"
     r"|\balso (?:accept|return|show|have|need|work|be|support|include|contain|send)\b|\bmust be (?:shown|bold|bigger"
     r"|smaller|visible|the|a)\b|\bthen$"),
    ("needs one", -1, r"^(?:each|every|all|any)\b[^,;]{2,60}\bneeds? (?:an?|to be|more|some|another)\b"),
    ("no exceptions", 2, r"\b(?:no exceptions?|without exception|under no circumstances|by law|by contract"
     r"|contractually)\b"),
    ("points", -2, r"^(?:it|it's|this|that|that's|they|they're|these|those|there|there's|he|she)\b"),
    ("one thing", -1, r"^(?:the|an?|my|your|both)\b"),
    ("state", -3, rf"\b(?:is|are|looks?|seems?|feels?|was|were|gets?|got|goes|comes out)(?: now| all| just| really"
     rf"| very| so| quite| a bit| not| almost)? {_STATES}\b(?! (?:of|by|from|to|for|in|at|every)\b)"),
    ("trouble", -3, r"^(?:our |the |some )?(?:users|customers|people|clients|consumers|testers|somebody"
     r"|someone) (?:\w+ly )?(?:can't|cannot|don't|complain|see|get|say|report|are|have)\b|\b(?:race|vanish\w*|climbs?"
     r"|grows|growing|goes up(?! to\b)|dead|leaks?|duplicates?|suddenly|happen(?:s|ing) only|only happens?"
     r"|never (?:terminates?|ends?|stops?|finish\w*|arrives?|goes? away)|is not a function|overlaps?|covers|flickers?"
     r"|jumps?|wraps|lags|dies|stuck|shows?(?! that)|doesn't match|does not match|oomkilled|too \w+ly)\b|\b(?:fails"
     r"|failed|failing|crash(?:es|ed)?|hangs?|timed? out|doesn't work|not working|sometimes|randomly|all the time"
     r"|works for me|killed|explodes|flaky|no idea|something|ready)\b|\b\d+ ?%|\babout \d+ in \d+"),
    ("of that time", -3, r"\b(?:was|were|had|did|lost|went|came|got|happened|called|yesterday|last (?:week|night"
     r"|time)|this morning|just now|earlier|today|tonight|tomorrow|this week|right now|currently|for now|at the moment"
     r"|friday|monday|by now|luckily|\d+ \w+ left|on vacation|waiting|almost|at \d)\b"),
)  # fmt: skip
_MARKS = {"wrong": 2, "told": 2, "note": 2, "actually": 1, "preamble": 1, "reversed": 2}
_BINDING = frozenset(("nobody may", "who does", "no exceptions", "all of them"))
# Signs that do not count if one of these others is present.
_INSTEAD = {"of its kind": {"nobody may", "trouble"}, "one thing": {"reason", "therefore", "reversed"}}
_ORDERS = TASK_STARTS | frozenset(
    "leave keep use call take import don't do not go ask stop avoid wait ignore skip stick pick choose drop pass touch"
    " edit never always please prefer make let be just then get bring restore commit push send stay hurry mind throw"
    " return raise store inject feel fold spin kick hold treat follow apply download upload log enable disable".split()
)


# Not a statement: a place to work on ("src/x.py: …"), a current activity, program output.
_NO_STATEMENT = (
    r"(?:if|when|what|why|how|who|where|which|can|could|would|do|does|is|are|whatever)\b|no wait|forget |(?!(?:all|only"
    r"|both|half|in|on|at|for|with|from|by|of|to|as|not|after|before|under|since|here|like|than)\b)[a-z]{3,} (?:the|an?"
    r"|this|that|these|those|it|them|some) |(?=[^\s:]{0,120}[/.]\w)[\w./@-]{2,120}(?::| [–—-]) |[a-z]{3,}ing (?:an?|the"
    r"|up|in|from) |.{0,60}\berror\b.{0,20}:|select |option '|all (?:tests|checks) "
)
_DOES = rf"\b{_VERB}\b|^(?:\S{{1,40}} ){{1,5}}\w{{2,}}[^su\W]s\b|^(?:we|they|nobody|everybody|everyone|no one) \w"
# A kind of things although its first word could be an order: "commit messages are …", "test keys come …".
_USE_FOR_REASON = (
    rf"(?:{USE}|{_INSTEAD_USE})[^,;:]{{0,90}}(?:[,;:–—] |\. )(?!please\b|then\b|and\b|i\b|we'll\b"
    rf"|or\b)[^,;]{{2,60}}\b{_VERB}\b"
)
_NAMED_KIND = rf"\w+ [\w-]+s {_VERB}\b"


# An answer to an offered choice: "soft delete, the tax office wants …".
_CHOICE = (
    r"((?!no\b|yes\b|ok|the\b|this\b|that\b|it\b)[\w/+.-]{2,30}(?: [\w/+.-]{2,30}){0,3})(?:[,:;–—] | - |\. )(\S.{14,})$"
)
_OFFERS = r"\beither\b|\bor\b|\bwhereas\b|\bboth\b|\balternativ|\bversus\b|\bvs\b|\bwhich\b|; |\?\s*$"
_NO_REASON = r"(?:i|i'm|i'd|please|can|could|then|now|and|but|it's|let's|you|don't|do|add|make|just|maybe|if|for now)\b"
_SHORT_ORDER = 9  # words
_TAKES_BACK = (
    r"(?:please |pls |but |and |then |no,? |ok,? |so )*(?:leave|keep|put|revert|undo|restore|roll|bring|take|remove"
    r"|drop|change|move|stop|don't) (?:\w+ ){0,3}?(?:it|them|that|this|these|those|back|alone)\b"
)


def holds_in_general(text: str, marks: frozenset[str], context: StatementContext) -> bool:
    """Tell whether the signs that a statement holds beyond this task outweigh the contrary ones."""
    least = ENOUGH if context.before else ENOUGH_ALONE
    return is_statement(text.lower()) and sum(signs_of(text, marks, context).values()) >= least


def binds_everybody(text: str) -> bool:
    """Tell whether a statement says what nobody may or everybody does: a rule in the form of a fact."""
    return any(name in _BINDING and compiled(pattern).search(text.lower()) for name, _, pattern in _SIGNS)


def signs_of(text: str, marks: frozenset[str], context: StatementContext) -> dict[str, int]:
    """Return the signs in a statement with their points; their sum is the score."""
    low = text.lower()
    found = {name: points for name, points, pattern in _SIGNS if compiled(pattern).search(low)}
    found |= {name: points for name, points in _MARKS.items() if name in marks}
    for sign, others in _INSTEAD.items():
        if not others.isdisjoint(found):
            found.pop(sign, None)
    checks = {"names": names_something(text), "contrast": contrasts(low), "asked": context.asked}
    found |= {name: 1 for name, present in checks.items() if present}
    if context.reversed:
        found["reversed"] = 2
    if not context.stems.isdisjoint(_stems(low)):
        found["taken up"] = 2  # it repeats words of the agent, which a report of something new does not
    return found


def _stems(low: str) -> frozenset[str]:
    """Return the stems of the content words in a lower-case text, without words of any work."""
    words = set(compiled(r"[a-z0-9][\w-]{2,}").findall(low)) - _ANY_WORK - STOP_WORDS
    return frozenset(_stem(word) for word in words)


def _stem(word: str) -> str:
    """Return the first letters of a word without its ending."""
    ending = next((ending for ending in ("ing", "ed", "es", "e", "s") if word.endswith(ending)), "")
    return word.removesuffix(ending)[:_STEM]


def is_statement(low: str) -> bool:
    """Tell whether a lower-case text is a statement: it opens with no order and has a subject and a verb."""
    low = low.removeprefix("only ")  # "only mac-02 holds the certificate" and "only touch en.json"
    first = low.split(None, 1)[0].rstrip(",:") if low.strip() else ""
    ordered = (
        first in _ORDERS and compiled(_NAMED_KIND).match(low) is None and compiled(_USE_FOR_REASON).match(low) is None
    )
    if ordered or compiled(_NO_STATEMENT).match(low):
        return False
    return compiled(_DOES).search(low) is not None


def is_reasoned_choice(text: str, context: StatementContext) -> bool:
    """Tell whether a reply takes one of the agent's options and gives a reason: "REST. Partners should …"."""
    found = compiled(_CHOICE, 2).match(text)
    if found is None:
        return False
    words, reason = _stems(found[1].lower()), found[2].lower()
    why = compiled(rf"\b{_VERB}\b").search(reason) is not None and compiled(_NO_REASON).match(reason) is None
    return (
        bool(words)
        and why
        and words <= context.stems
        and compiled(_OFFERS, 2).search(context.before[-_READ_CHARS:]) is not None
    )


def is_undo_order(sentence: str) -> bool:
    """Tell whether a short sentence orders to undo or leave the agent's work: "Leave them in.", "Put it back."."""
    low = sentence.lower().replace("’", "'")
    return len(low.split()) <= _SHORT_ORDER and compiled(rf"{_TAKES_BACK}[^?]{{0,60}}$").match(low) is not None


def statement_after_order(text: str) -> str:
    """Return the statement after an order to undo something: "leave it, the sandbox is down every night"."""
    order = compiled(rf"{_TAKES_BACK}[^,;:?]{{0,40}}[,;:–—] (?=\S)", 2).match(text)
    return text[order.end() :] if order else ""
