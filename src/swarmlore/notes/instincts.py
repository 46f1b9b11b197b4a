"""Instincts of a project in `.agents/instincts.yaml`: show, add, reinforce, merge, prune and promote rules.

People own the file: each call reads it anew and edits it in place, under a lock. New rules pass the validation gate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256

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
from swarmlore.domain.pages.rule_conflicts import contradicts_rule, is_same_rule
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Caller, Draft, choose, is_id
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.notes.yaml_edit import (
    MAX_BYTES,
    TRUE,
    ListNode,
    MappingNode,
    ParsedYaml,
    Scalar,
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
class InstinctNode:
    """An instinct with its node and its index in the list of the file."""

    instinct: Instinct
    table: MappingNode
    number: int


@frozen
class InstinctFile:
    """The parsed file: its YAML tree, its instincts, and the invalid items by line."""

    found: ParsedYaml
    places: tuple[InstinctNode, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.found.text

    @property
    def instincts(self) -> tuple[Instinct, ...]:
        """The valid instincts in file order."""
        return tuple(place.instinct for place in self.places)


def parse(text: str) -> InstinctFile:
    """Parse the text of an instincts file; invalid items are reported with their line and left alone."""
    found = read(text)
    items = _items(found)
    if len(items) > MOST:
        raise Unreadable(f"it has more than {MOST} instincts", "prune it by hand")
    places: list[InstinctNode] = []
    problems, ids = [], set[str]()
    for number, item in enumerate(items):
        try:
            place = InstinctNode(_instinct(item), item, number)
            if place.instinct.id in ids:  # the id would be ambiguous
                raise ValueError(f"another instinct has the id {place.instinct.id}")
            ids.add(place.instinct.id)
            places.append(place)
        except ValueError as problem:
            problems.append((found.line(item.start) + 1, str(problem)))
    return InstinctFile(found, tuple(places), tuple(problems))


def _items(found: ParsedYaml) -> Sequence[Any]:
    if found.root is None or (isinstance(found.root, Scalar) and not found.root.value):
        return ()
    if not isinstance(found.root, MappingNode):
        raise Unreadable("it has no names at its top", f"begin with {LIST}:")
    listed = found.root.get(LIST)
    if is_nothing(listed):
        return ()
    if not isinstance(listed, ListNode):
        raise Unreadable(f"{LIST} is no list", "write one instinct below the other, each after a dash")
    return listed.items


def _instinct(node: Any) -> Instinct:
    """Convert a node into an instinct; raise ValueError with the reason if it is invalid."""
    if not isinstance(node, MappingNode):
        raise ValueError("no instinct: it is no mapping such as `rule: …`")
    nodes = {key.value: value for key, value in node.entries}

    def text(name: str) -> str:
        value = nodes.get(name)
        return value.value.strip() if isinstance(value, Scalar) and not is_nothing(value) else ""

    if not text("rule"):
        raise ValueError("no instinct: it has no rule")
    if not text("id"):
        raise ValueError("no instinct: it has no id")
    tags = nodes.get("tags")
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
        tags=tuple(tag.value for tag in tags.items if isinstance(tag, Scalar)) if isinstance(tags, ListNode) else (),
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
    """Format a time as the file's date, YYYY-MM-DD."""
    return str(iso(at))[:10]


def changed(sheet: InstinctFile, id: str, values: Mapping[str, Any]) -> str:
    """Return the text with some fields of one instinct set."""
    place = next(place for place in sheet.places if place.instinct.id == id)
    return with_values(sheet.found, {(LIST, place.number, name): value for name, value in values.items()})


def all_changed(sheet: InstinctFile, name: str, values: Mapping[str, Any]) -> str:
    """Return the text with one field set for several instincts, by id."""
    places = [place for place in sheet.places if place.instinct.id in values]
    return with_values(sheet.found, {(LIST, place.number, name): values[place.instinct.id] for place in places})


def added(sheet: InstinctFile, values: Mapping[str, Any]) -> str:
    """Return the text with an instinct appended."""
    found = sheet.found
    if is_nothing(found.root):
        return with_values(found, {("version",): 1, (LIST,): [values]})
    return with_item(found, (LIST,), values)


def removed(sheet: InstinctFile, ids: Sequence[str]) -> str:
    """Return the text without these instincts; comments above them stay."""
    return without_items(sheet.found, (LIST,), (place.number for place in sheet.places if place.instinct.id in ids))


