"""What a person approved, as one commit of a repository.

The commit holds our additions and nothing else: they are made once more on top of what is committed, in an index of
their own. What the user has staged or changed meanwhile, also in the same file, stays as it is. It is found again by
its trailer, so that whoever goes on after a crash does not make it twice. Hooks of the repository run and may refuse.
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
QUICK_S, COMMIT_S = 15.0, 120.0  # for a question; for a commit, whose hooks may run tests
LOCK_S = 1.0
LOOKED_AT = 2_000  # newest commits, among which one of ours is found again
TRIES = 3  # where others commit at the same time
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
    """Why there is no commit, and what to do."""


class Moved(NoCommit):
    """Somebody committed meanwhile."""


@frozen
class Commit:
    """What is to be committed: additions by path, the message, and the approval that its trailer names."""

    additions: Mapping[str, Addition]
    message: str
    approval: str


def repository_of(folder: str) -> str:
    """The working tree that a folder lies in, or ''."""
    here = os.path.abspath(folder)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above


def found(folder: str) -> str:
    """The repository that begins in this folder, made where there is none."""
    if not os.path.lexists(os.path.join(folder, ".git")):
        _asked(folder, ["init", "-q", "-b", "main"])
    return folder


def obstacle(repository: str) -> tuple[str, str]:
    """Why nothing can be committed at the moment, and what to do; two empty texts where nothing is in the way."""
    try:
        folder = _asked(repository, ["rev-parse", "--absolute-git-dir"])
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
    """Whether somebody holds the index for longer than most commands do."""
    until = time.monotonic() + LOCK_S
    while os.path.lexists(path):
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


def is_ignored(repository: str, path: str) -> bool:
    """Whether git is told to leave a file alone that it does not know."""
    command = ["git", "-C", repository, "check-ignore", "-q", "--", f"./{path}"]  # it takes no literal pathspecs
    return _run(command, repository, {}, None, QUICK_S, "git check-ignore").returncode == 0


def is_untracked(repository: str, path: str) -> bool:
    """Whether a file is there that git does not know."""
    there = os.path.lexists(os.path.join(repository, path))
    return there and _git(repository, ["ls-files", "--error-unmatch", "--", path]).returncode != 0


def commit(repository: str, wanted: Commit) -> str:
    """The commit with these additions, made unless it is there; '' where all of it is committed already. What one of
    ours lacks, because it could not be written then, follows in another one."""
    for attempt in range(TRIES):
        known = find(repository, wanted.approval)
        lacking = _added_to(repository, known, wanted.additions) if known else wanted.additions
        blobs = _added_to(repository, "HEAD", {path: wanted.additions[path] for path in lacking})
        if not blobs:
            _follow(repository, known or "HEAD", wanted.additions)
            return known
        try:
            known = _make(repository, blobs, wanted)
        except Moved:
            if attempt == TRIES - 1:
                raise
            continue
        _follow(repository, known, wanted.additions)
        return known
    return ""


def find(repository: str, approval: str) -> str:
    """The commit of an approval on any branch, or ''; looked for in the newest ones."""
    shape = f"--format=%H %(trailers:key={TRAILER},valueonly,separator=%x2C)"
    done = _git(repository, ["log", "--branches", f"--max-count={LOOKED_AT}", shape])
    lines = (line.split() for line in done.stdout.decode("utf-8", "replace").splitlines())
    return next((words[0] for words in lines if approval in words[1:]), "")


def _added_to(repository: str, commit: str, additions: Mapping[str, Addition]) -> dict[str, tuple[str, str]]:
    """Mode and blob by path, of what a commit holds with our additions; paths that have them already are left out."""
    blobs = {}
    for path, add in additions.items():
        listed = _git(repository, ["ls-tree", commit, "--", path]).stdout.decode("utf-8", "replace").split()
        mode, before = (listed[0], listed[2]) if len(listed) >= 4 else ("100644", "")
        if not mode.startswith("100"):
            raise NoCommit(f"{path} is no regular file in {repository}", "put a real file there")
        text = _text_of(repository, before, path) if before else ""
        if (after := add(text)) != text:
            blobs[path] = (mode, _kept(repository, after, path))
    return blobs


def _make(repository: str, blobs: Mapping[str, tuple[str, str]], wanted: Commit) -> str:
    """Make the commit as git does it, with the repository's hooks, but only on top of the commit that we added to:
    whoever commits meanwhile would else have their work taken back by ours."""
    stem = os.path.join(_asked(repository, ["rev-parse", "--absolute-git-dir"]), f"swarmlore-{wanted.approval}")
    index, message = f"{stem}.index", f"{stem}.message"
    own = {"GIT_INDEX_FILE": index}
    head = _head(repository)
    try:
        if head:
            _asked(repository, ["read-tree", head], own)
        for path, (mode, blob) in blobs.items():
            _asked(repository, ["update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"], own)
        with open(message, "w", encoding="utf-8") as file:
            file.write(wanted.message)
        _run_hook(repository, "pre-commit", [], own)
        _run_hook(repository, "prepare-commit-msg", [message, "message"], own)
        _run_hook(repository, "commit-msg", [message], own)
        _keep_trailer(repository, message, wanted.approval)
        tree = _asked(repository, ["write-tree"], own)
        signed = _git(repository, ["config", "--type=bool", "commit.gpgsign"]).stdout.strip() == b"true"
        words = ["commit-tree", tree, *(["-p", head] if head else []), *(["-S"] if signed else []), "-F", message]
        made = _asked(repository, words, own, wait_s=COMMIT_S)
        told = f"commit: {wanted.message.partition(chr(10))[0]}"
        moved = _git(repository, ["update-ref", "-m", told, "HEAD", made, head or "0" * len(made)])
        if moved.returncode and _head(repository) == head:
            raise NoCommit(f"git cannot move the branch in {repository}: {_told(moved)}", f"mend that, {_AGAIN}")
        if moved.returncode:
            raise Moved(f"{repository} has a newer commit than a moment ago: {_told(moved)}", _AGAIN)
    finally:
        for left in (index, f"{index}.lock", message):
            if os.path.lexists(left):
                os.unlink(left)
    _run_hook(repository, "post-commit", [], {}, binding=False)
    return made


def _keep_trailer(repository: str, message: str, approval: str) -> None:
    """A hook may write what it likes; that the commit can be found again stays."""
    words = ["--in-place", "--if-exists", "addIfDifferent", "--trailer", f"{TRAILER}: {approval}", message]
    _asked(repository, ["interpret-trailers", *words])


def _head(repository: str) -> str:
    done = _git(repository, ["rev-parse", "-q", "--verify", "HEAD"])
    return done.stdout.decode("ascii", "replace").strip() if not done.returncode else ""


def _run_hook(
    repository: str, name: str, words: Sequence[str], env: Mapping[str, str], *, binding: bool = True
) -> None:
    """Run a hook of the repository where there is one, as git would; a binding one may refuse."""
    path = os.path.join(repository, _asked(repository, ["rev-parse", "--git-path", f"hooks/{name}"]))
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return
    done = _run([path, *words], repository, env, None, COMMIT_S, f"the hook {name}")
    if done.returncode and binding:
        raise NoCommit(f"the hook {name} of {repository} refused: {_told(done)}", f"mend that, {_AGAIN}")


def _follow(repository: str, known: str, additions: Mapping[str, Addition]) -> None:
    """Let the user's index have the same additions, on top of whatever it holds: else they would look taken back."""
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
            mode, blob = held[0], _kept(repository, after, path)
        else:
            mode, blob = made[0], made[2]
        _asked(repository, ["update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"])


