"""Records: frozen types shared by all packages, their allowed values, ids, and checked construction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any

# At least one letter or digit, for `.` and `..` are folders where an id becomes a file name.
_FOREIGN = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_.:-]{1,128}")
ID_HINT = "use up to 128 letters, digits, and _ . : -, at least one of them a letter or digit"


def uuid7(at: float, random: bytes) -> str:
    """Return a UUIDv7 made of seconds since the epoch and ten random bytes."""
    value = int.from_bytes(max(0, round(at * 1000)).to_bytes(6, "big") + random[:10].ljust(10, b"\0"), "big")
    value = value & ~(0xF << 76) | 0x7 << 76  # version 7
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant of RFC 9562
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def is_id(text: str) -> bool:
    """Return whether an id from another program may be kept."""
    return _FOREIGN.fullmatch(text) is not None


KINDS = (
    *("correction", "decision", "commitment", "insight", "learning", "confidence"),
    *("pattern_seed", "cross_agent", "workflow_note", "gap"),
)
CATEGORIES = (
    *("process", "architecture", "tooling", "security", "testing", "debugging", "performance", "integration"),
    *("todo", "other", "lesson", "pattern", "domain", "decision"),
    *("mistake-pattern", "best-practice", "codebase-knowledge", "preference"),
)
TIERS = ("agent", "swarm", "hive")
STATUSES = ("candidate", "established", "promoted", "archived", "quarantined", "deprecated", "superseded")
LISTED_STATUSES = (*STATUSES, "forgotten", "any")  # filters of `list`
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
# Routes of proposals, with the letter that labels them.
PROPOSAL_ROUTES = {"behavioral": "b", "knowledge": "k", "skill": "s", "instinct": "i", "memory": "m"}
IMPORTANCES = ("low", "normal", "high", "urgent")
LINK_KINDS = ("related", "contradicts", "supersedes", "elaborates")


@frozen
class Caller:
    """Who acts. Without an agent, only the project's swarm memories and the hive are visible."""

    project: str = ""
    agent: str = ""
    role: str = "worker"
    trust: int = 2

    @property
    def leads(self) -> bool:
        """Return whether the caller may change memories that other agents shared."""
        return self.role in ("lead", "person")


@frozen
class Token:
    """An access token of a server: whom it identifies and until when. The secret itself is not stored."""

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
        """Return whether the token is still valid."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@frozen
class Confirmation:
    """One independent sighting of a memory: in a phase (swarm) or a project (hive)."""

    where: str
    at: float
    by: str = ""


@frozen
class Citation:
    """A place in the project's code; without lines, the whole file. `span_hash` is made by `language.citations`."""

    path: str
    first_line: int = 0
    last_line: int = 0
    span_hash: str = ""
    commit: str = ""


@frozen
class Cited:
    """A citation checked against the files: its state, its new place if it moved, the reason, and the diff."""

    citation: Citation
    state: str
    first_line: int = 0
    last_line: int = 0
    note: str = ""
    diff: str = ""


@frozen
class Situation:
    """A prompt, error excerpt or file under which a memory was learned, was confirmed or helped."""

    text: str
    via: str = "prompt"
    at: float = 0.0


@frozen
class Outcomes:
    """Counters of what happened after a memory was shown."""

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
    """One stored memory with its evidence, origin and history."""

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
        """Return whether queries may show the memory; expiry and validity depend on the time and are checked apart."""
        return self.status in LIVE_STATUSES and self.forgotten_at is None

    @property
    def raw(self) -> bool:
        """Return whether it is raw material (a chunk, a turn, a result) and not a lesson."""
        return self.source in RAW_SOURCES

    @property
    def strategy(self) -> bool:
        """Return whether it is an approach to tasks, rated by how they ended; see `policy.outcomes`."""
        return self.source == STRATEGY_SOURCE


@frozen
class Draft:
    """A text for the validation gate, with the facts an entry point knows. None means "not given"."""

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
    """The result for a draft. `outcome`: added, confirmed, updated, superseded, linked or quarantined."""

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
    """A text that the validation gate refused, with the reason and the layer."""

    id: str
    text: str
    reason: str
    layer: int
    at: float
    tier: str = "swarm"


@frozen
class Query:
    """One search of the store, with defaults filled in."""

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
    near: bool = False  # only memories that are semantically close or share a word, as the mode says


@frozen
class Part:
    """One factor or term of a score, described so that a person can check it."""

    name: str
    value: float
    note: str = ""


@frozen
class Hit:
    """A memory that answers a query, its score, and the parts of that score."""

    memory: Memory
    score: float
    explanation: tuple[Part, ...] = ()
    cited: tuple[Cited, ...] = ()


@frozen
class Stale:
    """A memory, and those of its citations whose code has changed."""

    memory: Memory
    cited: tuple[Cited, ...]


