"""Instincts of a project: `.agents/instincts.yaml`, shown, added to, adjusted, promoted and pruned.

The file belongs to the people of the project; it is read anew each time and changed in place, under a lock. What goes
into it passes the gate, as a memory would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager

from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from swarmlore.formats.folder import Folder
from swarmlore.formats.instincts import FILE, FOLDER, Sheet, added, all_changed, changed, day, parse, removed
from swarmlore.formats.yaml_text import MAX_BYTES, Unreadable
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.records import Caller, Draft
from swarmlore.rules.gate import pass_gate
from swarmlore.rules.instincts import (
    ORIGINS,
    SCOPES,
    Course,
    Instinct,
    confidence_now,
    contradict,
    idle_days,
    is_promotable,
    is_prunable,
    reinforce,
)
from swarmlore.typed import choose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swarmlore.config import InstinctSettings
    from swarmlore.records import Remembered

MAX_SOURCE = 200
MIN_PREFIX = 3


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


class Instincts:
    """The instincts of one project, for one caller."""

    def __init__(
        self,
        root: str,
        caller: Caller,
        settings: InstinctSettings,
        now: Callable[[], float],
        remember: Callable[..., Remembered],
    ) -> None:
        self._root = root
        self._caller = caller
        self._course = _course(settings)
        self._now = now
        self._remember = remember

    # Looking

    def show(self) -> Shelf:
        """Every instinct with what it is worth today."""
        sheet = self._read()
        held = sorted(map(self._held, sheet.instincts), key=lambda one: (-one.confidence, one.instinct.id))
        return Shelf(self._path, tuple(held), sheet.problems)

    def find(self, ref: str) -> Held:
        """The one instinct that an id or the beginning of one names."""
        return self._held(_find(self._read(), ref))

    def proposals(self) -> tuple[NoteProposal, ...]:
        """The notes that instincts would become which are sure enough and hold everywhere. Nothing is changed."""
        return tuple(_note(one.instinct, one.confidence) for one in self.show().held if one.promotable)

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
        choose("scope", [scope], SCOPES)
        if origin:
            choose("origin", [origin], tuple(ORIGINS))
        passed = pass_gate(Draft(rule, source="instinct", tags=tuple(tags), key=source), validate=True)
        if passed.quarantine:
            raise InvalidInput(f"this is no rule: {passed.quarantine}", "say what to do, in one sentence")
        draft, now = passed.draft, self._now()
        fresh = Instinct(
            id="",
            rule=" ".join(draft.text.split()),
            confidence=ORIGINS[origin] if origin else self._course.start,
            scope=scope,
            category=_word(category),
            created_at=now,
            reinforced_at=now,
            reinforcements=1,
            source=" ".join(draft.key.split())[:MAX_SOURCE],
            tags=draft.tags,
        )
        return replace(self._place(fresh), redacted=passed.redacted)

    def _place(self, fresh: Instinct) -> Added:
        with self._changing() as (folder, sheet):
            known = next((one for one in sheet.instincts if _is_same(fresh.rule, one.rule)), None)
            if known is not None:
                after = self._set(folder, sheet, reinforce(known, self._now(), self._course))
                return Added("reinforced", after)
            fresh = replace(fresh, id=_free_id(fresh, {one.id for one in sheet.instincts}))
            against = [one for one in sheet.instincts if _speak_against(fresh.rule, one.rule)]
            lowered = [contradict(one, self._course) for one in against]
            if lowered:
                sheet = parse(all_changed(sheet, "confidence", {one.id: one.confidence for one in lowered}))
            _write(folder, added(sheet, _all_fields(fresh)))
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

    def promote(self, ref: str) -> tuple[NoteProposal, Remembered]:
        """Keep the note that an instinct was proposed as, for every project, and mark the instinct. A person accepts;
        an agent only proposes."""
        if not self._caller.leads:
            raise NotAllowed("a note for every project is a person's to accept", "show it: swarmlore instincts promote")
        one = self._held(_find(self._read(), ref))
        if not one.promotable:
            raise InvalidInput(f"{one.instinct.id} is not ready: {self._why_not(one)}", "swarmlore instincts review")
        note = _note(one.instinct, one.confidence)
        if why := pass_gate(Draft(note.text, source="note", title=note.title), validate=True).quarantine:
            raise InvalidInput(f"{one.instinct.id} is no note: {why}", "say what to do, in one sentence")
        # First the note, then the mark: after a crash in between, the same note again is the one that is there.
        told = self._remember(
            note.text,
            title=note.title,
            category=note.category,
            tags=note.tags,
            confidence=note.confidence,
            tier="hive",
            source="note",
            source_ref={"instinct": one.instinct.id},
        )
        self._adjust(one.instinct.id, lambda instinct: replace(instinct, promoted=True))
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
        if values := _fields(after, before):
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
    from swarmlore.text.slug import slug

    return slug(category)[:40]


def _is_same(rule: str, other: str) -> bool:
    """Whether two rules say the same: the words of one, and nothing that matters differs."""
    from swarmlore.rules.meaning import contradicts, differences
    from swarmlore.text.similarity import jaccard_bigram

    if jaccard_bigram(rule, other) < 0.6 or contradicts(rule, other):
        return False
    return not differences(rule, other)


def _speak_against(rule: str, other: str) -> bool:
    from swarmlore.rules.meaning import contradicts, differences, same_subject
    from swarmlore.text.similarity import jaccard_bigram

    if contradicts(rule, other):
        return True
    told = differences(rule, other)
    if not told or not same_subject(rule, other):
        return False
    return jaccard_bigram(rule, other) >= 0.6 or any(reason.startswith("opposed: ") for reason in told)


def _all_fields(one: Instinct) -> dict[str, Any]:
    """A new instinct in the order of the seed's example; what is not known is left out."""
    born = day(one.created_at or 0.0)
    said: dict[str, Any] = {
        "id": one.id,
        "rule": one.rule,
        "confidence": float(one.confidence),
        "scope": one.scope,
        "category": one.category,
        "created": born,
        "last_reinforced": born,
        "reinforcement_count": one.reinforcements,
        "source": one.source,
        "tags": list(one.tags),
    }
    return {name: value for name, value in said.items() if value not in ("", [])}


def _fields(after: Instinct, before: Instinct) -> dict[str, Any]:
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


def _note(one: Instinct, confidence: float) -> NoteProposal:
    """The note for an instinct: its rule as the headline, and where it comes from."""
    category, tags = one.category or "patterns", tuple(dict.fromkeys((*one.tags, "instinct")))
    since = f" since {day(one.created_at)}" if one.created_at is not None else ""
    seen = one.reinforcements - 1  # the first one made it
    told = [f"Confirmed {seen} time{'s' if seen > 1 else ''}{since}."] if seen > 0 else []
    told += [f"Learned from: {one.source}."] if one.source else []
    text = "\n".join([one.rule.rstrip(".") + ".", *([""] if told else []), *told])
    return NoteProposal(one, one.rule[:150], category, tags[:20], confidence, text)
