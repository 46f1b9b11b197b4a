"""The files of `.beads/memory/`: what is added, rotated, read and told, with real processes and real kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Run, process
from repositories import a_repository, git
from swarmlore.domain.extraction.learned_comments import BeadLesson
from swarmlore.exchange import beads
from swarmlore.exchange.beads import capture_learned, read_knowledge, session_text
from swarmlore.exchange.ledger_setup import CONTENT, write_recall_script
from swarmlore.lore import Lore
from swarmlore.workspace.files import Folder

NOW = 1_800_000_000
linked = pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
SECRET = "ghp_" + "Zk3vQ9xL2mN8pR4tW7yB1cD5fG6hJ0sA2eUi"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with beads."""
    (tmp_path / "app" / ".beads").mkdir(parents=True)
    return tmp_path / "app"


def active(root: Path) -> Path:
    return root / ".beads" / "memory" / "knowledge.jsonl"


def archive(root: Path) -> Path:
    return root / ".beads" / "memory" / "knowledge.archive.jsonl"


def a_line(number: int, **fields: Any) -> str:
    values = {"key": f"learned-n-{number}", "type": "learned", "content": f"n {number}", "source": "orchestrator"}
    return json.dumps({**values, "tags": ["learned"], "ts": NOW + number, "bead": "BD-1", **fields}) + "\n"


def fill(root: Path, count: int, first: int = 0) -> None:
    active(root).parent.mkdir(exist_ok=True)
    active(root).write_text("".join(map(a_line, range(first, first + count))))


def capture(root: Path, text: str, at: float = NOW, cwd: str = "/app") -> tuple[BeadLesson, ...]:
    return capture_learned(str(root), cwd, f"bd comment BD-1 'LEARNED: {text}'", at)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


# Adding


def test_a_lesson_is_one_line_with_the_fields_of_the_seed_in_their_order(root: Path) -> None:
    (found,) = capture(root, "The API test is slow", 1706360000.7)
    assert active(root).read_text() == (
        '{"key":"learned-the-api-test-is-slow","type":"learned","content":"The API test is slow",'
        '"source":"orchestrator","tags":["learned","api","test"],"ts":1706360000,"bead":"BD-1"}\n'
    )
    assert read_knowledge(str(root)).entries == (found,)


def test_a_project_without_beads_gets_no_folder_and_keeps_its_lessons(tmp_path: Path) -> None:
    assert [found.content for found in capture(tmp_path, "a lesson")] == ["a lesson"]
    assert list(tmp_path.iterdir()) == []


def test_an_event_that_is_told_twice_adds_nothing(root: Path) -> None:
    assert len(capture(root, "same start of a lesson", 1)) == 1
    assert capture(root, "same start of a lesson", 1) == ()
    assert capture(root, "same start of a lesson", 9) == ()
    assert len(lines(active(root))) == 1


def test_an_old_event_does_not_come_back_after_a_newer_one_with_its_key(root: Path) -> None:
    begin = "x" * 60
    assert len(capture(root, begin + " first", 1)) == 1
    assert len(capture(root, begin + " second", 2)) == 1
    assert capture(root, begin + " first", 1) == ()
    assert len(capture(root, begin + " first", 3)) == 1  # said again later: that is new
    assert [entry.content[61:] for entry in read_knowledge(str(root)).entries] == ["first", "second", "first"]


def test_no_secret_reaches_the_file(root: Path) -> None:
    capture(root, f"the token {SECRET} opens the registry")
    assert SECRET not in active(root).read_text()
    assert "[redacted:" in active(root).read_text()


def test_a_line_that_was_left_open_is_closed_before_the_next(root: Path) -> None:
    fill(root, 1)
    active(root).write_text(active(root).read_text() + '{"key":"learned-cut","conte')
    capture(root, "a lesson after it")
    known = read_knowledge(str(root))
    assert [entry.content for entry in known.entries] == ["n 0", "a lesson after it"]
    assert known.bad_lines == 1