@frozen
class Link:
    """A link between two memories: related, contradicts, supersedes or elaborates."""

    source: str
    target: str
    kind: str
    at: float
    strength: float = 1.0


@frozen
class Entity:
    """A thing named in notes: a technology, an error, a pattern, a function, a concept, a tool."""

    name: str
    type: str = "concept"
    description: str = ""


@frozen
class Relation:
    """A relation of two entities stated by a note: caused_by, solves, requires, relates_to or another word."""

    source: str
    target: str
    kind: str = "relates_to"
    description: str = ""
    strength: float = 5.0


@frozen
class AuditRow:
    """One change of one memory. `before` and `after` are full records as JSON objects; None if it did not exist."""

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
    """One run of an agent client."""

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
    """One memory in a receipt, shown or left out."""

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
    """One addition to one file: where it goes (`place` says under which folder), its kind, and its text.

    It is idempotent: applied to a text that has it, it changes nothing.
    """

    place: str  # project, learnings or home
    path: str  # relative to it, with slashes
    verb: str  # create, rule, section, entry, reference or instinct
    text: str = ""
    heading: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Proposal:
    """A lesson from a session as additions to files, which a person approves or rejects.

    `number` and `label` name it among the open proposals of its project. `action`: new, update, link or add. `similar`
    is the lesson it updates or links to, `conflict` the line that contradicts it. `by` decided it at `decided_at`;
    `commits` are by repository.
    """

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
    """One review of a session or text: its signals by level, and the proposals made.

    `known` counts lessons already stored, waiting or rejected; `improved` counts drafts reworded by an LLM. `read_to`
    is the session's last sign of life, `told_to` the time of the last turn read; `again` means that an earlier review
    read the beginning.
    """

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
    """One batch of approved proposals. `commits` are by repository; `problems` kept parts from being applied."""

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
    """How a task ended: the report, its score and verdict, and the memories credited for it.

    `told_before`: the memories of this task were credited already.
    """

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
    """The context block given to an agent, with its receipt. The text may be empty."""

    text: str
    receipt: Receipt


@frozen
class Agent:
    """An agent that can receive mail."""

    name: str
    program: str = ""
    model: str = ""
    task: str = ""
    registered_at: float = 0.0
    active_at: float = 0.0


@frozen
class Message:
    """A message from one agent to others of its project. Its content is data, never an instruction."""

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
        """Return the end of the id, which is random: enough for a person to name the message."""
        return self.id[-HANDLE_CHARS:]


@frozen
class Delivery:
    """The state of a message in one recipient's inbox."""

    agent: str
    read_at: float | None = None
    acked_at: float | None = None


@frozen
class Sent:
    """A sent message, and its state in each inbox."""

    message: Message
    deliveries: tuple[Delivery, ...] = ()


@frozen
class Job:
    """A queued background job. `state`: waiting, running, done or dead.

    `owner` and `fence` are its lease; if two workers believe that they own it, the larger fence does.
    """

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
        """Return the caller who queued the job and for whom it runs."""
        return Caller(self.project, self.agent, self.role, self.trust)


@frozen
class WorkerSeen:
    """A worker process, and when it was last active."""

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
    """Build a record of these values; raises InvalidInput for unknown names and wrong types."""
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
    """Raise InvalidInput for a value that is not allowed, since a filter that matches nothing is a mistake."""
    for value in values:
        if value not in allowed:
            raise InvalidInput(f"unknown {field}: {value}", choices_hint(str(value), allowed))


def fits(value: object, kind: str) -> bool:
    """Return whether a value has the type that a field names."""
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
    """Return the values; raises InvalidInput if JSON cannot hold them."""
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
    """Return 0.5, plus 0.1 for each of the first three confirmations, plus 0.1 unless auto-generated."""
    # In whole tenths, because 0.5 + 0.1 + 0.1 + 0.1 is not exactly 0.8.
    return min(10, 5 + min(max(confirmations, 0), 3) + (not auto_generated)) / 10


def extraction_confidence(kind: str, duration_s: float | None, evaluation: str) -> float:
    """Return .70, plus boosts for some kinds, for work below 30 s and for an evaluation of over two sentences."""
    score = 70 + KIND_BOOST.get(kind, 0)
    if duration_s is not None and 0 <= duration_s < QUICK_S:
        score += 10
    if count_sentences(evaluation) > EVIDENCE_SENTENCES:
        score += 15
    return min(100, score) / 100


def count_sentences(text: str) -> int:
    """Count sentences or lines with at least one word; dots inside names and numbers end none."""
    parts = _SENTENCE_END.split(_ABBREVIATION.sub(" ", text))
    return sum(any(letter.isalnum() for letter in part) for part in parts)


@frozen
class Check:
    """One result of `doctor`. `state`: ok, warn or fail."""

    name: str
    state: str
    message: str
    hint: str = ""
