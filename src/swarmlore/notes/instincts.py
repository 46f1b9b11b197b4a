"""Instincts of a project: `.agents/instincts.yaml`, shown, added to, adjusted, promoted and pruned.

The file belongs to the people of the project; it is read anew each time and changed in place, under a lock. What goes
into it passes the gate, as a memory would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager

from swarmlore.domain.json_codec import from_iso, iso
from swarmlore.domain.pages.instincts import (
    ORIGINS,
    SCOPES,
    Course,
    Instinct,
    confidence_now,
    contradict,
    idle_days,
    is_promotable,
    is_prunable,
    merge_rules,
    reinforce,
)
from swarmlore.domain.pages.rule_conflicts import says_the_same, speaks_against
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Caller, Draft, choose, is_id
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.notes.yaml_edit import (
    MAX_BYTES,
    TRUE,
    Found,
    Listing,
    Scalar,
    Table,
    Unreadable,
    is_nothing,
    read,
    with_item,
    with_values,
    without_items,
)
from swarmlore.workspace.files import Change, Folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swarmlore.config import InstinctSettings
    from swarmlore.domain.records import Memory


FOLDER = ".agents"
FILE = "instincts.yaml"
LIST = "instincts"
MOST = 2_000


@frozen
class Place:
    """An instinct and its table in the text."""

    instinct: Instinct
    table: Table
    number: int
    """Which item of the list it is."""


@frozen
class Sheet:
    """The file: its text as a tree, the instincts in it, and by line what could not be read as one."""

    found: Found
    places: tuple[Place, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()

    @property
    def text(self) -> str:
        return self.found.text

    @property
    def instincts(self) -> tuple[Instinct, ...]:
        return tuple(place.instinct for place in self.places)


def parse(text: str) -> Sheet:
    """The instincts of a file's text; what is no instinct is told and left alone."""
    found = read(text)
    items = _items(found)
    if len(items) > MOST:
        raise Unreadable(f"it has more than {MOST} instincts", "prune it by hand")
    places: list[Place] = []
    problems, ids = [], set[str]()
    for number, item in enumerate(items):
        try:
            place = Place(_instinct(item), item, number)
            if place.instinct.id in ids:  # which of the two is meant by the id, nobody can tell
                raise ValueError(f"another instinct has the id {place.instinct.id}")
            ids.add(place.instinct.id)
            places.append(place)
        except ValueError as problem:
            problems.append((found.line(item.start) + 1, str(problem)))
    return Sheet(found, tuple(places), tuple(problems))


def _items(found: Found) -> Sequence[Any]:
    if found.root is None or (isinstance(found.root, Scalar) and not found.root.value):
        return ()
    if not isinstance(found.root, Table):
        raise Unreadable("it has no names at its top", f"begin with {LIST}:")
    listed = found.root.get(LIST)
    if is_nothing(listed):
        return ()
    if not isinstance(listed, Listing):
        raise Unreadable(f"{LIST} is no list", "write one instinct below the other, each after a dash")
    return listed.items


def _instinct(node: Any) -> Instinct:
    """Raises ValueError with the reason."""
    if not isinstance(node, Table):
        raise ValueError("no instinct: it is no mapping such as `rule: …`")
    said = {key.value: value for key, value in node.entries}

    def text(name: str) -> str:
        value = said.get(name)
        return value.value.strip() if isinstance(value, Scalar) and not is_nothing(value) else ""

    if not text("rule"):
        raise ValueError("no instinct: it has no rule")
    if not text("id"):
        raise ValueError("no instinct: it has no id")
    tags = said.get("tags")
    return Instinct(
        id=text("id"),
        rule=text("rule"),
        confidence=_share(text("confidence")),
        scope=text("scope") or "project",
        category=text("category"),
        created_at=_day(text("created")),
        reinforced_at=_day(text("last_reinforced")),
        reinforcements=_count(text("reinforcement_count")),
        source=text("source"),
        tags=tuple(tag.value for tag in tags.items if isinstance(tag, Scalar)) if isinstance(tags, Listing) else (),
        promoted=text("promoted").lower() in TRUE,
    )


