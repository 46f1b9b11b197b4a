"""Whether the server that is asked answers, how fast, and whom it takes us for; what waits here to be sent to it."""

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
from swarmlore.server.client.calls import body_of, result_of
from swarmlore.server.client.environment import URL, token_in
from swarmlore.server.client.http import PLAIN, Line
from swarmlore.workspace.project import find_project, stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from swarmlore.domain.records import Caller, Cited, Draft, Hit, Memory, Remembered, Stale
    from swarmlore.exchange.import_files import Brought
    from swarmlore.models.embedding import Progress
    from swarmlore.retrieval.prime import Primed
    from swarmlore.workspace.cited_code import Look, Tree


PAGE = 1_000  # memories of one list; a server gives no more at once


class RemoteLore:
    """Asks a server. Every verb of the table is a method here, with the parameters that it has in `Lore`."""

    def __init__(self, url: str, token: str, *, plain: bool = False, how: Mapping[str, str] | None = None) -> None:
        """`how` is said with every request: a `profile`, the `stacks` of the project."""
        self._line = Line(url, token, plain=plain)
        self._how = urlencode({name: value for name, value in (how or {}).items() if value})

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Self:
        """The server that the environment names."""
        env = os.environ if env is None else env
        return cls(env.get(URL, ""), token_in(env), plain=env.get(PLAIN) == "1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()

    def import_lines(self, lines: Iterable[bytes], format: str = "auto", progress: Progress | None = None) -> Brought:
        """Send lines; returns what became of them."""
        from swarmlore.server.client.streams import send

        return send(self._line, (line.rstrip(b"\n") + b"\n" for line in lines), format, progress)

    def import_file(self, path: str, format: str = "auto", progress: Progress | None = None) -> Brought:
        """Send what a file of this machine holds."""
        from swarmlore.server.client.streams import send_file

        return send_file(self._line, path, format, progress)

    def export_lines(self, format: str = "knowledge", *, private: bool = False) -> Iterator[bytes]:
        """The lines that the server gives; raises Unavailable where some are missing at the end."""
        from swarmlore.server.client.streams import check_given, given

        check_given(format, private=private)
        return given(self._line, format)

    def export_file(
        self, path: str, format: str = "knowledge", *, overwrite: bool = False, private: bool = False
    ) -> int:
        """Write them to a file of this machine, whole or not at all; returns how many they are."""
        from swarmlore.server.client.streams import write_file

        return write_file(path, format, lambda: self.export_lines(format, private=private), overwrite=overwrite)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in LOCAL:
            raise Unavailable(f"{name} cannot be asked of a server: it {LOCAL[name]}", f"unset {URL} to do it here")
        if name not in (*READS, *WRITES):
            raise AttributeError(name)
        return lambda *args, **given: self._ask(name, args, given)

    def list(self, **filter: Any) -> tuple[Memory, ...]:
        """As `Lore` says it; a long list is asked for in pages."""
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
        return result_of(name, self._line.ask(f"/v1/{name}?{self._how}".rstrip("?"), body, key=key))


MOST_CITING = 10_000_000
LOOKED_AT = 1_000


class AwayLore(RemoteLore):
    """The verbs, asked of a server, and the few other things that commands want of a memory."""

    def __init__(self, env: Mapping[str, str], home: str, folder: str, profile: str = "") -> None:
        self.home = home
        self.project = find_project(folder)
        self.notes = _Notes(self.project.root)
        how = {"profile": profile, "stacks": ",".join(stacks(self.project.root))}
        super().__init__(env[URL], token_in(env), plain=env.get(PLAIN) == "1", how=how)

    @property
    def url(self) -> str:
        return self._line.name

    @cached_property
    def caller(self) -> Caller:
        """Who the token says that we are."""
        found: Caller = self.whoami()
        return found

    # What has to be looked at in the checkout here

    def remember(self, text: str, **facts: Any) -> Remembered:
        """As `Lore` says it; what it cites is looked up in this checkout, as the server may have none."""
        told: Remembered = self._ask("remember", (text,), {**facts, "citations": self._cite(text, facts)})
        return told

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
        """One after the other; each is an operation of its own."""
        outcomes: dict[str, int] = {}
        rejected, replaced = [], []
        for number, draft in enumerate(drafts, start=1):
            try:
                told = self.remember(draft.text, defer=True, **_said(draft))
            except Rejected as refusal:
                rejected.append((number, refusal.message))
                outcome = "rejected"
            else:
                outcome = told.outcome
                replaced += [(number, id) for id in told.related if outcome in ("updated", "superseded")]
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if progress is not None:
                progress(number, 0)
        return Imported(outcomes, tuple(rejected), "", tuple(replaced))

    def recall(self, *args: Any, **given: Any) -> Hits:
        """As `Lore` says it; whether cited code has changed is seen here."""
        hits: Hits = self._ask("recall", args, given)
        return Hits(self._held(hits), hits.notes, hits.reports)

    def _held(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        look = self._look()
        return tuple(replace(hit, cited=look.cited(hit.memory)) if hit.cited else hit for hit in hits)

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """The citations of a memory, held against the checkout here."""
        return self._look().cited(memory)

    def stale(self, *, moved: bool = False, progress: Progress | None = None) -> tuple[Stale, ...]:
        """As `Lore` says it, of the checkout here."""
        from swarmlore.domain.policy.ranking import STALE
        from swarmlore.memory.stale_citations import find_stale

        citing = [memory for memory in self.list(limit=MOST_CITING)[::-1] if memory.citations]
        return tuple(find_stale(citing, self._look(), (*STALE, "moved") if moved else STALE, progress))

    def prime(self, topic: str = "") -> Primed:
        """As `Lore` says it; what files tell is read here."""
        from swarmlore.retrieval.prime import look_at

        told: Primed = self._ask("prime", (topic,), {})
        place = look_at(self.project.root)
        lists = ("relevant", "recent", "approaches", "notes", "patterns")
        told = replace(told, **{name: self._held(getattr(told, name)) for name in lists})
        return replace(told, codebase=place.codebase, readme=place.readme, stack=place.stack, loaded=place.loaded)

    @cached_property
    def _tree(self) -> Tree:
        from swarmlore.workspace.cited_code import Tree

        return Tree(self.project.root)

    def _look(self) -> Look:
        from swarmlore.workspace.cited_code import WHOLE, Look

        return Look(self._tree, lambda memory: memory.project == self.caller.project, WHOLE)

    # What is of the server's machine

    def backups_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def commits_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def stats(self) -> dict[str, Any]:
        told: dict[str, Any] = self._ask("stats", (), {})
        return {**told, "store": self.url}

    def clients(self) -> dict[str, tuple[int, float]]:
        """How many sessions each client had in this project, and when the newest began."""
        found: dict[str, tuple[int, float]] = {}
        for session in self.sessions(LOOKED_AT):
            many, newest = found.get(session.client, (0, 0.0))
            found[session.client] = (many + 1, max(newest, session.started_at))
        return found


class _Notes:
    """Where pages lie in the checkout here."""

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


def _said(draft: Draft) -> dict[str, Any]:
    """What a draft says beside its text."""
    empty = type(draft)("")
    names = [spec.name for spec in fields(type(draft)) if spec.name != "text"]
    return {name: getattr(draft, name) for name in names if getattr(draft, name) != getattr(empty, name)}


SLOW_MS = 500.0
STUCK_S = 600.0
KEPT = "what hooks report is kept here until it answers"


def standing(lore: AwayLore) -> dict[str, Any]:
    """How the server stands: whether it answers, whether the token holds, for whom; and what waits to be sent."""
    told: dict[str, Any] = {"server": lore.url, "answers": False, "token_holds": False}
    waiting = {"waiting_bytes": spool.weight(outbox_dir(lore.home))}
    try:
        lore.whoami()  # the first request also connects
        began = time.monotonic()
        who = lore.whoami()
        took = round(1_000 * (time.monotonic() - began), 1)
    except SwarmloreError as error:
        answers = isinstance(error, NotAllowed)
        return {**told, "answers": answers, "problem": error.message, "hint": error.hint, **waiting}
    known = {"agent": who.agent, "role": who.role, "project": who.project}
    return {**told, "answers": True, "token_holds": True, "ms": took, **known, **waiting}


def checks(lore: AwayLore, told: dict[str, Any], now: float) -> Iterator[Check]:
    """The same as findings, and what hooks had trouble with."""
    yield from _server(told)
    if told["token_holds"]:
        yield Check("token", "ok", f"holds: {told['agent']}, {told['role']}")
        yield _project(told["project"], lore.project.names)
    yield from _outbox(lore.home, now)
    yield from problems(outbox_dir(lore.home), now)


def _server(told: dict[str, Any]) -> Iterator[Check]:
    if not told["answers"]:
        yield Check("server", "fail", told["problem"], told["hint"])
    elif not told["token_holds"]:
        yield Check("server", "ok", f"{told['server']} answers")
        yield Check("token", "fail", told["problem"], told["hint"])
    else:
        slow = told["ms"] > SLOW_MS
        hint = "hooks wait for about a second: what comes later is not shown" if slow else ""
        yield Check("server", "warn" if slow else "ok", f"{told['server']} answers in {told['ms']:g} ms", hint)


def _project(project: str, names: tuple[str, ...]) -> Check:
    if project in names:
        return Check("project", "ok", project)
    hint = "that is right where the server knows the project by another name; else ask for a token of this project"
    return Check("project", "ok", f"the token is for {project}, this folder is {names[0] if names else '?'}", hint)


def _outbox(home: str, now: float) -> Iterator[Check]:
    folder = outbox_dir(home)
    if not spool.waits(folder):
        yield Check("outbox", "ok", "nothing waits to be sent")
        return
    many = spool.many(folder)
    oldest = min(spool.times(folder), default=now)
    stuck = now - oldest > STUCK_S
    said = f"{many} {'event waits' if many == 1 else 'events wait'} to be sent, since {ago(now - oldest)}"
    yield Check("outbox", "warn" if stuck else "ok", said, KEPT if stuck else "")