def all_fields(instinct: Instinct) -> dict[str, Any]:
    """Return the YAML fields of a new instinct in the documented order, without empty ones."""
    born = instinct.created_at
    confirmed = born if instinct.reinforced_at is None else instinct.reinforced_at
    values: dict[str, Any] = {
        "id": instinct.id,
        "rule": instinct.rule,
        "confidence": float(instinct.confidence),
        "scope": instinct.scope,
        "category": instinct.category,
        "created": "" if born is None else day(born),
        "last_reinforced": "" if confirmed is None else day(confirmed),
        "reinforcement_count": instinct.reinforcements or "",
        "source": instinct.source,
        "tags": list(instinct.tags),
    }
    values = {name: value for name, value in values.items() if value not in ("", [])}
    return {**values, "promoted": True} if instinct.promoted else values


def changed_fields(after: Instinct, before: Instinct) -> dict[str, Any]:
    """Return the YAML fields in which two versions of an instinct differ."""
    values: dict[str, Any] = {}
    if after.confidence != before.confidence:
        values["confidence"] = float(after.confidence)
    if after.reinforced_at is not None and after.reinforced_at != before.reinforced_at:
        values["last_reinforced"] = day(after.reinforced_at)
    if after.reinforcements != before.reinforcements:
        values["reinforcement_count"] = after.reinforcements
    if after.promoted != before.promoted:
        values["promoted"] = after.promoted
    return values


MAX_SOURCE = 200
MIN_PREFIX = 3
MOST_MERGED = 500  # rules of another file that a merge reads
MOST_ADDED = 50  # rules added by one merge, since each needs a new parse; a second merge adds the rest


@frozen
class Held:
    """An instinct with its confidence today (it decays unconfirmed), and whether it can be pruned or promoted."""

    instinct: Instinct
    confidence: float
    idle_days: int
    prunable: bool = False
    promotable: bool = False


