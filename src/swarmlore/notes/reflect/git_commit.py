"""Commit approved additions to a repository, without touching what the user has staged or changed.

The additions are applied to HEAD in a separate index. A trailer with the approval id identifies the commit, so that a
resumed run does not make it twice. Hooks of the repository run and may refuse.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import TypeAlias

    Addition: TypeAlias = Callable[[str], str]


TRAILER = "Swarmlore-Approval"
QUICK_S, COMMIT_S = 15.0, 120.0  # timeout of a query; of a commit, whose hooks may run tests
LOCK_S = 1.0
LOOKED_AT = 2_000  # newest commits that are searched for the trailer
TRIES = 3  # attempts if others commit at the same time
_AGAIN = "then: swarmlore reflect --review"
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_QUIET = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_EDITOR": "true",
    "LC_ALL": "C",
}
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}


class NoCommit(SwarmloreError):
    """The commit failed; message and hint say why and what to do."""


class Moved(NoCommit):
    """HEAD moved while the commit was made."""


@frozen
class Commit:
    """A commit to make: additions by path, the message, and the approval id for the trailer."""

    additions: Mapping[str, Addition]
    message: str
    approval: str


def repository_of(folder: str) -> str:
    """Return the root of the git worktree that contains a folder; '' if there is none."""
    here = os.path.abspath(folder)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above


def init_repository(folder: str) -> str:
    """Initialise a git repository in this folder unless it has one; return the folder."""
    if not os.path.lexists(os.path.join(folder, ".git")):
        _checked_git(folder, ["init", "-q", "-b", "main"])
    return folder


def obstacle(repository: str) -> tuple[str, str]:
    """Return why a repository cannot take a commit now, and a hint; two empty strings if it can."""
    try:
        folder = _checked_git(repository, ["rev-parse", "--absolute-git-dir"])
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(os.path.join(folder, name)):
                return f"{what} is under way in {repository}", f"finish or abort it, {_AGAIN}"
        if _stays_locked(os.path.join(folder, "index.lock")):
            hint = f"let it end, or remove {folder}/index.lock if none is running, {_AGAIN}"
            return f"another git command is at work in {repository}", hint
        if _git(repository, ["symbolic-ref", "-q", "HEAD"]).returncode:
            return f"{repository} stands on no branch (detached HEAD)", f"git switch to a branch, {_AGAIN}"
        if _git(repository, ["var", "GIT_COMMITTER_IDENT"]).returncode:
            hint = "git config --global user.name NAME and user.email ADDRESS"
            return f"git does not know who commits in {repository}", f"{hint}, {_AGAIN}"
    except NoCommit as problem:
        return problem.message, problem.hint
    return "", ""


def _stays_locked(path: str) -> bool:
    """Return whether the index stays locked for longer than a second."""
    until = time.monotonic() + LOCK_S
    while os.path.lexists(path):
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


def is_ignored(repository: str, path: str) -> bool:
    """Return whether git ignores this path."""
    command = ["git", "-C", repository, "check-ignore", "-q", "--", f"./{path}"]  # rejects --literal-pathspecs
    return _run(command, repository, {}, None, QUICK_S, "git check-ignore").returncode == 0


def is_untracked(repository: str, path: str) -> bool:
    """Return whether a file exists and git does not track it."""
    there = os.path.lexists(os.path.join(repository, path))
    return there and _git(repository, ["ls-files", "--error-unmatch", "--", path]).returncode != 0


def commit(repository: str, wanted: Commit) -> str:
    """Commit these additions and return the commit id; '' if all are committed. Additions that an earlier commit of the
    approval lacks go into another one."""
    for attempt in range(TRIES):
        known = find(repository, wanted.approval)
        lacking = _added_to(repository, known, wanted.additions) if known else wanted.additions
        blobs = _added_to(repository, "HEAD", {path: wanted.additions[path] for path in lacking})
        if not blobs:
            _update_user_index(repository, known or "HEAD", wanted.additions)
            return known
        try:
            known = _make(repository, blobs, wanted)
        except Moved:
            if attempt == TRIES - 1:
                raise
            continue
        _update_user_index(repository, known, wanted.additions)
        return known
    return ""


def find(repository: str, approval: str) -> str:
    """Return the commit of an approval on any branch; '' if it is not among the newest 2,000."""
    shape = f"--format=%H %(trailers:key={TRAILER},valueonly,separator=%x2C)"
    done = _git(repository, ["log", "--branches", f"--max-count={LOOKED_AT}", shape])
    lines = (line.split() for line in done.stdout.decode("utf-8", "replace").splitlines())
    return next((words[0] for words in lines if approval in words[1:]), "")


def _added_to(repository: str, commit: str, additions: Mapping[str, Addition]) -> dict[str, tuple[str, str]]:
    """Return mode and blob by path for a commit's files with the additions; unchanged files are left out."""
    blobs = {}
    for path, add in additions.items():
        listed = _git(repository, ["ls-tree", commit, "--", path]).stdout.decode("utf-8", "replace").split()
        mode, before = (listed[0], listed[2]) if len(listed) >= 4 else ("100644", "")
        if not mode.startswith("100"):
            raise NoCommit(f"{path} is no regular file in {repository}", "put a real file there")
        text = _text_of(repository, before, path) if before else ""
        if (after := add(text)) != text:
            blobs[path] = (mode, _stored_blob(repository, after, path))
    return blobs


