"""`RemoteLore`: the methods of `Lore` over HTTP; `AwayLore` adds what needs the local checkout; and the doctor's checks
of a server."""

from __future__ import annotations

import os
import time
import uuid
from functools import cached_property
from urllib.parse import urlencode

from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import outbox_dir
from swarmlore.domain.language.citations import may_cite
from swarmlore.domain.records import Check
from swarmlore.errors import NotAllowed, Rejected, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING, fields, replace
from swarmlore.lore.verbs import LOCAL, READS, WRITES
from swarmlore.memory.doctor import ago, problems
from swarmlore.memory.write import Imported
from swarmlore.retrieval.recall import Hits
from swarmlore.server.client import URL, token_in
from swarmlore.server.client.calls import body_of, result_of
from swarmlore.server.client.http import PLAIN, Connection
from swarmlore.workspace.project import find_project, stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from swarmlore.domain.records import Caller, Cited, Draft, Hit, Memory, Remembered, Stale
    from swarmlore.exchange.import_files import Brought
    from swarmlore.models.embedding import Progress
    from swarmlore.retrieval.prime import Primed
    from swarmlore.workspace.cited_code import CitationCheck, Tree


PAGE = 1_000  # memories of one list request: the limit of a server


class RemoteLore:
    """The verbs of a server as methods, with the parameters that they have in `Lore`."""

    def __init__(self, url: str, token: str, *, plain: bool = False, how: Mapping[str, str] | None = None) -> None:
        """`how` is sent with every request: a `profile`, the `stacks` of the project."""
        self._connection = Connection(url, token, plain=plain)
        self._how = urlencode({name: value for name, value in (how or {}).items() if value})

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Self:
        """Return a client of the server that the environment names."""
        env = os.environ if env is None else env
        return cls(env.get(URL, ""), token_in(env), plain=env.get(PLAIN) == "1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def import_lines(self, lines: Iterable[bytes], format: str = "auto", progress: Progress | None = None) -> Brought:
        """Send lines to import; return the result."""
        from swarmlore.server.client.streams import send

        return send(self._connection, (line.rstrip(b"\n") + b"\n" for line in lines), format, progress)

    def import_file(self, path: str, format: str = "auto", progress: Progress | None = None) -> Brought:
        """Import a file of this machine."""
        from swarmlore.server.client.streams import send_file

        return send_file(self._connection, path, format, progress)

    def export_lines(self, format: str = "knowledge", *, private: bool = False) -> Iterator[bytes]:
        """Yield the exported lines; raise Unavailable at the end if some are missing."""
        from swarmlore.server.client.streams import check_given, given

        check_given(format, private=private)
        return given(self._connection, format)

    def export_file(
        self, path: str, format: str = "knowledge", *, overwrite: bool = False, private: bool = False
    ) -> int:
        """Write an export to a file of this machine, completely or not at all; return the number of memories."""
        from swarmlore.server.client.streams import write_file

        return write_file(path, format, lambda: self.export_lines(format, private=private), overwrite=overwrite)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in LOCAL:
            raise Unavailable(f"{name} cannot be asked of a server: it {LOCAL[name]}", f"unset {URL} to do it here")
        if name not in (*READS, *WRITES):
            raise AttributeError(name)
        return lambda *args, **given: self._ask(name, args, given)

    def list(self, **filter: Any) -> tuple[Memory, ...]:
        """See `Lore.list`; a long list is requested in pages."""
        left, offset = filter.pop("limit", 20), filter.pop("offset", 0)
        found: list[Memory] = []
        while True:
            asked = min(left, PAGE)
            page = self._ask("list", (), {**filter, "limit": asked, "offset": offset})
            found += page
            left, offset = left - asked, offset + asked
            if left <= 0 or len(page) < asked:
                return tuple(found)

    def _ask(self, name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        body = body_of(name, args, given)
        key = "" if name in READS else str(uuid.uuid4())
        return result_of(name, self._connection.ask(f"/v1/{name}?{self._how}".rstrip("?"), body, key=key))


MOST_CITING = 10_000_000
MOST_SESSIONS = 1_000


class CheckoutLore(RemoteLore):
    """A `RemoteLore` with the checkout of this machine, as commands need it."""

    def __init__(self, env: Mapping[str, str], home: str, folder: str, profile: str = "") -> None:
        self.home = home
        self.project = find_project(folder)
        self.notes = _Notes(self.project.root)
        how = {"profile": profile, "stacks": ",".join(stacks(self.project.root))}
        super().__init__(env[URL], token_in(env), plain=env.get(PLAIN) == "1", how=how)

    @property
    def url(self) -> str:
        return self._connection.name

    @cached_property
    def caller(self) -> Caller:
        """The caller that the token stands for."""
        found: Caller = self.whoami()
        return found

    # Methods that need this checkout

    def remember(self, text: str, **facts: Any) -> Remembered:
        """See `Lore.remember`; citations are resolved in this checkout, as the server may have none."""
        answer: Remembered = self._ask("remember", (text,), {**facts, "citations": self._cite(text, facts)})
        return answer

    def _cite(self, text: str, facts: Mapping[str, Any]) -> tuple[Any, ...]:
        from swarmlore.domain.records import MAX_CITATIONS

        found = tuple(self._tree.cite(item) if isinstance(item, str) else item for item in facts.get("citations", ()))
        if not may_cite(text) or facts.get("source", "manual") != "manual":
            return found
        cited = {(item.path, item.first_line, item.last_line) for item in found}
        named = (item for item in self._tree.named_in(text))
        more = tuple(item for item in named if (item.path, item.first_line, item.last_line) not in cited)
        return (*found, *more)[: max(MAX_CITATIONS, len(found))]

    def remember_many(self, drafts: Iterable[Draft], progress: Progress | None = None) -> Imported:
        """Store the drafts one by one; each is an operation of its own."""
        outcomes: dict[str, int] = {}
        rejected, replaced = [], []
        for number, draft in enumerate(drafts, start=1):
            try:
                answer = self.remember(draft.text, defer=True, **_changed_fields(draft))
            except Rejected as refusal:
                rejected.append((number, refusal.message))
                outcome = "rejected"
            else:
                outcome = answer.outcome
                replaced += [(number, id) for id in answer.related if outcome in ("updated", "superseded")]
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if progress is not None:
                progress(number, 0)
        return Imported(outcomes, tuple(rejected), "", tuple(replaced))

    def recall(self, *args: Any, **given: Any) -> Hits:
        """See `Lore.recall`; citations are compared with this checkout."""
        hits: Hits = self._ask("recall", args, given)
        return Hits(self._with_citations(hits), hits.notes, hits.reports)

    def _with_citations(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        look = self._look()
        return tuple(replace(hit, cited=look.cited(hit.memory)) if hit.cited else hit for hit in hits)

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """Compare the citations of a memory with this checkout."""
        return self._look().cited(memory)

    def stale(self, *, moved: bool = False, progress: Progress | None = None) -> tuple[Stale, ...]:
        """See `Lore.stale`, for this checkout."""
        from swarmlore.domain.language.citations import STALE
        from swarmlore.memory.stale_citations import find_stale

        citing = [memory for memory in self.list(limit=MOST_CITING)[::-1] if memory.citations]
        return tuple(find_stale(citing, self._look(), (*STALE, "moved") if moved else STALE, progress))

    def prime(self, topic: str = "") -> Primed:
        """See `Lore.prime`; the project files are read in this checkout."""
        from swarmlore.retrieval.prime import survey_project

        answer: Primed = self._ask("prime", (topic,), {})
        place = survey_project(self.project.root)
        lists = ("relevant", "recent", "approaches", "notes", "patterns")
        answer = replace(answer, **{name: self._with_citations(getattr(answer, name)) for name in lists})
        return replace(answer, codebase=place.codebase, readme=place.readme, stack=place.stack, loaded=place.loaded)

    @cached_property
    def _tree(self) -> Tree:
        from swarmlore.workspace.cited_code import Tree

        return Tree(self.project.root)

    def _look(self) -> CitationCheck:
        from swarmlore.workspace.cited_code import UNLIMITED, CitationCheck

        return CitationCheck(self._tree, lambda memory: memory.project == self.caller.project, UNLIMITED)

    # Facts of the server's machine

    def backups_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def commits_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask("stats", (), {})
        return {**answer, "store": self.url}

    def clients(self) -> dict[str, tuple[int, float]]:
        """Count the sessions of each client in this project, and return when the newest began."""
        found: dict[str, tuple[int, float]] = {}
        for session in self.sessions(MOST_SESSIONS):
            many, newest = found.get(session.client, (0, 0.0))
            found[session.client] = (many + 1, max(newest, session.started_at))
        return found


class _Notes:
    """Paths of notes in this checkout."""

    def __init__(self, root: str) -> None:
        self._root = root

    def path_of(self, memory: Memory) -> str:
        place, path = (str(memory.source_ref.get(name, "")) for name in ("place", "path"))
        if memory.source != "note" or not path:
            return ""
        return os.path.join(self._root, *path.split("/")) if place == "project" else path

    def files_of(self, memory: Memory) -> tuple[str, ...]:
        path = self.path_of(memory)
        return (path,) if path and os.path.lexists(path) else ()

    def write(self, *_: Any, **__: Any) -> Any:
        raise NotAllowed("pages are written by a person at a terminal of the memory itself", "leave out --note")


def _changed_fields(draft: Draft) -> dict[str, Any]:
    """Return the fields of a draft, except its text, that differ from the defaults."""
    empty = type(draft)("")
    names = [spec.name for spec in fields(type(draft)) if spec.name != "text"]
    return {name: getattr(draft, name) for name in names if getattr(draft, name) != getattr(empty, name)}


SLOW_MS = 500.0
STUCK_S = 600.0
KEPT = "what hooks report is kept here until it answers"


def server_state(lore: CheckoutLore) -> dict[str, Any]:
    """Return the state of the server: whether it answers and how fast, whether the token is valid and for whom, and the
    size of the outbox."""
    state: dict[str, Any] = {"server": lore.url, "answers": False, "token_holds": False}
    waiting = {"waiting_bytes": spool.weight(outbox_dir(lore.home))}
    try:
        lore.whoami()  # the first request also connects, so it is not timed
        began = time.monotonic()
        who = lore.whoami()
        took = round(1_000 * (time.monotonic() - began), 1)
    except SwarmloreError as error:
        answers = isinstance(error, NotAllowed)
        return {**state, "answers": answers, "problem": error.message, "hint": error.hint, **waiting}
    known = {"agent": who.agent, "role": who.role, "project": who.project}
    return {**state, "answers": True, "token_holds": True, "ms": took, **known, **waiting}


def checks(lore: CheckoutLore, state: dict[str, Any], now: float) -> Iterator[Check]:
    """Yield the same state as the doctor's checks, and the problems of hooks."""
    yield from _server(state)
    if state["token_holds"]:
        yield Check("token", "ok", f"holds: {state['agent']}, {state['role']}")
        yield _project(state["project"], lore.project.names)
    yield from _outbox(lore.home, now)
    yield from problems(outbox_dir(lore.home), now)


def _server(state: dict[str, Any]) -> Iterator[Check]:
    if not state["answers"]:
        yield Check("server", "fail", state["problem"], state["hint"])
    elif not state["token_holds"]:
        yield Check("server", "ok", f"{state['server']} answers")
        yield Check("token", "fail", state["problem"], state["hint"])
    else:
        slow = state["ms"] > SLOW_MS
        hint = "hooks wait for about a second: what comes later is not shown" if slow else ""
        yield Check("server", "warn" if slow else "ok", f"{state['server']} answers in {state['ms']:g} ms", hint)


def _project(project: str, names: tuple[str, ...]) -> Check:
    if project in names:
        return Check("project", "ok", project)
    hint = "that is right where the server knows the project by another name; else ask for a token of this project"
    return Check("project", "ok", f"the token is for {project}, this folder is {names[0] if names else '?'}", hint)


def _outbox(home: str, now: float) -> Iterator[Check]:
    folder = outbox_dir(home)
    if not spool.has_events(folder):
        yield Check("outbox", "ok", "nothing waits to be sent")
        return
    many = spool.many(folder)
    oldest = min(spool.written_at(folder), default=now)
    stuck = now - oldest > STUCK_S
    text = f"{many} {'event waits' if many == 1 else 'events wait'} to be sent, since {ago(now - oldest)}"
    yield Check("outbox", "warn" if stuck else "ok", text, KEPT if stuck else "")
