"""Checks of `doctor` over store, embedder, LLM, hooks and job queue, each with its remedy; and `reindex`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from swarmlore.clients.hook import socket, spool
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.config import Settings
from swarmlore.domain.records import Caller, Check
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.write import MemoryWriter
from swarmlore.models.embedding import Embedding, Progress
from swarmlore.models.llm import HINT, LLMBudget, budgeted_llm
from swarmlore.retrieval.graph import ensure as find_communities
from swarmlore.store.backup import list_backups
from swarmlore.store.reindex import GIVE_WAY_S, REINDEX_META
from swarmlore.store.store import FILE, Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Receipt
    from swarmlore.memory.mail import Mail
    from swarmlore.store.vectors.in_database import RemoteVectors
    from swarmlore.store.vectors.local import VectorIndex


EVERYTHING = 10**9


class Reindex:
    """Rebuild full text, communities and vectors of one store; `acting` excludes other threads during each step."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        embedding: Embedding,
        writing: MemoryWriter,
        acting: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._store = store
        self._caller = caller
        self._embedding = embedding
        self._writing = writing
        self._acting = acting

    def run(self, embedding: Progress | None, indexing: Progress | None) -> dict[str, int]:
        """Reindex, and return how many rows were indexed, texts embedded and new vectors compared.

        `embedding` and `indexing` are called with the progress of their part.
        """
        rows = self._rows(indexing)
        self._communities()
        with self._acting():
            self._embedding.note_provider()
            if self._store.engine.remote:
                self._embedding.build_index()  # an empty index is built at once and blocks no writer
        embedded = self._embedding.catch_up(EVERYTHING, embedding, self._acting)
        settled = self._writing.settle(self._acting)
        self._embedding.build_index(anew=True, acting=self._acting)
        return {"rows": rows, "embedded": embedded, "settled": settled}

    def _rows(self, progress: Progress | None) -> int:
        steps, done = self._store.rebuild(), 0
        while True:
            with self._acting():
                step = next(steps, None)
            if step is None:
                return done
            done, total = step
            if progress:
                progress(done, total)
            time.sleep(GIVE_WAY_S)

    def _communities(self) -> None:
        with self._acting():
            partitions = self._store.visible(self._caller)
        for partition in partitions:
            with self._acting():
                find_communities(self._store, [partition])


WAL_ALARM_BYTES = 320 * 1024 * 1024  # a busy server lets the WAL grow to 256 MiB
LOW_DISK_BYTES = 200 * 1024 * 1024
MEASURE_S = 2.0  # time spent on comparing index searches with exact ones
WRITER_WAIT_S = 5.0  # timeout of the LLM check, since a person waits for it
_NETWORK_FILESYSTEMS = ("nfs", "cifs", "smb", "sshfs", "9p", "afs", "fuse.sshfs")


