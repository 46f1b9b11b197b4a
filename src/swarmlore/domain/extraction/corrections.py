"""Extract corrections and lasting rules from a user's prompts; recognise trouble reports, requests and denials.

A sentence is read in three steps. Its opening is removed: politeness is dropped; "no", "I told you" and "from now on"
leave a mark. Sentences that are no lesson are skipped: questions, tasks, one-off orders, symptoms, guesses. The rest
must have the form of a rule, or a mark together with a statement that is self-contained.

In doubt nothing is extracted: a missed lesson is repeated by the user, a wrong one costs every later session.
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
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, CandidateLesson
from swarmlore.domain.extraction.message_text import QUOTED, Sentence, sentences, split_sentences, without_context_block
from swarmlore.domain.extraction.statement_score import (
    Clause,
    StatementContext,
    binds_everybody,
    clause_about_us,
    clause_after_preamble,
    clauses_of,
    content_of,
    first_word,
    holds_in_general,
    is_reasoned_choice,
    is_self_contained,
    is_statement,
    is_undo_order,
    lesson_of,
    open_sentence,
    plain,
    statement_after_order,
)

_READ_CHARS = 4_000  # a user replies to the end of a long answer
_LONGEST_POINTER = 200
_TOKEN = r"`[^`\n]{1,80}`|[\w./@:-]{1,80}"
_IT = (
    rf"(?:it's|it is|that's|that is|its)?\s*(?:in |at |on |called |under )?(?P<new>{_TOKEN})(?:,? (?:and )?not (?:in"
    rf" |at |on )?(?P<old>{_TOKEN}))?"
)
_INSTEAD = (
    rf"(?:don't|do not|dont|stop|no) (?:do(?:ing)? )?(?:that|this|it)\s*[,;.:–—-]+\s*(?:use|run) (?P<new>{_TOKEN})"
)


# The terse form "pathlib not os.path".
_NOT_THAT = r"(?:use )?(?P<new>[\w./@`-]{2,40}(?: [\w./@`-]{2,30})?),? (?:and )?not (?P<old>[\w./@`-]{2,40})"
# Words for positions, colours and numbers, which differ from case to case and make no rule.
_PLAIN = frozenset(
    "left right top bottom up down red blue green black white grey gray yellow first second third last next big small"
    " bigger smaller bold italic here there now yes it that this these those them one two me you dark light wide narrow"
    " above below good bad true false all some done sure why yet so is are was but and or the a an".split()
)
# Statements that a file must not be edited: generated, vendored, legacy.
_THAT_FILE = (
    r"(?:that's|that is|this is|that file is|this file is|that one is|that one's) (?=(?:an? |our |the "
    r"|auto-?)?(?:generated|vendored|third[- ]party|legacy|deprecated|frozen|shared|protected|read-only|owned|managed"
    r"|copied|synced|overwritten|checked in)\b)"
)
_PATH = r"`?(?:[\w@.-]{1,60}/){1,10}[\w.-]{1,80}\.\w{1,8}`?"


def resolve(text: str, said_before: str, rejected: bool) -> str:
    """Rewrite a short correction as a full sentence; "" if the agent did not mention its subject exactly once."""
    if not said_before or len(text) > _LONGEST_POINTER:
        return ""
    parts = [part for line in said_before[-_READ_CHARS:].splitlines() for part in split_sentences(line)]
    if found := compiled(_INSTEAD, 2).fullmatch(text.strip()):
        used = {span for part in parts if _is_first_person(part) for span in compiled(r"`[^`\n]{2,80}`").findall(part)}
        return f"Use {found['new']}, not {used.pop()}" if len(used) == 1 else ""
    that = compiled(_NOT_THAT, 2).fullmatch(text.strip())
    if that and (named := _names_both(that["new"], that["old"], parts)):
        return named
    found = compiled(_IT, 2).fullmatch(text.strip())
    if found is None or not _is_value(found["new"]) or not (rejected or found["old"]):
        return ""
    return _replace(parts, found["new"], found["old"] or "")


def with_file_named(text: str, said_before: str) -> str:
    """Replace the "that's a …" at the start of a statement by the one file that the agent had mentioned."""
    found = compiled(_THAT_FILE, 2).match(text)
    if found is None:
        return text
    paths = {token.strip("`") for token in compiled(_PATH).findall(said_before[-_READ_CHARS:])}
    return f"{paths.pop()} is {text[found.end() :]}" if len(paths) == 1 else text


def _names_both(new: str, old: str, parts: list[str]) -> str:
    """Return the order to use one thing and not another that the agent mentioned; "" for numbers and plain words."""
    words = [word.strip("`").lower() for word in (*new.split(), old)]
    spoken = {token.strip("`").rstrip(".:").lower() for part in parts for token in compiled(_TOKEN).findall(part)}
    plain = any(word in _PLAIN or _sort(word) == "number" for word in words)
    return "" if plain or words[-1] not in spoken else f"Use {new}, not {old}"


def _replace(parts: list[str], new: str, old: str) -> str:
    """Return the agent's statement with the corrected value; "" if the value to replace is ambiguous."""
    fits = {
        (part, token)
        for part in parts
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
    """Tell whether a token of the agent's message is the value that the user corrects."""
    if old:
        return token.strip("`") == old.strip("`")
    return token != new and _is_value(token) and _sort(token) == _sort(new)


def _is_value(token: str) -> bool:
    """Tell whether a token is a value (code, number, path or name), not a plain word."""
    return _sort(token) != "word"


def _sort(token: str) -> str:
    """Classify a token as code, number, path, name or word."""
    if token.startswith("`"):
        return "code"
    if token.replace(".", "").isdigit():
        return "number"
    return "path" if "/" in token else "name" if compiled(r"\w[_.@-]\w|\d").search(token) else "word"


def _is_first_person(part: str) -> bool:
    """Tell whether a clause opens with what the agent itself does."""
    return compiled(r"(?:now |ok(?:ay)?,? )?(?:i|i'll|i've|i'm|let me|we|running)\b", 2).match(part) is not None


_CHOICE_WORDS = 4


def find_statement(
    sentence: Sentence, wrong: bool, after: Sequence[Sentence], context: StatementContext
) -> CandidateLesson | None:
    """Return the lesson of a sentence that states a fact, if enough signs show that it holds in general."""
    clause = open_sentence(sentence.text, frozenset(("wrong",)) if wrong else frozenset())
    named = with_file_named(clause.text, context.before)
    clause = Clause(named, named.lower(), clause.marks)
    if lesson := _choice(clause, sentence, after, context):
        return lesson
    behind = statement_after_order(clause.text)
    reason = open_sentence(behind, clause.marks | {"reversed"}) if behind else None
    variants = (_with_reason(clause, after), clause, clause_after_preamble(clause), reason, clause_about_us(clause))
    for variant in dict.fromkeys(variants):
        if not variant or not is_statement(variant.low) or not _may_state(variant):
            continue
        if holds_in_general(variant.text, variant.marks, context):
            return lesson_of(variant, sentence, _kind_of(variant, context), "medium")
    return None


def _kind_of(clause: Clause, context: StatementContext) -> str:
    """Return the kind of a stated lesson: commitment, correction or learning."""
    if "wrong" not in clause.marks and binds_everybody(clause.text):
        return "commitment"
    return "correction" if context.before and not context.asked and "note" not in clause.marks else "learning"


def _choice(
    clause: Clause, sentence: Sentence, after: Sequence[Sentence], context: StatementContext
) -> CandidateLesson | None:
    """Return the decision in which a user takes one of the agent's options and gives a reason."""
    more = f". {after[0].text}" if after and len(clause.low.split()) <= _CHOICE_WORDS else ""
    choice = Clause(f"{clause.text}{more}".rstrip(" !."), f"{clause.low}{more.lower()}", clause.marks)
    fits = context.before and is_reasoned_choice(choice.text, context) and _may_state(choice)
    decided = Clause(f"Decided: {choice.text}", "", clause.marks)
    return lesson_of(decided, sentence, "decision", "medium") if fits else None


def _with_reason(clause: Clause, after: Sequence[Sentence]) -> Clause:
    """Append the next sentence if it gives the reason: "You can't cast SKUs. They carry leading zeros."."""
    reason = after[0].text.rstrip(" !.") if after else ""
    goes_on = compiled(r"(?:they|it|that|those|these|there) [^?]{8,200}$", 2).match(reason) is not None
    longer = f"{clause.text}. {reason}"
    return Clause(longer, longer.lower(), clause.marks) if goes_on and len(longer) < MAX_CHARS else clause


def _may_state(clause: Clause) -> bool:
    """Tell whether a clause is no question, task, symptom or one-off; its reason may mention a symptom."""
    low, text = clause.low, clause.text
    first = compiled(r"[,;:]\s|\. | because | due to ").split(low, maxsplit=1)[0]
    first = compiled(rf"\bstill (?={LASTING_VERB}\b)").sub("", first)  # "the tills still talk SOAP" is no complaint
    spoilt = any(compiled(pattern).search(low) for pattern in (HYPOTHETICAL, TASK_CLAUSE))
    spoilt = spoilt or any(compiled(pattern).search(first) for pattern in (ONE_OFF, SYMPTOM, FALSE_ALARMS))
    return not (spoilt or QUOTED in text or "?" in text) and is_self_contained(low)


MAX_FOUND = 5  # lessons per prompt; a prompt with more is a document
_OPENING_CHARS = 400
# A task that carries out a decision: "migrate the editor to vite, we decided that yesterday".
_DECIDED = r"(.{15,160}), (?:as )?we(?:'ve| have)? (?:decided|agreed|settled)(?: on)? (?:that|this|it)\b"
_OURS = r"\b(?:our|we|always|every|all|policy|guidelines?|rules?)\b"  # words of a reason that holds beyond the task
_DO_NOT = r"(?:return|throw|call|raise|put|keep|import|inject|store|pass) [^,;]{2,60}, (?:don't|do not|never) \w"
_NOT_SO = r"(?:the|our|this|these|those|all|an?) [^,;?]{4,100}, not (?:an? |the )?([\w./-]{3,30})$"
_VALUE = (
    r"(?:the|our) (?:[\w-]+ ){0,2}?([\w-]{3,30}) (?:is|are|lasts?|takes?|costs?|expires? after"
    r"|starts? at) ([^,;?]{2,40})$"
)


def find_corrections(prompt: str, said_before: str = "") -> tuple[CandidateLesson, ...]:
    """Return the lessons that a prompt corrects or lays down; `said_before` is the agent's last message."""
    typed = _own_sentences(prompt)
    found: list[CandidateLesson] = []
    wrong = False
    replied = bool(said_before) or not is_trouble(prompt)  # a prompt that opens with a report states symptoms
    reverts = bool(said_before) and any(is_undo_order(sentence.text) for sentence in typed)
    context = StatementContext(said_before, reverts)
    for place, sentence in enumerate(typed):
        nearby = typed[place + 1 : place + 4]
        after = [other for other in nearby if other.paragraph == sentence.paragraph and not other.listed]
        lesson, still = _read(sentence, wrong, after, said_before)
        lesson = lesson or (find_statement(sentence, wrong, after, context) if replied else None)
        wrong = still and lesson is None
        if lesson and not any(lesson.text.rstrip(".").lower() in other.text.lower() for other in found):
            found.append(lesson)
    return tuple(found[:MAX_FOUND])


def is_rejection(prompt: str) -> bool:
    """Tell whether a prompt opens by calling the agent's words or work wrong."""
    typed = _own_sentences(prompt[:_OPENING_CHARS])
    return bool(typed) and "wrong" in open_sentence(typed[0].text, frozenset()).marks


def _own_sentences(prompt: str) -> list[Sentence]:
    """Return the sentences that the user typed; list items only below a heading that announces rules."""
    typed = sentences(without_context_block(prompt), typed=True)
    if typed and compiled(r"you are (?:a|an|the) ").match(typed[0].text.lower()):
        return []  # a prompt written by a program, not by a person
    return [sentence for sentence in typed if not sentence.listed or _opens_rules(sentence.heading) or len(typed) == 1]


def _opens_rules(heading: str) -> bool:
    """Tell whether a heading announces rules or conventions."""
    low = heading.lower()
    cue = compiled(rf"\b(?:rules?|conventions?|guidelines|remember|reminders?|preferences|{STANDING})\b").search(low)
    return cue is not None and first_word(low) not in TASK_STARTS


def _read(
    sentence: Sentence, wrong: bool, after: Sequence[Sentence], before: str
) -> tuple[CandidateLesson | None, bool]:
    """Return the lesson of a sentence, and whether it rejects something without saying what is right."""
    clause = open_sentence(sentence.text, frozenset(("wrong",)) if wrong else frozenset())
    if sentence.listed and _opens_rules(sentence.heading):
        clause = Clause(clause.text, clause.low, clause.marks | {"standing"})
    if not clause.low:
        return None, "wrong" in clause.marks
    if decided := compiled(_DECIDED, 2).match(clause.text):
        return lesson_of(Clause(f"Decided: {decided[1]}", "", clause.marks), sentence, "decision", "medium"), False
    if resolved := resolve(clause.text, before, rejected="wrong" in clause.marks):
        return lesson_of(Clause(resolved, resolved.lower(), clause.marks), sentence, "correction", "medium"), False
    if any(way(clause, before) for way in (_puts_right, _states_in_general, _gives_the_value)):
        return lesson_of(clause, sentence, "correction", "medium"), False
    # Without the sentences behind it too, since these may disqualify a valid rule.
    for variant in dict.fromkeys((_with_more(clause, after), clause)):
        for part in clauses_of(variant):
            if judged := _judge(part, whole=part is variant):
                if judged[0] == "learning" and before and shape.is_requirement(part.low):
                    judged = "correction", judged[1]  # addressed to the agent that has just done it differently
                return lesson_of(part, sentence, *judged), False
    return None, _still_wrong(sentence, clause, wrong)


def _states_in_general(clause: Clause, before: str) -> bool:
    """Tell whether a clause answers the agent with a general statement about things of a kind."""
    failing = compiled(FAILING).search(clause.low) is not None
    return bool(before) and shape.is_general(clause.low) and not (failing or _shape(clause)) and _may_teach(clause)


def _gives_the_value(clause: Clause, before: str) -> bool:
    """Tell whether a clause gives the value of something that the agent mentioned: "The trial is 14 days."."""
    match = compiled(_VALUE).match(clause.low)
    if match is None or not before or not _may_teach(clause):
        return False
    message = before[-_READ_CHARS:].lower()
    value = match[2]
    return match[1] in message and value not in message and compiled(r"\d").search(value) is not None


def _puts_right(clause: Clause, before: str) -> bool:
    """Tell whether a clause contradicts a word of the agent's last message: "the API delivers …, not seconds"."""
    match = compiled(_NOT_SO).match(clause.low)
    if match is None or not before or not _may_teach(clause):
        return False
    return match[1] in (word.rstrip(".:") for word in compiled(r"[\w./:-]+").findall(before[-_READ_CHARS:].lower()))


def _still_wrong(sentence: Sentence, clause: Clause, wrong: bool) -> bool:
    """Tell whether a sentence rejects something and the right answer is still to come: "No, that is what we had."."""
    if sentence.text.endswith("?"):
        return False
    opened = "wrong" in open_sentence(sentence.text, frozenset()).marks
    return opened or shape.is_ban(clause.low) or (wrong and _is_about_the_agent(clause.low))


# --- judging


def _judge(clause: Clause, whole: bool) -> tuple[str, str] | None:
    """Return kind and confidence of the lesson in a clause, or None."""
    if not _may_teach(clause):
        return None
    if kind := _shape(clause):
        return ("correction" if "wrong" in clause.marks else kind), "high"
    low = clause.low
    stated = low.partition(",")[0] if shape.is_ban(low) else low  # the reason of a ban may mention a failure
    failing = compiled(FAILING).search(stated) and not clause.marks & {"standing", "remember"}
    if failing or (not whole and not clause.marks & {"standing", "told", "remember"}):
        return None
    return _judge_marked(clause) or _judge_plain(clause)


def _shape(clause: Clause) -> str:
    """Return the kind of a clause that is a rule by its form alone, or ""."""
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
    """Judge a clause whose opening marks it as a correction, a repetition or a rule."""
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
    """Tell whether a clause after a "no" states the correct fact or order."""
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
    """Tell whether a clause states what always holds, in any form: "dates always as YYYY-MM-DD"."""
    word = compiled(r"\b(?:always|never|immer|niemals|nie|toujours|jamais|siempre|nunca)\b").search(low) is not None
    return word and compiled(r"(?:i|you|it|that|this|they)\b|.*\b(?:should|would|when i)\b").match(low) is None


def _is_about_the_agent(low: str) -> bool:
    """Tell whether a clause says where an agent is or what it did, not what to do."""
    return compiled(r"you(?:'re| are| were|'ve| have(?! to)| did)\b").match(low) is not None


def _is_named_fact(clause: Clause) -> bool:
    """Tell whether a clause states a fact about a named thing and its place."""
    return shape.is_placed_fact(clause.low) and shape.names_something(clause.text) and not _points(clause.low)


def _points(low: str) -> bool:
    """Tell whether a clause refers to something outside of it: "it", "that is …", "these should …"."""
    pattern = r"(?:it|they|there|he|she)\b|(?:that|this|these|those) (?:is|are|was|were|does|should|returns?|needs?)\b"
    return compiled(pattern).match(low) is not None


def _forbids_for_good(low: str) -> bool:
    """Tell whether a clause forbids something beyond the current task."""
    if not shape.is_ban(low):
        return False
    if compiled(r"\. (?:our|we) \w").search(low):  # the alternative that the team has
        return True
    return shape.is_everywhere(low) if shape.is_about_one(low) else shape.lasts(low)


def _judge_plain(clause: Clause) -> tuple[str, str] | None:
    """Judge a clause without a mark: its words must show that it holds beyond the task."""
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
    """Tell whether a clause may be a lesson: no question, one-off, symptom or task, and self-contained."""
    low, text = clause.low, clause.text
    if QUOTED in text or (text.endswith("?") and "asked" not in clause.marks):
        return False
    if "remember" in clause.marks:
        return is_self_contained(low) and not compiled(rf"{ONE_OFF}|to\b|i\b").match(low)
    head = low.partition(". ")[0]  # the sentences behind it were checked when they were appended
    if any(compiled(pattern).search(head) for pattern in (FALSE_ALARMS, ONE_OFF, HYPOTHETICAL, TASK_CLAUSE)):
        return False
    if compiled(SYMPTOM).search(shape.without_reason(head) if shape.is_decision(low) else head):
        return False
    if low.startswith(("make sure", "let's")) and _shape(clause):
        return is_self_contained(low)
    if compiled(r"\bfirst$").search(low) and not compiled(r"\b(?:needs?|must|ha(?:ve|s) to|requires?|always)\b").search(
        low
    ):
        return False
    ordered = clause.marks & {"standing", "told"} or any(
        is_order(low) for is_order in (shape.is_placed_order, shape.is_convention, shape.is_duty)
    )
    is_task = first_word(low) in TASK_STARTS and not ordered
    return not is_task and is_self_contained(low)


# --- composing the lesson


def _with_more(clause: Clause, after: Sequence[Sentence]) -> Clause:
    """Append the sentences that give a reason or an alternative; after "remember" the rest of the paragraph."""
    text = clause.text
    if shape.is_swap(clause.low) and after and compiled(_OURS).search(after[0].text.lower()):
        longer = f"{text}. {after[0].text.rstrip(' !.')}"
        return Clause(longer, longer.lower(), clause.marks | {"standing"})
    forbids = shape.is_ban(clause.low) or shape.is_limit(clause.low) or clause.low.startswith("never ")
    for place, sentence in enumerate(after):
        longer = f"{text}. {sentence.text.rstrip(' !.')}"
        if len(longer) >= MAX_CHARS or not (
            _goes_on(sentence, "remember" in clause.marks) or (forbids and not place and _says_instead(sentence))
        ):
            break
        text = longer
    return Clause(text, text.lower(), clause.marks)


def _goes_on(sentence: Sentence, remembered: bool) -> bool:
    """Tell whether a sentence continues the rule before it."""
    low = plain(sentence.text).lower()
    if low.endswith("?"):
        return False
    if remembered:
        return first_word(low).strip(",") not in TASK_STARTS | {"now", "can", "could", "please", "i", "thanks", "ok"}
    pattern = r"(?:use\b.{1,200}\binstead\b|instead\b|otherwise\b|because\b|they (?:are|get|contain|have|will)\b)"
    return compiled(pattern).match(low) is not None


def _says_instead(sentence: Sentence) -> bool:
    """Tell whether a sentence after a ban says how or where it is done instead."""
    low = plain(sentence.text).lower()
    spoken = compiled(r"(?:i|you|no|ok|thanks|please|now|can|could|also|and|but)\b").match(low) is not None
    if low.endswith("?") or spoken or first_word(low) in TASK_STARTS:
        return False
    stated = (
        compiled(r"our [\w./ -]{2,60} \w+s\b|we \w|[^,;]{0,60}\b(?:is|are|lives?|goes|go|comes?|gets?)\b").match(low)
        is not None
    )
    refers = compiled(r"(?:in|on|for) [^,;]{3,40} (?:they|it|these|those)(?:'s|'re)? ").match(low) is not None
    return stated and (refers or shape.names_something(sentence.text))


ENOUGH_ACTED = 1  # points needed if an edit and then a success followed the explanation
ENOUGH = 2
ENOUGH_UNPROVEN = 4  # points needed if no later success proves the explanation
_LEAST_REPORT = 4  # words
_DENIAL_CHARS = 200
# Words of rules that hold beyond the current case.
_RULES = r"\b(?:ha(?:s|ve) to|must|needs?|requires?|cannot|can't|only|never|until|otherwise|unless|by default)\b"
# Words that describe how something works, not what was done: what it needs, allows, refuses, where it comes from.
_EXPLAINS = (
    r"\b(?:ha(?:s|ve|d) to|must|needs?|needed|requires?|required|cannot|can't|neither|because|until|otherwise|unless"
    r"|deprecated|defaults? to|by default|(?:may|can|must) only|only (?:accepts?|lets?|works?|allows?|runs?|supports?"
    r"|reads?|takes?|changes?|applies|exists?)|(?:came|comes) from|expects?|rejects?|ignores?|is (?:pinned|partitioned"
    r"|generated|case-sensitive|read-only)|(?:is|are) not \w+(?:ed|en|t)|(?:will|does|do|did) not|doesn't|don't"
    r"|never)\b|, so [\w`]|, and [^,;]{3,80} before [^,;]{3,60}$|\b\w[^,;]{1,80}, (?:and )?not (?:per |by |in |on |at "
    r"|the |an? )?\w|\b(?:could|can|may) [^,;]{3,80} (?:at the same time|concurrently|in parallel|twice)\b|\b(?:each"
    r"|every) \w+ (?:triggers?|creates?|opens?|makes?|sends?|starts?|runs?)\b"
)
# Verbs that describe behaviour.
_BEHAVES = (
    r"\b(?:insists? on|refuses?|demands?|assumes?|treats?|falls? back|blocks?|limits?|strips?|drops?|swallows?|caches?"
    r"|overrides?|shadows?|expires?|truncates?|buffers?|retries|reuses?|locks?|waits?|belongs? to|is part of|served?"
    r"|converts?|becomes?|turns? [^,;]{2,40} into|interprets?|hands?|exceeds?|shares?|competes?|collides?|races?|leaks?"
    r"|rewrites?|overwrites?|removes?|keeps?|sends?|returns?|throws?|stores?|reads?|looks? for)\b"
)
# Signs of an explanation: name, points, pattern.
_SIGNS = (
    ("explains", 2, _EXPLAINS),
    ("rule", 1, _RULES),
    ("cause", 2, r"\bbecause\b|\bdue to\b|\bthat(?:'s| is) why\b|\btherefore\b|\bhence\b|\bwhich (?:is why|means"
     r"|makes?|caus\w+|leads?|leaves?)\b|, which (?:\w+ )?\w{2,}[^s\W]s\b|, (?:since|as) (?!soon|well|long)\w"
     r"|\bas a result\b|, so [\w`]|\bso that\b|\b(?:is|are|was|were) (?:the cause|the culprit|what|why)\b|\bcaus(?:es?"
     r"|ed)\b|\bmeans? (?:that|the|every|no)\b"),
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
_TROUBLE_CHARS = 600  # characters of a prompt that are read: the rest is pasted
_TROUBLE = (
    r"\b(?:fail(?:s|ed|ing)?|errors?|crash\w*|broken|breaks|hangs?|slow\w*|lag|leaks?|loop|twice|times? out|timeouts?"
    r"|takes? (?:about |over )?\d+ |bottleneck|killed|oom\w*|but not (?:on|in|for|when|if|with)|full|eating"
    r"|out of (?:memory|space|disk)|again|sometimes|randomly|flaky|wrong|misses|lost|loses?|too (?:long|slow|many|much)"
    r"|doesn't|does not|not working|stuck|in the logs?|shows? up|instead of|since (?:we|the|last|yesterday|this"
    r"|\w{2,6}day)|every few|investigate|find out|debug|cause|reason|\d{3} (?:error|from)|restarts?|shifted|off by"
    r"|one cent off)\b"
)
# Openings of questions and of work on text, which report no failure.
_ASKS = (
    r"(?:(?:first|ok(?:ay)?|and|so|also|got it|hm+|now)[,.]? )*(?:how|what|is|are|does|do|can you (?:explain|tell|show"
    r"|add)|could|would|should|which|where|when|can|why (?:do|does|did|would|should) (?:you|we|i)|(?:please )?(?:tell"
    r"|summari[sz]e|translate|explain|draft|rename|describe|document|plan|list|review|write))\b"
)
_COMPILING = (
    r"\berror ts\d|\berror\[e\d|\bsyntaxerror\b|\bmismatched types\b|\bundefined reference\b|\bcompilation (?:failed"
    r"|error)|\bis not assignable to\b|\bcannot find symbol\b|\bundeclared\b"
)
# The agent is still investigating, so its words before that are observations, not causes.
_STILL_LOOKING = (
    r"(?:^|[\s,])(?:let me|let's|i(?:'ll| will| want to| need to|'m going to)|next,? i(?:'ll| will)?|now i(?:'ll"
    r"| will)?) (?:first |also |just |now |quickly )?(?:see|check|look|find out|verify|confirm|investigate|dig|measure"
    r"|profile|reproduce|test|compare|inspect|trace|debug|try)\b"
)
_DENIES = (
    r"^(?:that |it |this )?(?:can't|cannot|can not) be\b|^(?:\w+,? ){0,2}?(?:it|that|this|they)(?: is|'s| was|'re"
    r"| are)?(?:n't| not| cannot| can't| can not)\b(?: (?:be|them|it|that|the|our|my|their|a))?\b|^(?:i doubt"
    r"|doesn't help|does not help|didn't help|did not help|no change|same (?:problem|error|thing|result)|still )"
    r"|\b(?:not the (?:cause|reason|problem|issue)|can't be (?:it|that)|cannot be (?:it|that)|isn't (?:it|the (?:cause"
    r"|reason|problem))|ruled (?:that|it) out)\b"
)
# Phrases that begin like a denial and are none: "It isn't crashing any more", "that's not bad".
_CONTENT = r"\b(?:any ?more|no longer|thanks|thank you|not (?:bad|urgent|needed|important|perfect|wrong))\b"
_SETTLED = (
    r"^\W*(?:thanks?|thank you|thx|ty|great|perfect|nice|cool|awesome|brilliant|lgtm|merged?|ship it|cheers|ta|yay)\b"
)
_ASKS_FOR_WORK = (
    r"(?:ok(?:ay)?,? |and |also,? |now,? |next,? |then,? |please |good[,.] )*(?:can you|could you|would you|will you"
    r"|let's|i want|i need|i'd like|we need|we want|we should|we'll need|please|new task|next|unrelated)\b"
)


def is_trouble(prompt: str) -> bool:
    """Tell whether a prompt reports a failure and asks for its cause, so that an explanation answers it."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS]
    return compiled(_ASKS).match(low) is None and compiled(_TROUBLE).search(low) is not None


def is_report(prompt: str) -> bool:
    """Tell whether a prompt describes a behaviour without requesting work: the task is then to find the cause."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS].strip()
    if asks_for_work(prompt) or compiled(_SETTLED).match(low) or compiled(_ASKS).match(low):
        return False
    wishes = compiled(r"\b(?:should|needs? (?:an?|to|more|some)|would be|want|must)\b").search(low.partition(". ")[0])
    return wishes is None and len(low.split()) >= _LEAST_REPORT


def asks_for_work(prompt: str) -> bool:
    """Tell whether a prompt opens with an order or a request."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    rest = compiled(r"(?:ok(?:ay)?|and|also|now|next|then|please|good|great|thanks|cool)[\s,.!:;–—-]+").sub(
        "", low[:60]
    )
    first = rest.split(None, 1)[0].rstrip(",:") if rest.strip() else ""
    return first in TASK_STARTS or compiled(_ASKS_FOR_WORK).match(low) is not None


def leaves_report_open(prompt: str) -> bool:
    """Tell whether a prompt leaves an earlier trouble report open: no new request, no thanks."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    return (denies(prompt) or is_report(prompt)) and compiled(_SETTLED).match(low) is None


def denies(prompt: str) -> bool:
    """Tell whether a prompt says that an explanation is wrong."""
    low = prompt[:_DENIAL_CHARS].lower().replace("’", "'")
    return compiled(_DENIES).search(low) is not None and compiled(_CONTENT).search(low) is None


def is_tentative(text: str) -> bool:
    """Tell whether an agent's message ends with a plan to look further for the cause."""
    return compiled(_STILL_LOOKING).search(text[-_DENIAL_CHARS:].lower().replace("’", "'")) is not None


def is_compile_error(error: str) -> bool:
    """Tell whether an error is a compile error, whose cause is irrelevant once the code compiles."""
    return compiled(_COMPILING).search(error.lower()) is not None


@lru_cache(maxsize=64)  # each sentence is scored when it is read and again when explanations are compared
def explanation_points(sentence: str) -> int:
    """Score how much a sentence explains; from `ENOUGH` points it counts as an explanation."""
    low = sentence.lower().replace("’", "'")
    signs = {name: points for name, points, pattern in _SIGNS if compiled(pattern).search(low)}
    if "cause" in signs and "report" in signs:
        signs["report"] = -1  # a report that also gives a reason
    return sum(signs.values()) + (1 if signs and names_something(sentence) else 0)