@frozen
class Shelf:
    """All instincts of a project, highest confidence first, and the file's invalid items by line."""

    path: str
    held: tuple[Held, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()


@frozen
class Added:
    """Result of `add`: `added`, or `reinforced` if the rule was known; and the instincts that it contradicts."""

    outcome: str
    held: Held
    contradicted: tuple[Held, ...] = ()
    redacted: tuple[str, ...] = ()


@frozen
class NoteProposal:
    """The note that an instinct would be promoted to."""

    instinct: Instinct
    title: str
    category: str
    tags: tuple[str, ...]
    confidence: float
    text: str


@frozen
class KeptNote:
    """Result of promoting an instinct: `added`, or `known` if the note existed; its file and its memory (None if not
    found, as when a user forgot it)."""

    outcome: str
    path: str
    id: str
    memory: Memory | None = None


@frozen
class Merged:
    """Result of merging another file: new and raised instincts, number of known rules, contradicting pairs (theirs,
    ours), and refused rules with the reason."""

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

    def show(self) -> Shelf:
        """Return every instinct with its current confidence."""
        sheet = self._read()
        held = sorted(map(self._held, sheet.instincts), key=lambda one: (-one.confidence, one.instinct.id))
        return Shelf(self._path, tuple(held), sheet.problems)

    def text(self) -> str:
        """Return the text of the file; '' without one."""
        return self._read().text

    def find(self, ref: str) -> Held:
        """Return the instinct with this id or id prefix."""
        return self._held(_find(self._read(), ref))

    def proposals(self) -> tuple[NoteProposal, ...]:
        """Return the notes that promotable instincts (high confidence, universal) would become; changes nothing."""
        return tuple(_note(one.instinct, one.confidence) for one in self.show().held if one.promotable)

    def proposal(self, ref: str) -> NoteProposal:
        """Return the note that an instinct would become; raise InvalidInput with the reason if it is not promotable."""
        one = self._held(_find(self._read(), ref))
        if not one.promotable:
            raise InvalidInput(f"{one.instinct.id} is not ready: {self._why_not(one)}", "swarmlore instincts review")
        return _note(one.instinct, one.confidence)

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
        """Add a rule, or reinforce the same one if it is known. Instincts that it contradicts lose confidence. `origin`
        says how the rule was learned and sets its initial confidence."""
        facts = {"scope": scope, "category": category, "source": source, "origin": origin, "tags": tuple(tags)}
        fresh, redacted = self._fresh(rule, facts)
        return replace(self._place(fresh), redacted=redacted)

    def foresee(self, rule: str, **facts: Any) -> tuple[str, Mapping[str, Any], tuple[Instinct, ...]]:
        """Preview `add`: return the outcome with the fields that it would write, and the instincts that would lose
        confidence. For `reinforced` the fields include the id."""
        fresh, _ = self._fresh(rule, facts)
        known = self._read().instincts
        same = next((one for one in known if is_same_rule(fresh.rule, one.rule)), None)
        if same is not None:
            after = reinforce(same, self._now(), self._course)
            return "reinforced", {"id": same.id, "rule": same.rule, **changed_fields(after, same)}, ()
        fresh = replace(fresh, id=_free_id(fresh, {one.id for one in known}))
        against = tuple(contradict(one, self._course) for one in known if contradicts_rule(fresh.rule, one.rule))
        return "added", all_fields(fresh), against

    def _fresh(self, rule: str, facts: Mapping[str, Any]) -> tuple[Instinct, tuple[str, ...]]:
        """Return a new instinct that passed the validation gate, and the secrets that were redacted."""
        scope, origin = facts.get("scope", "project"), facts.get("origin", "")
        choose("scope", [scope], SCOPES)
        if origin:
            choose("origin", [origin], tuple(ORIGINS))
        given = Draft(rule, source="instinct", tags=tuple(facts.get("tags", ())), key=facts.get("source", ""))
        passed = pass_gate(given, validate=True)
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
            known = next((one for one in sheet.instincts if is_same_rule(fresh.rule, one.rule)), None)
            if known is not None:
                after = self._set(folder, sheet, reinforce(known, self._now(), self._course))
                return Added("reinforced", after)
            fresh = replace(fresh, id=_free_id(fresh, {one.id for one in sheet.instincts}))
            against = [one for one in sheet.instincts if contradicts_rule(fresh.rule, one.rule)]
            lowered = [contradict(one, self._course) for one in against]
            if lowered:
                sheet = parse(all_changed(sheet, "confidence", {one.id: one.confidence for one in lowered}))
            _write(folder, added(sheet, all_fields(fresh)))
            return Added("added", self._held(fresh), tuple(map(self._held, lowered)))

    def reinforce(self, ref: str) -> Held:
        """Raise the confidence of an instinct that was confirmed."""
        return self._adjust(ref, lambda one: reinforce(one, self._now(), self._course))

    def contradict(self, ref: str) -> Held:
        """Lower the confidence of an instinct that was contradicted."""
        return self._adjust(ref, lambda one: contradict(one, self._course))

    def rate(self, ref: str, confidence: float) -> Held:
        """Set the confidence of an instinct, as of today."""
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.0 <= confidence <= 1.0:
            raise InvalidInput(f"confidence is not a share: {confidence!r}", "give a number from 0.0 to 1.0")
        now = self._now()
        return self._adjust(ref, lambda one: replace(one, confidence=float(confidence), reinforced_at=now))

    def prune(self, *, stale: bool = False, dry_run: bool = False) -> tuple[Held, ...]:
        """Remove instincts of too low confidence and, with `stale`, those not confirmed for long; return them."""

        def prunable(sheet: InstinctFile) -> list[Instinct]:
            now = self._now()
            return [one for one in sheet.instincts if is_prunable(one, now, self._course, stale=stale)]

        if dry_run:
            return tuple(map(self._held, prunable(self._read())))
        with self._changing() as (folder, sheet):
            removable = prunable(sheet)
            if removable:
                _write(folder, removed(sheet, [one.id for one in removable]))
            return tuple(map(self._held, removable))

    def plan_merge(self, others: Sequence[Instinct]) -> Merged:
        """Preview `merge`. Nothing is changed."""
        return self._merged(self._read(), others)

    def merge(self, others: Sequence[Instinct], whole: str = "") -> Merged:
        """Merge the rules of another file: add missing ones, raise the confidence of known ones, leave out and report
        contradicting ones. Merging again changes nothing. `whole` is the other file's text; it is written unchanged if
        there is no file yet and every rule is accepted."""
        with self._changing() as (folder, sheet):
            result = self._merged(sheet, others)
            if whole and others and not sheet.text.strip() and len(result.added) == len(others):
                result = replace(result, added=tuple(others), change=replace(result.change, after=whole))
            if result.change.changes:
                _write(folder, result.change.after)
            return result

    def _merged(self, sheet: InstinctFile, others: Sequence[Instinct]) -> Merged:
        passed, refused = _through_gate(others[:MOST_MERGED])
        merged = merge_rules(sheet.instincts, passed)
        taken = {one.id for one in sheet.instincts}
        fresh: list[Instinct] = []
        for one in merged.added[:MOST_ADDED]:
            one = replace(one, id=one.id if is_id(one.id) and one.id not in taken else _free_id(one, taken))
            taken.add(one.id)
            fresh.append(one)
        after = _with_values(sheet, merged.raised)
        for one in fresh:
            after = added(parse(after), all_fields(one))
        change = Change(self._root, f"{FOLDER}/{FILE}", sheet.text, after)
        return Merged(change, tuple(fresh), merged.raised, merged.known, merged.against, tuple(refused))

    def promote(self, ref: str) -> tuple[NoteProposal, KeptNote]:
        """Write an instinct as a note for every project and mark it promoted. Only a person may; agents propose."""
        if not self._caller.leads:
            raise NotAllowed("a note for every project is a person's to accept", "show it: swarmlore instincts promote")
        note = self.proposal(ref)
        if why := pass_gate(Draft(note.text, source="note", title=note.title), validate=True).quarantine:
            raise InvalidInput(f"{note.instinct.id} is no note: {why}", "say what to do, in one sentence")
        # Note first: after a crash before the mark, promoting again finds the note that exists.
        kept = self._keep(note)
        self._adjust(note.instinct.id, lambda instinct: replace(instinct, promoted=True))
        return note, kept

    def _why_not(self, one: Held) -> str:
        if one.instinct.promoted:
            return f"it was promoted already (to do it again, delete `promoted: true` in {FOLDER}/{FILE})"
        if one.instinct.scope != "universal":
            return f"its scope is {one.instinct.scope}, not universal"
        return f"its confidence is {one.confidence:g}, below {self._course.promote_from:g}"

    def _held(self, instinct: Instinct) -> Held:
        now, course = self._now(), self._course
        return Held(
            instinct,
            confidence_now(instinct, now, course),
            idle_days(instinct, now),
            is_prunable(instinct, now, course),
            is_promotable(instinct, now, course),
        )

    def _adjust(self, ref: str, change: Callable[[Instinct], Instinct]) -> Held:
        with self._changing() as (folder, sheet):
            return self._set(folder, sheet, change(_find(sheet, ref)))

    def _set(self, folder: Folder, sheet: InstinctFile, after: Instinct) -> Held:
        before = next(one for one in sheet.instincts if one.id == after.id)
        if values := changed_fields(after, before):
            _write(folder, changed(sheet, after.id, values))
        return self._held(after)

    @property
    def _path(self) -> str:
        return f"{self._root}/{FOLDER}/{FILE}"

    def _read(self) -> InstinctFile:
        with Folder(self._root) as root:
            folder = root.inside(FOLDER)
            if folder is None:
                return parse("")
            with folder:
                return self._sheet(folder)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Folder, InstinctFile]]:
        """Context manager: lock the folder and yield it with the parsed file."""
        with Folder(self._root) as root:
            folder = root.inside(FOLDER, make=True)
            assert folder is not None  # make=True creates it
            with folder, folder.lock():
                yield folder, self._sheet(folder)

    def _sheet(self, folder: Folder) -> InstinctFile:
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
    """Return the rules that pass the validation gate, redacted, and the refused ones with the reason."""
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