def test_a_full_disk_leaves_no_half_line(root: Path) -> None:
    fill(root, 3)
    before = active(root).read_bytes()
    code = (
        "import resource, signal, sys\n"
        "from swarmlore.exchange.beads import add_learned\n"
        "from swarmlore.domain.extraction.learned_comments import find_bead_lessons\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 50},) * 2)\n"
        f"add_learned({str(root)!r}, find_bead_lessons('bd comment X \"LEARNED: ' + 'a lesson ' * 20 + '\"'))\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert "StoreError" in done.stderr
    assert active(root).read_bytes() == before


@linked
@pytest.mark.parametrize("place", [".beads", ".beads/memory", ".beads/memory/knowledge.jsonl"])
def test_nothing_is_written_or_read_through_a_symbolic_link(root: Path, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    (outside / "knowledge.jsonl").write_text(a_line(1))
    (outside / "memory" / "knowledge.jsonl").write_text(a_line(1))
    before = {path: path.read_bytes() for path in outside.rglob("*.jsonl")}
    link = root / place
    if place == ".beads":
        link.rmdir()
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / "knowledge.jsonl" if place.endswith("jsonl") else outside)
    assert [found.content for found in capture(root, "a lesson")] == ["a lesson"]
    assert session_text(str(root)) == ""
    assert "symbolic link" in beads.problem(str(root))
    assert {path: path.read_bytes() for path in outside.rglob("*.jsonl")} == before
    assert len(list(outside.rglob("*"))) == 3


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(root: Path) -> None:
    active(root).parent.mkdir()
    os.mkfifo(active(root))
    assert len(capture(root, "a lesson")) == 1
    assert session_text(str(root)) == ""


# Rotation


def test_one_line_above_a_thousand_moves_the_oldest_five_hundred(root: Path) -> None:
    fill(root, 999)
    capture(root, "the thousandth lesson", NOW + 2000)
    assert (len(lines(active(root))), archive(root).exists()) == (1000, False)
    capture(root, "the one that is too many", NOW + 2001)
    assert (len(lines(active(root))), len(lines(archive(root)))) == (501, 500)
    assert lines(archive(root)) == [a_line(number).strip() for number in range(500)]
    assert json.loads(lines(active(root))[-1])["content"] == "the one that is too many"
    assert read_knowledge(str(root)).archived == 500
    assert len(read_knowledge(str(root), archived=True).entries) == 1001


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("earlier", [0, 700])
def test_a_rotation_that_was_killed_is_finished_without_a_line_lost_or_doubled(
    root: Path, share: float, earlier: int
) -> None:
    fill(root, 1001, first=earlier)
    moved = "".join(lines(active(root))[number] + "\n" for number in range(500)).encode()
    before = "".join(map(a_line, range(earlier))).encode()
    archive(root).write_bytes(before + moved[: int(len(moved) * share)])
    capture(root, "the next lesson", NOW + 5000)
    assert archive(root).read_bytes() == before + moved
    assert len(lines(active(root))) == 502


def test_an_archive_that_somebody_left_open_is_closed_first(root: Path) -> None:
    fill(root, 1000)
    archive(root).write_text('{"key":"other"')
    capture(root, "the next lesson")
    assert lines(archive(root))[:2] == ['{"key":"other"', a_line(0).strip()]


@given(st.integers(0, 30), st.integers(0, 30), st.data())
def test_what_the_archive_ends_with_is_recognised_wherever_the_kill_came(
    old: int, new: int, data: st.DataObject
) -> None:
    before = "".join(map(a_line, range(old))).encode()
    moved = "".join(map(a_line, range(old, old + new))).encode()
    done = data.draw(st.integers(0, len(moved)))
    end = (before + moved[:done])[-len(moved) :] if moved else b""
    assert beads._already_there(end, moved) == done


WRITER = """
import sys
from swarmlore.exchange.beads import capture_learned
root, name = sys.argv[1:]
for number in range(100_000):
    text = f"{name} {number}"
    if not capture_learned(root, "/app", f"bd comment {name} 'LEARNED: {text}'", 1_800_000_000 + number):
        sys.exit("not new")
    print(text, flush=True)
"""


def a_writer(root: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), name], stdout=subprocess.PIPE, text=True, bufsize=1
    )


