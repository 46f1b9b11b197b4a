"""Two clones that only exchange files end with the same bytes, in whatever order and with or without a merge driver."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_store_machine import FAST_DISK

from clones import FILES, Clock, Clone, git
from conftest import ALICE, LEAD, examples
from swarmlore.domain.policy.merge import as_claimed
from swarmlore.domain.policy.new_memory import confirm
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import Rejected
from swarmlore.exchange.merge_driver import merge_files, merge_lines
from swarmlore.frozen import replace
from swarmlore.lore import Lore

DAY_S = 86_400.0
WAYS = ("driver", "conflict", "union")
numbers = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 999)),
        st.tuples(st.sampled_from(["edit", "forget", "restore", "confirm", "tag", "quarantine", "archive"]), numbers),
    ),
    max_size=6,
)

some_erased = st.lists(st.one_of(steps.map(tuple), st.tuples(st.tuples(st.just("erase"), numbers))), max_size=3).map(
    lambda several: [step for some in several for step in some]
)


@contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(dir=FAST_DISK))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def act(lore: Lore, step: tuple[str, int], name: str) -> None:
    """One thing that happens in a clone: what exactly depends on what is there."""
    what, number = step
    if what == "add":
        with suppress(Rejected):  # what is in quarantine is not said again
            lore.remember(f"Service {name}{number * 7919} listens on port {2000 + number * 13}", defer=True)
        return
    rows = sorted(lore.list(status="any", limit=99), key=lambda memory: memory.id)
    if not rows:
        return
    memory = rows[number % len(rows)]
    if what == "erase":
        lore.forget(memory.id, erase=True)
        return
    after = changed(memory, what, name, lore.now())
    if after != memory:
        with lore.store.operation(lore._operation("test")) as operation:
            lore.store.revise(operation, memory, after, what)


def changed(memory: Memory, what: str, name: str, now: float) -> Memory:
    if what == "edit":
        return replace(memory, text=f"Edited by {name}: {memory.id[-4:]} at {now}", updated_at=now)
    if what == "forget":
        return replace(memory, forgotten_at=now)
    if what == "restore":
        return replace(memory, forgotten_at=None, status="candidate", updated_at=now)
    if what == "confirm":
        return confirm(memory, Caller(ALICE.project, name), now + DAY_S * (1 + len(memory.confirmed_by))) or memory
    if what == "tag":
        return replace(memory, tags=(*memory.tags, f"{name}{len(memory.tags)}"), updated_at=now)
    status = "quarantined" if what == "quarantine" else "archived"
    return replace(memory, status=status, updated_at=now)


def play(clone: Clone, history: list[tuple[str, int]], name: str) -> None:
    with clone.open() as lore:
        for step in history:
            act(lore, step, name)
        lore.exchange.publish()


def meet(one: Clone, other: Clone, way: str) -> None:
    """What git does when the two are merged, each into the other."""
    for name in FILES:
        paths = [clone.root / ".swarm" / name for clone in (one, other)]
        for path in paths:
            path.touch()
        merged = merged_bytes(paths[0], paths[1], way)
        for path in paths:
            path.write_bytes(merged)


def merged_bytes(ours: Path, theirs: Path, way: str) -> bytes:
    if way == "driver":
        return merge_lines(str(ours), str(theirs))
    left, right = ours.read_bytes(), theirs.read_bytes()
    if way == "union":
        return b"".join(dict.fromkeys([*left.splitlines(keepends=True), *right.splitlines(keepends=True)]))
    if left == right:
        return left
    return b"<<<<<<< HEAD\n" + left + b"=======\n" + right + b">>>>>>> other\n"


@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
@given(shared=steps, left=steps, right=steps, later=steps, way=st.sampled_from(WAYS), turned=st.booleans())
def test_two_clones_come_to_the_same_bytes(
    shared: Any, left: Any, right: Any, later: Any, way: str, turned: bool
) -> None:
    with folder() as place:
        clock = Clock()
        one, other = Clone(place / "one", clock), Clone(place / "other", clock)
        play(one, shared, "base")
        meet(one, other, "driver")
        other.sync()
        for mine, theirs in ((left, right), (later, [])):
            play(one, mine, "left")
            play(other, theirs, "right")
            known = [facts(clone) for clone in (one, other)]
            clock.now += 10 * DAY_S  # confirmations of days to come have happened
            pair = (other, one) if turned else (one, other)
            meet(*pair, way)
            for clone in pair:
                clone.sync()
            check(one, other, known)


def facts(clone: Clone) -> dict[str, dict[str, Any]]:
    with clone.open() as lore:
        return {
            memory.id: {
                "memory": memory,
                "where": {item.where for item in as_claimed(memory).confirmed_by},
                "tags": set(memory.tags),
                "changed": max(memory.updated_at, memory.forgotten_at or 0.0),  # the later act counts
            }
            for memory in lore.list(status="any", limit=999)
        }


def check(one: Clone, other: Clone, known: list[dict[str, dict[str, Any]]]) -> None:
    """Same bytes, the union of ids and evidence, the newest content, and no churn."""
    assert one.content() == other.content()
    for clone in (one, other):
        found = facts(clone)
        lines = {line["id"] for line in clone.lines()} | hidden(clone)
        for before in known:
            for id, fact in before.items():
                assert id in found or fact["memory"].forgotten_at is not None
                assert id in lines or fact["memory"].forgotten_at is not None
                if id in found:
                    assert fact["where"] <= found[id]["where"]
                    assert fact["tags"] <= found[id]["tags"]
        for id in set(known[0]) & set(known[1]):
            newest = max((side[id] for side in known), key=lambda fact: fact["changed"])
            older = min((side[id] for side in known), key=lambda fact: fact["changed"])
            if newest["changed"] > older["changed"]:
                gone = newest["memory"].forgotten_at is not None
                assert (found[id]["memory"].forgotten_at is not None) == gone
                if not gone:
                    assert found[id]["memory"].text == newest["memory"].text
        before = clone.content()
        assert not clone.sync().written
        assert clone.content() == before


def hidden(clone: Clone) -> set[str]:
    import json

    path = clone.root / ".swarm" / "knowledge-quarantined.jsonl"
    return {json.loads(line)["id"] for line in path.read_bytes().splitlines()} if path.exists() else set()


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(histories=st.tuples(some_erased, some_erased, some_erased), order=st.permutations([0, 1, 2]))
def test_three_clones_come_to_the_same_bytes_in_any_order(histories: Any, order: Any) -> None:
    with folder() as place:
        clock = Clock()
        clones = [Clone(place / str(number), clock, LEAD) for number in range(3)]
        play(clones[0], [("add", 1), ("add", 2)], "base")
        for clone in clones[1:]:
            meet(clones[0], clone, "driver")
            clone.sync()
        for clone, history in zip(clones, histories, strict=True):
            play(clone, history, clone.root.parent.name)
        clock.now += 10 * DAY_S
        first, second, third = (clones[number] for number in order)
        for pair in ((first, second), (second, third), (first, third), (first, second)):
            meet(*pair, "driver")
            for clone in pair:
                clone.sync()
        assert clones[0].content() == clones[1].content() == clones[2].content()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(left=steps, right=steps)
def test_the_driver_does_not_care_who_is_ours(left: Any, right: Any) -> None:
    with folder() as place:
        one, other = Clone(place / "one"), Clone(place / "other")
        play(one, left, "left")
        play(other, right, "right")
        for clone in (one, other):
            clone.file.touch()
        assert merge_lines(str(one.file), str(other.file)) == merge_lines(str(other.file), str(one.file))
        assert merge_lines(str(one.file), str(one.file)) == one.file.read_bytes()


# With git itself


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Clone]:
    """Two clones of one repository, with a ledger in it."""
    ours = os.path.dirname(sys.executable)  # where swarmlore is: git has to do without
    monkeypatch.setenv("PATH", os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if part != ours))
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    clock = Clock()
    clones = []
    for name in ("one", "other"):
        place = tmp_path / name
        place.mkdir()
        git(place, "clone", "-q", str(tmp_path / "origin.git"), "work")
        clones.append(Clone(place, clock, LEAD))
    clones[0].remember("The linter runs with make lint before each push")
    publish(clones[0], "first")
    (clones[1].root / ".swarm" / ".gitattributes").unlink()
    (clones[1].root / ".swarm" / ".gitignore").unlink()
    git(clones[1].root, "pull", "-q", "origin", "main")
    clones[1].sync()
    return clones


def publish(clone: Clone, message: str) -> None:
    clone.git("add", "-A")
    clone.git("commit", "-q", "-m", message)
    clone.git("push", "-q", "origin", "HEAD:main")


def work_apart(one: Clone, other: Clone) -> None:
    """Both add, both change the same memory, one forgets another."""
    for clone, name in ((one, "left"), (other, "right")):
        play(clone, [("add", 1), ("add", 2), ("edit", 0), ("confirm", 0), ("forget", 1)], name)
        clone.git("add", "-A")
        clone.git("commit", "-q", "-m", name)
    one.clock.now += 10 * DAY_S  # the clones share a clock; confirmations of days to come have happened


def test_with_the_driver_git_merges_without_a_conflict(team: list[Clone]) -> None:
    one, other = team
    work_apart(one, other)
    ids = {line["id"] for clone in team for line in clone.lines()}
    one.git("push", "-q", "origin", "HEAD:main")
    other.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    merged = other.file.read_bytes()
    assert not other.sync().written
    other.git("push", "-q", "origin", "HEAD:main")
    one.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert not one.sync().written
    assert one.file.read_bytes() == other.file.read_bytes() == merged
    assert {line["id"] for line in one.lines()} == ids
    assert one.git("status", "--porcelain").stdout == ""


def test_without_the_driver_a_conflict_is_read_from_both_sides(team: list[Clone]) -> None:
    one, other = team
    for clone in team:
        clone.git("config", "--remove-section", "merge.swarmlore")
    work_apart(one, other)
    ids = {line["id"] for clone in team for line in clone.lines()}
    one.git("push", "-q", "origin", "HEAD:main")
    pulled = other.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main", check=False)
    assert pulled.returncode
    assert b"<<<<<<<" in other.file.read_bytes()
    report = other.sync()
    assert {item.reason for item in report.set_aside} == {"a conflict marker"}
    other.git("add", "-A")
    other.git("commit", "-q", "-m", "merged")
    other.git("push", "-q", "origin", "HEAD:main")
    one.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    one.sync()
    assert one.file.read_bytes() == other.file.read_bytes()
    assert {line["id"] for line in one.lines()} == ids
    assert one.git("status", "--porcelain").stdout == ""


def pull_apart(one: Clone, other: Clone) -> set[str]:
    """Both have worked apart, and the other one pulls; every id that either has."""
    work_apart(one, other)
    ids = {line["id"] for clone in (one, other) for line in clone.lines()}
    one.git("push", "-q", "origin", "HEAD:main")
    other.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main", check=False)
    return ids


def finish(one: Clone, other: Clone, ids: set[str]) -> None:
    """What was merged is the same everywhere and misses nothing."""
    other.git("add", "-A")
    other.git("commit", "-q", "--allow-empty", "-m", "merged")
    other.git("push", "-q", "origin", "HEAD:main")
    one.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    one.sync()
    assert one.file.read_bytes() == other.file.read_bytes()
    assert {line["id"] for line in one.lines()} == ids
    assert one.git("status", "--porcelain").stdout == ""


def test_a_driver_that_is_gone_keeps_the_lines_of_both_sides(team: list[Clone]) -> None:
    one, other = team
    driver = other.git("config", "merge.swarmlore.driver").stdout.strip()
    other.git("config", "merge.swarmlore.driver", driver.replace(sys.executable, "/gone/python"))
    ids = pull_apart(one, other)
    assert other.git("ls-files", "-u").stdout == ""
    assert {line["id"] for line in other.lines()} == ids
    other.sync()
    finish(one, other, ids)


@pytest.mark.parametrize("way", ["sync", "looking, then a change"])
def test_a_merge_that_left_one_side_only_is_read_from_gits_index(team: list[Clone], way: str) -> None:
    one, other = team
    other.git("config", "merge.swarmlore.driver", "swarmlore-of-another-path merge-driver %O %A %B %P")
    ids = pull_apart(one, other)
    assert other.git("ls-files", "-u").stdout
    assert b"<<<<<<<" not in other.file.read_bytes()
    assert {line["id"] for line in other.lines()} < ids  # as git leaves it
    if way == "sync":
        assert other.sync().added
    else:
        left = other.file.read_bytes()
        with other.open() as lore:
            assert ids <= {memory.id for memory in lore.list(status="any", limit=99)} | {
                line["id"] for line in other.lines() + one.lines() if "deleted_at" in line
            }
            assert other.file.read_bytes() == left
            ids.add(lore.remember("The staging database listens on port 5432").memory.id)
    finish(one, other, ids)


def test_nothing_of_the_repository_is_taken_for_the_driver(team: list[Clone]) -> None:
    one, other = team
    (other.root / "swarmlore").mkdir()
    (other.root / "swarmlore" / "__init__.py").write_text("")
    (other.root / "swarmlore" / "__main__.py").write_text("open('ran', 'w')")
    ids = pull_apart(one, other)
    assert not (other.root / "ran").exists()
    assert {line["id"] for line in other.lines()} == ids


def test_an_older_branch_loses_nothing(team: list[Clone]) -> None:
    one, _ = team
    one.git("checkout", "-q", "-b", "feature")
    id = one.remember("The feature flag service listens on port 9999")
    one.git("commit", "-q", "-am", "feature")
    one.git("checkout", "-q", "main")
    assert one.sync().restored == 1
    with one.open() as lore:
        assert lore.get(id).live


def test_looking_at_an_older_commit_leaves_the_work_tree_clean(team: list[Clone]) -> None:
    one, other = team
    for number in range(3):
        one.remember(f"Service {number * 7919} listens on port {2000 + number * 13}")
        publish(one, f"lesson {number}")
    whole = one.file.read_bytes()
    one.git("checkout", "-q", "HEAD~2")
    older = one.file.read_bytes()
    with one.open() as lore:
        assert len(lore.list()) == 4
        lore.recall("which port")
        lore.block("which port", session="s")
    assert one.file.read_bytes() == older
    assert one.git("status", "--porcelain").stdout == ""
    one.git("checkout", "-q", "main")
    with one.open() as lore:
        assert len(lore.list()) == 4
    assert not one.sync().written
    assert one.file.read_bytes() == whole
    one.git("checkout", "-q", "HEAD~2")
    with one.open() as lore:
        lore.list()
        lore.remember("The feature flag service listens on port 9999")
    assert len(one.lines()) == 5  # a change puts back what the older commit misses
    one.git("stash", "-q")
    one.git("checkout", "-q", "main")
    one.sync()
    publish(one, "all")
    other.git("pull", "-q", "origin", "main")
    with other.open() as lore:
        assert len(lore.list()) == 5
    assert not other.sync().written
    assert one.content() == other.content()


def test_a_deletion_that_was_only_looked_at_holds_on_an_older_branch(team: list[Clone]) -> None:
    one, other = team
    id = one.remember("The feature flag service listens on port 9999")
    publish(one, "lesson")
    with one.open() as lore:
        lore.forget(id)
    publish(one, "forgotten")
    other.git("pull", "-q", "origin", "main")
    # The deletion of a line that was never seen here, the line, and the deletion again.
    for commit in ("main", "HEAD~1", "main"):
        other.git("checkout", "-q", commit)
        with other.open() as lore:
            assert id not in {memory.id for memory in lore.list(status="any")}
        assert other.git("status", "--porcelain").stdout == ""
    assert not other.sync().written


def test_what_was_erased_in_one_clone_leaves_nothing_in_the_lines_of_any(team: list[Clone]) -> None:
    one, other = team
    id = one.remember("The feature flag service listens on port 9999", tags=["secretive"])
    publish(one, "lesson")
    other.git("pull", "-q", "origin", "main")
    other.sync()
    with one.open() as lore:
        lore.forget(id, erase=True)
    publish(one, "erased")
    (line,) = [line for line in one.lines() if line["id"] == id]
    assert set(line) == {"id", "status", "deleted_at", "erased"}
    other.git("pull", "-q", "origin", "main")
    assert not other.sync().written
    other.remember("The staging database listens on port 5432")
    assert line in other.lines()
    assert b"secretive" not in other.file.read_bytes()
    with other.open() as lore:
        assert id not in {memory.id for memory in lore.list()}
        assert lore.get(id).tags == ("secretive",)  # hidden there, as the manual says
        lore.forget(id, erase=True)
    publish(other, "erased too")
    for clone in (one, other, one):
        clone.git("pull", "-q", "origin", "main")
        assert not clone.sync().written
    assert one.content() == other.content()


def test_an_erasure_holds_against_a_later_change_elsewhere(team: list[Clone]) -> None:
    one, other = team
    id = one.lines()[0]["id"]
    with one.open() as lore:
        lore.forget(id, erase=True)
    publish(one, "erased")
    play(other, [("edit", 0), ("tag", 0)], "right")
    other.git("commit", "-q", "-am", "edited")
    other.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert not other.sync().written
    assert other.content() == one.content()
    with other.open() as lore:
        assert lore.list() == ()


def test_the_driver_keeps_what_is_no_record_and_merges_the_refused_ones(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "a", tmp_path / "b"
    ours.write_bytes(b'{"id":"1","lesson":"x"}\nplain words\n')
    theirs.write_bytes(b"plain words\nother words\n")
    merge_files(str(ours), str(theirs))
    assert ours.read_bytes().splitlines()[1:] == [b"plain words", b"other words"]
    ours.write_bytes(b"".join(b'{"id":"%d","rejected_at":"2026-01-%02d"}\n' % (n, n) for n in range(10, 30)))
    theirs.write_bytes(b'{"id":"99","rejected_at":"2026-02-01"}\n')
    assert merge_files(str(ours), str(theirs), ".swarm/knowledge-rejected.jsonl") == 20
    assert b'"99"' in ours.read_bytes()
    assert b'"id":"10"' not in ours.read_bytes()