def _share(text: str) -> float:
    if not text:
        return 0.5
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError("its confidence is no number")
    return min(1.0, max(0.0, value))


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _day(text: str) -> float | None:
    try:
        return from_iso(text)
    except (ValueError, OverflowError):
        return None


def day(at: float) -> str:
    """A day as the file writes it."""
    return str(iso(at))[:10]


# Changing


def changed(sheet: Sheet, id: str, values: Mapping[str, Any]) -> str:
    """The text with these fields of one instinct set."""
    place = next(place for place in sheet.places if place.instinct.id == id)
    return with_values(sheet.found, {(LIST, place.number, name): value for name, value in values.items()})


def all_changed(sheet: Sheet, name: str, values: Mapping[str, Any]) -> str:
    """The text with one field of several instincts set, each by its id."""
    places = [place for place in sheet.places if place.instinct.id in values]
    return with_values(sheet.found, {(LIST, place.number, name): values[place.instinct.id] for place in places})


def added(sheet: Sheet, values: Mapping[str, Any]) -> str:
    """The text with one more instinct, after all others."""
    found = sheet.found
    if is_nothing(found.root):
        return with_values(found, {("version",): 1, (LIST,): [values]})
    return with_item(found, (LIST,), values)


def removed(sheet: Sheet, ids: Sequence[str]) -> str:
    """The text without these instincts; comments above them stay."""
    return without_items(sheet.found, (LIST,), (place.number for place in sheet.places if place.instinct.id in ids))


def all_fields(one: Instinct) -> dict[str, Any]:
    """A new instinct in the order of the seed's example; what is not known is left out."""
    born, confirmed = one.created_at, one.created_at if one.reinforced_at is None else one.reinforced_at
    said: dict[str, Any] = {
        "id": one.id,
        "rule": one.rule,
        "confidence": float(one.confidence),
        "scope": one.scope,
        "category": one.category,
        "created": "" if born is None else day(born),
        "last_reinforced": "" if confirmed is None else day(confirmed),
        "reinforcement_count": one.reinforcements or "",
        "source": one.source,
        "tags": list(one.tags),
    }
    said = {name: value for name, value in said.items() if value not in ("", [])}
    return {**said, "promoted": True} if one.promoted else said


def changed_fields(after: Instinct, before: Instinct) -> dict[str, Any]:
    """What has to be written where an instinct has changed."""
    said: dict[str, Any] = {}
    if after.confidence != before.confidence:
        said["confidence"] = float(after.confidence)
    if after.reinforced_at is not None and after.reinforced_at != before.reinforced_at:
        said["last_reinforced"] = day(after.reinforced_at)
    if after.reinforcements != before.reinforcements:
        said["reinforcement_count"] = after.reinforcements
    if after.promoted != before.promoted:
        said["promoted"] = after.promoted
    return said


MAX_SOURCE = 200
MIN_PREFIX = 3
MOST_MERGED = 500  # rules of another file that are looked at
MOST_ADDED = 50  # that are taken over at once: the file is read anew for each; the others come the next time


@frozen
class Held:
    """An instinct and what it is worth today: its confidence after the days in which nobody confirmed it, whether it
    would be pruned, whether it could be promoted."""

    instinct: Instinct
    confidence: float
    idle_days: int
    prunable: bool = False
    promotable: bool = False