def test_writers_that_are_killed_lose_and_double_nothing_that_they_told(root: Path) -> None:
    fill(root, 1000)  # so that a rotation is never far
    told: list[str] = []
    for turn in range(6):
        writers = [a_writer(root, f"w{turn}x{number}") for number in range(2)]
        heard = [writer.stdout.readline().strip() for writer in writers if writer.stdout]  # both are at work
        for _ in range(10 + turn * 5):  # killed later each time
            heard += [writer.stdout.readline().strip() for writer in writers if writer.stdout]
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            heard += (writer.communicate()[0] or "").split("\n")
        told += [text for text in heard if text]
        fill_up(root)
    known = read_knowledge(str(root), archived=True)
    said = [entry.content for entry in known.entries if entry.content.startswith("w")]
    assert len(told) > 30
    assert known.archived >= 1000  # rotations were among the victims
    assert set(told) <= set(said)
    assert len(said) == len(set(said))


def fill_up(root: Path) -> None:
    """Bring the file to just below a rotation again."""
    missing = 998 - len(lines(active(root)))
    if missing > 0:
        base = 1_000_000 + len(lines(archive(root))) * 10
        with active(root).open("a") as file:
            file.write("".join(map(a_line, range(base, base + missing))))


def test_two_processes_at_once_write_every_line_once(root: Path) -> None:
    code = WRITER.replace("100_000", "160")
    fill(root, 700)
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(root), name], stdout=subprocess.DEVNULL)
        for name in ("a", "b")
    ]
    assert [writer.wait(120) for writer in both] == [0, 0]
    entries = read_knowledge(str(root), archived=True).entries
    for name in ("a", "b"):
        mine = [entry.content for entry in entries if entry.bead == name]
        assert mine == [f"{name} {number}" for number in range(160)]


# Reading


def test_lines_that_are_no_records_are_skipped_and_counted(root: Path) -> None:
    bad = [
        "not json",
        "[]",
        '{"key":"x"}',
        '{"content":7}',
        '{"content":"  "}',
        "<<<<<<< HEAD",
        '{"content":"a\\ud800"}',
    ]
    fill(root, 2)
    active(root).write_bytes(active(root).read_bytes() + "\n".join(bad).encode() + b"\n\n\xff\xfe\n")
    known = read_knowledge(str(root))
    assert [entry.content for entry in known.entries] == ["n 0", "n 1"]
    assert known.bad_lines == len(bad) + 1
    assert beads.problem(str(root)) == "8 lines are no record in .beads/memory/knowledge.jsonl"


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ({"content": "An old one"}, BeadLesson("learned-an-old-one", "learned", "An old one", "")),
        ({"content": "a", "key": 7, "tags": ["x", 1], "ts": "12"}, BeadLesson("learned-a", "learned", "a", "", ("x",), 12)),
        ({"content": "a", "key": "k", "ts": 1.9, "tags": "x", "bead": None}, BeadLesson("k", "learned", "a", "", (), 1)),
        ({"content": "a", "type": "investigation", "more": {}, "ts": True}, BeadLesson("investigation-a", "investigation", "a", "")),
    ],
)  # fmt: skip
def test_a_line_with_missing_or_wrong_fields_is_read_as_far_as_it_goes(
    root: Path, value: object, entry: BeadLesson
) -> None:
    active(root).parent.mkdir()
    active(root).write_text(json.dumps(value) + "\n")
    assert read_knowledge(str(root)).entries == (entry,)


entries = st.builds(BeadLesson, st.sampled_from("abc"), st.just("learned"), st.text(max_size=3), ts=st.integers(0, 3))