def _text_of(repository: str, blob: str, path: str) -> str:
    """The text of a blob; where a filter keeps another form of it in git, that of the working tree."""
    shown = ["--filters", f"--path={path}"] if _is_filtered(repository, path) else ["blob"]
    done = _git(repository, ["cat-file", *shown, blob], wait_s=COMMIT_S)
    try:
        if not done.returncode:
            return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise NoCommit(f"{path} cannot be read as git keeps it in {repository}", f"commit it by hand, {_AGAIN}")


def _kept(repository: str, text: str, path: str) -> str:
    """The blob of a text, through the filter of its path, where there is one."""
    filtered = [f"--path={path}"] if _is_filtered(repository, path) else []
    return _asked(repository, ["hash-object", "-w", "--stdin", *filtered], given=text.encode(), wait_s=COMMIT_S)


def _is_filtered(repository: str, path: str) -> bool:
    """Whether git is told to keep a file in another form, as for large files or secrets. Line ends are no such thing:
    the addition has those of the text that it is made to."""
    told = _git(repository, ["check-attr", "-z", "filter", "--", path]).stdout.split(b"\0")
    return len(told) > 2 and told[2] not in (b"unspecified", b"unset")


def _asked(
    repository: str,
    words: Sequence[str],
    env: Mapping[str, str] | None = None,
    given: bytes | None = None,
    wait_s: float = QUICK_S,
) -> str:
    """What git answers; raises where it does not."""
    done = _git(repository, words, env, given, wait_s)
    if done.returncode:
        raise NoCommit(f"git {words[0]} failed in {repository}: {_told(done)}", f"mend that, {_AGAIN}")
    return done.stdout.decode("utf-8", "replace").strip()


def _told(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git or a hook gave as its reason: the line that says so, else the last ones."""
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
    """Run something there, without questions, with no more of the environment's git settings than who commits."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    own = {**kept, **_QUIET, **env}
    try:
        return subprocess.run(
            command, cwd=repository, env=own, input=given or b"", capture_output=True, timeout=wait_s, check=False
        )
    except FileNotFoundError:
        raise NoCommit(f"{command[0]} cannot be run: it is not there", f"install it, {_AGAIN}") from None
    except subprocess.TimeoutExpired:
        raise NoCommit(f"{what} took longer than {wait_s:g} s in {repository}", f"look into it, {_AGAIN}") from None
    except OSError as error:
        raise NoCommit(f"{what} cannot be run in {repository}: {error.strerror}", f"mend that, {_AGAIN}") from None