def _make(repository: str, blobs: Mapping[str, tuple[str, str]], wanted: Commit) -> str:
    """Make the commit as git would, including hooks; move HEAD only if nobody committed meanwhile."""
    stem = os.path.join(_checked_git(repository, ["rev-parse", "--absolute-git-dir"]), f"swarmlore-{wanted.approval}")
    index, message = f"{stem}.index", f"{stem}.message"
    env = {"GIT_INDEX_FILE": index}
    head = _head(repository)
    try:
        if head:
            _checked_git(repository, ["read-tree", head], env)
        for path, (mode, blob) in blobs.items():
            _checked_git(repository, ["update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"], env)
        with open(message, "w", encoding="utf-8") as file:
            file.write(wanted.message)
        _run_hook(repository, "pre-commit", [], env)
        _run_hook(repository, "prepare-commit-msg", [message, "message"], env)
        _run_hook(repository, "commit-msg", [message], env)
        _keep_trailer(repository, message, wanted.approval)
        tree = _checked_git(repository, ["write-tree"], env)
        signed = _git(repository, ["config", "--type=bool", "commit.gpgsign"]).stdout.strip() == b"true"
        arguments = ["commit-tree", tree, *(["-p", head] if head else []), *(["-S"] if signed else []), "-F", message]
        made = _checked_git(repository, arguments, env, wait_s=COMMIT_S)
        reflog = f"commit: {wanted.message.partition(chr(10))[0]}"
        moved = _git(repository, ["update-ref", "-m", reflog, "HEAD", made, head or "0" * len(made)])
        if moved.returncode and _head(repository) == head:
            raise NoCommit(f"git cannot move the branch in {repository}: {_reason_of(moved)}", f"mend that, {_AGAIN}")
        if moved.returncode:
            raise Moved(f"{repository} has a newer commit than a moment ago: {_reason_of(moved)}", _AGAIN)
    finally:
        for left in (index, f"{index}.lock", message):
            if os.path.lexists(left):
                os.unlink(left)
    _run_hook(repository, "post-commit", [], {}, binding=False)
    return made


def _keep_trailer(repository: str, message: str, approval: str) -> None:
    """Add the trailer if a hook removed it, so that the commit is found again."""
    words = ["--in-place", "--if-exists", "addIfDifferent", "--trailer", f"{TRAILER}: {approval}", message]
    _checked_git(repository, ["interpret-trailers", *words])


def _head(repository: str) -> str:
    done = _git(repository, ["rev-parse", "-q", "--verify", "HEAD"])
    return done.stdout.decode("ascii", "replace").strip() if not done.returncode else ""


def _run_hook(
    repository: str, name: str, words: Sequence[str], env: Mapping[str, str], *, binding: bool = True
) -> None:
    """Run a git hook if the repository has it; raise NoCommit if a binding one fails."""
    path = os.path.join(repository, _checked_git(repository, ["rev-parse", "--git-path", f"hooks/{name}"]))
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return
    done = _run([path, *words], repository, env, None, COMMIT_S, f"the hook {name}")
    if done.returncode and binding:
        raise NoCommit(f"the hook {name} of {repository} refused: {_reason_of(done)}", f"mend that, {_AGAIN}")