@given(st.lists(entries))
def test_of_one_key_the_latest_counts_and_the_newest_come_first(known: list[BeadLesson]) -> None:
    found = beads.newest(known)
    assert {entry.key for entry in found} == {entry.key for entry in known}
    assert [entry.ts for entry in found] == sorted((entry.ts for entry in found), reverse=True)
    for entry in found:
        same = [other for other in known if other.key == entry.key]
        assert entry == [other for other in same if other.ts == max(other.ts for other in same)][-1]


@given(st.builds(BeadLesson, *[st.text(min_size=1, max_size=20).filter(str.strip)] * 4, st.lists(st.text(max_size=9)).map(tuple), st.integers(0, 10**17), st.text(max_size=9)))  # fmt: skip
def test_a_record_comes_back_as_it_went_in(entry: BeadLesson) -> None:
    from io import BytesIO

    from swarmlore.workspace import jsonl

    line = jsonl.dump(beads.document(entry))
    assert beads._parsed(jsonl.lines(BytesIO(line)))[0] == [entry]


# The start of a session


def test_a_session_starts_with_the_five_newest_of_all_lines_each_key_once(root: Path) -> None:
    fill(root, 40)
    with active(root).open("a") as file:
        file.write(a_line(39, ts=NOW + 900, content="said again\n  in two lines", source="supervisor"))
        file.writelines(a_line(38, ts=1, content=f"older {number}") for number in range(30))
    assert session_text(str(root)) == (
        "## Recent Knowledge (40 entries)\n"
        "  [LEARN] said again in two lines  (supervisor)\n"
        "  [LEARN] n 38  (orchestrator)\n"
        "  [LEARN] n 37  (orchestrator)\n"
        "  [LEARN] n 36  (orchestrator)\n"
        "  [LEARN] n 35  (orchestrator)\n"
        '  Search: swarmlore recall --profile beads "keyword"'
    )


def test_a_session_start_shows_a_hundred_redacted_characters_and_the_script(root: Path) -> None:
    fill(root, 0)
    text = f"{SECRET} " + "word " * 40
    active(root).write_text(a_line(1, content=text, type="investigation", source="x\ny"))
    write_recall_script(str(root))
    head, line, search = session_text(str(root)).split("\n")
    assert head == "## Recent Knowledge (1 entries)"
    assert SECRET not in line
    assert line.startswith("  [INVES] [redacted:")
    assert line.endswith("  (x y)")
    assert len(line) == len("  [INVES] ") + 100 + len("  (x y)")
    assert search == '  Search: .beads/memory/recall.sh "keyword"'


def test_a_project_without_lessons_starts_without_words(root: Path, tmp_path: Path) -> None:
    assert session_text(str(tmp_path)) == session_text(str(root)) == ""
    fill(root, 0)
    assert session_text(str(root)) == ""


def test_a_file_beyond_all_measure_is_read_from_its_end_and_still_takes_lines(root: Path) -> None:
    fill(root, 0)
    with active(root).open("w") as file:
        for number in range(12):
            file.write(a_line(number, content="x" * 900_000))
    assert len(capture(root, "a small lesson", NOW + 99)) == 1
    assert "a small lesson" in session_text(str(root))
    assert len(lines(active(root))) == 13


# Worktrees


def test_worktrees_share_the_lessons_of_the_main_work_tree(tmp_path: Path) -> None:
    main = a_repository(tmp_path / "app", commit=True)
    (main / ".beads").mkdir()
    git(main, "worktree", "add", "--quiet", ".worktrees/bd-1")
    tree = main / ".worktrees" / "bd-1"
    (tree / ".beads").mkdir()
    (found,) = capture(tree, "from a worktree", cwd=str(tree / "src"))
    assert (found.source, read_knowledge(str(main)).entries) == ("supervisor", (found,))
    assert list((tree / ".beads").iterdir()) == []
    assert session_text(str(tree)) == session_text(str(main))


