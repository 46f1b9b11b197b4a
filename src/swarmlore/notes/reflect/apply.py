"""Write approved proposals to their files, commit them, index the result and count it; safe to resume after a crash.

The approval is stored first. Each later step checks whether it was done: an edit by the text of its file, a commit by
its trailer, the metrics by the id of the approval.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import shortened
from swarmlore.domain.records import Approval, Edit, Proposal
from swarmlore.errors import Conflict, NotAllowed, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes.reflect import git_commit, metrics, targets
from swarmlore.notes.reflect.propose import UNFIT
from swarmlore.notes.reflect.targets import LEARNINGS, Places, text_in
from swarmlore.store.database import Operation
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore


_HEADINGS = {
    "behavioral": "Agent rules",
    "knowledge": "Notes",
    "skill": "Skills",
    "instinct": "Instincts",
    "memory": "Project memory",
}
_LINE_CHARS = 150
LOCK_S = 300.0  # git hooks of a repository may be slow


@frozen
class Applied:
    """Result of an approval: the proposals in their new state and messages; the approval lists the commits."""

    approval: Approval
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()


class ApprovalRunner:
    """Carries out approvals for one caller."""

    def __init__(self, lore: Lore, places: Places, operate: Callable[[str], Operation]) -> None:
        self._lore = lore
        self._places = places
        self._operate = operate

    def approve(self, chosen: Sequence[Proposal], signals: Mapping[str, int]) -> Approval:
        """Store that a person approved these proposals; from here on an interrupted run is resumed."""
        lore = self._lore
        if lore.caller.role != "person":
            raise NotAllowed("what people own changes by a person's word only", "show it to your user")
        now = lore.now()
        day = (iso(now) or "")[:10]
        who = lore.caller
        approval = Approval(lore.new_id(), now, who.project, who.agent, day=day, signals=dict(signals))
        with lore.acting(), lore.store.operation(self._operate("approve")):
            self.check_open(chosen)
            decided = {"state": "approved", "approval": approval.id, "by": lore.caller.agent, "decided_at": now}
            changed = [replace(item, **decided) for item in chosen]
            lore.store.change_proposals(changed)
            lore.store.put_approval(approval)
            # The job resumes the approval if this process dies.
            lore.enqueue("reflect", {"approval": approval.id}, f"approval:{approval.id}")
        return approval

    def check_open(self, chosen: Sequence[Proposal]) -> None:
        """Raise Conflict if a proposal was decided meanwhile; call it in the transaction that decides."""
        found = self._lore.store.open_proposals(self._lore.caller)
        open_ids = {item.id for item in found if item.state != "approved"}
        if gone := [item.label for item in chosen if item.id not in open_ids]:
            raise Conflict(f"{', '.join(gone)} was decided meanwhile", "look again: swarmlore reflect --review")

    def finish(self, approval: Approval) -> Applied:
        """Write, commit, index and count what an approval still lacks; one process at a time."""
        with self._alone():
            return self._finish(approval)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        folder = os.path.join(self._lore.home, "reflect")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with Folder(os.path.realpath(folder)) as own, own.lock(LOCK_S):
            yield

    def _finish(self, approval: Approval) -> Applied:
        with self._lore.acting():
            approval = self._lore.store.approval(self._lore.caller, approval.id) or approval
            own = self._lore.store.proposals(self._lore.caller, approval=approval.id)
        if approval.state == "done":
            return Applied(approval, tuple(reversed(own)))
        waiting = [item for item in reversed(own) if item.state == "approved"]
        run = _Run(self._places, approval, self._episodes(waiting))
        run.write(waiting)
        run.commit()
        after = [run.after(item) for item in waiting]
        problems = tuple(run.problems)
        state = "approved" if any(item.state == "approved" for item in after) or problems else "done"
        approval = replace(approval, state=state, problems=problems, commits={**approval.commits, **run.commits})
        if state == "done":
            decided = {item.id: item for item in (*own, *after)}.values()
            metrics.count_approval(self._places, approval, [item for item in decided if item.state == "applied"])
        self._keep(approval, after)
        if run.written:
            self._index()
        return Applied(approval, tuple(after), tuple(run.notes))

    def _index(self) -> None:
        """Index the written files now; if that fails, the next sync does it."""
        with suppress(StoreError, NotAllowed, OSError):
            self._lore.index_changed()
            self._lore.notes.refresh()

    def _episodes(self, items: Sequence[Proposal]) -> list[str]:
        """Return the episode paths of the reflections behind these proposals."""
        found = []
        for id in dict.fromkeys(item.reflection for item in items):
            with self._lore.acting():
                found += self._lore.store.reflections(self._lore.caller, id=id, limit=1)
        return list(dict.fromkeys(one.episode for one in found if one.episode))

    def _keep(self, approval: Approval, after: Sequence[Proposal]) -> None:
        lore = self._lore
        with lore.acting(), lore.store.operation(self._operate("apply")):
            lore.store.change_proposals(after)
            lore.store.put_approval(approval)


class _Run:
    """One attempt to carry out an approval."""

    def __init__(self, places: Places, approval: Approval, episodes: Sequence[str] = ()) -> None:
        self._places = places
        self._approval = approval
        self._episodes = episodes
        self._failed: dict[str, str] = {}
        self._held: set[str] = set()
        self._by_repository: dict[str, list[tuple[Proposal, Edit]]] = {}
        self._repositories: dict[str, tuple[str, str]] = {}  # by folder: repository, and its obstacle
        self.commits: dict[str, str] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.written = False

    def write(self, proposals: Sequence[Proposal]) -> None:
        """Write the files of each proposal; record which failed and which have to wait."""
        for item in proposals:
            if why := self._why_unfit(item):
                self._failed[item.id] = why
            elif blocked := [why for edit in item.edits if (why := self._repository(edit)[1])]:
                self._hold(item, blocked[0])
            else:
                self._write_all(item)

    def _write_all(self, item: Proposal) -> None:
        try:
            for edit in item.edits:
                self._write(edit)
                if repository := self._repository(edit)[0]:
                    self._by_repository.setdefault(repository, []).append((item, edit))
        except UNFIT as problem:
            self._failed[item.id] = problem.message
        except (StoreError, OSError) as problem:  # read-only or full disk: may work later
            self._hold(item, f"{_why(problem)}; then: swarmlore reflect --review")

    def _why_unfit(self, item: Proposal) -> str:
        """Return why a proposal cannot be applied, '' if it can; checked before any of its files is written."""
        try:
            for edit in item.edits:
                self._changed(edit, self._places.read(edit.place, edit.path) or "")
        except UNFIT as problem:
            return problem.message
        except SwarmloreError:
            return ""
        return ""

    def _changed(self, edit: Edit, before: str) -> str:
        after = targets.apply_edit(before, edit)
        if not targets.only_adds(before, after, edit.verb):
            raise Conflict(f"{self._places.shown(edit)} would lose lines", "add it by hand")
        return after

    def _write(self, edit: Edit) -> None:
        with self._places.changing(edit) as (folder, name):
            before = text_in(folder, name) or ""
            after = self._changed(edit, before)
            if after != before:
                folder.replace(name, [after.encode()])
            self.written = True

    def _hold(self, item: Proposal, why: str) -> None:
        self._held.add(item.id)
        if why not in self.problems:
            self.problems.append(why)

    def _repository(self, edit: Edit) -> tuple[str, str]:
        """Return the git repository of a file ('' for none), and the reason why it cannot take a commit now."""
        root = os.path.realpath(self._places.root(edit.place))
        folder = root if edit.place == LEARNINGS else os.path.dirname(os.path.join(root, *edit.path.split("/")))
        if folder not in self._repositories:
            self._repositories[folder] = self._find_repository(folder, edit)
        return self._repositories[folder]

    def _find_repository(self, folder: str, edit: Edit) -> tuple[str, str]:
        try:
            if edit.place == LEARNINGS:
                os.makedirs(folder, mode=0o700, exist_ok=True)
                git_commit.init_repository(folder)
            repository = git_commit.repository_of(folder)
        except (git_commit.NoCommit, OSError) as problem:
            self.notes.append(f"{folder} is no repository: {_why(problem)}")
            return "", ""
        if not repository:
            self.notes.append(f"{self._places.shown(edit)} lies in no repository: nothing is committed there")
            return "", ""
        obstacle, hint = git_commit.obstacle(repository)
        return repository, f"{obstacle}: {hint}" if obstacle else ""

    def commit(self) -> None:
        """Make one commit per repository with the written edits."""
        for repository, parts in self._by_repository.items():
            try:
                episodes = self._episode_edits(parts)
                additions = self._additions(repository, [*(edit for _, edit in parts), *episodes])
                message = message_of(self._approval, parts, [edit.path for edit in episodes])
                wanted = git_commit.Commit(additions, message, self._approval.id)
                if additions and (made := git_commit.commit(repository, wanted)):
                    self.commits[repository] = made
            except git_commit.NoCommit as problem:
                for item, _ in parts:
                    self._hold(item, f"{problem.message}; what was approved is written: {problem.hint}")

    def _episode_edits(self, parts: Sequence[tuple[Proposal, Edit]]) -> list[Edit]:
        """Return the episodes to commit together with notes, as their source."""
        if not any(edit.place == LEARNINGS for _, edit in parts):
            return []
        texts = ((path, self._places.read(LEARNINGS, path)) for path in self._episodes)
        return [Edit(LEARNINGS, path, targets.CREATE, text) for path, text in texts if text]

    def _additions(self, repository: str, edits: Iterable[Edit]) -> dict[str, git_commit.Addition]:
        """Return the edits to commit by path, without ignored files and untracked files of other authors."""
        by_path: dict[str, list[Edit]] = {}
        for edit in edits:
            full = os.path.join(os.path.realpath(self._places.root(edit.place)), *edit.path.split("/"))
            by_path.setdefault(os.path.relpath(full, repository).replace(os.sep, "/"), []).append(edit)
        return {path: partial(_edited, own) for path, own in by_path.items() if self._is_ours(repository, path, own)}

    def _is_ours(self, repository: str, path: str, edits: Sequence[Edit]) -> bool:
        if not git_commit.is_untracked(repository, path):
            return True
        if git_commit.is_ignored(repository, path):
            self.notes.append(f"{path} is ignored by git: written, not committed")
            return False
        made = targets.apply_edits("", edits)
        if self._places.read(edits[0].place, edits[0].path) == made:
            return True
        self.notes.append(f"{path} is not known to git yet: written, not committed")
        return False

    def after(self, item: Proposal) -> Proposal:
        """Return a proposal in its new state: applied, failed, or still waiting."""
        if item.id in self._failed:
            return replace(item, state="failed", reason=self._failed[item.id])
        if item.id in self._held:
            return replace(item, reason=self.problems[-1])
        repositories = {self._repository(edit)[0] for edit in item.edits}
        commits = {**item.commits, **{name: id for name, id in self.commits.items() if name in repositories}}
        return replace(item, state="applied", reason="", commits=commits)


def _edited(edits: Sequence[Edit], text: str) -> str:
    try:
        return targets.apply_edits(text, edits)
    except UNFIT:
        return text  # the committed text already differs


def _why(problem: SwarmloreError | OSError) -> str:
    return problem.message if isinstance(problem, SwarmloreError) else problem.strerror or type(problem).__name__


def message_of(approval: Approval, parts: Sequence[tuple[Proposal, Edit]], episodes: Sequence[str] = ()) -> str:
    """Return the commit message: additions by route, number of signals, and a trailer with the approval id."""
    first: dict[str, tuple[Proposal, str]] = {}
    for item, edit in parts:
        first.setdefault(item.id, (item, edit.path if edit.place == LEARNINGS else item.target))
    lines = [f"reflect: add learnings from session [{approval.day}]", ""]
    for route, heading in _HEADINGS.items():
        if own := [(item, path) for item, path in first.values() if item.route == route]:
            titles = [f"- {path}: {shortened(item.title or item.text, _LINE_CHARS)}" for item, path in own]
            lines += [f"{heading}:", *titles, ""]
    lines += ["Episodes:", *(f"- {path}" for path in episodes), ""] if episodes else []
    counts = {level: approval.signals.get(level, 0) for level in ("high", "medium", "low")}
    by_level = ", ".join(f"{count} {level}" for level, count in counts.items())
    lines += [f"Extracted: {sum(counts.values())} signals ({by_level} confidence)", ""]
    return "\n".join([*lines, f"{git_commit.TRAILER}: {approval.id}"]) + "\n"


def commit_texts(root: str, changes: Sequence[Any], id: str, at: float) -> list[str]:
    """Commit files that were replaced as a whole, given their text before and after; return messages."""
    repository = git_commit.repository_of(root)
    if not repository:
        return [f"{root} is in no repository: nothing is committed"]
    names = [os.path.relpath(os.path.join(root, *one.path.split("/")), repository) for one in changes]
    known = {name: one for name, one in zip(names, changes, strict=True) if not name.startswith("..")}
    additions = {name: partial(_replaced, one) for name, one in known.items()}
    listed = "".join(f"- {name}\n" for name in known)
    day = (iso(at) or "")[:10]
    message = f"reflect: consolidate what worktrees learned [{day}]\n\n{listed}\n{git_commit.TRAILER}: {id}\n"
    problem, hint = git_commit.obstacle(repository)
    try:
        if problem:
            raise git_commit.NoCommit(problem, hint)
        made = git_commit.commit(repository, git_commit.Commit(additions, message, id)) if additions else ""
    except git_commit.NoCommit as why:
        return [f"{why.message}; the files are written: {why.hint}"]
    return [f"commit {made[:10]} in {repository} (to take it back: git revert {made[:10]})"] if made else []


def _replaced(change: Any, text: str) -> str:
    return str(change.after) if text == change.before else text
