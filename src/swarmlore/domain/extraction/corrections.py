"""Corrections and lasting rules in what a person says to an agent.

A sentence is read in three steps. Its opening is taken off: politeness says nothing; "no", "I told you" and "from now
on" leave a mark. What is no lesson is left out: questions, tasks, one-off orders, symptoms, guesses. What remains
must have the shape of a rule, or a mark together with a statement that stands on its own.

When in doubt nothing is found: a lesson that is missed is said again, a wrong one costs every later session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from swarmlore.domain.extraction import correction_patterns as shape
from swarmlore.domain.extraction.correction_patterns import (
    FAILING,
    FALSE_ALARMS,
    HYPOTHETICAL,
    LASTING_VERB,
    ONE_OFF,
    STANDING,
    SYMPTOM,
    TASK_CLAUSE,
    TASK_STARTS,
    compiled,
    names_something,
)
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, Found
from swarmlore.domain.extraction.statement_score import (
    Clause,
    Heard,
    behind_order,
    behind_preamble,
    binds_all,
    chooses,
    clauses_of,
    content_of,
    first_word,
    holds_in_general,
    is_statement,
    lesson_of,
    open_sentence,
    ours_within,
    plain,
    stands_alone,
    takes_back,
)
from swarmlore.domain.extraction.user_words import QUOTED, Said, sentences, split_sentences

_READ_CHARS = 4_000  # the end of a long answer is what a person replies to
_LONGEST_POINTER = 200
_TOKEN = r"`[^`\n]{1,80}`|[\w./@:-]{1,80}"
_IT = (
    rf"(?:it's|it is|that's|that is|its)?\s*(?:in |at |on |called |under )?(?P<new>{_TOKEN})(?:,? (?:and )?not (?:in"
    rf" |at |on )?(?P<old>{_TOKEN}))?"
)
_INSTEAD = (
    rf"(?:don't|do not|dont|stop|no) (?:do(?:ing)? )?(?:that|this|it)\s*[,;.:–—-]+\s*(?:use|run) (?P<new>{_TOKEN})"
)


# "pathlib not os.path", typed in haste.
_NOT_THAT = r"(?:use )?(?P<new>[\w./@`-]{2,40}(?: [\w./@`-]{2,30})?),? (?:and )?not (?P<old>[\w./@`-]{2,40})"
# What changes from one place to the next: where something stands, its colour, its number.
_PLAIN = frozenset(
    "left right top bottom up down red blue green black white grey gray yellow first second third last next big small"
    " bigger smaller bold italic here there now yes it that this these those them one two me you dark light wide narrow"
    " above below good bad true false all some done sure why yet so is are was but and or the a an".split()
)
# What a file may be that nobody should have touched.
_THAT_FILE = (
    r"(?:that's|that is|this is|that file is|this file is|that one is|that one's) (?=(?:an? |our |the "
    r"|auto-?)?(?:generated|vendored"
    r"|third[- ]party|legacy|deprecated|frozen|shared|protected|read-only|owned|managed|copied|synced|overwritten"
    r"|checked in)\b)"
)
_PATH = r"`?(?:[\w@.-]{1,60}/){1,10}[\w.-]{1,80}\.\w{1,8}`?"


def resolve(text: str, said_before: str, rejected: bool) -> str:
    """The correction as a sentence of its own; empty where what it points at is not said exactly once."""
    if not said_before or len(text) > _LONGEST_POINTER:
        return ""
    said = [part for line in said_before[-_READ_CHARS:].splitlines() for part in split_sentences(line)]
    if found := compiled(_INSTEAD, 2).fullmatch(text.strip()):
        done = {span for part in said if _is_first_person(part) for span in compiled(r"`[^`\n]{2,80}`").findall(part)}
        return f"Use {found['new']}, not {done.pop()}" if len(done) == 1 else ""
    that = compiled(_NOT_THAT, 2).fullmatch(text.strip())
    if that and (named := _names_both(that["new"], that["old"], said)):
        return named
    found = compiled(_IT, 2).fullmatch(text.strip())
    if found is None or not _is_value(found["new"]) or not (rejected or found["old"]):
        return ""
    return _replace(said, found["new"], found["old"] or "")


def name_subject(text: str, said_before: str) -> str:
    """A statement that opens with "that's a …", with the one file that the agent had spoken of in its place."""
    found = compiled(_THAT_FILE, 2).match(text)
    if found is None:
        return text
    paths = {token.strip("`") for token in compiled(_PATH).findall(said_before[-_READ_CHARS:])}
    return f"{paths.pop()} is {text[found.end() :]}" if len(paths) == 1 else text


def _names_both(new: str, old: str, said: list[str]) -> str:
    """The order to use one thing and not the other, where the agent had spoken of the other and neither is a number."""
    words = [word.strip("`").lower() for word in (*new.split(), old)]
    spoken = {token.strip("`").rstrip(".:").lower() for part in said for token in compiled(_TOKEN).findall(part)}
    plain = any(word in _PLAIN or _sort(word) == "number" for word in words)
    return "" if plain or words[-1] not in spoken else f"Use {new}, not {old}"


def _replace(said: list[str], new: str, old: str) -> str:
    """What was said, with the value put right."""
    fits = {
        (part, token)
        for part in said
        for token in compiled(_TOKEN).findall(part)
        if _fits(token.rstrip(".:"), new, old)
    }
    if len(fits) != 1:
        return ""
    part, token = fits.pop()
    token = token.rstrip(".:")
    part = compiled(r",? (?:so|and|but|then) (?:i|we|let me)\b.*", 2).sub("", part).rstrip(" .!,")
    return f"{part.replace(token, new, 1)}, not {token}" if token in part and not _is_first_person(part) else ""


def _fits(token: str, new: str, old: str) -> bool:
    if old:
        return token.strip("`") == old.strip("`")
    return token != new and _is_value(token) and _sort(token) == _sort(new)


def _is_value(token: str) -> bool:
    return _sort(token) != "word"


def _sort(token: str) -> str:
    if token.startswith("`"):
        return "code"
    if token.replace(".", "").isdigit():
        return "number"
    return "path" if "/" in token else "name" if compiled(r"\w[_.@-]\w|\d").search(token) else "word"


def _is_first_person(part: str) -> bool:
    return compiled(r"(?:now |ok(?:ay)?,? )?(?:i|i'll|i've|i'm|let me|we|running)\b", 2).match(part) is not None


_CHOICE_WORDS = 4


def find_stated(said: Said, wrong: bool, after: Sequence[Said], heard: Heard) -> Found | None:
    """The lesson of a sentence that states how things are, where enough speaks for it."""
    clause = open_sentence(said.text, frozenset(("wrong",)) if wrong else frozenset())
    named = name_subject(clause.text, heard.before)
    clause = Clause(named, named.lower(), clause.marks)
    if lesson := _choice(clause, said, after, heard):
        return lesson
    behind = behind_order(clause.text)
    reason = open_sentence(behind, clause.marks | {"reversed"}) if behind else None
    parts = (_with_reason(clause, after), clause, behind_preamble(clause), reason, ours_within(clause))
    for whole in dict.fromkeys(parts):
        if whole and is_statement(whole.low) and _may_state(whole) and holds_in_general(whole.text, whole.marks, heard):
            return lesson_of(whole, said, _kind_of(whole, heard), "medium")
    return None


def _kind_of(clause: Clause, heard: Heard) -> str:
    if "wrong" not in clause.marks and binds_all(clause.text):
        return "commitment"
    return "correction" if heard.before and not heard.asked and "note" not in clause.marks else "learning"


def _choice(clause: Clause, said: Said, after: Sequence[Said], heard: Heard) -> Found | None:
    """One of the ways that the agent had offered, with the reason for it."""
    more = f". {after[0].text}" if after and len(clause.low.split()) <= _CHOICE_WORDS else ""
    whole = Clause(f"{clause.text}{more}".rstrip(" !."), f"{clause.low}{more.lower()}", clause.marks)
    fits = heard.before and chooses(whole.text, heard) and _may_state(whole)
    return lesson_of(Clause(f"Decided: {whole.text}", "", clause.marks), said, "decision", "medium") if fits else None


def _with_reason(clause: Clause, after: Sequence[Said]) -> Clause:
    """With the next sentence, where that says why: "You can't cast SKUs. They carry leading zeros."."""
    more = after[0].text.rstrip(" !.") if after else ""
    goes_on = compiled(r"(?:they|it|that|those|these|there) [^?]{8,200}$", 2).match(more) is not None
    longer = f"{clause.text}. {more}"
    return Clause(longer, longer.lower(), clause.marks) if goes_on and len(longer) < MAX_CHARS else clause


def _may_state(clause: Clause) -> bool:
    """Whether nothing speaks against a statement; its reason may well tell of a symptom."""
    low, text = clause.low, clause.text
    first = compiled(r"[,;:]\s|\. | because | due to ").split(low, maxsplit=1)[0]
    first = compiled(rf"\bstill (?={LASTING_VERB}\b)").sub("", first)  # "the tills still talk SOAP" is no complaint
    spoilt = any(compiled(pattern).search(low) for pattern in (HYPOTHETICAL, TASK_CLAUSE))
    spoilt = spoilt or any(compiled(pattern).search(first) for pattern in (ONE_OFF, SYMPTOM, FALSE_ALARMS))
    return not (spoilt or QUOTED in text or "?" in text) and stands_alone(low)


MAX_FOUND = 5  # of one prompt; more is a document
_BLOCK_MARK = "=== swarmlore notes"
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


def find_corrections(prompt: str, said_before: str = "") -> tuple[Found, ...]:
    """What a prompt corrects or lays down for good, as lessons; `said_before` is what the agent had said last."""
    said = _own_sentences(prompt)
    found: list[Found] = []
    wrong = False
    replied = bool(said_before) or not is_trouble(prompt)  # who opens with a report states what goes wrong
    heard = Heard(said_before, bool(said_before) and any(takes_back(sentence.text) for sentence in said))
    for place, sentence in enumerate(said):
        after = [
            other for other in said[place + 1 : place + 4] if other.paragraph == sentence.paragraph and not other.listed
        ]
        lesson, still = _read(sentence, wrong, after, said_before)
        lesson = lesson or (find_stated(sentence, wrong, after, heard) if replied else None)
        wrong = still and lesson is None
        if lesson and not any(lesson.text.rstrip(".").lower() in other.text.lower() for other in found):
            found.append(lesson)
    return tuple(found[:MAX_FOUND])


def is_rejection(prompt: str) -> bool:
    """Whether a prompt opens by saying that what the agent said or did is wrong."""
    said = _own_sentences(prompt[:_OPENING_CHARS])
    return bool(said) and "wrong" in open_sentence(said[0].text, frozenset()).marks


def _own_sentences(prompt: str) -> list[Said]:
    if _BLOCK_MARK in prompt:
        from swarmlore.domain.policy.fence import strip_blocks  # rarely needed

        prompt = strip_blocks(prompt)
    said = sentences(prompt, typed=True)
    if said and compiled(r"you are (?:a|an|the) ").match(said[0].text.lower()):
        return []  # a prompt written for an agent, not a person speaking to one
    return [sentence for sentence in said if not sentence.listed or _opens_rules(sentence.heading) or len(said) == 1]


def _opens_rules(heading: str) -> bool:
    low = heading.lower()
    cue = compiled(rf"\b(?:rules?|conventions?|guidelines|remember|reminders?|preferences|{STANDING})\b").search(low)
    return cue is not None and first_word(low) not in TASK_STARTS


def _read(said: Said, wrong: bool, after: Sequence[Said], before: str) -> tuple[Found | None, bool]:
    """The lesson of a sentence, and whether it rejected something without saying what is right."""
    clause = open_sentence(said.text, frozenset(("wrong",)) if wrong else frozenset())
    if said.listed and _opens_rules(said.heading):
        clause = Clause(clause.text, clause.low, clause.marks | {"standing"})
    if not clause.low:
        return None, "wrong" in clause.marks
    if decided := compiled(_DECIDED, 2).match(clause.text):
        return lesson_of(Clause(f"Decided: {decided[1]}", "", clause.marks), said, "decision", "medium"), False
    if resolved := resolve(clause.text, before, rejected="wrong" in clause.marks):
        return lesson_of(Clause(resolved, resolved.lower(), clause.marks), said, "correction", "medium"), False
    if any(way(clause, before) for way in (_puts_right, _states_in_general, _gives_the_value)):
        return lesson_of(clause, said, "correction", "medium"), False
    for whole in dict.fromkeys((_with_more(clause, after), clause)):  # what follows may spoil a rule that stands alone
        for part in clauses_of(whole):
            if judged := _judge(part, whole=part is whole):
                if judged[0] == "learning" and before and shape.is_requirement(part.low):
                    judged = "correction", judged[1]  # said to whoever has just done it otherwise
                return lesson_of(part, said, *judged), False
    return None, _still_wrong(said, clause, wrong)


def _states_in_general(clause: Clause, before: str) -> bool:
    """Whether it is how things of a kind are, told to an agent that has done something."""
    failing = compiled(FAILING).search(clause.low) is not None
    return bool(before) and shape.is_general(clause.low) and not (failing or _shape(clause)) and _may_teach(clause)


def _gives_the_value(clause: Clause, before: str) -> bool:
    """Whether it says what something is that the agent had spoken of: "The trial is 14 days."."""
    told = compiled(_VALUE).match(clause.low)
    if told is None or not before or not _may_teach(clause):
        return False
    said = before[-_READ_CHARS:].lower()
    value = told[2]
    return told[1] in said and value not in said and compiled(r"\d").search(value) is not None


def _puts_right(clause: Clause, before: str) -> bool:
    """Whether it says that something is so and not as the agent has just said: "the API delivers …, not seconds"."""
    told = compiled(_NOT_SO).match(clause.low)
    if told is None or not before or not _may_teach(clause):
        return False
    return told[1] in (word.rstrip(".:") for word in compiled(r"[\w./:-]+").findall(before[-_READ_CHARS:].lower()))


def _still_wrong(said: Said, clause: Clause, wrong: bool) -> bool:
    """Whether what is right is still to be said: "No, that is what we had.", "Don't run all of it.", "You are in …"."""
    if said.text.endswith("?"):
        return False
    opened = "wrong" in open_sentence(said.text, frozenset()).marks
    return opened or shape.is_ban(clause.low) or (wrong and _is_about_the_agent(clause.low))


# --- judging


def _judge(clause: Clause, whole: bool) -> tuple[str, str] | None:
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


def _shape(clause: Clause) -> str:
    """The kind of a clause that is a rule by its shape alone."""
    low = clause.low
    if shape.is_decision(low):
        return "decision"
    if (shape.is_rule(low) and not shape.is_property(low)) or shape.is_preference(low):
        return "commitment"
    if shape.is_habit(low) and not shape.contrasts(low):
        return "commitment"
    if shape.is_convention(low) or (shape.is_complaint(low) and len(content_of(low)) > 1):
        return "commitment"
    return ""


def _judge_marked(clause: Clause) -> tuple[str, str] | None:
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
        return ("commitment" if shape.binds(low) else "learning"), "high"
    if "asked" in marks and compiled(r"not (?!touch|run)").match(low):
        return "commitment", "medium"
    if "wrong" in marks and (_corrects(clause) or _says_always(low)):
        return "correction", "high"
    if marks & {"actually", "wrong", "note"} and shape.is_stack(low):
        return "learning", "medium"
    if "actually" in marks and shape.is_fact(low) and (shape.contrasts(low) or _is_named_fact(clause)):
        return None if low.startswith("use ") else ("correction", "medium")
    return None


def _corrects(clause: Clause) -> bool:
    """Whether what follows a "no" says how it really is."""
    low = clause.low
    if _is_about_the_agent(low):
        return False
    if shape.is_use(low) or shape.is_requirement(low):
        return shape.names_something(clause.text) or len(content_of(low)) > 1
    if first_word(low) in TASK_STARTS:
        return False
    if _points(low) and not low.startswith("it's "):
        return False
    if shape.contrasts(low) or compiled(_DO_NOT).match(low):
        return True
    return shape.is_fact(low) and (shape.names_something(clause.text) or shape.is_placed_fact(low) or shape.lasts(low))


def _says_always(low: str) -> bool:
    """Whether it lays down what holds always, in whatever form: "dates always as YYYY-MM-DD"."""
    word = compiled(r"\b(?:always|never|immer|niemals|nie|toujours|jamais|siempre|nunca)\b").search(low) is not None
    return word and compiled(r"(?:i|you|it|that|this|they)\b|.*\b(?:should|would|when i)\b").match(low) is None


def _is_about_the_agent(low: str) -> bool:
    """Whether it says where an agent is or what it did, and not what to do."""
    return compiled(r"you(?:'re| are| were|'ve| have(?! to)| did)\b").match(low) is not None


def _is_named_fact(clause: Clause) -> bool:
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


def _judge_plain(clause: Clause) -> tuple[str, str] | None:
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


def _may_teach(clause: Clause) -> bool:
    """Whether nothing speaks against it: no question, no one-off, no symptom, and it says something by itself."""
    low, text = clause.low, clause.text
    if QUOTED in text or (text.endswith("?") and "asked" not in clause.marks):
        return False
    if "remember" in clause.marks:
        return stands_alone(low) and not compiled(rf"{ONE_OFF}|to\b|i\b").match(low)
    head = low.partition(". ")[0]  # what follows was looked at when it was added
    if any(compiled(pattern).search(head) for pattern in (FALSE_ALARMS, ONE_OFF, HYPOTHETICAL, TASK_CLAUSE)):
        return False
    if compiled(SYMPTOM).search(shape.without_reason(head) if shape.is_decision(low) else head):
        return False
    if low.startswith(("make sure", "let's")) and _shape(clause):
        return stands_alone(low)
    if compiled(r"\bfirst$").search(low) and not compiled(r"\b(?:needs?|must|ha(?:ve|s) to|requires?|always)\b").search(
        low
    ):
        return False
    ordered = clause.marks & {"standing", "told"} or any(
        is_order(low) for is_order in (shape.is_placed_order, shape.is_convention, shape.is_duty)
    )
    is_task = first_word(low) in TASK_STARTS and not ordered
    return not is_task and stands_alone(low)


# --- writing


def _with_more(clause: Clause, after: Sequence[Said]) -> Clause:
    """The clause and the sentences behind it that say why, or what instead; after "remember", all of that paragraph."""
    text = clause.text
    if shape.is_swap(clause.low) and after and compiled(_OURS).search(after[0].text.lower()):
        longer = f"{text}. {after[0].text.rstrip(' !.')}"
        return Clause(longer, longer.lower(), clause.marks | {"standing"})
    forbids = shape.is_ban(clause.low) or shape.is_limit(clause.low) or clause.low.startswith("never ")
    for place, said in enumerate(after):
        longer = f"{text}. {said.text.rstrip(' !.')}"
        if len(longer) >= MAX_CHARS or not (
            _goes_on(said, "remember" in clause.marks) or (forbids and not place and _says_instead(said))
        ):
            break
        text = longer
    return Clause(text, text.lower(), clause.marks)


def _goes_on(said: Said, remembered: bool) -> bool:
    low = plain(said.text).lower()
    if low.endswith("?"):
        return False
    if remembered:
        return first_word(low).strip(",") not in TASK_STARTS | {"now", "can", "could", "please", "i", "thanks", "ok"}
    pattern = r"(?:use\b.{1,200}\binstead\b|instead\b|otherwise\b|because\b|they (?:are|get|contain|have|will)\b)"
    return compiled(pattern).match(low) is not None


def _says_instead(said: Said) -> bool:
    """Whether a sentence behind a ban says how it is done, and where."""
    low = plain(said.text).lower()
    spoken = compiled(r"(?:i|you|no|ok|thanks|please|now|can|could|also|and|but)\b").match(low) is not None
    if low.endswith("?") or spoken or first_word(low) in TASK_STARTS:
        return False
    stated = (
        compiled(r"our [\w./ -]{2,60} \w+s\b|we \w|[^,;]{0,60}\b(?:is|are|lives?|goes|go|comes?|gets?)\b").match(low)
        is not None
    )
    refers = compiled(r"(?:in|on|for) [^,;]{3,40} (?:they|it|these|those)(?:'s|'re)? ").match(low) is not None
    return stated and (refers or shape.names_something(said.text))


ENOUGH_ACTED = 1  # where it was said, then something was changed, and then it worked
ENOUGH = 2
ENOUGH_UNPROVEN = 4  # where nothing that worked afterwards shows that it was so
_LEAST_REPORT = 4  # words
_DENIAL_CHARS = 200
# What holds beyond the case at hand.
_RULES = r"\b(?:ha(?:s|ve) to|must|needs?|requires?|cannot|can't|only|never|until|otherwise|unless|by default)\b"
# Sentences that say how something is, not what was done: what it needs, allows, refuses, where it comes from.
_EXPLAINS = (
    r"\b(?:ha(?:s|ve|d) to|must|needs?|needed|requires?|required|cannot|can't|neither|because|until|otherwise|unless"
    r"|deprecated|defaults? to|by default"
    r"|(?:may|can|must) only|only (?:accepts?|lets?|works?|allows?|runs?|supports?|reads?|takes?|changes?|applies"
    r"|exists?)"
    r"|(?:came|comes) from|expects?|rejects?|ignores?|is (?:pinned|partitioned|generated|case-sensitive|read-only)"
    r"|(?:is|are) not \w+(?:ed|en|t)|(?:will|does|do|did) not|doesn't|don't|never)\b"
    r"|, so [\w`]|, and [^,;]{3,80} before [^,;]{3,60}$"
    r"|\b\w[^,;]{1,80}, (?:and )?not (?:per |by |in |on |at |the |an? )?\w"
    r"|\b(?:could|can|may) [^,;]{3,80} (?:at the same time|concurrently|in parallel|twice)\b"
    r"|\b(?:each|every) \w+ (?:triggers?|creates?|opens?|makes?|sends?|starts?|runs?)\b"
)
# How things behave.
_BEHAVES = (
    r"\b(?:insists? on|refuses?|demands?|assumes?|treats?|falls? back|blocks?|limits?|strips?|drops?|swallows?|caches?"
    r"|overrides?|shadows?|expires?|truncates?|buffers?|retries|reuses?|locks?|waits?|belongs? to|is part of|served?"
    r"|converts?|becomes?|turns? [^,;]{2,40} into|interprets?|hands?|exceeds?|shares?|competes?|collides?|races?"
    r"|leaks?|rewrites?|overwrites?"
    r"|removes?|keeps?|sends?|returns?|throws?|stores?|reads?|looks? for)\b"
)
# Signs, each with its points.
_SIGNS = (
    ("explains", 2, _EXPLAINS),
    ("rule", 1, _RULES),
    ("cause", 2, r"\bbecause\b|\bdue to\b|\bthat(?:'s| is) why\b|\btherefore\b|\bhence\b|\bwhich (?:is why|means"
     r"|makes?|caus\w+|leads?|leaves?)\b|, which (?:\w+ )?\w{2,}[^s\W]s\b|, (?:since|as) (?!soon|well|long)\w"
     r"|\bas a result\b|, so [\w`]|\bso that\b"
     r"|\b(?:is|are|was|were) (?:the cause|the culprit|what|why)\b|\bcaus(?:es?|ed)\b|\bmeans? (?:that|the|every"
     r"|no)\b"),
    ("contrast", 1, r"\b(?:but|while|whereas|although|though|instead of|rather than|even if)\b|, not \w"),
    ("limit", 1, r"\b(?:not|no|never|only|without|neither|nor|none|nothing)\b|n't\b"),
    ("condition", 1, r"\b(?:when(?:ever)?|if|once|as soon as|every time|until|unless|before|after|each time|per)\b"),
    ("colon", 1, r"\w: [a-z`\"]\S* \S+"),
    ("behaves", 1, _BEHAVES),
    ("surprise", 1, r"\b(?:silently|quietly|really|actually|in fact|implicitly|automatically|in reality)\b"),
    ("beside", 1, r"\w; [a-z`]\S* \S+"),
    ("all", 1, r"\b(?:each|every|all|any|always|both|twice|two)\b"),
    ("report", -2, r"\b(?:now|again|green|passes|passed|pass|works|fixed|restored|succeeds|done|updated)\b"
     r"|^\d[\d,.]* "),
)  # fmt: skip
_TROUBLE_CHARS = 600  # of a prompt: what follows is pasted
_TROUBLE = (
    r"\b(?:fail(?:s|ed|ing)?|errors?|crash\w*|broken|breaks|hangs?|slow\w*|lag|leaks?|loop|twice|times? out"
    r"|timeouts?"
    r"|takes? (?:about |over )?\d+ |bottleneck|killed|oom\w*|but not (?:on|in|for|when|if|with)|full|eating"
    r"|out of (?:memory|space|disk)|again"
    r"|sometimes|randomly|flaky|wrong|misses|lost|loses?|too (?:long|slow|many|much)|doesn't|does not|not working|stuck"
    r"|in the logs?|shows? up|instead of|since (?:we|the|last|yesterday|this|\w{2,6}day)|every few|investigate|find out"
    r"|debug|cause|reason|\d{3} (?:error|from)|restarts?|shifted|off by|one cent off)\b"
)
# Questions, and work on words: nothing is wrong there.
_ASKS = (
    r"(?:(?:first|ok(?:ay)?|and|so|also|got it|hm+|now)[,.]? )*(?:how|what|is|are|does|do|can you (?:explain|tell"
    r"|show|add)"
    r"|could|would|should|which|where|when|can|why (?:do|does|did|would|should) (?:you|we|i)"
    r"|(?:please )?(?:tell|summari[sz]e|translate|explain|draft|rename|describe|document|plan|list|review|write))\b"
)
_COMPILING = (
    r"\berror ts\d|\berror\[e\d|\bsyntaxerror\b|\bmismatched types\b|\bundefined reference\b"
    r"|\bcompilation (?:failed|error)"
    r"|\bis not assignable to\b|\bcannot find symbol\b|\bundeclared\b"
)
# The agent is still looking: what it says before that is what it sees, not why.
_STILL_LOOKING = (
    r"(?:^|[\s,])(?:let me|let's|i(?:'ll| will| want to| need to|'m going to)|next,? i(?:'ll| will)?|now i(?:'ll"
    r"| will)?)"
    r" (?:first |also |just |now |quickly )?(?:see|check|look|find out|verify|confirm|investigate|dig|measure|profile"
    r"|reproduce|test|compare|inspect|trace|debug|try)\b"
)
_DENIES = (
    r"^(?:that |it |this )?(?:can't|cannot|can not) be\b|^(?:\w+,? ){0,2}?(?:it|that|this|they)(?: is|'s| was|'re"
    r"| are)?(?:n't| not| cannot| can't| can not)\b"
    r"(?: (?:be|them|it|that|the|our|my|their|a))?\b|^(?:i doubt|doesn't help|does not help|didn't help|did not help"
    r"|no change|same (?:problem|error|thing|result)|still )|\b(?:not the (?:cause|reason|problem|issue)"
    r"|can't be (?:it|that)"
    r"|cannot be (?:it|that)|isn't (?:it|the (?:cause|reason|problem))|ruled (?:that|it) out)\b"
)
# "It isn't crashing any more", "that's not bad": no denial, though it begins like one.
_CONTENT = r"\b(?:any ?more|no longer|thanks|thank you|not (?:bad|urgent|needed|important|perfect|wrong))\b"
_SETTLED = (
    r"^\W*(?:thanks?|thank you|thx|ty|great|perfect|nice|cool|awesome|brilliant|lgtm|merged?|ship it|cheers|ta|yay)\b"
)
_ASKS_FOR_WORK = (
    r"(?:ok(?:ay)?,? |and |also,? |now,? |next,? |then,? |please |good[,.] )*(?:can you|could you|would you|will you"
    r"|let's|i want"
    r"|i need|i'd like|we need|we want|we should|we'll need|please|new task|next|unrelated)\b"
)


def is_trouble(prompt: str) -> bool:
    """Whether a prompt reports something that goes wrong, and asks for its reason: then an explanation answers it."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS]
    return compiled(_ASKS).match(low) is None and compiled(_TROUBLE).search(low) is not None