def test_a_folder_that_names_a_foreign_repository_gets_nothing_into_it(tmp_path: Path) -> None:
    main = a_repository(tmp_path / "app", commit=True)
    (main / ".beads").mkdir()
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    stranger = tmp_path / "stranger"
    (stranger / ".beads").mkdir(parents=True)
    for claim in (main / ".git", main / ".git" / "worktrees" / "tree"):
        (stranger / ".git").write_text(f"gitdir: {claim}\n")
        capture(stranger, f"claimed {claim}")
        assert not (main / ".beads" / "memory").exists()


# recall


@pytest.fixture
def project(world: Path) -> Path:
    (world / "project" / ".beads").mkdir()
    return world / "project"


def test_a_search_prints_what_recall_sh_printed(run: Run, project: Path) -> None:
    capture_learned(str(project), "/app", "bd comment bd-7.2 'LEARNED: The API test is slow'", NOW)
    capture_learned(str(project), "/app/.worktrees/x", f"bd comment bd-8 'LEARNED: A slow one {'y' * 300}'", NOW + 1)
    reply = run("recall", "SLOW", "--type", "learned", "--all")
    assert reply.code == 0
    assert reply.out == (
        f"[LEARN] learned-a-slow-one-{'y' * 49}\n"
        f"  A slow one {'y' * 189}\n"
        "  source=supervisor bead=bd-8 tags=learned\n"
        "\n"
        "[LEARN] learned-the-api-test-is-slow\n"
        "  The API test is slow\n"
        "  source=orchestrator bead=bd-7.2 tags=learned,api,test\n"
        "\n"
    )
    assert run("recall", "api", "slow", "--profile", "beads").out == reply.out.split("\n\n")[1] + "\n\n"
    assert run("recall", "bd-8", "--all").out == reply.out.split("\n\n")[0] + "\n\n"
    assert run("recall", "slow", "--all", "--limit", "1").out == reply.out.split("\n\n")[0] + "\n\n"


def test_a_search_that_finds_nothing_says_so_and_is_no_failure(run: Run, project: Path) -> None:
    fill(project, 1)
    reply = run("recall", "nonsense", "--all")
    assert (reply.code, reply.out) == (0, "No knowledge entries matching 'nonsense'\n")
    reply = run("recall", "n", "--type", "investigation")
    assert reply.out == "No knowledge entries matching 'n'\n  (filtered by type: investigation)\n"


@pytest.mark.parametrize("query", ["learned", "orchestrator", "n.0", "key", "ts"])
def test_only_the_lesson_is_searched_and_literally(run: Run, project: Path, query: str) -> None:
    fill(project, 1)
    assert run("recall", query, "--all").out == f"No knowledge entries matching '{query}'\n"


def test_a_replaced_lesson_is_not_found_by_its_old_words(run: Run, project: Path) -> None:
    fill(project, 1)
    with active(project).open("a") as file:
        file.write(a_line(0, ts=NOW + 5, content="the port is 5433"))
    assert run("recall", "n 0", "--all").out == "No knowledge entries matching 'n 0'\n"
    assert "the port is 5433" in run("recall", "port", "--all").out


def test_the_archive_is_searched_when_asked(run: Run, project: Path) -> None:
    fill(project, 1000)
    capture(project, "something quite different", NOW + 5000)
    assert run("recall", "n 499", "--type", "learned").out.startswith("No knowledge entries matching")
    assert run("recall", "n 499", "--type", "learned", "--all").out.startswith("[LEARN] learned-n-499\n")


def test_recent_prints_the_last_lines_in_their_order(run: Run, project: Path) -> None:
    fill(project, 3)
    with active(project).open("a") as file:
        file.write(a_line(2, type="investigation", content="z" * 300, ts=0))
    assert run("recall", "--recent", "2").out == (
        "## Recent Knowledge (2 entries)\n"
        "\n"
        "[LEARN] learned-n-2\n  n 2\n  source=orchestrator bead=BD-1\n"
        "\n"
        f"[INVES] learned-n-2\n  {'z' * 120}\n  source=orchestrator bead=BD-1\n"
        "\n"
    )
    assert run("recall", "--recent", "9").out.startswith("## Recent Knowledge (4 entries)\n")
    assert run("recall", "--recent", "9", "--type", "investigation").out.startswith("## Recent Knowledge (1 entries)\n")