def _with_values(sheet: InstinctFile, raised: Sequence[Instinct]) -> str:
    """Return the text with the changed fields of some instincts, edited one field name at a time."""
    text = sheet.text
    before = {one.id: one for one in sheet.instincts}
    values = {one.id: changed_fields(one, before[one.id]) for one in raised}
    for name in ("confidence", "last_reinforced", "reinforcement_count", "promoted"):
        if changes := {id: own[name] for id, own in values.items() if name in own}:
            text = all_changed(parse(text), name, changes)
    return text


def _find(sheet: InstinctFile, ref: str) -> Instinct:
    """Return the instinct with this id or id prefix; `inst-` may be omitted."""
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
    digits = sha256(fresh.rule.encode()).hexdigest()
    stem = f"inst-{day(fresh.created_at or 0.0).replace('-', '')}-"
    return next(stem + digits[:size] for size in range(6, 65) if stem + digits[:size] not in taken)


def _word(category: str) -> str:
    """Return a category as a slug, since it becomes a part of a note's path."""
    from swarmlore.domain.language.display import slug

    return slug(category)[:40]


def _note(instinct: Instinct, confidence: float) -> NoteProposal:
    """Return the note for an instinct: its rule as title and text, followed by its origin."""
    category, tags = instinct.category or "patterns", tuple(dict.fromkeys((*instinct.tags, "instinct")))
    since = f" since {day(instinct.created_at)}" if instinct.created_at is not None else ""
    seen = instinct.reinforcements - 1  # without the one that created it
    history = [f"Confirmed {seen} time{'s' if seen > 1 else ''}{since}."] if seen > 0 else []
    history += [f"Learned from: {instinct.source}."] if instinct.source else []
    text = "\n".join([instinct.rule.rstrip(".") + ".", *([""] if history else []), *history])
    return NoteProposal(instinct, instinct.rule[:150], category, tags[:20], confidence, text)