def _update_user_index(repository: str, known: str, additions: Mapping[str, Addition]) -> None:
    """Apply the additions to the user's index too; without them, `git status` would show them as reverted."""
    for path, add in additions.items():
        made = _git(repository, ["ls-tree", known, "--", path]).stdout.decode("utf-8", "replace").split()
        held = _git(repository, ["ls-files", "-s", "--", path]).stdout.decode("utf-8", "replace").split()
        if len(made) < 4 or (len(held) >= 3 and held[2] != "0"):
            continue
        if len(held) >= 3:
            text = _text_of(repository, held[1], path)
            after = add(text)
            if after == text:
                continue
            mode, blob = held[0], _stored_blob(repository, after, path)
        else:
            mode, blob = made[0], made[2]
        _checked_git(repository, ["update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"])


def _text_of(repository: str, blob: str, path: str) -> str:
    """Return the text of a blob, through the smudge filter if the path has one."""
    shown = ["--filters", f"--path={path}"] if _is_filtered(repository, path) else ["blob"]
    done = _git(repository, ["cat-file", *shown, blob], wait_s=COMMIT_S)
    try:
        if not done.returncode:
            return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise NoCommit(f"{path} cannot be read as git keeps it in {repository}", f"commit it by hand, {_AGAIN}")


def _stored_blob(repository: str, text: str, path: str) -> str:
    """Store a text as a blob, through the clean filter if the path has one; return its id."""
    filtered = [f"--path={path}"] if _is_filtered(repository, path) else []
    return _checked_git(repository, ["hash-object", "-w", "--stdin", *filtered], given=text.encode(), wait_s=COMMIT_S)


def _is_filtered(repository: str, path: str) -> bool:
    """Return whether a path has a git filter such as LFS or encryption; line-end conversion is not one."""
    attributes = _git(repository, ["check-attr", "-z", "filter", "--", path]).stdout.split(b"\0")
    return len(attributes) > 2 and attributes[2] not in (b"unspecified", b"unset")


def _checked_git(
    repository: str,
    words: Sequence[str],
    env: Mapping[str, str] | None = None,
    given: bytes | None = None,
    wait_s: float = QUICK_S,
) -> str:
    """Run git and return its output; raise NoCommit if it fails."""
    done = _git(repository, words, env, given, wait_s)
    if done.returncode:
        raise NoCommit(f"git {words[0]} failed in {repository}: {_reason_of(done)}", f"mend that, {_AGAIN}")
    return done.stdout.decode("utf-8", "replace").strip()


def _reason_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the reason that git or a hook printed: its fatal and error lines, else the last lines."""
    from swarmlore.domain.policy.gate import scrub_text

    lines = [line.strip() for line in (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()]
    reasons = [line for line in lines if line.startswith(("fatal: ", "error: "))][:3]
    return scrub_text(" / ".join(reasons or filter(None, lines[-6:]))[-400:]) or "it gave no reason"


def _git(
    repository: str,
    words: Sequence[str],
    env: Mapping[str, str] | None = None,
    given: bytes | None = None,
    wait_s: float = QUICK_S,
) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-C", repository, *words]
    return _run(command, repository, env or {}, given, wait_s, f"git {words[0]}")


def _run(
    command: Sequence[str], repository: str, env: Mapping[str, str], given: bytes | None, wait_s: float, what: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command non-interactively; of the GIT_ variables it inherits only author, committer and config."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    full_env = {**base, **_QUIET, **env}
    try:
        return subprocess.run(
            command, cwd=repository, env=full_env, input=given or b"", capture_output=True, timeout=wait_s, check=False
        )
    except FileNotFoundError:
        raise NoCommit(f"{command[0]} cannot be run: it is not there", f"install it, {_AGAIN}") from None
    except subprocess.TimeoutExpired:
        raise NoCommit(f"{what} took longer than {wait_s:g} s in {repository}", f"look into it, {_AGAIN}") from None
    except OSError as error:
        raise NoCommit(f"{what} cannot be run in {repository}: {error.strerror}", f"mend that, {_AGAIN}") from None