def test_stats_count_lines_keys_types_and_the_archive(run: Run, project: Path) -> None:
    fill(project, 3)
    with active(project).open("a") as file:
        file.write(a_line(2, type="investigation") + "nonsense\n")
    archive(project).write_text(a_line(1) + a_line(2))
    reply = run("recall", "--stats")
    assert reply.out == (
        "## Knowledge Base Stats\n"
        "  Active entries: 4\n"
        "  Unique keys:    3\n"
        "  Learned:        3\n"
        "  Investigation:  1\n"
        "  Archived:       2\n"
    )
    assert reply.err == "1 line is no record and left out\n"
    assert run("recall", "--stats", "--json").json == {
        "active": 4, "unique": 3, "learned": 3, "investigation": 1, "archived": 2, "bad_lines": 1,
    }  # fmt: skip


@pytest.mark.parametrize("words", [["--stats"], ["--recent", "3"], ["x", "--all"], ["--type", "learned"]])
def test_an_empty_memory_is_no_failure(run: Run, world: Path, words: list[str]) -> None:
    for _ in range(2):
        reply = run("recall", *words)
        assert (reply.code, reply.out, reply.err) == (0, "No knowledge entries yet.\n", "")
        (world / "project" / ".beads" / "memory").mkdir(parents=True, exist_ok=True)


def test_without_a_question_the_usage_is_shown_with_exit_code_1(run: Run, project: Path) -> None:
    fill(project, 1)
    for words in (["--all"], ["--type", "learned"], ["--profile", "beads"]):
        reply = run("recall", *words)
        assert (reply.code, reply.out) == (1, "")
        assert 'usage: swarmlore recall "keyword"' in reply.err


def test_programs_get_the_records(run: Run, project: Path) -> None:
    fill(project, 2)
    assert run("recall", "1", "--all", "--json").json == {
        "query": "1", "entries": [json.loads(a_line(1))], "bad_lines": 0,
    }  # fmt: skip
    assert run("recall", "--recent", "1", "--json").json == {"entries": [json.loads(a_line(1))], "bad_lines": 0}


def test_hostile_lines_cannot_move_the_cursor_or_add_lines_and_secrets_are_not_shown(run: Run, project: Path) -> None:
    fill(project, 0)
    active(project).write_text(
        a_line(
            1, content=f"a\x1b[2J\nb {SECRET}", key="k\n\x1b[1m", source="s\nt", bead="\u202ex", tags=["learned", "\r"]
        )
    )
    for words in (["a", "--all"], ["--recent", "1"]):
        out = run("recall", *words).out
        assert "\x1b" not in out and "\u202e" not in out and "\r" not in out and SECRET not in out
        assert len([line for line in out.split("\n") if line and not line.startswith("##")]) == 3


def test_the_store_answers_as_before_where_its_own_options_are_given(run: Run, project: Path) -> None:
    fill(project, 1)
    run("remember", "The staging database listens on port 5433", "--tag", "database")
    assert "5433" in run("recall", "staging database").out
    assert "5433" in run("recall", "staging", "--profile", "beads", "--tag", "database").out
    assert run("recall", "staging", "--profile", "beads").out == "No knowledge entries matching 'staging'\n"
    reply = run("recall", "staging", "--all", "--tag", "database")
    assert (reply.code, reply.err.split("\n")[0]) == (2, "error: --tag does not look at LEARNED comments")


def test_profile_beads_asks_the_store_where_there_are_no_files(run: Run) -> None:
    run("remember", "The staging database listens on port 5433")
    assert "5433" in run("recall", "staging", "--profile", "beads").out


# recall.sh


