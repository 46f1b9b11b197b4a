"""Records from what callers of the Python API pass: unknown names and wrong types are errors with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any


# With a letter or digit: `.` and `..` are folders wherever an id becomes the name of a file.
_FOREIGN = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_.:-]{1,128}")
ID_HINT = "use up to 128 letters, digits, and _ . : -, at least one of them a letter or digit"


def uuid7(at: float, random: bytes) -> str:
    """A UUIDv7 from seconds since the epoch and ten random bytes."""
    value = int.from_bytes(max(0, round(at * 1000)).to_bytes(6, "big") + random[:10].ljust(10, b"\0"), "big")
    value = value & ~(0xF << 76) | 0x7 << 76  # version 7
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant of RFC 9562
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def is_id(text: str) -> bool:
    """Whether a foreign id may be kept as it is."""
    return _FOREIGN.fullmatch(text) is not None


KINDS = (
    "correction",
    "decision",
    "commitment",
    "insight",
    "learning",
    "confidence",
    "pattern_seed",
    "cross_agent",
    "workflow_note",
    "gap",
)
CATEGORIES = (
    *("process", "architecture", "tooling", "security", "testing", "debugging", "performance", "integration"),
    *("todo", "other", "lesson", "pattern", "domain", "decision"),
    *("mistake-pattern", "best-practice", "codebase-knowledge", "preference"),
)
TIERS = ("agent", "swarm", "hive")
STATUSES = ("candidate", "established", "promoted", "archived", "quarantined", "deprecated", "superseded")
LISTED_STATUSES = (*STATUSES, "forgotten", "any")  # what `list` can be asked for
LIVE_STATUSES = ("candidate", "established", "promoted")
LESSON_SOURCES = (
    *("manual", "knowledge_add", "inject", "learned_comment", "reflect", "instinct", "promotion", "migration"),
    *("import", "ledger"),
)
RAW_SOURCES = ("task_completion", "session_summary", "file_index", "note", "transcript", "outcome")
STRATEGY_SOURCE = "outcome"
SOURCES = LESSON_SOURCES + RAW_SOURCES
ROLES = ("person", "lead", "worker")
PROFILES = ("default", "knowledge", "lane", "swarm", "learnings", "beads")
MODES = ("hybrid", "keyword", "naive", "local", "global")
MAX_CITATIONS = 8  # of one memory
HANDLE_CHARS = 6
JOB_KINDS = ("extract", "summarise", "embed", "sweep", "reflect", "connect", "index")
PROPOSAL_ROUTES = {
    "behavioral": "b",
    "knowledge": "k",
    "skill": "s",
    "instinct": "i",
    "memory": "m",
}  # and their letters
IMPORTANCES = ("low", "normal", "high", "urgent")
LINK_KINDS = ("related", "contradicts", "supersedes", "elaborates")


@frozen
class Caller:
    """Who acts. Without an agent only the project's swarm memories and the hive are visible."""

    project: str = ""
    agent: str = ""
    role: str = "worker"
    trust: int = 2

    @property
    def leads(self) -> bool:
        """Whether the caller may change what other agents shared."""
        return self.role in ("lead", "person")


@frozen
class Token:
    """Who somebody is that shows a token to a server; the token itself is known to its holder alone."""

    id: str
    project: str
    agent: str
    role: str = "worker"
    folder: str = ""
    created_at: float = 0.0
    created_by: str = ""
    expires_at: float | None = None
    used_at: float | None = None
    revoked_at: float | None = None

    def holds(self, now: float) -> bool:
        """Whether it still lets somebody in."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@frozen
class Confirmation:
    """One independent sighting of a memory: a phase (swarm) or a project (hive)."""

    where: str
    at: float
    by: str = ""


@frozen
class Citation:
    """A place in the project's code; without lines the whole file. The hash is a mark of `text.spans`."""

    path: str
    first_line: int = 0
    last_line: int = 0
    span_hash: str = ""
    commit: str = ""


@frozen
class Cited:
    """A citation held against the working tree: its state, where it is if it moved, why, and how it differs."""

    citation: Citation
    state: str
    first_line: int = 0
    last_line: int = 0
    note: str = ""
    diff: str = ""


@frozen
class Situation:
    """A prompt, error excerpt or file under which a memory was learned, confirmed or helped."""

    text: str
    via: str = "prompt"
    at: float = 0.0