def is_report(prompt: str) -> bool:
    """Whether a prompt tells how something behaves, and asks for no work of its own: the work is to find out why."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS].strip()
    if asks_for_work(prompt) or compiled(_SETTLED).match(low) or compiled(_ASKS).match(low):
        return False
    wishes = compiled(r"\b(?:should|needs? (?:an?|to|more|some)|would be|want|must)\b").search(low.partition(". ")[0])
    return wishes is None and len(low.split()) >= _LEAST_REPORT


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt opens with an order or a request: a task of its own."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    rest = compiled(r"(?:ok(?:ay)?|and|also|now|next|then|please|good|great|thanks|cool)[\s,.!:;–—-]+").sub(
        "", low[:60]
    )
    first = rest.split(None, 1)[0].rstrip(",:") if rest.strip() else ""
    return first in TASK_STARTS or compiled(_ASKS_FOR_WORK).match(low) is not None


def goes_on_about(prompt: str) -> bool:
    """Whether a prompt leaves a trouble that was reported before open: it asks for no new work and is no thanks."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    return (denies(prompt) or is_report(prompt)) and compiled(_SETTLED).match(low) is None


def denies(prompt: str) -> bool:
    """Whether a prompt says that an explanation is wrong."""
    low = prompt[:_DENIAL_CHARS].lower().replace("’", "'")
    return compiled(_DENIES).search(low) is not None and compiled(_CONTENT).search(low) is None


def is_tentative(text: str) -> bool:
    """Whether what an agent says ends with that it goes on looking for the reason."""
    return compiled(_STILL_LOOKING).search(text[-_DENIAL_CHARS:].lower().replace("’", "'")) is not None


def is_of_compiling(error: str) -> bool:
    """Whether code that is being written does not compile yet: why not is over as soon as it does."""
    return compiled(_COMPILING).search(error.lower()) is not None


@lru_cache(maxsize=64)  # of a sentence when it is heard, and again when it is weighed against others
def explanation_points(sentence: str) -> int:
    """How much a sentence explains; from `ENOUGH` on it does."""
    low = sentence.lower().replace("’", "'")
    signs = {name: points for name, points, pattern in _SIGNS if compiled(pattern).search(low)}
    if "cause" in signs and "report" in signs:
        signs["report"] = -1  # what was done, and why
    return sum(signs.values()) + (1 if signs and names_something(sentence) else 0)