def test_init_writes_recall_sh_only_where_there_are_beads(run: Run, world: Path) -> None:
    script = world / "project" / ".beads" / "memory" / "recall.sh"
    assert "recall.sh" not in run("init", "--yes").out
    script.parent.parent.mkdir()
    assert ".beads/memory/recall.sh" in run("init", "--dry-run").out
    assert not script.parent.exists()
    steps = {step["what"]: step["state"] for step in run("init", "--yes", "--json").json["steps"]}
    assert steps[".beads/memory/recall.sh"] == "made"
    assert script.read_text() == CONTENT
    assert script.stat().st_mode & 0o111
    steps = {step["what"]: step["state"] for step in run("init", "--yes", "--json").json["steps"]}
    assert steps[".beads/memory/recall.sh"] == "there already"


def test_a_script_that_is_not_ours_stays(root: Path) -> None:
    script = root / ".beads" / "memory" / "recall.sh"
    script.parent.mkdir()
    for other in ("#!/bin/sh\ngrep x\n", CONTENT + "\n# mine\n"):
        script.write_text(other)
        (step,) = write_recall_script(str(root))
        assert (step.state, script.read_text()) == ("left as it is", other)


@linked
def test_a_linked_folder_gets_no_script(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / ".beads" / "memory").symlink_to(tmp_path / "outside")
    (step,) = write_recall_script(str(root))
    assert (step.state, list((tmp_path / "outside").iterdir())) == ("not done", [])


def shell(script: Path, *words: str, path: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": path, "CDPATH": "/"}
    return subprocess.run([str(script), *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_recall_sh_answers_from_any_folder_with_the_flags_and_codes_of_the_seed(project: Path, world: Path) -> None:
    fill(project, 2)
    write_recall_script(str(project))
    script = project / ".beads" / "memory" / "recall.sh"
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    for words, code, out in (
        (["n 1"], 0, "[LEARN] learned-n-1\n  n 1\n  source=orchestrator bead=BD-1 tags=learned\n\n"),
        (["n 1", "--type", "investigation"], 0, "No knowledge entries matching 'n 1'\n  (filtered by type: investigation)\n"),
        (["--recent", "1"], 0, "## Recent Knowledge (1 entries)\n\n[LEARN] learned-n-1\n  n 1\n  source=orchestrator bead=BD-1\n\n"),
        ([], 1, ""),
    ):  # fmt: skip
        done = shell(script, *words, path=path, cwd=world)
        assert (done.returncode, done.stdout) == (code, out), done.stderr


def test_recall_sh_says_what_to_do_where_the_program_is_missing(project: Path, world: Path) -> None:
    write_recall_script(str(project))
    done = shell(project / ".beads" / "memory" / "recall.sh", "x", path="/usr/bin:/bin", cwd=world)
    assert done.returncode == 127
    assert "pip install swarmlore" in done.stderr


def test_asking_for_comments_opens_no_store(project: Path, world: Path) -> None:
    fill(project, 1)
    done = process("recall", "n", "--all", env={**os.environ, "SWARMLORE_HOME": str(world / "elsewhere")}, cwd=project)
    assert done.stdout.startswith("[LEARN] learned-n-0\n")
    assert not (world / "elsewhere").exists()


# The rest


def test_doctor_names_what_is_wrong_with_the_files(lore: Lore, tmp_path: Path) -> None:
    (tmp_path / ".beads").mkdir()
    assert "beads" not in {check.name for check in lore.exchange.checks()}
    fill(tmp_path, 1)
    active(tmp_path).write_text("nonsense\n")
    (check,) = (check for check in lore.exchange.checks() if check.name == "beads")
    assert (check.state, check.message) == ("warn", "1 line is no record in .beads/memory/knowledge.jsonl")


def test_a_folder_inside_is_reached_from_the_opened_one(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with Folder(str(tmp_path / "a")) as folder:
        (tmp_path / "a").rename(tmp_path / "b")
        inner = folder.inside("in", make=True)
        assert inner is not None
        inner.append("x", b"1")
        inner.append("x", b"2")
        assert (inner.read("x"), inner.tail("x", 1)) == (b"12", b"2")
        assert folder.inside("none") is None
        inner.close()
    assert (tmp_path / "b" / "in" / "x").read_bytes() == b"12"