@frozen
class Outcomes:
    """What happened after a memory was shown, counted."""

    shown: int = 0
    cited: int = 0
    applied: int = 0
    ignored: int = 0
    violated: int = 0
    contradicted: int = 0
    succeeded_after: int = 0
    failed_after: int = 0


@frozen
class Memory:
    """One remembered statement with its evidence, origin and history."""

    id: str
    text: str
    handle: str = ""
    title: str = ""
    kind: str = "learning"
    category: str = "other"
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tier: str = "swarm"
    project: str = ""
    owner: str = ""
    scope: str = "global"
    status: str = "candidate"
    trust: int = 0
    source: str = "manual"
    source_ref: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    confidence: float = 0.5
    created_at: float = 0.0
    updated_at: float = 0.0
    last_accessed_at: float | None = None
    access_count: int = 0
    expires_at: float | None = None
    valid_from: float | None = None
    valid_until: float | None = None
    forgotten_at: float | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    born_in_phase: int = 0
    max_phases: int | None = None
    confirmed_by: tuple[Confirmation, ...] = ()
    feedback_score: float = 1.0
    feedback_count: int = 0
    last_validated_at: float | None = None
    outcomes: Outcomes = field(default_factory=Outcomes)
    encounter_score: float = 1.0
    hive_eligible: bool = False
    auto_generated: bool = False
    citations: tuple[Citation, ...] = ()
    situations: tuple[Situation, ...] = ()
    version: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def live(self) -> bool:
        """Whether queries may show it at all (expiry and validity depend on the time and are asked apart)."""
        return self.status in LIVE_STATUSES and self.forgotten_at is None

    @property
    def raw(self) -> bool:
        """Whether it is material (a chunk, a turn, a result) and not a lesson."""
        return self.source in RAW_SOURCES

    @property
    def strategy(self) -> bool:
        """Whether it is an approach to tasks, observed by how they ended; see `patterns`."""
        return self.source == STRATEGY_SOURCE


