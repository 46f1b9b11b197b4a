"""Corrections and lasting rules in what a person says to an agent.

A sentence is read in three steps. Its opening is taken off: politeness says nothing; "no", "I told you" and "from now
on" leave a mark. What is no lesson is left out: questions, tasks, one-off orders, symptoms, guesses. What remains
must have the shape of a rule, or a mark together with a statement that stands on its own.

When in doubt nothing is found: a lesson that is missed is said again, a wrong one costs every later session.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import frozen
from swarmlore.rules import correction_shapes as shape
from swarmlore.rules.correction_words import (
    ADDED_TASK,
    FAILING,
    FALSE_ALARMS,
    HOUSE_RULE,
    HYPOTHETICAL,
    ONE_OFF,
    POINTING,
    STANDING,
    SYMPTOM,
    TASK_CLAUSE,
    TASK_STARTS,
    compiled,
    openings,
)
from swarmlore.rules.found import MAX_CHARS, MIN_CHARS, Found
from swarmlore.rules.referents import resolve
from swarmlore.rules.wording import tidy
from swarmlore.text.prose import QUOTED, Said, sentences
from swarmlore.text.words import STOP_WORDS, split_words

MAX_FOUND = 5  # of one prompt; more is a document
EXCERPT_CHARS = 300
_BLOCK_MARK = "=== swarmlore notes"
_MOST_OPENINGS = 8
_OPENING_CHARS = 400
# A task that carries out a choice: "migrate the editor to vite, we decided that yesterday".
_DECIDED = r"(.{15,160}), (?:as )?we(?:'ve| have)? (?:decided|agreed|settled)(?: on)? (?:that|this|it)\b"
_OURS = r"\b(?:our|we|always|every|all|policy|guidelines?|rules?)\b"  # a reason that holds beyond the task
_DO_NOT = r"(?:return|throw|call|raise|put|keep|import|inject|store|pass) [^,;]{2,60}, (?:don't|do not|never) \w"
_NOT_SO = r"(?:the|our|this|these|those|all|an?) [^,;?]{4,100}, not (?:an? |the )?([\w./-]{3,30})$"
_VALUE = (
    r"(?:the|our) (?:[\w-]+ ){0,2}?([\w-]{3,30}) (?:is|are|lasts?|takes?|costs?|expires? after"
    r"|starts? at) ([^,;?]{2,40})$"
)
_READ_CHARS = 4_000  # of the end of what the agent said
_APOSTROPHES = str.maketrans("’‘´", "'''")


@frozen
class _Clause:
    """A sentence without its opening, as written and in lower case, and the marks that the opening left."""

    text: str
    low: str
    marks: frozenset[str]


def find_corrections(prompt: str, said_before: str = "") -> tuple[Found, ...]:
    """What a prompt corrects or lays down for good, as lessons; `said_before` is what the agent had said last."""
    said = _own_sentences(prompt)
    found: list[Found] = []
    wrong = False
    for place, sentence in enumerate(said):
        after = [
            other for other in said[place + 1 : place + 4] if other.paragraph == sentence.paragraph and not other.listed
        ]
        lesson, wrong = _read(sentence, wrong, after, said_before)
        if lesson and not any(lesson.text.rstrip(".") in other.text for other in found):
            found.append(lesson)
    return tuple(found[:MAX_FOUND])


def is_rejection(prompt: str) -> bool:
    """Whether a prompt opens by saying that what the agent said or did is wrong."""
    said = _own_sentences(prompt[:_OPENING_CHARS])
    return bool(said) and "wrong" in _open(said[0].text, frozenset()).marks


def _own_sentences(prompt: str) -> list[Said]:
    if _BLOCK_MARK in prompt:
        from swarmlore.rules.block import strip_blocks  # rarely needed

        prompt = strip_blocks(prompt)
    said = sentences(prompt, typed=True)
    if said and compiled(r"you are (?:a|an|the) ").match(said[0].text.lower()):
        return []  # a prompt written for an agent, not a person speaking to one
    return [sentence for sentence in said if not sentence.listed or _opens_rules(sentence.heading) or len(said) == 1]


def _opens_rules(heading: str) -> bool:
    low = heading.lower()
    cue = compiled(rf"\b(?:rules?|conventions?|guidelines|remember|reminders?|preferences|{STANDING})\b").search(low)
    return cue is not None and _first_word(low) not in TASK_STARTS


def _read(said: Said, wrong: bool, after: Sequence[Said], before: str) -> tuple[Found | None, bool]:
    """The lesson of a sentence, and whether it rejected something without saying what is right."""
    clause = _open(said.text, frozenset(("wrong",)) if wrong else frozenset())
    if said.listed and _opens_rules(said.heading):
        clause = _Clause(clause.text, clause.low, clause.marks | {"standing"})
    if not clause.low:
        return None, "wrong" in clause.marks
    if decided := compiled(_DECIDED, 2).match(clause.text):
        return _lesson(_Clause(f"Decided: {decided[1]}", "", clause.marks), said, "decision", "medium"), False
    if resolved := resolve(clause.text, before, rejected="wrong" in clause.marks):
        return _lesson(_Clause(resolved, resolved.lower(), clause.marks), said, "correction", "medium"), False
    if any(way(clause, before) for way in (_puts_right, _states_in_general, _gives_the_value)):
        return _lesson(clause, said, "correction", "medium"), False
    for whole in dict.fromkeys((_with_more(clause, after), clause)):  # what follows may spoil a rule that stands alone
        for part in _clauses(whole):
            if judged := _judge(part, whole=part is whole):
                if judged[0] == "learning" and before and shape.is_requirement(part.low):
                    judged = "correction", judged[1]  # said to whoever has just done it otherwise
                return _lesson(part, said, *judged), False
    return None, _still_wrong(said, clause, wrong)


def _states_in_general(clause: _Clause, before: str) -> bool:
    """Whether it is how things of a kind are, told to an agent that has done something."""
    failing = compiled(FAILING).search(clause.low) is not None
    return bool(before) and shape.is_general(clause.low) and not (failing or _shape(clause)) and _may_teach(clause)


def _gives_the_value(clause: _Clause, before: str) -> bool:
    """Whether it says what something is that the agent had spoken of: "The trial is 14 days."."""
    told = compiled(_VALUE).match(clause.low)
    if told is None or not before or not _may_teach(clause):
        return False
    said = before[-_READ_CHARS:].lower()
    value = told[2]
    return told[1] in said and value not in said and compiled(r"\d").search(value) is not None


def _puts_right(clause: _Clause, before: str) -> bool:
    """Whether it says that something is so and not as the agent has just said: "the API delivers …, not seconds"."""
    told = compiled(_NOT_SO).match(clause.low)
    if told is None or not before or not _may_teach(clause):
        return False
    return told[1] in (word.rstrip(".:") for word in compiled(r"[\w./:-]+").findall(before[-_READ_CHARS:].lower()))


def _still_wrong(said: Said, clause: _Clause, wrong: bool) -> bool:
    """Whether what is right is still to be said: "No, that is what we had.", "Don't run all of it.", "You are in …"."""
    if said.text.endswith("?"):
        return False
    opened = "wrong" in _open(said.text, frozenset()).marks
    return opened or shape.is_ban(clause.low) or (wrong and _is_about_the_agent(clause.low))


# --- opening


def _open(sentence: str, marks: frozenset[str]) -> _Clause:
    """Take off what a sentence opens with."""
    text = sentence.translate(_APOSTROPHES)
    for _ in range(_MOST_OPENINGS):
        low = text.lower()
        for name, pattern in openings():
            if taken := pattern.match(low):
                text, marks = text[taken.end() :], marks | {name}
                break
        else:
            break
    return _clause(text, marks)


def _clause(text: str, marks: frozenset[str]) -> _Clause:
    """Take off what it ends with: thanks, marks, "in the future"."""
    text = compiled(r",? (?:got it|ok|okay|right|understood|please|alright)\?$", 2).sub("", text)
    text = compiled(r"[\s,]+(?:please|pls|thanks|thank you|thx|ok|okay|danke|merci|gracias|bitte)$", 2).sub(
        "", text.rstrip(" !.…,;:")
    )
    ended = compiled(rf"[\s,]+(?:{STANDING}|{HOUSE_RULE})$").search(text.lower())
    if ended:
        text, marks = text[: ended.start()], marks | {"standing"}
    return _Clause(text, text.lower(), marks)


def _clauses(clause: _Clause) -> list[_Clause]:
    """The whole, then what follows each comma, each with its own opening."""
    found = [clause]
    task = _first_word(clause.low) in TASK_STARTS
    for cut in compiled(r"[,;:–—]\s+|\s-\s+|\s(?:and|but|so)\s+").finditer(clause.text):
        if task and cut[0][0] == ":":
            break  # "translate: never push to main"
        rest = _open(clause.text[cut.end() :], frozenset())
        if rest.low:
            found.append(rest)
    return found[:_MOST_OPENINGS]


# --- judging


def _judge(clause: _Clause, whole: bool) -> tuple[str, str] | None:
    """Kind and confidence of what a clause teaches, or nothing."""
    if not _may_teach(clause):
        return None
    if kind := _shape(clause):
        return ("correction" if "wrong" in clause.marks else kind), "high"
    low = clause.low
    stated = low.partition(",")[0] if shape.is_ban(low) else low  # the reason of a ban may tell of a failure
    failing = compiled(FAILING).search(stated) and not clause.marks & {"standing", "remember"}
    if failing or (not whole and not clause.marks & {"standing", "told", "remember"}):
        return None
    return _judge_marked(clause) or _judge_plain(clause)


def _shape(clause: _Clause) -> str:
    """The kind of a clause that is a rule by its shape alone."""
    low = clause.low
    if shape.is_decision(low):
        return "decision"
    if shape.is_rule(low) or shape.is_preference(low):
        return "commitment"
    if shape.is_habit(low) and not shape.contrasts(low):
        return "commitment"
    if shape.is_convention(low) or (shape.is_complaint(low) and len(_content(low)) > 1):
        return "commitment"
    return ""


def _judge_marked(clause: _Clause) -> tuple[str, str] | None:
    """Judge what the opening already called a correction, a repetition or a rule."""
    low, marks = clause.low, clause.marks
    stated = shape.is_fact(low) or shape.is_use(low) or shape.contrasts(low) or shape.is_prohibition(low)
    if "standing" in marks and not compiled(r"(?:i|we|it|this|that|they|he|she)\b").match(low):
        return "commitment", "high"
    if "told" in marks and stated:
        return "correction", "high"
    if "remember" in marks and not low.startswith("to "):
        return "learning", "high"
    if "note" in marks and shape.is_fact(low) and not low.startswith("to "):
        return "learning", "high"
    if "asked" in marks and compiled(r"not (?!touch|run)").match(low):
        return "commitment", "medium"
    if "wrong" in marks and _corrects(clause):
        return "correction", "high"
    if "actually" in marks and shape.is_fact(low) and (shape.contrasts(low) or _is_named_fact(clause)):
        return None if low.startswith("use ") else ("correction", "medium")
    return None


def _corrects(clause: _Clause) -> bool:
    """Whether what follows a "no" says how it really is."""
    low = clause.low
    if _is_about_the_agent(low):
        return False
    if shape.is_use(low) or shape.is_requirement(low):
        return shape.names_something(clause.text) or len(_content(low)) > 1
    if _first_word(low) in TASK_STARTS:
        return False
    if _points(low) and not low.startswith("it's "):
        return False
    if shape.contrasts(low) or compiled(_DO_NOT).match(low):
        return True
    return shape.is_fact(low) and (shape.names_something(clause.text) or shape.is_placed_fact(low) or shape.lasts(low))


def _is_about_the_agent(low: str) -> bool:
    """Whether it says where an agent is or what it did, and not what to do."""
    return compiled(r"you(?:'re| are| were|'ve| have(?! to)| did)\b").match(low) is not None


def _is_named_fact(clause: _Clause) -> bool:
    return shape.is_placed_fact(clause.low) and shape.names_something(clause.text) and not _points(clause.low)


def _points(low: str) -> bool:
    """Whether it speaks of something that only those who talk can see."""
    pattern = r"(?:it|they|there|he|she)\b|(?:that|this|these|those) (?:is|are|was|were|does|should|returns?|needs?)\b"
    return compiled(pattern).match(low) is not None


def _forbids_for_good(low: str) -> bool:
    if not shape.is_ban(low):
        return False
    if compiled(r"\. (?:our|we) \w").search(low):  # what they have instead
        return True
    return shape.is_everywhere(low) if shape.is_about_one(low) else shape.lasts(low)


def _judge_plain(clause: _Clause) -> tuple[str, str] | None:
    """Judge what has no mark: it must show by itself that it holds beyond the task."""
    low = clause.low
    named = shape.names_something(clause.text)
    if _forbids_for_good(low):
        return "commitment", "medium"
    if shape.is_placed_order(low) or (shape.is_limit(low) and named and ". " in low):
        return "correction", "medium"
    if shape.is_placed(low) and (shape.contrasts(low) or shape.is_fact(low)):
        return "commitment", "medium"
    if shape.contrasts(low) and (shape.is_use(low) or low.startswith("instead of")):
        return ("correction", "medium") if shape.lasts(low) or named or shape.is_use(low) else None
    placed = compiled(r"[^,;]{0,60}\b(?:is|are|it's|lives?|go|goes|belongs?)\b").match(low)
    if shape.contrasts(low) and placed and named:
        return "correction", "medium"
    if shape.is_requirement(low) and (shape.has_reason(low) or shape.contrasts(low)):
        return "learning", "medium"
    if (shape.is_need(low) and shape.lasts(low)) or shape.is_fact_with_order(low) or shape.is_kept(low):
        return "commitment", "medium"
    if shape.is_known_fact(low) or shape.forbids_with_reason(low):
        return "learning", "medium"
    return None


def _may_teach(clause: _Clause) -> bool:
    """Whether nothing speaks against it: no question, no one-off, no symptom, and it says something by itself."""
    low, text = clause.low, clause.text
    if QUOTED in text or (text.endswith("?") and "asked" not in clause.marks):
        return False
    if "remember" in clause.marks:
        return _stands_alone(low) and not compiled(rf"{ONE_OFF}|to\b|i\b").match(low)
    head = low.partition(". ")[0]  # what follows was looked at when it was added
    if any(compiled(pattern).search(head) for pattern in (FALSE_ALARMS, ONE_OFF, SYMPTOM, HYPOTHETICAL, TASK_CLAUSE)):
        return False
    if low.startswith(("make sure", "let's")) and _shape(clause):
        return _stands_alone(low)
    if compiled(r"\bfirst$").search(low) and not compiled(r"\b(?:needs?|must|ha(?:ve|s) to|requires?|always)\b").search(
        low
    ):
        return False
    ordered = clause.marks & {"standing", "told"} or any(
        is_order(low) for is_order in (shape.is_placed_order, shape.is_convention, shape.is_duty)
    )
    is_task = _first_word(low) in TASK_STARTS and not ordered
    return not is_task and _stands_alone(low)


def _stands_alone(low: str) -> bool:
    """Whether a text says something without what it points at."""
    content = _content(low)
    points = compiled(
        r" (?:it|that|this|these|those|them|so)(?=$|[,;.]| (?:here|anymore|any more|again|ever|instead|either|too|in"
        r"|at|the)\b)"
    )
    if points.search(low) and len(content) < 3:
        return False
    return len(content) > 1 or (len(content) == 1 and (shape.names_something(low) or shape.is_named_tool(low)))


def _content(low: str) -> list[str]:
    return [word for word in split_words(low) if word not in STOP_WORDS and word not in POINTING and len(word) > 1]


def _first_word(low: str) -> str:
    return low.split(None, 1)[0].rstrip(",:") if low.strip() else ""


# --- writing


def _with_more(clause: _Clause, after: Sequence[Said]) -> _Clause:
    """The clause and the sentences behind it that say why, or what instead; after "remember", all of that paragraph."""
    text = clause.text
    if shape.is_swap(clause.low) and after and compiled(_OURS).search(after[0].text.lower()):
        longer = f"{text}. {after[0].text.rstrip(' !.')}"
        return _Clause(longer, longer.lower(), clause.marks | {"standing"})
    forbids = shape.is_ban(clause.low) or shape.is_limit(clause.low) or clause.low.startswith("never ")
    for place, said in enumerate(after):
        longer = f"{text}. {said.text.rstrip(' !.')}"
        if len(longer) >= MAX_CHARS or not (
            _goes_on(said, "remember" in clause.marks) or (forbids and not place and _says_instead(said))
        ):
            break
        text = longer
    return _Clause(text, text.lower(), clause.marks)


def _goes_on(said: Said, remembered: bool) -> bool:
    low = said.text.lower().translate(_APOSTROPHES)
    if low.endswith("?"):
        return False
    if remembered:
        return _first_word(low).strip(",") not in TASK_STARTS | {"now", "can", "could", "please", "i", "thanks", "ok"}
    pattern = r"(?:use\b.{1,200}\binstead\b|instead\b|otherwise\b|because\b|they (?:are|get|contain|have|will)\b)"
    return compiled(pattern).match(low) is not None


def _says_instead(said: Said) -> bool:
    """Whether a sentence behind a ban says how it is done, and where."""
    low = said.text.lower().translate(_APOSTROPHES)
    spoken = compiled(r"(?:i|you|no|ok|thanks|please|now|can|could|also|and|but)\b").match(low) is not None
    if low.endswith("?") or spoken or _first_word(low) in TASK_STARTS:
        return False
    stated = (
        compiled(r"our [\w./ -]{2,60} \w+s\b|we \w|[^,;]{0,60}\b(?:is|are|lives?|goes|go|comes?|gets?)\b").match(low)
        is not None
    )
    refers = compiled(r"(?:in|on|for) [^,;]{3,40} (?:they|it|these|those)(?:'s|'re)? ").match(low) is not None
    return stated and (refers or shape.names_something(said.text))


def _lesson(clause: _Clause, said: Said, kind: str, confidence: str) -> Found | None:
    text = tidy(compiled(ADDED_TASK, 2).sub("", clause.text))
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        return None
    return Found(text, kind, confidence, said.text[:EXCERPT_CHARS])