class Doctor:
    """Check one store and its home: integrity, permissions, disk, embedder, vectors, LLM, settings and backups."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        embedding: Embedding,
        clock: Callable[[], float],
    ) -> None:
        self._clock_now = clock
        self._home = home
        self._store = store
        self._caller = caller
        self._settings = settings
        self._embedding = embedding

    def checks(self) -> tuple[Check, ...]:
        """Run all checks of the store and its home."""
        return (
            self._integrity(),
            *self._database(),
            *self._permissions(),
            self._disk(),
            self._filesystem(),
            self._clock(),
            self._embedder(),
            *self._vectors(),
            *self._nearest(),
            *self._writer(),
            *self._config(),
            self._backups(),
            self._rejections(),
            self._secret_rules(),
        )

    def _integrity(self) -> Check:
        problems = self._store.engine.check()
        if problems and len(problems) == len(self._store.engine.damaged_indexes()):
            return Check("integrity", "fail", f"{problems[0]}; the rows are whole", "swarmlore reindex")
        if problems:
            hint = "ask its administrator" if self._store.engine.remote else "swarmlore restore-backup FILE"
            return Check("integrity", "fail", problems[0], f"{hint}; nothing was changed")
        return Check("integrity", "ok", "rows and indexes are whole")

    def _database(self) -> Iterator[Check]:
        facts = self._store.engine.facts()
        yield from _server(facts) if self._store.engine.remote else _file(facts)
        yield Check("schema", "ok", f"version {self._store.engine.version()}")

    def _permissions(self) -> Iterator[Check]:
        if sys.platform == "win32":
            return
        files = [] if self._store.engine.remote else [(os.path.join(self._home, FILE), 0o600)]
        for path, wanted in ((self._home, 0o700), *files):
            mode = os.stat(path).st_mode & 0o777
            if mode & 0o077:
                yield Check("permissions", "warn", f"{path} is open to others ({mode:o})", f"chmod {wanted:o} {path}")
            else:
                yield Check("permissions", "ok", f"{path} is private")
        if self._store.engine.readonly:
            yield Check("writable", "fail", f"{self._home} cannot be written", "check its owner and permissions")

    def _disk(self) -> Check:
        free = shutil.disk_usage(self._home).free
        if free < LOW_DISK_BYTES:
            return Check("disk", "warn", f"{free / 1e6:.0f} MB free", "free some space before it runs out")
        return Check("disk", "ok", f"{free / 1e9:.1f} GB free")

    def _filesystem(self) -> Check:
        kind = _filesystem_of(self._home)
        if kind.startswith(_NETWORK_FILESYSTEMS):
            return Check("filesystem", "warn", f"{kind}: file locks may not hold", "set SWARMLORE_HOME to a local disk")
        return Check("filesystem", "ok", kind or "unknown")

    def _clock(self) -> Check:
        newest = self._store.ask("newest_time")[0][0] or 0.0
        ahead = newest - time.time()
        if ahead > 300:
            return Check("clock", "warn", f"the newest memory is {ahead / 3600:.1f} h in the future", "check the clock")
        return Check("clock", "ok", "not before the newest memory")

    def _embedder(self) -> Check:
        kind = self._settings.embedder.kind
        if kind == "none":
            return Check("embedder", "warn", "none: search by words only", "swarmlore config embedder.kind minilm")
        try:
            vector = self._embedding.query("the embedder answers")
        except SwarmloreError as error:
            return Check("embedder", "fail", error.message, error.hint)
        embedder = self._embedding.embedder()
        if vector is None or embedder is None:
            return Check("embedder", "fail", self._embedding.problem, "search works by words until this is mended")
        return Check("embedder", "ok", f"{embedder.name}, {len(vector.vector)} dimensions")

    def _vectors(self) -> Iterator[Check]:
        pending = self._store.count_pending()
        waiting, attempts = pending.get("embed", (0, 0))
        if attempts:
            failed = next((row[3] for row in self._store.pending("embed", 1000) if row[3]), "")
            yield Check("vectors", "fail", f"{waiting} texts wait, the last try failed: {failed}", "swarmlore reindex")
        elif waiting:
            yield Check("vectors", "warn", f"{waiting} texts wait for a vector", "swarmlore reindex")
        else:
            yield Check("vectors", "ok", "every text has one")
        if why := self._store.meta(REINDEX_META):
            yield Check("indexes", "warn", why, "swarmlore reindex")

    def _nearest(self) -> Iterator[Check]:
        """Check whether vector search is exact and, if it uses an index, measure its recall."""
        index = self._embedding.index()
        if index is None:
            return
        mine, why = self._store.visible(self._caller), self._embedding.file_problem
        if why:
            yield Check("vector index", "warn", f"{why}; a worker makes a new one", "swarmlore reindex")
        if index.is_exact(mine):
            yield Check("vector search", "ok", "exact")
            return
        measured = measure(index, mine, MEASURE_S)
        if measured is not None:
            message = f"by {index.way}: recall@{TOP} is {measured.recall:.3f} over {measured.questions} vectors"
            enough = measured.is_enough
            yield Check("vector search", "ok" if enough else "warn", message, "" if enough else "swarmlore reindex")
        if not why and (advice := self._embedding.advice()):
            yield Check("vector index", *advice)

    def _writer(self) -> Iterator[Check]:
        """Check that a configured LLM answers; a failure only warns, since everything works without it.

        The test call counts against the daily budget and is skipped once that is used up.
        """
        own, now = self._settings.writer, self._clock_now()
        if own.kind != "none" and LLMBudget(self._store, own, lambda: now).is_used_up():
            yield Check(
                "writer", "ok", "what it may cost today is used up: rules alone read until midnight (UTC)", HINT
            )
            return
        wait_s = min(own.timeout_s, WRITER_WAIT_S)
        try:
            writer = budgeted_llm(self._store, replace(own, timeout_s=wait_s), now)
            if writer is None:
                return
            writer.complete("Answer with one word.", "Are you there?")
        except SwarmloreError as error:
            hint = error.hint if wait_s == own.timeout_s else f"{error.hint} (doctor waits {wait_s:g} s only)"
            yield Check("writer", "warn", f"{error.message}; rules alone decide what is a duplicate", hint)
        else:
            yield Check("writer", "ok", f"{writer.name} answers")

    def _config(self) -> Iterator[Check]:
        for warning in self._settings.warnings:
            yield Check("config", "warn", warning, "swarmlore config lists what exists")
        if not self._settings.warnings:
            yield Check("config", "ok", "every setting is known")

    def _backups(self) -> Check:
        if self._store.engine.remote:
            return Check("backups", "ok", "those of the server")
        found = list_backups(self._home)
        if not found:
            return Check("backups", "warn", "there is none", "swarmlore backup")
        return Check("backups", "ok", f"{len(found)}, the newest {found[0]}")

    def _rejections(self) -> Check:
        count = len(self._store.rejections(self._caller))
        return Check("rejected", "ok", f"{count} texts were refused lately" if count else "nothing was refused lately")

    def _secret_rules(self) -> Check:
        from swarmlore.domain.security.redaction import RULES_VERSION

        return Check("secrets", "ok", f"redaction rules {RULES_VERSION}")


def _file(facts: Mapping[str, Any]) -> Iterator[Check]:
    """Check the SQLite version and the size of the WAL."""
    if facts["sqlite_safe"]:
        yield Check("sqlite", "ok", f"SQLite {facts['sqlite']}, without the WAL-reset bug")
    else:
        yield Check("sqlite", "fail", f"SQLite {facts['sqlite']} can lose writes", "pip install -U apsw")
    size = facts["wal_bytes"]
    state = "warn" if size > WAL_ALARM_BYTES else "ok"
    hint = "a long reader keeps it from shrinking" if state == "warn" else ""
    yield Check("wal", state, f"{size / 1e6:.1f} MB", hint)


def _server(facts: Mapping[str, Any]) -> Iterator[Check]:
    """Check the PostgreSQL version, pgvector and the rights of the role."""
    yield Check("postgresql", "ok", f"PostgreSQL {facts['postgresql']} at {facts['path']}")
    if facts["pgvector"]:
        yield Check("pgvector", "ok", f"version {facts['pgvector']}")
    else:
        yield Check("pgvector", "fail", "the extension is not there", "as an administrator: CREATE EXTENSION vector")
    role = facts["role"]
    if not facts["role_bound"]:
        hint = "log in as a role without SUPERUSER and BYPASSRLS that was granted swarmlore_app"
        yield Check("role", "fail", f"{role} is not bound by row-level security", hint)
    elif facts["role_owns"]:
        hint = "let an administrator own them, and: GRANT swarmlore_app TO your role"
        yield Check("role", "warn", f"{role} owns the tables; row-level security is forced on it", hint)
    else:
        yield Check("role", "ok", f"{role} owns nothing and is bound by row-level security")


def _filesystem_of(path: str) -> str:
    """Return the type of the file system that contains a path, from /proc/mounts; '' where that is unavailable."""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split()[1:3] for line in file if len(line.split()) > 2]
    except OSError:
        return ""
    real = os.path.realpath(path)
    inside = [(len(point), kind) for point, kind in mounts if (real + "/").startswith(point.rstrip("/") + "/")]
    return max(inside, default=(0, ""))[1]


PROBLEMS_S = 7 * 86_400.0
STUCK_S = 600.0
RECEIPTS = 50
PING_S = 0.5


class HookChecks:
    """Check the hooks, spool, daemon, events and receipts of one home."""

    def __init__(self, home: str, store: Store, caller: Caller) -> None:
        self._home = home
        self._spool = spool_dir(home)
        self._store = store
        self._caller = caller

    def checks(self, now: float) -> Iterator[Check]:
        """Run all checks of hooks, daemon and receipts."""
        yield from problems(self._spool, now)
        yield from self._waiting(now)
        yield self._warm()
        yield from self._events(now)
        yield from self._receipts(now)

    def _waiting(self, now: float) -> Iterator[Check]:
        """Warn about spooled events: every command ingests the spool before it runs, so the rest could not be."""
        if not spool.has_events(self._spool):
            return
        oldest = min(spool.written_at(self._spool), default=now)
        state = "warn" if now - oldest > STUCK_S else "ok"
        hint = "see the other checks: the store may be full or locked" if state == "warn" else ""
        yield Check("spool", state, f"events wait since {ago(now - oldest)}", hint)

    def _warm(self) -> Check:
        if (answer := socket.ask(socket_path(self._home), {"op": "ping"}, PING_S)) and answer.get("ok"):
            return Check("warm process", "ok", "answers")
        return Check("warm process", "ok", "none: hooks answer by themselves, by words only")

    def _events(self, now: float) -> Iterator[Check]:
        last: dict[str, float] = {}
        for session in self._store.sessions(self._caller, 200):
            at = _time(session.extra.get("last_event_at")) or session.started_at
            last[session.client] = max(last.get(session.client, 0.0), at)
        for client, at in sorted(last.items()):
            if client:
                yield Check("events", "ok", f"{client}: last {ago(now - at)}")

    def _receipts(self, now: float) -> Iterator[Check]:
        receipts = self._store.receipts(self._caller, limit=RECEIPTS)
        if not receipts:
            return
        given = [receipt for receipt in receipts if receipt.shown]
        message = f"memories were given at {len(given)} of the last {_count(len(receipts), 'moment')}"
        if given:
            message += f", last {ago(now - given[0].at)}"
        yield Check("injection", "ok" if given else "warn", message + _skipped(receipts), "" if given else _WHY)


def problems(folder: str, now: float) -> Iterator[Check]:
    """Yield a warning if hooks reported problems to this spool folder in the last 7 days."""
    lately = [item for item in spool.problems(folder) if now - _time(item.get("at")) < PROBLEMS_S]
    if lately:
        last = lately[-1]
        summary = f"{_count(len(lately), 'problem')} in 7 days; last {ago(now - _time(last.get('at')))}"
        what = f"{last.get('hook', '')}: {last.get('what', '')}".strip(": ")
        yield Check(
            "hooks", "warn", f"{summary}: {what}", "docs/hooks.md tells how hooks work; this goes away after 7 days"
        )


_WHY = "swarmlore receipts shows each moment and its reason"


def _skipped(receipts: list[Receipt]) -> str:
    reasons = Counter(receipt.reason for receipt in receipts if not receipt.shown)
    return "".join(f"; {count} × {reason}" for reason, count in reasons.most_common(2))


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def ago(seconds: float) -> str:
    """Format an age with its largest unit: "3 d ago", "5 min ago", or "just now"."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now"