@frozen
class Draft:
    """What a door hands to the gate: a text and whatever the door knows about it. None means "not said"."""

    text: str
    title: str = ""
    kind: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tier: str | None = None
    scope: str | None = None
    confidence: float | None = None
    ttl_s: float | None = None
    status: str | None = None
    source: str = "manual"
    source_ref: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    trust: int | None = None
    id: str = ""
    created_at: float | None = None
    auto_generated: bool = False
    situation: str = ""
    situation_via: str = "prompt"
    citations: tuple[str | Citation, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Remembered:
    """What became of a draft. `outcome`: added, confirmed, updated, superseded, linked or quarantined."""

    memory: Memory
    outcome: str
    operation: str
    related: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    stripped: int = 0
    reason: str = ""


@frozen
class Rejection:
    id: str
    text: str
    reason: str
    layer: int
    at: float
    tier: str = "swarm"


@frozen
class Query:
    """One question to the store, after defaults were filled in."""

    text: str
    limit: int = 5
    profile: str = "default"
    mode: str = "hybrid"
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    phase: str = ""
    all_projects: bool = False
    episodes: bool = False
    near: bool = False  # only what is close by meaning or shares a word, as the mode has it


@frozen
class Part:
    """One factor or term of a score, in words a person can check."""

    name: str
    value: float
    note: str = ""


@frozen
class Hit:
    """A memory that answers a query, its score, and how the score came about."""

    memory: Memory
    score: float
    explanation: tuple[Part, ...] = ()
    cited: tuple[Cited, ...] = ()


@frozen
class Stale:
    """A memory and those of its citations that do not stand as they were."""

    memory: Memory
    cited: tuple[Cited, ...]


@frozen
class Link:
    source: str
    target: str
    kind: str
    at: float
    strength: float = 1.0


@frozen
class Entity:
    """Something that notes speak of: a technology, an error, a pattern, a function, a concept, a tool."""

    name: str
    type: str = "concept"
    description: str = ""


@frozen
class Relation:
    """How one entity stands to another, as a note tells it: caused_by, solves, requires, relates_to or another word."""

    source: str
    target: str
    kind: str = "relates_to"
    description: str = ""
    strength: float = 5.0


@frozen
class AuditRow:
    """One change of one memory. `before` and `after` are whole records as JSON objects; None means it was not there."""

    operation: str
    at: float
    memory: str
    action: str
    by: str
    reason: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@frozen
class Session:
    id: str
    client: str = ""
    project: str = ""
    agent: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    cwd: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Shown:
    """One memory in a receipt, shown or cut."""

    memory: str
    handle: str
    score: float
    why: str = ""


@frozen
class Receipt:
    """The record of one injection or one skipped injection."""

    id: str
    at: float
    project: str
    agent: str
    session: str
    trigger: str
    cue: str
    shown: tuple[Shown, ...] = ()
    cut: tuple[Shown, ...] = ()
    chars: int = 0
    tokens: int = 0
    reason: str = ""
    headroom: float | None = None


@frozen
class Edit:
    """One addition to one file: where it lies (`place` says under which folder), what kind of addition, and its text.
    Doing it to a text that has it already changes nothing."""

    place: str  # project, learnings or home
    path: str  # from there, with slashes
    verb: str  # create, rule, section, entry, reference or instinct
    text: str = ""
    heading: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Proposal:
    """Something that a session taught, as additions to files; a person decides. `number` and `label` name it among the
    open ones of its project. `action`: new, update, link or add; `similar` is what it updates or is linked with,
    `conflict` the line that says otherwise. `by` decided `decided_at`; `commits` are by repository."""

    id: str
    reflection: str = ""
    number: int = 0
    label: str = ""
    route: str = "knowledge"
    level: str = "medium"
    state: str = "pending"
    approval: str = ""
    category: str = ""
    title: str = ""
    text: str = ""
    quote: str = ""
    agent: str = ""
    action: str = "new"
    target: str = ""
    root: str = ""
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    similar: str = ""
    conflict: str = ""
    why: str = ""
    scope: str = "project"
    by: str = ""
    decided_at: float | None = None
    commits: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@frozen
class Reflection:
    """One look at a session or a text: how many signals of which level it held, and what is proposed. `known`: lessons
    that are known, waiting or rejected already; `improved`: drafts in whose wording a language model had a part.
    `read_to` is when the session was last heard of, `told_to` the time of the last turn that was read, `again` whether
    an earlier look had read the beginning."""

    id: str
    at: float
    project: str = ""
    agent: str = ""
    session: str = ""
    client: str = ""
    source: str = "text"
    signals: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    improved: int = 0
    episode: str = ""
    refused: tuple[str, ...] = ()
    read_to: float = 0.0
    told_to: float = 0.0
    again: bool = False
    counted: bool = False
    proposals: tuple[Proposal, ...] = ()


@frozen
class Approval:
    """What a person approved at once. `commits` by repository, `problems` what keeps it from being done."""

    id: str
    at: float
    project: str = ""
    agent: str = ""
    state: str = "approved"
    day: str = ""
    signals: Mapping[str, int] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    counted: bool = False


@frozen
class Outcome:
    """How a task ended: what was reported, its score, the verdict, and the memories that were credited with it.
    `told_before`: the memories of this task had their credit already."""

    id: str
    at: float
    success: bool
    score: float
    verdict: str
    project: str = ""
    agent: str = ""
    session: str = ""
    task: str = ""
    duration_ms: float | None = None
    errors: int = 0
    retries: int = 0
    files: tuple[str, ...] = ()
    summary: str = ""
    evaluation: str = ""
    strategy: str = ""
    criteria: tuple[str, ...] = ()
    failure_mode: str = ""
    cited: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    told_before: bool = False


@frozen
class Block:
    """The text an agent is given, with its receipt. An empty text is an answer too."""

    text: str
    receipt: Receipt


@frozen
class Agent:
    """One who can be written to."""

    name: str
    program: str = ""
    model: str = ""
    task: str = ""
    registered_at: float = 0.0
    active_at: float = 0.0


@frozen
class Message:
    """A letter from one agent to others of its project. What it says is data, whoever wrote it."""

    id: str
    sender: str
    to: tuple[str, ...]
    subject: str
    body: str = ""
    thread: str = ""
    importance: str = "normal"
    ack_required: bool = False
    sent_at: float = 0.0
    read_at: float | None = None
    acked_at: float | None = None

    @property
    def handle(self) -> str:
        """The end of its id, which is random: enough for a person to name it."""
        return self.id[-HANDLE_CHARS:]


@frozen
class Delivery:
    """What became of a message in the inbox of one who got it."""

    agent: str
    read_at: float | None = None
    acked_at: float | None = None


@frozen
class Sent:
    """A message that one sent, and what became of it."""

    message: Message
    deliveries: tuple[Delivery, ...] = ()


@frozen
class Job:
    """Work that nobody waits for. `state`: waiting, running, done or dead. `owner` and `fence` are its lease: where two
    believe that they have it, the one with the larger fence does."""

    id: str
    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    project: str = ""
    agent: str = ""
    role: str = "worker"
    trust: int = 2
    folder: str = ""
    state: str = "waiting"
    attempts: int = 0
    queued_at: float = 0.0
    error: str = ""
    owner: str = ""
    fence: int = 0

    @property
    def handle(self) -> str:
        return self.id[-HANDLE_CHARS:]

    @property
    def caller(self) -> Caller:
        """Whoever put it there, for whom it is done."""
        return Caller(self.project, self.agent, self.role, self.trust)


@frozen
class WorkerSeen:
    """A worker, and when it was last at work."""

    host: str
    pid: int
    started_at: float
    seen_at: float


_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple[str, ...]": "a list of texts",
    "Mapping[str, Any]": "a mapping",
}


