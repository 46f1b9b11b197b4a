"""Cited code held against a real working tree, with real git."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ALICE, BOB, NOW, OTHER, a_memory, an_operation, quick_env
from swarmlore.domain.language.citations import STATES, is_stale
from swarmlore.domain.policy.ranking import default_priors, rank_down, rerank_stale
from swarmlore.domain.records import PROFILES, Caller, Citation, Cited, Draft, Hit, Memory, Part
from swarmlore.errors import InvalidInput
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import MAX_FILE_BYTES, Budget, CitationCheck, Tree, Unreadable
from swarmlore.workspace.git import commits_of, file_at, head_commit

CODE = "".join(f"def step_{n}(order):\n    return order.total * {n}\n\n\n" for n in range(30))
LESSON = "Totals are multiplied by the step, never by the rate"
ADDED = ("words", "meaning", "pieces", "situation", "chance")


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "orders.py").write_text(CODE)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def open_in(project: Path, caller: Caller = ALICE) -> Lore:
    return Lore.open(project.parent / "home", cwd=project, caller=caller, env=quick_env())


@pytest.fixture
def lore(project: Path) -> Iterator[Lore]:
    with open_in(project) as opened:
        yield opened


def write(project: Path, text: str) -> None:
    (project / "src" / "orders.py").write_text(text)


def states(lore: Lore, question: str = "totals multiplied") -> list[tuple[str, int, int]]:
    (hit,) = lore.recall(question)
    return [(cited.state, cited.first_line, cited.last_line) for cited in hit.cited]


# What becomes of cited code


def test_recall_says_what_became_of_cited_code(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    assert states(lore) == [("unchanged", 5, 6)]
    write(project, "import os\n" + CODE)
    assert states(lore) == [("moved", 6, 7)]
    write(project, CODE.replace("total * 1\n", "total * 1.0\n"))
    assert states(lore) == [("changed", 0, 0)]
    (project / "src" / "orders.py").unlink()
    assert states(lore) == [("gone", 0, 0)]
    write(project, CODE)
    assert states(lore) == [("unchanged", 5, 6)]


def test_a_citation_without_lines_is_about_the_whole_file(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py"])
    assert states(lore) == [("unchanged", 0, 0)]
    write(project, CODE.replace("\n", "\r\n"))
    assert states(lore) == [("unchanged", 0, 0)]
    write(project, CODE + "# more\n")
    assert states(lore) == [("changed", 0, 0)]


def test_a_citation_holds_place_mark_and_commit(lore: Lore, project: Path) -> None:
    memory = lore.remember(LESSON, citations=["./src/orders.py:5-6"]).memory
    (citation,) = lore.get(memory.id).citations
    assert (citation.path, citation.first_line, citation.last_line) == ("src/orders.py", 5, 6)
    assert citation.commit == git(project, "rev-parse", "HEAD")
    assert citation == Tree(str(project)).cite("src/orders.py:5-6")


def test_a_file_that_changes_within_one_tick_of_its_clock_is_noticed(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    path = project / "src" / "orders.py"
    facts = path.stat()
    for _ in range(20):
        write(project, CODE.replace("step_1(", "stop_1("))  # as long as before
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        assert states(lore)[0][0] == "changed"
        write(project, CODE)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        assert states(lore)[0][0] == "unchanged"


# Rank and words


def test_changed_code_ranks_a_memory_down_and_the_explanation_adds_up(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, id="stale", citations=["src/orders.py:5-6"])
    lore.remember("Totals are multiplied by the step, as the rate never was", id="fresh", source="note")
    write(project, CODE.replace("step_1(", "first_step("))
    hits = {hit.memory.id: hit for hit in lore.recall("totals multiplied by the step")}
    assert [part.name for part in hits["stale"].explanation][-1] == "freshness"
    for hit in hits.values():
        added = math.fsum(part.value for part in hit.explanation if part.name in ADDED)
        factors = math.prod(part.value for part in hit.explanation if part.name not in ADDED)
        assert hit.score == pytest.approx(added * factors)
    assert list(hits) == sorted(hits, key=lambda id: -hits[id].score)


def test_of_two_equal_memories_the_one_with_changed_code_comes_second(lore: Lore, project: Path) -> None:
    for number in (1, 2):
        lore.remember(f"Handle{number} of ledgers rotates nightly, order {number}", id=f"m{number}",
                      citations=[f"src/orders.py:{4 * number + 1}"])  # fmt: skip
    question = "ledgers rotates nightly order"
    before = [hit.memory.id for hit in lore.recall(question)]
    write(project, CODE.replace(f"step_{before[0][1:]}(", "renamed("))
    after = lore.recall(question)
    assert [hit.memory.id for hit in after] == before[::-1]
    assert [is_stale(hit.cited) for hit in after] == [False, True]


@pytest.mark.parametrize("profile", [name for name in PROFILES if name not in ("default", "lane")])
def test_the_other_profiles_keep_their_scores_and_show_the_mark(lore: Lore, project: Path, profile: str) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    (before,) = lore.recall("totals multiplied", profile=profile)
    write(project, "changed\n")
    (after,) = lore.recall("totals multiplied", profile=profile)
    assert [cited.state for cited in after.cited] == ["changed"]
    assert after.explanation == before.explanation or profile in ("swarm", "learnings")  # those count the seconds
    assert after.score == pytest.approx(before.score, rel=1e-4)


@pytest.mark.parametrize(
    ("state", "factor"),
    [("unchanged", 1.0), ("moved", 1.0), ("changed", 0.9), ("gone", 0.9), ("unchecked", 1.0)],
)
def test_only_changed_and_gone_code_counts_against_a_memory(state: str, factor: float) -> None:
    memory = a_memory(citations=(Citation("a.py", 1, 1),))
    nudge = default_priors(memory, NOW)
    hit = Hit(memory, 0.5 * nudge.score, (Part("words", 0.5), *nudge.parts), (Cited(memory.citations[0], state),))
    (ranked,) = rerank_stale([hit], NOW)
    assert ranked.score == pytest.approx(0.5 * nudge.score * factor)
    assert state in STATES


def test_ranking_down_looks_at_no_more_hits_than_are_asked_for() -> None:
    looked: list[float] = []

    def hits() -> Iterator[Hit]:
        for score in (9.0, 8.0, 7.5, 1.0, 0.5):
            looked.append(score)
            memory = a_memory(citations=(Citation("a.py", 1, 1),))
            yield Hit(memory, score, default_priors(memory, NOW).parts, (Cited(memory.citations[0], "changed"),))

    ranked = rerank_stale(hits(), NOW)
    assert [round(next(ranked).score, 2) for _ in range(2)] == [8.1, 7.2]
    assert looked == [9.0, 8.0, 7.5, 1.0]


@given(st.lists(st.tuples(st.floats(0.01, 5), st.booleans()), max_size=12))
def test_hits_come_in_the_order_of_their_final_scores(drawn: list[tuple[float, bool]]) -> None:
    memory = a_memory(citations=(Citation("a.py", 1, 1),))
    nudge = default_priors(memory, NOW)
    hits = [
        Hit(memory, relevance * nudge.score, nudge.parts, (Cited(memory.citations[0], "gone" if gone else "moved"),))
        for relevance, gone in sorted(drawn, reverse=True)
    ]
    expected = [rank_down(hit, NOW) if is_stale(hit.cited) else hit for hit in hits]
    ranked = list(rerank_stale(hits, NOW))
    assert [hit.score for hit in ranked] == sorted((hit.score for hit in expected), reverse=True)
    assert sorted(map(repr, ranked)) == sorted(map(repr, expected))


def test_priors_stay_within_their_bounds_when_code_has_changed() -> None:
    worst = a_memory(kind="gap", confidence=0.0, feedback_score=0.01, created_at=1.0)
    hit = Hit(worst, default_priors(worst, NOW).score, default_priors(worst, NOW).parts)
    assert rank_down(hit, NOW).score >= 0.7


@pytest.mark.parametrize("profile", ["default", "knowledge"])
def test_the_block_marks_changed_code(lore: Lore, project: Path, profile: str) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    assert "cited code" not in lore.block("totals multiplied by the step", profile=profile).text
    write(project, "")
    assert "cited code has changed)" in lore.block("totals multiplied by the step", profile=profile).text


def test_the_block_follows_moved_code(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    write(project, "import os\n" + CODE)
    text = lore.block("totals multiplied by the step").text
    assert "; cited code is now at src/orders.py:6-7)" in text


# Citing


def test_places_named_in_a_lesson_are_cited(lore: Lore, project: Path) -> None:
    text = f"Totals see src/orders.py:5-6, not src/none.py:3, localhost:8080 or {project}/src/orders.py:9"
    found = lore.remember(text).memory.citations
    assert [(item.path, item.first_line, item.last_line) for item in found] == [
        ("src/orders.py", 5, 6),
        ("src/orders.py", 9, 9),
    ]


def test_a_named_place_never_fails_a_lesson(lore: Lore, project: Path) -> None:
    (project / "link.py").symlink_to(project / "src" / "orders.py")
    (project / "dir.py").mkdir()
    for place in ("src/orders.py:500", "src/orders.py:3", "link.py:1", "dir.py:1", "../project/src/orders.py:1"):
        assert (
            lore.remember(f"The build of module {place.replace('/', ' ')} breaks, see {place}").memory.citations == ()
        )


def test_a_lesson_cites_eight_places_at_most(lore: Lore) -> None:
    text = "Steps: " + " ".join(f"src/orders.py:{4 * n + 1}" for n in range(12))
    assert len(lore.remember(text).memory.citations) == 8
    both = lore.remember(text.replace("Steps", "Other stations of it"), citations=["src/orders.py:50"]).memory.citations
    assert len(both) == 8
    assert both[0].first_line == 50
    with pytest.raises(InvalidInput, match="too many"):
        lore.remember(LESSON, citations=["src/orders.py:1"] * 9)


@pytest.mark.parametrize(
    "asked", ["src/none.py:3", "src/orders.py:500", "src/orders.py:3", "/etc/passwd", "../x.py", "src", "a\0b", ""]
)
def test_what_cannot_be_cited_is_refused_and_nothing_is_stored(lore: Lore, asked: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        lore.remember(LESSON, citations=[asked])
    assert refused.value.hint
    assert lore.list() == ()


@pytest.mark.parametrize("wrong", ["src/orders.py", 3, [3], [None], [Citation("../x", 1, 1)]])
def test_citations_are_a_list_of_texts(lore: Lore, wrong: object) -> None:
    with pytest.raises(InvalidInput):
        lore.remember(LESSON, citations=wrong)


def test_texts_from_elsewhere_or_of_the_past_cite_nothing_by_themselves(lore: Lore) -> None:
    text = "Totals are multiplied in src/orders.py:5-6 only"
    for facts in ({"source": "import"}, {"created_at": NOW - 10**6}, {"source": "transcript"}):
        assert lore.remember(f"{text} {facts}", **facts).memory.citations == ()


def test_citations_made_elsewhere_are_kept(lore: Lore, project: Path) -> None:
    foreign = Citation("lib/other.py", 3, 9, "sha1:abc", "0" * 40)
    assert lore.remember(LESSON, citations=[foreign]).memory.citations == (foreign,)
    assert states(lore) == [("unchecked", 0, 0)]


def test_a_secret_in_a_path_is_not_stored(lore: Lore, project: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (project / f"{secret[:40]}.py").write_text("x = 1\n")
    with pytest.raises(InvalidInput):
        lore.remember(LESSON, citations=[f"{secret[:40]}.py:1"])


def test_saying_it_again_cites_anew(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    write(project, CODE.replace("step_1(", "first_step("))
    assert states(lore) == [("changed", 0, 0)]
    told = lore.remember(LESSON, citations=["src/orders.py:5-6", "src/orders.py:9"])
    assert told.outcome == "confirmed"
    assert states(lore) == [("unchanged", 5, 6), ("unchanged", 9, 9)]


def test_many_drafts_may_cite_and_a_bad_place_refuses_only_its_own(lore: Lore) -> None:
    drafts = [
        Draft("Totals are multiplied by the step", citations=("src/orders.py:5",)),
        Draft("Ledgers rotate at night in the cellar", citations=("none.py:5",)),
    ]
    done = lore.remember_many(drafts)
    assert (done.stored, [number for number, _ in done.rejected]) == (1, [2])


# Whose code


def test_another_projects_memories_are_not_checked(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, tier="hive", citations=["src/orders.py:5-6"])
    with open_in(project, OTHER) as other:
        assert states(other) == [("unchecked", 0, 0)]
        assert other.stale() == ()
    assert states(lore) == [("unchanged", 5, 6)]


# Safety


def test_no_link_on_the_way_is_followed(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("token = 1\n")
    (project / "link.py").symlink_to(outside / "secret.py")
    (project / "folder").symlink_to(outside)
    (project / "inner").symlink_to(project / "src")
    tree = Tree(str(project))
    for path in ("link.py", "folder/secret.py", "inner/orders.py"):
        with pytest.raises(Unreadable, match="symbolic link"):
            tree.read(path)
        with pytest.raises(InvalidInput, match="symbolic link"):
            tree.cite(f"{path}:1")


def test_a_cited_file_that_became_a_link_is_gone(lore: Lore, project: Path, tmp_path: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    copy = tmp_path / "copy.py"
    (project / "src" / "orders.py").rename(copy)
    (project / "src" / "orders.py").symlink_to(copy)
    (hit,) = lore.recall("totals multiplied")
    assert [(cited.state, cited.note) for cited in hit.cited] == [("gone", "a symbolic link leads there")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_a_folder_and_a_huge_file_keep_nobody_waiting(lore: Lore, project: Path) -> None:
    path = project / "src" / "orders.py"
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    path.unlink()
    os.mkfifo(path)
    assert states(lore)[0][0] == "gone"
    path.unlink()
    path.mkdir()
    assert states(lore)[0][0] == "gone"
    path.rmdir()
    with path.open("wb") as file:
        file.truncate(50 * MAX_FILE_BYTES)
    assert states(lore)[0][0] == "unchecked"
    with pytest.raises(InvalidInput, match="larger"):
        lore.remember("Ledgers rotate at night in the cellar", citations=["src/orders.py"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything")
def test_an_unreadable_file_is_gone(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    (project / "src" / "orders.py").chmod(0)
    assert states(lore)[0][0] == "gone"


@pytest.mark.parametrize(
    "hostile",
    [
        *(Citation("../secret", 1, 1), Citation("/etc/passwd", 1, 1), Citation(".git/config", 1, 1)),
        *(Citation("src/orders.py", -5, 10**12), Citation("src/orders.py", 5, 6, "nonsense")),
        *(Citation("src/orders.py", "x", "y"), Citation(7), Citation("a\0b", 1, 1)),  # type: ignore[arg-type]
    ],
)
def test_hostile_citations_are_not_looked_up(project: Path, hostile: Citation) -> None:
    good = Tree(str(project)).cite("src/orders.py:5-6").span_hash
    for citation in (hostile, replace(hostile, span_hash=hostile.span_hash or good)):
        look = CitationCheck(Tree(str(project)), lambda _: True)
        assert look.check(citation).state == "unchecked"


def test_one_look_keeps_to_its_budget(project: Path) -> None:
    tree = Tree(str(project))
    for number in range(4):
        (project / f"m{number}.py").write_text(CODE)
    cited = tuple(tree.cite(f"m{number}.py:{line}") for number in range(4) for line in (1, 5, 9))
    memory = a_memory(citations=cited)
    by_count = CitationCheck(tree, lambda _: True, Budget(citations=5)).cited(memory)
    assert [item.state for item in by_count] == ["unchanged"] * 5 + ["unchecked"] * 7
    by_size = CitationCheck(tree, lambda _: True, Budget(bytes=2 * len(CODE))).cited(memory)
    assert [item.state for item in by_size] == ["unchanged"] * 6 + ["unchecked"] * 6


def test_a_settled_file_is_read_once_for_many_looks(project: Path) -> None:
    tree = Tree(str(project))
    citation = tree.cite("src/orders.py:5-6")
    time.sleep(1.1)  # younger files are always read again
    assert CitationCheck(tree, lambda _: True).check(citation).state == "unchanged"
    known = CitationCheck(tree, lambda _: True, Budget(bytes=0)).check(citation)  # nothing may be read any more
    assert known.state == "unchanged"
    write(project, CODE + "\n")
    assert CitationCheck(tree, lambda _: True, Budget(bytes=0)).check(citation).state == "unchecked"


# Git


def test_the_commit_is_read_from_gits_files(project: Path, tmp_path: Path) -> None:
    head = git(project, "rev-parse", "HEAD")
    assert head_commit(str(project)) == head
    git(project, "pack-refs", "--all")
    assert not (project / ".git" / "refs" / "heads" / "main").exists()
    assert head_commit(str(project)) == head
    git(project, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "commit", "-q", "--allow-empty", "-m", "on the side")
    assert head_commit(str(tmp_path / "side")) == git(tmp_path / "side", "rev-parse", "HEAD") != head
    assert head_commit(str(project)) == head
    git(project, "checkout", "-q", "--detach")
    assert head_commit(str(project)) == head
    git(tmp_path, "clone", "-q", "--bare", str(project), "bare.git")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "bare.git"), "sub")
    assert head_commit(str(project / "sub")) == git(project / "sub", "rev-parse", "HEAD")


@pytest.mark.parametrize("head", ["ref: refs/heads/none", "ref: ../../secret", "nonsense", "", "ref: refs/../../../x"])
def test_a_strange_head_is_no_commit(project: Path, head: str) -> None:
    (project.parent / "secret").write_text("0" * 40)
    (project / ".git" / "HEAD").write_text(head)
    assert head_commit(str(project)) == ""


def test_without_git_there_is_no_commit_but_still_a_check(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "orders.py").write_text(CODE)
    with open_in(folder) as lore:
        assert lore.remember(LESSON, citations=["src/orders.py:5-6"]).memory.citations[0].commit == ""
        write(folder, "")
        (found,) = lore.stale()
        assert (found.cited[0].state, found.cited[0].diff) == ("changed", "")
        assert "not known" in found.cited[0].note


def test_a_repository_cannot_have_its_commands_run(project: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    commit = git(project, "rev-parse", "HEAD")
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "gpg.program", "core.gitProxy"):
        git(project, "config", name, str(script))
    for name, value in (("remote.origin.url", f"ext::{script}"), ("remote.origin.promisor", "true"),
                        ("extensions.partialClone", "origin"), ("log.showSignature", "true"),
                        ("protocol.ext.allow", "always"), ("core.repositoryFormatVersion", "1")):  # fmt: skip
        git(project, "config", name, value)
    assert file_at(str(project), commit, "src/orders.py", 10**6) == CODE.encode()
    assert file_at(str(project), "1" * 40, "src/orders.py", 10**6) is None
    assert commits_of(str(project), "", "src/orders.py") == [commit]
    assert not ran.exists()


def test_former_files_are_limited_in_size_and_named_by_commits_only(project: Path) -> None:
    commit = git(project, "rev-parse", "HEAD")
    assert file_at(str(project), commit, "src/orders.py", 10) is None
    assert file_at(str(project), "HEAD", "src/orders.py", 10**6) is None
    assert file_at(str(project), commit, "none.py", 10**6) is None


# What is stale


def test_stale_lists_changed_and_gone_code_with_a_diff(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, id="changed", citations=["src/orders.py:5-6"])
    lore.remember("Ledgers rotate at night in the cellar", id="moved", citations=["src/orders.py:41-42"])
    lore.remember("Uncited words about the weather in March", id="plain")
    assert lore.stale() == ()
    write(project, "import os\n" + CODE.replace("total * 1\n", "total * 1.0  # exact\n"))
    (found,) = lore.stale()
    (cited,) = found.cited
    assert (found.memory.id, cited.state, cited.first_line, cited.last_line) == ("changed", "changed", 6, 7)
    commit = git(project, "rev-parse", "--short=10", "HEAD")
    assert cited.diff.splitlines() == [
        f"--- src/orders.py:5-6 at {commit}",
        "+++ src/orders.py:6-7 now",
        "@@ -1,2 +1,2 @@",
        " def step_1(order):",
        "-    return order.total * 1",
        "+    return order.total * 1.0  # exact",
    ]
    assert [item.memory.id for item in lore.stale(moved=True)] == ["changed", "moved"]
    (project / "src" / "orders.py").unlink()
    gone = lore.stale()
    assert [[cited.state for cited in item.cited] for item in gone] == [["gone"], ["gone"]]
    assert "-def step_1(order):" in gone[0].cited[0].diff


def test_code_that_was_cited_before_it_was_committed_has_its_diff_too(lore: Lore, project: Path) -> None:
    write(project, CODE.replace("step_1(", "fresh_step("))
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    git(project, "commit", "-q", "-a", "-m", "second")
    write(project, CODE.replace("step_1(", "last_step("))
    git(project, "commit", "-q", "-a", "-m", "third")
    (found,) = lore.stale()
    assert "-def fresh_step(order):\n+def last_step(order):" in found.cited[0].diff


def test_code_that_git_never_saw_is_said_to_be_unknown(lore: Lore, project: Path) -> None:
    write(project, CODE.replace("step_1(", "fresh_step("))
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    write(project, CODE)
    (found,) = lore.stale()
    assert (found.cited[0].diff, "not known" in found.cited[0].note) == ("", True)


def test_a_diff_shows_no_secret_and_no_end_of_lines(lore: Lore, project: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    write(project, CODE.replace("total * 1\n", f"total * 1  # token {secret[:40]} {'x' * 10_000}\n"))
    diff = lore.stale()[0].cited[0].diff
    assert secret[:40] not in diff
    assert max(map(len, diff.splitlines())) < 400


def test_following_records_the_new_lines_in_one_operation_that_can_be_undone(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, id="one", citations=["src/orders.py:5-6"])
    lore.remember("Ledgers rotate at night in the cellar", id="two", citations=["src/orders.py:41-42"])
    before = {memory.id: memory.citations for memory in lore.list()}
    write(project, "import os\n" + CODE)
    assert {memory.id for memory in lore.follow()} == {"one", "two"}
    assert states(lore) == [("unchanged", 6, 7)]
    assert lore.get("one").citations == (Tree(str(project)).cite("src/orders.py:6-7"),)
    assert lore.follow() == ()
    assert lore.history("one")[-1].action == "followed"
    lore.undo()
    assert {memory.id: memory.citations for memory in lore.list()} == before


def test_only_ones_own_memories_are_followed_but_all_are_listed(lore: Lore, project: Path) -> None:
    lore.remember(LESSON, citations=["src/orders.py:5-6"])
    write(project, "import os\n" + CODE)
    with open_in(project, BOB) as other:
        assert len(other.stale(moved=True)) == 1
        assert other.follow() == ()


def test_recall_writes_nothing_when_code_has_moved(lore: Lore, project: Path) -> None:
    memory = lore.remember(LESSON, citations=["src/orders.py:5-6"]).memory
    write(project, "import os\n" + CODE)
    lore.recall("totals multiplied")
    lore.block("totals multiplied by the step")
    now = lore.store.get(ALICE, memory.id)
    assert now is not None
    assert replace(now, outcomes=memory.outcomes) == memory  # that it was shown is counted


def test_forgotten_and_superseded_memories_are_not_stale(lore: Lore, project: Path) -> None:
    memory: Memory = lore.remember(LESSON, citations=["src/orders.py:5-6"]).memory
    write(project, "")
    assert len(lore.stale()) == 1
    lore.forget(memory.id)
    assert lore.stale() == ()


def test_the_store_lists_live_visible_memories_that_cite(store: Store) -> None:
    citation = Citation("a.py", 3, 9, "m", "c")
    memories = [
        a_memory(id="cites", citations=(citation,)),
        a_memory("Another thing is said here", id="plain", extra={"citations": [1]}),
        a_memory("A private thing is said here", BOB, id="private", tier="agent", citations=(citation,)),
        a_memory("A foreign thing is said here", OTHER, id="foreign", citations=(citation,)),
        a_memory("An archived thing is said here", id="old", status="archived", citations=(citation,)),
    ]
    for memory in memories:
        with store.operation(an_operation(Caller(memory.project, memory.owner))) as operation:
            store.put(operation, memory)
    assert [memory.id for memory in store.citing(ALICE)] == ["cites"]
    assert [memory.id for memory in store.citing(BOB)] == ["cites", "private"]


def test_more_citing_memories_than_one_page_are_listed(lore: Lore) -> None:
    citation = Tree(str(lore.project.root)).cite("src/orders.py:5")
    done = lore.remember_many(
        Draft(f"Service s{n * 31} listens on port {2000 + n * 13}, file {n * 7919}", citations=(citation,))
        for n in range(620)
    )
    assert len(list(lore.store.citing(ALICE))) == done.stored > 500


# Against git's own judgement


def bench() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "freshness.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location("bench_freshness", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(path.parent))


def test_a_replayed_history_is_judged_as_git_log_judges_it(tmp_path: Path) -> None:
    import random

    rng = random.Random(11)
    project = tmp_path / "history"
    project.mkdir()
    git(project, "init", "-q")
    lines = [f"value_{number} = compute({number * 7919})" for number in range(120)]
    for step in range(12):
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(lines))
            match rng.choice(("add", "remove", "change")):
                case "add":
                    lines[at:at] = [f"added_{rng.randrange(10**6)} = {step}" for _ in range(rng.randint(1, 4))]
                case "remove":
                    del lines[at : at + rng.randint(1, 3)]
                case "change":
                    lines[at] += f"  # {step}"
        (project / "values.py").write_text("\n".join(lines) + "\n")
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", f"step {step}")
    found = bench().replay(project, commits=12, origins=2, spans=40)
    assert found["wrong"] == []
    assert all(found[state]["cases"] > 20 for state in ("unchanged", "moved", "changed"))
