"""Notes follow their files, whoever changes them; on both engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noting import BODY, HEAD, rows, titles, write
from repositories import git
from swarmlore.errors import InvalidInput, NotAllowed, Rejected, StoreBusy
from swarmlore.lore import Lore
from swarmlore.notes import notes
from swarmlore.notes.locations import NotePlace, checkouts, files_of, learnings_root
from swarmlore.notes.sync import Cache

pytestmark = pytest.mark.usefixtures("look_at_once")
SECRET = "ghp_" + "x9Kq2LmN7pRtVwYz" + "A3bCdEfGhJ4kS5uW6oiQ"
SIDECAR = """document_id: x
entities:
  - name: tokio
    type: technology
  - name: block_on
    type: function
relationships:
  - source: block_on
    target: tokio
    type: caused_by
    strength: 9
"""


# What a note becomes


def test_a_note_becomes_a_memory_with_what_its_head_says(notes_lore: Lore, project: Path) -> None:
    write(project)
    told, _ = notes_lore.notes.refresh()
    assert (told.place, told.notes, told.read, told.added, told.problems) == ("project", 1, 1, 1, ())
    (row,) = rows(notes_lore)
    assert (row.title, row.category, row.tags) == ("tokio runtime panic", "debugging-sessions", ("rust", "tokio"))
    assert (row.tier, row.source, row.confidence, row.trust) == ("swarm", "note", 0.9, 2)
    assert row.source_ref["path"] == "docs/solutions/debugging-sessions/tokio.md"
    assert (row.source_ref["place"], row.source_ref["chunk"]) == ("project", 0)
    assert row.source_ref["note"].startswith("tokio-runtime-panic-")
    assert [(one.text, one.via) for one in row.situations] == [("nested runtime panic on block_on", "symptom")]
    assert row.extra["note"]["language"] == "rust"
    assert row.text.startswith(
        "Wrap it in spawn_blocking\n\nRoot cause: Calling block_on inside an async context\n\n## P"
    )


def test_a_sidecar_says_what_a_note_is_about_and_rules_do_without_one(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    (row,) = rows(notes_lore)
    assert "tokio" in [one["name"] for one in row.extra["graph"]["entities"]]
    path.with_name("tokio.entities.yaml").write_text(SIDECAR)
    notes_lore.notes.refresh()
    (row,) = rows(notes_lore)
    assert [one["name"] for one in row.extra["graph"]["entities"]] == ["tokio", "block_on"]
    assert row.extra["graph"]["relations"] == [
        {"source": "block_on", "target": "tokio", "type": "caused_by", "description": "", "strength": 9.0}
    ]


def test_a_sidecar_that_cannot_be_read_is_told_and_rules_stand_in(notes_lore: Lore, project: Path) -> None:
    write(project).with_name("tokio.entities.yaml").write_text("entities: &a [*a]\n")
    told, _ = notes_lore.notes.refresh()
    assert "sidecar" in told.problems[0][1]
    assert rows(notes_lore)[0].extra["graph"]["entities"]


def test_a_long_note_gives_further_memories_of_one_key_and_comes_once(notes_lore: Lore, project: Path) -> None:
    parts = [f"## Part {n}\n" + f"The tokio runtime has a panic of sort {n}. " * 30 for n in range(5)]
    write(project, body="\n".join(parts))
    notes_lore.notes.refresh()
    found = rows(notes_lore)
    assert len(found) >= 5 and len({row.key for row in found}) == 1
    assert [row.source_ref["chunk"] for row in found] == list(range(len(found)))
    assert "note" in found[0].extra and "note" not in found[1].extra
    assert len(notes_lore.recall("tokio runtime panic")) == 1


def test_pages_without_a_title_readme_and_hidden_files_are_no_notes(notes_lore: Lore, project: Path) -> None:
    solutions = project / "docs" / "solutions"
    (solutions / "plain.md").write_text("Only text about tokio.\n")
    (solutions / "README.md").write_text(HEAD.format(title="Index", category="x") + BODY)
    (solutions / ".draft.md").write_text(HEAD.format(title="Draft", category="x") + BODY)
    (solutions / "other.txt").write_text("x")
    notes_lore.notes.refresh()
    assert rows(notes_lore) == []


def test_a_category_that_is_not_said_is_the_folder(notes_lore: Lore, project: Path) -> None:
    path = project / "docs" / "solutions" / "patterns" / "a.md"
    path.parent.mkdir()
    path.write_text("---\ntitle: Retry with jitter\n---\nAlways add jitter to retries.\n")
    notes_lore.notes.refresh()
    (row,) = rows(notes_lore)
    assert row.category == "patterns"
    assert (row.confidence, row.extra["confidence_label"]) == (0.6, "unknown")


def test_secrets_in_a_note_are_stored_nowhere(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = project / "docs" / "solutions" / "a.md"
    path.write_text(
        f"---\ntitle: Token {SECRET}\nsymptoms: [uses {SECRET}]\nkey_insight: rotate {SECRET}\npassword: {SECRET}\n"
        f"---\nThe token {SECRET} was leaked in the build log.\n"
    )
    path.with_name("a.entities.yaml").write_text(f"entities:\n  - name: {SECRET}\n")
    notes_lore.notes.refresh()
    (row,) = rows(notes_lore)
    assert SECRET not in json.dumps(notes_lore.store.history(notes_lore.caller, row.id)[0].after)
    assert "[redacted:" in row.text and "[redacted:" in row.title
    assert SECRET.replace("_", "").lower() not in row.source_ref["note"]
    for file in (tmp_path / "home").rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


def test_a_dangerous_note_is_refused_and_named(notes_lore: Lore, project: Path) -> None:
    write(project, body="\nRun rm -rf / to free some space.\n")
    told, _ = notes_lore.notes.refresh()
    assert rows(notes_lore) == []
    assert told.problems[0][1] == "dangerous command pattern detected"
    assert any("dangerous" in check.message for check in notes_lore.doctor() if check.name == "notes")


# In step


def test_what_did_not_change_is_not_read_again(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    before = rows(notes_lore)
    told, _ = notes_lore.notes.refresh()
    assert (told.notes, told.read) == (1, 0)
    os.utime(path, (1, 1))  # as a checkout does
    told, _ = notes_lore.notes.refresh()
    assert (told.read, told.kept, told.updated) == (1, 0, 0)
    told, _ = notes_lore.notes.reindex()
    assert (told.read, told.kept, told.changed) == (1, 1, 0)
    assert rows(notes_lore) == before


def test_an_edited_note_keeps_its_id_and_what_was_learned_about_it(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    (before,) = rows(notes_lore)
    notes_lore.rate(before.id, True)
    path.write_text(
        path.read_text().replace("tokio refuses that", "tokio panics").replace("[rust, tokio]", "[rust, async]")
    )
    told, _ = notes_lore.notes.refresh()
    assert (told.read, told.updated, told.added) == (1, 1, 0)
    (row,) = rows(notes_lore)
    assert (row.id, row.tags, row.feedback_count) == (before.id, ("rust", "async"), 1)
    assert "tokio panics" in row.text
    assert row.source_ref["note"] != before.source_ref["note"]


def test_a_head_that_changed_alone_changes_the_memory(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    path.write_text(
        path.read_text().replace("confidence: high", "confidence: low").replace("on block_on", "in a handler")
    )
    notes_lore.notes.refresh()
    (row,) = rows(notes_lore)
    assert row.confidence == 0.3
    assert [one.text for one in row.situations] == ["nested runtime panic in a handler"]


def test_recall_finds_a_note_that_came_meanwhile_and_by_its_symptom(notes_lore: Lore, project: Path) -> None:
    assert notes_lore.recall("tokio panic") == ()
    write(project, body="\nNothing else.\n")
    assert [hit.memory.title for hit in notes_lore.recall("nested block_on")] == ["tokio runtime panic"]


def test_the_start_of_a_session_takes_in_what_changed(notes_lore: Lore, project: Path) -> None:
    write(project)
    notes_lore.index_changed()
    assert titles(notes_lore) == ["tokio runtime panic"]


def test_looks_on_the_way_are_seconds_apart(notes_lore: Lore, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "EVERY_S", 60.0)
    notes_lore.notes.refresh()
    write(project)
    notes._synced_at[str(notes_lore.home), str(project)] = float("inf")
    assert notes_lore.recall("tokio panic") == ()
    notes_lore.notes.refresh()
    assert notes_lore.recall("tokio panic") != ()


def test_a_note_that_is_gone_is_forgotten_and_comes_back_as_itself(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    whole = path.read_text()
    notes_lore.notes.refresh()
    (before,) = rows(notes_lore)
    path.unlink()
    assert notes_lore.notes.refresh()[0].forgotten == 1
    assert rows(notes_lore) == []
    path.write_text(whole)
    notes_lore.notes.refresh()
    assert [row.id for row in rows(notes_lore)] == [before.id]


def test_a_note_that_lost_its_title_is_none_any_more(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    path.write_text("Just a page now.\n")
    notes_lore.notes.refresh()
    assert rows(notes_lore) == []


def test_a_note_that_cannot_be_read_for_a_while_stays_as_it_was(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    whole = path.read_text()
    notes_lore.notes.refresh()
    path.write_text(whole.replace('title: "tokio', "title: [tokio"))
    told, _ = notes_lore.notes.refresh()
    assert told.problems and titles(notes_lore) == ["tokio runtime panic"]
    assert [check.state for check in notes_lore.doctor() if check.name == "notes"] == ["warn"]
    path.write_text(whole)
    assert notes_lore.notes.refresh()[0].problems == ()


def test_a_note_that_got_another_name_keeps_its_memory(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    (before,) = rows(notes_lore)
    (project / "docs" / "solutions" / "patterns").mkdir()
    path.rename(project / "docs" / "solutions" / "patterns" / "panic.md")
    told, _ = notes_lore.notes.refresh()
    (after,) = rows(notes_lore)
    assert (told.added, told.forgotten) == (0, 0)
    assert (after.id, after.source_ref["path"]) == (before.id, "docs/solutions/patterns/panic.md")


def test_what_somebody_forgot_stays_forgotten_until_the_note_says_something_else(
    notes_lore: Lore, project: Path
) -> None:
    path = write(project)
    notes_lore.notes.refresh()
    notes_lore.forget(rows(notes_lore)[0].id)
    told, _ = notes_lore.notes.reindex()
    assert told.left_out == 1 and rows(notes_lore) == []
    path.write_text(path.read_text() + "\nIt is known since version 1.2.\n")
    notes_lore.notes.refresh()
    assert titles(notes_lore) == ["tokio runtime panic"]


def test_undo_leaves_notes_alone(notes_lore: Lore, project: Path) -> None:
    told = notes_lore.remember("Run make snap-record to update the snapshots")
    write(project)
    notes_lore.recall("tokio")
    assert [memory.id for memory in notes_lore.undo()] == [told.memory.id]
    assert titles(notes_lore) == ["tokio runtime panic"]


def test_what_was_seen_may_be_lost(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = write(project)
    write(project, "b.md", "other trouble")
    notes_lore.notes.refresh()
    before = rows(notes_lore)
    for file in (tmp_path / "home" / "notes").glob("*.json"):
        file.write_text("{broken")
    told, _ = notes_lore.notes.refresh()
    assert (told.read, told.kept, told.changed) == (2, 2, 0)
    assert rows(notes_lore) == before
    for file in (tmp_path / "home" / "notes").glob("*.json"):
        file.unlink()
    path.unlink()
    notes_lore.notes.refresh()
    assert len(rows(notes_lore)) == 2  # nobody knows that it was ever here
    notes_lore.notes.reindex()
    assert len(rows(notes_lore)) == (2 if notes_lore.store.engine.remote else 1)


# Checkouts


def test_a_note_stays_while_another_checkout_has_it(
    open_lore: Callable[..., Lore], project: Path, tmp_path: Path
) -> None:
    path = write(project)
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "note")
    tree = tmp_path / "tree"
    git(project, "worktree", "add", "--quiet", str(tree))
    assert checkouts(str(tree)) == (str(project),) and checkouts(str(project)) == (str(tree),)
    here = open_lore()
    here.notes.refresh()
    path.unlink()
    here.notes.refresh()
    assert titles(here) == ["tokio runtime panic"]
    there = open_lore(tree)
    there.notes.refresh()
    (tree / path.relative_to(project)).unlink()
    there.notes.refresh()
    assert titles(there) == []


def test_a_clone_that_was_seen_counts_too(open_lore: Callable[..., Lore], project: Path, tmp_path: Path) -> None:
    git(project, "remote", "add", "origin", "https://git.example/app.git")
    write(project)
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "note")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(project), str(clone))
    git(clone, "remote", "set-url", "origin", "https://git.example/app.git")
    open_lore(clone).notes.refresh()
    here = open_lore()
    here.notes.refresh()
    (project / "docs/solutions/debugging-sessions/tokio.md").unlink()
    here.notes.refresh()
    assert titles(here) == ["tokio runtime panic"]


def test_notes_of_one_project_are_not_another_ones(
    open_lore: Callable[..., Lore], project: Path, tmp_path: Path
) -> None:
    write(project)
    open_lore().notes.refresh()
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    assert open_lore(other).recall("tokio panic") == ()


# Notes for every project


def test_notes_of_the_user_are_found_in_every_project(open_lore: Callable[..., Lore], tmp_path: Path) -> None:
    write(tmp_path / "user", "panic-abc123.md", place=".learnings/documents/learnings")
    write(tmp_path / "user", "2026-03-16/ep-1.md", "session of a day", place=".learnings/documents/episodes")
    lore = open_lore(tmp_path)
    lore.notes.refresh()
    assert titles(lore) == ["session of a day", "tokio runtime panic"]
    assert {row.tier for row in rows(lore)} == {"agent" if lore.store.engine.remote else "hive"}
    assert lore.notes.stats()["episodes"] == 1


def test_variables_say_where_they_are(tmp_path: Path) -> None:
    table = {
        (): "/home/u/.learnings",
        (("GLOBAL_LEARNINGS_PATH", "/g"),): "/g",
        (("LEARNINGS_HOME", "/l"), ("GLOBAL_LEARNINGS_PATH", "/g")): "/l",
        (("LEARNINGS_HOME", ""),): "/home/u/.learnings",
    }
    for env, expected in table.items():
        assert learnings_root(dict(env), "/home/u") == expected


def test_without_a_hive_the_notes_for_every_project_are_left_alone(
    open_lore: Callable[..., Lore], tmp_path: Path
) -> None:
    write(tmp_path / "user", "panic-abc123.md", place=".learnings/documents/learnings")
    lore = open_lore(SWARMLORE_KNOWLEDGE_HIVE_ENABLED="false")
    lore.notes.refresh()
    assert lore.store.engine.remote or titles(lore) == []


def test_switched_off_nothing_is_taken_in(open_lore: Callable[..., Lore], project: Path) -> None:
    write(project)
    lore = open_lore(SWARMLORE_KNOWLEDGE_ENABLED="false")
    assert lore.notes.refresh() == () and rows(lore) == []
    with pytest.raises(NotAllowed):
        lore.notes.write("Always run make snap-record for snapshots")


# Adding and copies


def test_a_file_is_added_under_its_id_with_its_entities(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = write(project)
    path.with_name("tokio.entities.yaml").write_text(SIDECAR)
    written = notes_lore.notes.add(str(path))
    copy = tmp_path / "user" / ".learnings" / "documents" / "learnings" / f"{written.id}.md"
    assert (written.path, written.replaced) == (str(copy), False)
    assert copy.read_text() == path.read_text()
    assert copy.with_name(f"{written.id}.entities.yaml").read_text() == SIDECAR
    assert written.memory is not None and written.memory.source_ref["place"] == "global"


def test_a_note_and_its_copy_come_once(notes_lore: Lore, project: Path) -> None:
    notes_lore.notes.add(str(write(project)))
    assert len(rows(notes_lore)) == 2
    assert len(notes_lore.recall("tokio runtime panic")) == 1
    assert len(notes_lore.notes.search("tokio runtime panic", "keyword").notes) == 1


def test_the_same_note_is_not_added_twice_without_force(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    notes_lore.notes.add(str(path))
    with pytest.raises(InvalidInput, match="there already"):
        notes_lore.notes.add(str(path))
    assert notes_lore.notes.add(str(path), force=True).replaced


@pytest.mark.parametrize("field", ["title", "category", "key_insight"])
def test_what_is_added_needs_a_title_a_category_and_an_insight(notes_lore: Lore, project: Path, field: str) -> None:
    path = write(project)
    lines = [line for line in path.read_text().split("\n") if not line.startswith(f"{field}:")]
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match=field):
        notes_lore.notes.add(str(path))


def test_a_copy_follows_its_original_with_its_name(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = write(project)
    first = notes_lore.notes.add(str(path))
    path.write_text(path.read_text() + "\nKnown since version 1.2.\n")
    notes_lore.notes.refresh()
    folder = Path(first.path).parent
    (copy,) = folder.glob("*.md")
    assert copy.read_text() == path.read_text() and copy.stem != first.id
    assert [file.name for file in folder.glob("*.yaml")] == [f"{copy.stem}.entities.yaml"]
    assert len(rows(notes_lore)) == 2 and {row.source_ref["note"] for row in rows(notes_lore)} == {copy.stem}
    assert notes_lore.notes.stats()["copies_apart"] == []


def test_a_copy_that_somebody_changed_stays_and_it_is_said(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    first = notes_lore.notes.add(str(path))
    copy = Path(first.path)
    copy.write_text(copy.read_text() + "\nMy own remark.\n")
    notes_lore.notes.refresh()
    path.write_text(path.read_text() + "\nKnown since version 1.2.\n")
    notes_lore.notes.refresh()
    assert copy.read_text().endswith("My own remark.\n")
    assert notes_lore.notes.stats()["copies_apart"] == [{"note": str(path), "copy": str(copy)}]
    assert any("another text" in check.message for check in notes_lore.doctor() if check.name == "notes")


def test_a_copy_with_another_head_is_named(notes_lore: Lore, project: Path) -> None:
    path = write(project)
    copy = Path(notes_lore.notes.add(str(path)).path)
    copy.write_text(copy.read_text().replace("confidence: high", "confidence: low"))
    notes_lore.notes.refresh()
    assert notes_lore.notes.stats()["copies_apart"] == [{"note": str(path), "copy": str(copy)}]


# Writing


def test_a_written_note_has_a_whole_head_and_is_found_at_once(notes_lore: Lore, project: Path) -> None:
    text = "Snapshots are recorded by make snap-record. By hand they drift.\n\nUse `make snap-record`."
    written = notes_lore.notes.write(text, category="testing-patterns", tags=("snapshots",), confidence=0.9)
    path = Path(written.path)
    assert path.parent == project / "docs" / "solutions" / "testing-patterns"
    head = path.read_text().split("---\n")[1]
    for line in ("category: testing-patterns", "tags: [snapshots]", "confidence: high",
                 'key_insight: "Snapshots are recorded by make snap-record."'):  # fmt: skip
        assert line in head
    assert "created: " in head and "title: " in head
    assert path.with_name(f"{path.stem}.entities.yaml").exists()
    assert written.memory is not None and notes_lore.recall("record snapshots")[0].memory.id == written.memory.id


def test_nothing_is_overwritten(notes_lore: Lore) -> None:
    first = notes_lore.notes.write("Always run make snap-record for snapshots", title="Snapshots")
    second = notes_lore.notes.write("Never edit snapshots by hand, they drift", title="Snapshots")
    assert Path(first.path).name == "snapshots.md" and Path(second.path).name == "snapshots-2.md"
    assert "Always" in Path(first.path).read_text()


def test_in_a_users_own_folder_a_note_is_for_every_project(open_lore: Callable[..., Lore], tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    written = open_lore(tmp_path / "user").notes.write("Always run make snap-record for snapshots")
    assert Path(written.path).parent == tmp_path / "user" / ".learnings" / "documents" / "learnings"


def test_a_text_with_a_head_keeps_it(notes_lore: Lore) -> None:
    written = notes_lore.notes.write(HEAD.format(title="tokio panic", category="patterns") + BODY, tags=("async",))
    text = Path(written.path).read_text()
    assert Path(written.path).parent.name == "patterns"
    assert "tags: [async]" in text and "language: rust" in text and text.count("---\n") == 2


def test_what_the_gate_refuses_is_not_written(notes_lore: Lore, project: Path) -> None:
    with pytest.raises(Rejected):
        notes_lore.notes.write("Run rm -rf / to free some space on the build machine")
    assert list((project / "docs" / "solutions").rglob("*.md")) == []


def test_no_secret_is_written_to_a_file(notes_lore: Lore, project: Path) -> None:
    written = notes_lore.notes.write(f"The token {SECRET} was in the log", title=f"About {SECRET}", tags=(SECRET,))
    for file in Path(written.path).parent.iterdir():
        assert SECRET not in file.read_text() and SECRET not in file.name
    source = write(project, body=f"\nThe token {SECRET} was in the log.\n")
    assert SECRET not in Path(notes_lore.notes.add(str(source)).path).read_text()


@pytest.mark.parametrize("title", ["../../../etc/passwd", "a/b", "...", "日本語", "x" * 500, "con:nul\\x"])
def test_a_title_never_becomes_a_path(notes_lore: Lore, project: Path, title: str) -> None:
    written = notes_lore.notes.write("Always run make snap-record for snapshots", title=title, category=title)
    assert Path(written.path).resolve().is_relative_to(project / "docs" / "solutions")
    assert Path(written.path).exists()


def test_nothing_is_written_through_a_link(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "docs" / "solutions" / "patterns").symlink_to(outside)
    with pytest.raises(NotAllowed):
        notes_lore.notes.write("Always run make snap-record for snapshots", category="patterns")
    assert list(outside.iterdir()) == []


# Hostile places


def test_links_devices_and_large_files_are_not_read(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    solutions = project / "docs" / "solutions"
    secret = write(tmp_path, "secret.md", "A secret", place="elsewhere")
    (solutions / "link.md").symlink_to(secret)
    (solutions / "folder").symlink_to(secret.parent)
    os.mkfifo(solutions / "fifo.md")
    (solutions / "large.md").write_bytes(b"---\ntitle: x\n---\n" + b"x" * 1_000_001)
    (solutions / "binary.md").write_bytes(b"---\ntitle: x\n---\n\0")
    (solutions / "latin.md").write_bytes(b"---\ntitle: x\n---\nna\xefve")
    told, _ = notes_lore.notes.refresh()
    assert rows(notes_lore) == []
    assert {Path(path).name for path, _ in told.problems} == {"link.md", "fifo.md", "large.md", "binary.md", "latin.md"}


def test_a_folder_behind_a_link_is_none(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    write(tmp_path, "a.md", place="elsewhere")
    (project / "docs" / "solutions" / "debugging-sessions").rmdir()
    (project / "docs" / "solutions").rmdir()
    (project / "docs" / "solutions").symlink_to(tmp_path / "elsewhere")
    notes_lore.notes.refresh()
    assert rows(notes_lore) == []


def test_a_place_has_a_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swarmlore.notes.locations.MOST_FILES", 3)
    for number in range(5):
        write(tmp_path, f"{number}.md")
    assert len(files_of(NotePlace("project", str(tmp_path), ("docs/solutions",), "swarm"))) == 3


def test_many_notes_are_taken_in_by_batches_with_progress(
    notes_lore: Lore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swarmlore.notes.sync.BATCH", 4)
    for number in range(10):
        write(project, f"n{number}.md", f"trouble number {number}")
    seen: list[tuple[int, int]] = []
    told, _ = notes_lore.notes.refresh(lambda done, total: seen.append((done, total)))
    assert (told.read, told.added) == (10, 10) and seen == [(4, 10), (8, 10), (10, 10)]


def test_on_the_way_only_as_much_as_time_allows(
    notes_lore: Lore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swarmlore.notes.sync.SMALL_BATCH", 2)
    monkeypatch.setattr(notes, "ON_THE_WAY_S", 0.0)
    for number in range(5):
        write(project, f"n{number}.md", f"trouble number {number}")
    counts = []
    for _ in range(4):
        notes_lore.recall("trouble")
        counts.append(len(rows(notes_lore)))
    assert counts == [2, 4, 5, 5]
    (project / "docs/solutions/n0.md").unlink()
    notes_lore.recall("trouble")
    assert len(rows(notes_lore)) == 4


def test_who_waits_in_vain_is_told_for_whom(notes_lore: Lore, project: Path) -> None:
    write(project)
    code = (
        "import sys, time\nfrom swarmlore.notes.sync import Cache\n"
        "with Cache(sys.argv[1]).holding(sys.argv[2]):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, notes_lore.home, str(project)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with (
            pytest.raises(StoreBusy, match=f"process {holder.pid} has been indexing"),
            Cache(notes_lore.home).holding(str(project), 0.1),
        ):
            pass
        assert notes_lore.recall("tokio panic") == ()  # on the way nobody waits
    finally:
        holder.kill()
        holder.communicate()
    assert notes_lore.notes.refresh()[0].added == 1  # it died with its process


REFRESH = """
import os, sys
from swarmlore import Lore
with Lore.open(sys.argv[1], cwd=sys.argv[2], env=dict(os.environ)) as lore:
    print("ready", flush=True)
    sys.stdin.readline()
    lore.notes.refresh(lambda done, total: print(done, flush=True))