def make(kind: Callable[..., Any], values: Mapping[str, Any], verb: str) -> Any:
    """A record of these values; raises InvalidInput naming what does not fit."""
    specs = {spec.name: spec.type for spec in fields(kind)}
    checked = {}
    for name, value in values.items():
        if name not in specs:
            raise InvalidInput(f"{verb} has no {name!r}", choices_hint(name, tuple(specs)))
        checked[name] = tuple(value) if isinstance(value, list) else value
        if specs[name] == "Mapping[str, Any]" and isinstance(value, Mapping):
            json_values(value)
        if not fits(checked[name], specs[name]):
            wanted = _WORDS.get(specs[name].removesuffix(" | None"), specs[name])
            raise InvalidInput(f"{name} must be {wanted}, not {type(value).__name__}", f"see docs/python.md, {verb}")
    return kind(**checked)


def choose(field: str, values: Iterable[str], allowed: Sequence[str]) -> None:
    """Refuse words that are none of the allowed ones: a filter that nothing can pass is a slip, not a question."""
    for value in values:
        if value not in allowed:
            raise InvalidInput(f"unknown {field}: {value}", choices_hint(str(value), allowed))


def fits(value: object, kind: str) -> bool:
    """Whether a value has the type that a field names."""
    if kind.endswith(" | None"):
        return value is None or fits(value, kind.removesuffix(" | None"))
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if kind == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "tuple[str, ...]":
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, {"str": str, "bool": bool, "Mapping[str, Any]": Mapping}.get(kind, object))


def json_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values, if JSON can hold them."""
    import json

    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"these values cannot be stored: {error}", "use texts, numbers, lists and mappings"
        ) from error
    return values


KIND_BOOST = {"correction": 15, "commitment": 15, "decision": 10, "gap": 10, "insight": 5}
QUICK_S = 30
EVIDENCE_SENTENCES = 2
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]+(?=[\s\"')\]]|$)|\n+")


def confidence_of(confirmations: int, auto_generated: bool) -> float:
    """0.5, a tenth for each of the first three confirmations, and a tenth for what was not generated."""
    # Whole tenths, so that 0.5 + 0.1 + 0.1 + 0.1 is 0.8 and nothing near it.
    return min(10, 5 + min(max(confirmations, 0), 3) + (not auto_generated)) / 10


def extraction_confidence(kind: str, duration_s: float | None, evaluation: str) -> float:
    """70, more for some kinds, for quick work and for an evaluation of more than two sentences; as a share of 100."""
    score = 70 + KIND_BOOST.get(kind, 0)
    if duration_s is not None and 0 <= duration_s < QUICK_S:
        score += 10
    if count_sentences(evaluation) > EVIDENCE_SENTENCES:
        score += 15
    return min(100, score) / 100


def count_sentences(text: str) -> int:
    """Sentences or lines with at least one word in them; dots inside names and numbers end nothing."""
    parts = _SENTENCE_END.split(_ABBREVIATION.sub(" ", text))
    return sum(any(letter.isalnum() for letter in part) for part in parts)


@frozen
class Check:
    """One finding. `state`: ok, warn or fail."""

    name: str
    state: str
    message: str
    hint: str = ""