@frozen
class Shelf:
    """All instincts of a project, surest first; by line, what in the file is none."""

    path: str
    held: tuple[Held, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()


@frozen
class Added:
    """What became of a rule: `added`, or `reinforced` where it was known; and which others it speaks against."""

    outcome: str
    held: Held
    contradicted: tuple[Held, ...] = ()
    redacted: tuple[str, ...] = ()


@frozen
class NoteProposal:
    """The note that an instinct would become."""

    instinct: Instinct
    title: str
    category: str
    tags: tuple[str, ...]
    confidence: float
    text: str


@frozen
class KeptNote:
    """The note that an instinct became: `added`, or `known` where it was there; its file, and the memory that stands
    for it (None where it is not to be found, as what somebody forgot is not)."""

    outcome: str
    path: str
    id: str
    memory: Memory | None = None


@frozen
class Merged:
    """The rules of another file in this one: which are new, which are surer now, how many were known, which pairs
    speak against each other (theirs, ours), and by rule why one was refused."""

    change: Change
    added: tuple[Instinct, ...] = ()
    raised: tuple[Instinct, ...] = ()
    known: int = 0
    against: tuple[tuple[Instinct, Instinct], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


class Instincts:
    """The instincts of one project, for one caller."""

    def __init__(
        self,
        root: str,
        caller: Caller,
        settings: InstinctSettings,
        now: Callable[[], float],
        keep: Callable[[NoteProposal], KeptNote],
    ) -> None:
        self._root = root
        self._caller = caller
        self._course = _course(settings)
        self._now = now
        self._keep = keep

    # Looking

    def show(self) -> Shelf:
        """Every instinct with what it is worth today."""
        sheet = self._read()
        held = sorted(map(self._held, sheet.instincts), key=lambda one: (-one.confidence, one.instinct.id))
        return Shelf(self._path, tuple(held), sheet.problems)

    def text(self) -> str:
        """The file as it is; '' where there is none."""
        return self._read().text

    def find(self, ref: str) -> Held:
        """The one instinct that an id or the beginning of one names."""
        return self._held(_find(self._read(), ref))

    def proposals(self) -> tuple[NoteProposal, ...]:
        """The notes that instincts would become which are sure enough and hold everywhere. Nothing is changed."""
        return tuple(_note(one.instinct, one.confidence) for one in self.show().held if one.promotable)

    def proposal(self, ref: str) -> NoteProposal:
        """The note that one instinct would become; raises InvalidInput where it is not ready, and says why."""
        one = self._held(_find(self._read(), ref))
        if not one.promotable:
            raise InvalidInput(f"{one.instinct.id} is not ready: {self._why_not(one)}", "swarmlore instincts review")
        return _note(one.instinct, one.confidence)

    # Changing

    def add(
        self,
        rule: str,
        *,
        scope: str = "project",
        category: str = "",
        source: str = "",
        origin: str = "",
        tags: Iterable[str] = (),
    ) -> Added:
        """Write down a rule. One that is known is reinforced instead; one that another speaks against costs that other
        confidence. `origin` says how it was learned, and with that how sure it is at first."""
        facts = {"scope": scope, "category": category, "source": source, "origin": origin, "tags": tuple(tags)}
        fresh, redacted = self._fresh(rule, facts)
        return replace(self._place(fresh), redacted=redacted)

    def foresee(self, rule: str, **facts: Any) -> tuple[str, Mapping[str, Any], tuple[Instinct, ...]]:
        """What `add` would do and write: `added` with the fields of the new one, or `reinforced` with those that change
        (its id is there as well); and whom it speaks against. Nothing is written."""
        fresh, _ = self._fresh(rule, facts)
        known = self._read().instincts
        same = next((one for one in known if says_the_same(fresh.rule, one.rule)), None)
        if same is not None:
            after = reinforce(same, self._now(), self._course)
            return "reinforced", {"id": same.id, "rule": same.rule, **changed_fields(after, same)}, ()
        fresh = replace(fresh, id=_free_id(fresh, {one.id for one in known}))
        against = tuple(contradict(one, self._course) for one in known if speaks_against(fresh.rule, one.rule))
        return "added", all_fields(fresh), against

    def _fresh(self, rule: str, facts: Mapping[str, Any]) -> tuple[Instinct, tuple[str, ...]]:
        """A new instinct, past the gate, and the secrets that were taken out of it."""
        scope, origin = facts.get("scope", "project"), facts.get("origin", "")
        choose("scope", [scope], SCOPES)
        if origin:
            choose("origin", [origin], tuple(ORIGINS))
        said = Draft(rule, source="instinct", tags=tuple(facts.get("tags", ())), key=facts.get("source", ""))
        passed = pass_gate(said, validate=True)
        if passed.quarantine:
            raise InvalidInput(f"this is no rule: {passed.quarantine}", "say what to do, in one sentence")
        draft, now = passed.draft, self._now()
        fresh = Instinct(
            id="",
            rule=" ".join(draft.text.split()),
            confidence=ORIGINS[origin] if origin else self._course.start,
            scope=scope,
            category=_word(facts.get("category", "")),
            created_at=now,
            reinforced_at=now,
            reinforcements=1,
            source=" ".join(draft.key.split())[:MAX_SOURCE],
            tags=draft.tags,
        )
        return fresh, passed.redacted

    def _place(self, fresh: Instinct) -> Added:
        with self._changing() as (folder, sheet):
            known = next((one for one in sheet.instincts if says_the_same(fresh.rule, one.rule)), None)
            if known is not None:
                after = self._set(folder, sheet, reinforce(known, self._now(), self._course))
                return Added("reinforced", after)
            fresh = replace(fresh, id=_free_id(fresh, {one.id for one in sheet.instincts}))
            against = [one for one in sheet.instincts if speaks_against(fresh.rule, one.rule)]
            lowered = [contradict(one, self._course) for one in against]
            if lowered:
                sheet = parse(all_changed(sheet, "confidence", {one.id: one.confidence for one in lowered}))
            _write(folder, added(sheet, all_fields(fresh)))
            return Added("added", self._held(fresh), tuple(map(self._held, lowered)))

    def reinforce(self, ref: str) -> Held:
        """Somebody confirmed it."""
        return self._adjust(ref, lambda one: reinforce(one, self._now(), self._course))

    def contradict(self, ref: str) -> Held:
        """Something spoke against it."""
        return self._adjust(ref, lambda one: contradict(one, self._course))

    def rate(self, ref: str, confidence: float) -> Held:
        """Say how sure it is, as of today."""
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.0 <= confidence <= 1.0:
            raise InvalidInput(f"confidence is not a share: {confidence!r}", "give a number from 0.0 to 1.0")
        now = self._now()
        return self._adjust(ref, lambda one: replace(one, confidence=float(confidence), reinforced_at=now))

    def prune(self, *, stale: bool = False, dry_run: bool = False) -> tuple[Held, ...]:
        """Remove those that are too unsure and, with `stale`, those that nobody confirmed for long; tells which."""

        def going(sheet: Sheet) -> list[Instinct]:
            now = self._now()
            return [one for one in sheet.instincts if is_prunable(one, now, self._course, stale=stale)]

        if dry_run:
            return tuple(map(self._held, going(self._read())))
        with self._changing() as (folder, sheet):
            gone = going(sheet)
            if gone:
                _write(folder, removed(sheet, [one.id for one in gone]))
            return tuple(map(self._held, gone))

    def plan_merge(self, others: Sequence[Instinct]) -> Merged:
        """What the file would be with the rules of another one. Nothing is changed."""
        return self._merged(self._read(), others)

    def merge(self, others: Sequence[Instinct], whole: str = "") -> Merged:
        """Take over the rules of another file: those that are missing, and of those that are known what was confirmed
        elsewhere. What speaks against a rule here is left out and named. The second time nothing changes. Where there
        is no file yet and all rules are taken, `whole` is it: the other one as somebody wrote it."""
        with self._changing() as (folder, sheet):
            told = self._merged(sheet, others)
            if whole and others and not sheet.text.strip() and len(told.added) == len(others):
                told = replace(told, added=tuple(others), change=replace(told.change, after=whole))
            if told.change.changes:
                _write(folder, told.change.after)
            return told

    def _merged(self, sheet: Sheet, others: Sequence[Instinct]) -> Merged:
        passed, refused = _through_gate(others[:MOST_MERGED])
        told = merge_rules(sheet.instincts, passed)
        taken = {one.id for one in sheet.instincts}
        fresh: list[Instinct] = []
        for one in told.added[:MOST_ADDED]:
            one = replace(one, id=one.id if is_id(one.id) and one.id not in taken else _free_id(one, taken))
            taken.add(one.id)
            fresh.append(one)
        after = _with_values(sheet, told.raised)
        for one in fresh:
            after = added(parse(after), all_fields(one))
        change = Change(self._root, f"{FOLDER}/{FILE}", sheet.text, after)
        return Merged(change, tuple(fresh), told.raised, told.known, told.against, tuple(refused))

    def promote(self, ref: str) -> tuple[NoteProposal, KeptNote]:
        """Keep the note that an instinct was proposed as, for every project, and mark the instinct. A person accepts;
        an agent only proposes."""
        if not self._caller.leads:
            raise NotAllowed("a note for every project is a person's to accept", "show it: swarmlore instincts promote")
        note = self.proposal(ref)
        if why := pass_gate(Draft(note.text, source="note", title=note.title), validate=True).quarantine:
            raise InvalidInput(f"{note.instinct.id} is no note: {why}", "say what to do, in one sentence")
        # First the note, then the mark: after a crash in between, the same note again is the one that is there.
        told = self._keep(note)
        self._adjust(note.instinct.id, lambda instinct: replace(instinct, promoted=True))
        return note, told

    def _why_not(self, one: Held) -> str:
        if one.instinct.promoted:
            return f"it was promoted already (to do it again, delete `promoted: true` in {FOLDER}/{FILE})"
        if one.instinct.scope != "universal":
            return f"its scope is {one.instinct.scope}, not universal"
        return f"its confidence is {one.confidence:g}, below {self._course.promote_from:g}"

    # The file

    def _held(self, one: Instinct) -> Held:
        now, course = self._now(), self._course
        return Held(
            one,
            confidence_now(one, now, course),
            idle_days(one, now),
            is_prunable(one, now, course),
            is_promotable(one, now, course),
        )

    def _adjust(self, ref: str, change: Callable[[Instinct], Instinct]) -> Held:
        with self._changing() as (folder, sheet):
            return self._set(folder, sheet, change(_find(sheet, ref)))

    def _set(self, folder: Folder, sheet: Sheet, after: Instinct) -> Held:
        before = next(one for one in sheet.instincts if one.id == after.id)
        if values := changed_fields(after, before):
            _write(folder, changed(sheet, after.id, values))
        return self._held(after)

    @property
    def _path(self) -> str:
        return f"{self._root}/{FOLDER}/{FILE}"

    def _read(self) -> Sheet:
        with Folder(self._root) as root:
            folder = root.inside(FOLDER)
            if folder is None:
                return parse("")
            with folder:
                return self._sheet(folder)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Folder, Sheet]]:
        """The folder, locked, and what its file says now."""
        with Folder(self._root) as root:
            folder = root.inside(FOLDER, make=True)
            assert folder is not None  # it was made
            with folder, folder.lock():
                yield folder, self._sheet(folder)

    def _sheet(self, folder: Folder) -> Sheet:
        if folder.size(FILE) > MAX_BYTES:
            raise Unreadable(f"{self._path} is larger than {MAX_BYTES // 1024} KB", "prune it by hand")
        try:
            return parse(folder.read(FILE).decode("utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput(f"{self._path} is not UTF-8 text", "convert it: iconv -t UTF-8") from None
        except Unreadable as problem:
            raise Unreadable(f"{self._path} cannot be used: {problem.message}", problem.hint) from None


def _write(folder: Folder, text: str) -> None:
    folder.replace(FILE, [text.encode("utf-8")])


def _course(settings: InstinctSettings) -> Course:
    return Course(**{spec.name: getattr(settings, spec.name) for spec in fields(Course())})


def _through_gate(others: Sequence[Instinct]) -> tuple[list[Instinct], list[tuple[str, str]]]:
    """Those that may stand in the file, without secrets; and why the others may not."""
    passed: list[Instinct] = []
    refused: list[tuple[str, str]] = []
    for one in others:
        try:
            gate = pass_gate(Draft(one.rule, source="instinct", tags=one.tags, key=one.source), validate=True)
        except (Rejected, InvalidInput) as refusal:
            refused.append((one.rule[:MAX_SOURCE], refusal.message))
            continue
        if gate.quarantine:
            refused.append((" ".join(gate.draft.text.split())[:MAX_SOURCE], gate.quarantine))
            continue
        draft = gate.draft
        rule, source = " ".join(draft.text.split()), " ".join(draft.key.split())[:MAX_SOURCE]
        scope = one.scope if one.scope in SCOPES else "project"
        facts = {"rule": rule, "source": source, "tags": draft.tags, "category": _word(one.category), "scope": scope}
        passed.append(replace(one, **facts))
    return passed, refused


def _with_values(sheet: Sheet, raised: Sequence[Instinct]) -> str:
    """The text with what has changed of some instincts, one field after the other."""
    text = sheet.text
    before = {one.id: one for one in sheet.instincts}
    values = {one.id: changed_fields(one, before[one.id]) for one in raised}
    for name in ("confidence", "last_reinforced", "reinforcement_count", "promoted"):
        if told := {id: said[name] for id, said in values.items() if name in said}:
            text = all_changed(parse(text), name, told)
    return text


def _find(sheet: Sheet, ref: str) -> Instinct:
    """The one instinct that an id or the beginning of one names; `inst-` may be left out."""
    if not isinstance(ref, str) or len(ref.strip()) < MIN_PREFIX:
        raise InvalidInput("that is not an id", "give an id of: swarmlore instincts show")
    ref = ref.strip()
    exact = [one for one in sheet.instincts if one.id == ref]
    fits = exact or [one for one in sheet.instincts if one.id.startswith((ref, f"inst-{ref}"))]
    fits = fits or [one for one in sheet.instincts if one.id.endswith(f"-{ref}")]
    if len(fits) > 1:
        names = tuple(one.id for one in fits)
        raise Ambiguous(f"{ref!r} fits {len(fits)} instincts", "give more characters", names)
    if not fits:
        raise NotFound(f"no instinct {ref!r}", "look it up with: swarmlore instincts show")
    return fits[0]


def _free_id(fresh: Instinct, taken: set[str]) -> str:
    from hashlib import sha256

    digits = sha256(fresh.rule.encode()).hexdigest()
    stem = f"inst-{day(fresh.created_at or 0.0).replace('-', '')}-"
    return next(stem + digits[:size] for size in range(6, 65) if stem + digits[:size] not in taken)


def _word(category: str) -> str:
    """A category is one plain word: it stands in a file and in a note's place."""
    from swarmlore.domain.language.display import slug

    return slug(category)[:40]


def _note(one: Instinct, confidence: float) -> NoteProposal:
    """The note for an instinct: its rule as the headline, and where it comes from."""
    category, tags = one.category or "patterns", tuple(dict.fromkeys((*one.tags, "instinct")))
    since = f" since {day(one.created_at)}" if one.created_at is not None else ""
    seen = one.reinforcements - 1  # the first one made it
    told = [f"Confirmed {seen} time{'s' if seen > 1 else ''}{since}."] if seen > 0 else []
    told += [f"Learned from: {one.source}."] if one.source else []
    text = "\n".join([one.rule.rstrip(".") + ".", *([""] if told else []), *told])
    return NoteProposal(one, one.rule[:150], category, tags[:20], confidence, text)