STUCK_JOBS_S = 3_600.0  # a job that waits for longer has no worker


def checks(store: Store, mail: Mail, queue_limit: int) -> Iterator[Check]:
    """Check the job queue, its dead letters, and when a worker was last seen."""
    now = mail.now()
    counts = store.job_counts()
    yield _queue([row for row in counts if row[0] != "dead"], queue_limit, now)
    if dead := sum(many for state, _, many, _ in counts if state == "dead"):
        own = mail.dead_letters(1, all_projects=False)
        details = f"; the last: {own[0].error}" if own else ", none of them in this project or yours"
        hint = "swarmlore mail dead" if own else "swarmlore mail dead --all, at a terminal"
        yield Check("dead letters", "warn", f"{_count(dead, 'job')} given up{details}", hint)
    seen = store.workers(1)
    last = f"last seen {_long(now - seen[0].seen_at)} ago on {seen[0].host}" if seen else "none in the last day"
    yield Check("worker", "ok", last)


def _queue(counts: Sequence[tuple[str, str, int, float]], limit: int, now: float) -> Check:
    """Check the queue of jobs; pending embeddings have a check of their own, as a recall makes them too."""
    counts = [row for row in counts if row[1] != "embed"]
    total = sum(many for _, _, many, _ in counts)
    running = sum(many for state, _, many, _ in counts if state == "running")
    oldest = min((since for *_, since in counts), default=now)
    at_work = f", {running} of them at work" if running else ""
    message = f"{_count(total, 'job')} waiting{at_work}, the oldest for {_long(now - oldest)}"
    message = message if total else "nothing waits"
    if total >= limit:
        return Check("queue", "warn", f"full, {message}; what hooks report stays in the spool", "swarmlore worker")
    if now - oldest > STUCK_JOBS_S:
        return Check("queue", "warn", message, "swarmlore worker does what waits")
    return Check("queue", "ok", message)


def _long(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


TOP = 30
ENOUGH = 0.95  # recall below this is worth a new index
QUESTIONS = 25


@frozen
class Measured:
    """Recall of the vector index against exact search, averaged over `questions` queries."""

    recall: float
    questions: int

    @property
    def is_enough(self) -> bool:
        return self.recall >= ENOUGH


def measure(index: VectorIndex | RemoteVectors, partitions: Sequence[int], limit_s: float) -> Measured | None:
    """Measure the recall of the vector index with up to 25 stored vectors as queries.

    At least one is tried; after `limit_s` no more are. Return None if there is no vector.
    """
    deadline, recall, asked = time.monotonic() + limit_s, 0.0, 0
    for row in index.some_rows(partitions, QUESTIONS):
        query = index.vector(row)
        if query is None:
            continue
        exact = index.nearest_exactly(query, partitions, TOP)
        near = {seq for seq, _ in index.nearest(query, partitions, TOP)[0]}
        recall, asked = recall + len(near.intersection(exact)) / max(1, len(exact)), asked + 1
        if time.monotonic() > deadline:
            break
    return Measured(recall / asked, asked) if asked else None
