"""OpenCode's sessions, from its database and from an export: what was said and done, and nothing of ours."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import DATA
from swarmlore.clients.opencode.payload import transcript_of
from swarmlore.clients.opencode.transcript import Transcript
from swarmlore.clients.transcripts import Tally, Turn, find_transcript, read_transcript
from swarmlore.workspace import foreign_sqlite

EXPORT = DATA / "clients" / "transcripts" / "opencode" / "export.json"
SESSION = "ses_e22167aa3ffeEOGAMKbI84I1AV"
CHILD = "ses_e2212ab87ffeYvbigyy8cnsVxo"
TOKEN = "ghp_" + "Zx81kLmQ0pTr5VbYn3Wd7Jf2Hs9Gc4Ea6Uio"
TABLES = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, title text);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
"""
# As OpenCode 1.18 makes them, with its indexes.
INDEXED = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, title text NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


class Database:
    """A database as OpenCode keeps it, with as much in it as a test needs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "opencode.db"
        self.db = apsw.Connection(str(self.path))
        self.db.execute("PRAGMA journal_mode = WAL").fetchall()
        self.db.execute(TABLES)
        self._number = 0
        self.begin(SESSION)

    def begin(self, session: str, parent: str | None = None) -> None:
        self.db.execute("INSERT INTO session VALUES (?, ?, '')", (session, parent))

    def add(self, role: str, *parts: dict[str, Any], session: str = SESSION, **more: Any) -> None:
        self._number += 1
        at, id = 1_794_724_431_000 + self._number, f"msg_{self._number:04}"
        about = {"role": role, "time": {"created": at}, **more}
        self.db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (id, session, at, json.dumps(about)))
        for place, part in enumerate(parts):
            row = (f"prt_{self._number:04}{place}", id, session, json.dumps(part))
            self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)

    def turns(self, session: str = SESSION, most: int = 1_000_000, **how: Any) -> list[Turn]:
        return list(read_transcript("opencode", f"{self.path}#{session}", most, **how))


@pytest.fixture
def kept(tmp_path: Path) -> Database:
    return Database(tmp_path)


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def tool(name: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": f"call_{name}", "state": {"status": status, **state}}


def test_a_session_is_read_in_its_order(kept: Database) -> None:
    kept.add("user", text('"Add a \\"fast\\" test"'))
    kept.add(
        "assistant",
        {"type": "step-start"},
        tool("bash", input={"command": "make"}, output="no rule", metadata={"exit": 2}, time={"start": 1000}),
        tool("edit", input={"filePath": "/p/a.py"}, output="done", metadata={}),
        tool("read", "error", input={"filePath": "/p/b.py"}, error="File not found"),
        tool("bash", "running", input={"command": "sleep 9"}),
        tool("bash", "error", input={"command": "make ship"}, error="The user rejected permission to use this tool"),
        text("It is done."),
    )
    assert [(turn.role, turn.text or turn.command or turn.tool, turn.failed) for turn in kept.turns()] == [
        ("user", 'Add a "fast" test', None),
        ("tool", "make", True),
        ("tool", "write", False),
        ("tool", "read", True),
        ("tool", "sleep 9", None),
        ("tool", "make ship", None),
        ("assistant", "It is done.", None),
    ]
    made = kept.turns()[1]
    assert (made.error, made.output, made.at) == ("no rule", "", 1.0)
    assert kept.turns()[2].files == ("/p/a.py",)


def test_our_own_parts_and_what_a_client_wrote_are_no_turns(kept: Database) -> None:
    block = "=== swarmlore notes 0123456789abcdef ===\n- [3f9a2c] x\n=== end 0123456789abcdef ==="
    kept.add("user", text("Go on"), text(block, synthetic=True, ignored=True, metadata={"swarmlore": True}))
    kept.add("user", text("Continue if you have next steps", synthetic=True))
    kept.add("assistant", text("The form was talked about."), summary=True)
    kept.add("assistant", tool("bash", input={"command": "ls"}, output=f"a\n\n{block}", metadata={"exit": 0}))
    assert [turn.text or turn.output for turn in kept.turns()] == ["Go on", "a"]
    assert [turn.meta for turn in kept.turns(meta=True)] == ["", "context", "summary", ""]
    assert "swarmlore notes" not in repr(kept.turns(meta=True))


def test_a_sub_agent_has_a_session_beside_the_others(kept: Database) -> None:
    kept.begin(CHILD, SESSION)
    kept.add("user", text("SUBTASK: sort it"), session=CHILD)
    assert [(turn.text, turn.sidechain) for turn in kept.turns(CHILD)] == [("SUBTASK: sort it", True)]
    assert kept.turns() == []


def test_of_a_long_session_the_end_is_read(kept: Database) -> None:
    for number in range(50):
        kept.add("user", text(f"prompt {number} " + "x" * 1000))
    tally = Tally()
    found = [turn.text.split(" x")[0] for turn in kept.turns(most=10_000, tally=tally)]
    assert found == [f"prompt {number}" for number in range(50 - len(found), 50)]
    assert 5 <= len(found) <= 10
    assert tally.skipped == {"before the part that is read": 1}


def test_reading_a_session_takes_steps_in_proportion_to_its_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own steps: the reader looks at the clock after each thousand of them."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return 0.0

    monkeypatch.setattr(foreign_sqlite, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(foreign_sqlite, "STEPS", 1_000)
    counted = []
    for messages in (750, 3000):
        read_messages(tmp_path / f"{messages}.db", messages)
        counted, looks = [*counted, looks], 0
    assert 10 < counted[0] < counted[1] < 6 * counted[0]


def read_messages(path: Path, messages: int) -> None:
    with contextlib.closing(apsw.Connection(str(path))) as db, db:
        db.execute(INDEXED)
        db.execute("INSERT INTO session VALUES (?, NULL, '')", (SESSION,))
        about = [(f"msg_{number:05}", number, json.dumps({"role": "user"})) for number in range(messages)]
        db.executemany(f"INSERT INTO message VALUES (?, '{SESSION}', ?, 0, ?)", about)
        parts = [(f"{id}{place}", id, json.dumps(text(f"{id} {place}"))) for id, _, _ in about for place in range(6)]
        db.executemany(f"INSERT INTO part VALUES (?, ?, '{SESSION}', 0, 0, ?)", parts)
    tally = Tally()
    found = [turn.text for turn in read_transcript("opencode", f"{path}#{SESSION}", tally=tally)]
    assert tally.refused == ""
    assert found == [f"{id} {place}" for id, _, _ in about for place in range(6)]


def test_no_secret_leaves_the_reader(kept: Database) -> None:
    kept.add("user", text(f"log in with {TOKEN}"))
    kept.add("assistant", tool("bash", input={"command": f"curl -H {TOKEN}"}, output=TOKEN, metadata={"exit": 0}))
    assert TOKEN not in repr(kept.turns())


def test_reading_changes_nothing_and_does_not_wait_for_a_writer(kept: Database) -> None:
    kept.add("user", text("Add a test"))
    before = {name: (kept.path.parent / name).read_bytes() for name in ("opencode.db", "opencode.db-wal")}
    kept.db.execute("BEGIN IMMEDIATE")
    kept.db.execute("DELETE FROM part")
    assert [turn.text for turn in kept.turns()] == ["Add a test"]
    kept.db.execute("ROLLBACK")
    assert {name: (kept.path.parent / name).read_bytes() for name in before} == before


def test_after_a_client_that_was_killed_the_session_is_whole(kept: Database, tmp_path: Path) -> None:
    """What it wrote last is in the log beside the database, and nobody has tidied up."""
    kept.add("user", text("Add a test"))
    left = tmp_path / "left"
    left.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        (left / name).write_bytes((kept.path.parent / name).read_bytes())
    found = read_transcript("opencode", f"{left / 'opencode.db'}#{SESSION}")
    assert [turn.text for turn in found] == ["Add a test"]
    assert (left / "opencode.db-wal").read_bytes() == (kept.path.parent / "opencode.db-wal").read_bytes()


def test_rows_that_are_nonsense_are_counted_and_passed_over(kept: Database) -> None:
    kept.add("user", text("Add a test"))
    kept.db.execute("INSERT INTO message VALUES ('msg_x', ?, 5, 'not json')", (SESSION,))
    kept.db.execute("INSERT INTO message VALUES ('msg_y', ?, 'x', ?)", (SESSION, b"\xff\xfe"))
    kept.db.execute("INSERT INTO part VALUES ('prt_x', 'msg_0001', ?, '[1]')", (SESSION,))
    kept.db.execute("INSERT INTO part VALUES ('prt_y', 'msg_0001', ?, NULL)", (SESSION,))
    tally = Tally()
    assert [turn.text for turn in kept.turns(tally=tally)] == ["Add a test"]
    assert sum(tally.skipped.values()) == 4


def test_a_view_in_place_of_a_table_is_not_run(tmp_path: Path) -> None:
    kept = Database(tmp_path)
    kept.db.execute("DROP TABLE part")
    kept.db.execute("CREATE VIEW part AS SELECT id, id AS message_id, session_id, data FROM message")
    tally = Tally()
    assert kept.turns(tally=tally) == []
    assert "cannot be read" in tally.refused


def test_a_row_that_grows_without_end_is_given_up(kept: Database) -> None:
    kept.db.execute("DROP TABLE session")
    kept.db.execute("CREATE TABLE session (id text, parent_id text AS (hex(zeroblob(16000000))) VIRTUAL)")
    kept.db.execute(f"INSERT INTO session (id) VALUES ('{SESSION}')")
    tally = Tally()
    assert kept.turns(tally=tally) == []
    assert "cannot be read" in tally.refused


@pytest.mark.parametrize(
    "path",
    [
        "",
        "opencode.db#" + SESSION,
        "/nowhere/opencode.db#" + SESSION,
        "/etc/passwd#" + SESSION,
        "/etc/passwd",
        "@#ses_' OR 1",
    ],
)
def test_a_path_that_is_none_has_no_turns(path: str, kept: Database) -> None:
    tally = Tally()
    assert list(read_transcript("opencode", path.replace("@", str(kept.path)), tally=tally)) == []
    assert tally.refused


def test_a_link_and_a_file_that_is_no_database_are_refused(kept: Database, tmp_path: Path) -> None:
    link, junk = tmp_path / "link.db", tmp_path / "junk.db"
    link.symlink_to(kept.path)
    junk.write_bytes(b"SQLite format 3\0" + Random(7).randbytes(5000))
    for place in (link, junk):
        tally = Tally()
        assert list(read_transcript("opencode", f"{place}#{SESSION}", tally=tally)) == []
        assert tally.refused


def test_a_folder_behind_a_link_is_as_good_as_any(kept: Database, tmp_path: Path) -> None:
    kept.add("user", text("Add a test"))
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    found = read_transcript("opencode", f"{link / 'opencode.db'}#{SESSION}")
    assert [turn.text for turn in found] == ["Add a test"]


def test_a_session_is_found_where_the_hook_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    assert find_transcript("opencode", SESSION, str(tmp_path)) == ""
    Database(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    assert (
        find_transcript("opencode", SESSION, str(tmp_path))
        == transcript_of(SESSION)
        == f"{folder}/opencode.db#{SESSION}"
    )
    assert transcript_of("../../etc") == ""


def test_a_real_export_is_read(tmp_path: Path) -> None:
    found = list(read_transcript("opencode", str(EXPORT)))
    assert [(turn.role, turn.tool_name, turn.failed) for turn in found] == [
        ("user", "", None),
        ("tool", "memtest_memory_search", False),
        ("tool", "bash", False),
        ("tool", "bash", True),
        ("tool", "plugin_recall", False),
        ("tool", "skill", True),
        ("assistant", "", None),
    ]
    for broken in (b"", b"[]", b'{"messages": 3}', EXPORT.read_bytes()[:2000]):
        place = tmp_path / "export.json"
        place.write_bytes(broken)
        tally = Tally()
        assert list(read_transcript("opencode", str(place), tally=tally)) == []
        assert tally.refused


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("type", "text", "tool", "callID", "state", "metadata", "synthetic", "role", "time", "summary", "id")


@given(st.dictionaries(st.sampled_from(NAMES), VALUES | st.sampled_from(["text", "tool", "user"])), VALUES)
def test_any_record_gives_turns_or_none(part: dict[str, Any], message: Any) -> None:
    for turn in Transcript().read({"message": message, "part": part}):
        assert turn.role in ("user", "assistant", "tool")