"""


def a_process(env: dict[str, str], *words: str) -> subprocess.Popen[str]:
    """One that takes in the notes as soon as it is told to."""
    env = {"PATH": os.environ["PATH"], **env}
    code = "from swarmlore.notes import sync; sync.BATCH = 5" + REFRESH
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = subprocess.Popen([sys.executable, "-c", code, *words], env=env, text=True, **pipes)
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def test_two_processes_take_in_each_note_once(env: dict[str, str], notes_lore: Lore, project: Path) -> None:
    for number in range(30):
        write(project, f"n{number}.md", f"trouble number {number}")
    both = [a_process(env, notes_lore.home, str(project)) for _ in range(2)]
    for one in both:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in both:
        one.communicate(timeout=120)
    assert [one.returncode for one in both] == [0, 0]
    assert len(rows(notes_lore)) == 30 == len(titles(notes_lore))


def test_who_is_killed_in_the_middle_leaves_nothing_undone(
    env: dict[str, str], notes_lore: Lore, project: Path
) -> None:
    for number in range(30):
        write(project, f"n{number}.md", f"trouble number {number}")
    one = a_process(env, notes_lore.home, str(project))
    assert one.stdin is not None and one.stdout is not None
    one.stdin.write("go\n")
    one.stdin.flush()
    one.stdout.readline()
    one.kill()
    one.communicate()
    told, _ = notes_lore.notes.refresh()
    assert len(rows(notes_lore)) == 30 == len(titles(notes_lore))
    assert (told.forgotten, told.updated, told.problems) == (0, 0, ())


# Finding


def test_critical_patterns_are_certain_decisions_and_patterns_of_a_language(notes_lore: Lore, project: Path) -> None:
    write(project, "a.md", "Certain pattern", category="patterns")
    write(project, "b.md", "Certain decision", category="architecture-decisions", body="\nAbout payments.\n")
    write(project, "c.md", "Debugging", category="debugging-sessions")
    unsure = write(project, "d.md", "Unsure", category="patterns")
    unsure.write_text(unsure.read_text().replace("confidence: high", "confidence: medium"))
    python = write(project, "e.md", "Python", category="patterns")
    python.write_text(
        python.read_text().replace("language: rust", "language: python").replace("[rust, tokio]", "[asyncio]")
    )
    notes_lore.notes.refresh()

    def found(**how: str) -> set[str]:
        return {note.title for note in notes_lore.notes.critical_patterns(**how)}

    assert found() == {"Certain pattern", "Certain decision", "Python"}
    assert found(language="Rust") == {"Certain pattern", "Certain decision"}
    assert found(language="tokio") == {"Certain pattern", "Certain decision"}
    assert found(language="python") == {"Python"}
    assert found(domain="payments") == {"Certain decision"}
    assert found(domain="asyncio") == {"Python"}
    assert found(language="go") == set()


def test_a_list_takes_a_category_or_a_part_of_it(notes_lore: Lore, project: Path) -> None:
    write(project, "a.md", "A", category="debugging-sessions")
    write(project, "b.md", "B", category="patterns")
    notes_lore.notes.refresh()
    assert [note.title for note in notes_lore.notes.all()] == ["A", "B"]
    assert [note.title for note in notes_lore.notes.all("debugging")] == ["A"]
    assert notes_lore.notes.all("nothing") == ()


def test_a_search_by_meaning_falls_back_to_words_and_says_so(notes_lore: Lore, project: Path) -> None:
    write(project)
    notes_lore.notes.refresh()
    found = notes_lore.notes.search("tokio panic")
    assert [note.title for note in found.notes] == ["tokio runtime panic"]
    assert found.mode == "naive" and notes.WITHOUT_VECTORS in found.said
    assert notes_lore.notes.search("tokio panic", "hybrid").notes[0].path.endswith("tokio.md")
    for query, mode in (("", "naive"), ("x", "nonsense")):
        with pytest.raises(InvalidInput):
            notes_lore.notes.search(query, mode)


def test_a_search_is_recorded_only_where_that_is_switched_on(
    open_lore: Callable[..., Lore], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project)
    file = tmp_path / "user" / ".learnings" / "metrics.jsonl"
    open_lore().notes.search("tokio panic", "keyword")
    assert not file.exists()
    lore = open_lore(SWARMLORE_NOTES_TELEMETRY="true", CODEX_SANDBOX="1")
    lore.notes.refresh()
    lore.notes.search(f"tokio {SECRET}", "keyword")
    (line,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert set(line) == {"ts", "op", "harness", "query", "mode", "hits", "latency_ms"}
    assert (line["op"], line["harness"], line["mode"], line["hits"]) == ("search", "codex", "keyword", 1)
    assert line["query"].startswith("tokio [redacted:")
    monkeypatch.setattr("swarmlore.notes.notes.MOST_BYTES", 10)
    lore.notes.search("once more", "keyword")
    assert len(file.read_text().splitlines()) == 1 and len(list(file.parent.glob("metrics-*.jsonl.bak"))) == 1
