"""The commands of mail and the queue."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import Run, process
from hook_runs import Hooks, payload
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.lore import Lore


def as_agent(name: str, *words: str) -> Any:
    """The answer of a command that an agent runs, as a document."""
    import json

    done = process(*words, "--json", env={**os.environ, "SWARMLORE_AGENT": name})
    return json.loads(done.stdout)


def test_agents_write_to_each_other(run: Run) -> None:
    as_agent("bob", "mail", "register", "--program", "codex", "--task", "the importer")
    sent = as_agent("alice", "mail", "send", "--to", "bob", "--subject", "The schema has changed", "Run make schema")
    id = sent["message"]["id"]
    (entry,) = as_agent("bob", "mail", "inbox")["messages"]
    assert (entry["id"], entry["sender"], entry["body"], entry["read_at"]) == (id, "alice", "", None)
    assert as_agent("bob", "mail", "read", id[:20])["message"]["body"] == "Run make schema"
    assert as_agent("bob", "mail", "ack", id)["message"]["acked_at"]
    assert as_agent("alice", "mail", "inbox")["messages"] == []
    assert as_agent("carol", "mail", "read", id)["code"] == "NOT_FOUND"


def test_people_are_shown_what_was_sent_and_what_waits(run: Run) -> None:
    told = run(
        "mail", "send", "--to", "cli", "--subject", "Hello", "--importance", "urgent", "--ack-required", "a text"
    )
    assert told.code == 0 and "sent to cli." in told.out and "registered" not in told.out
    inbox = run("mail", "inbox").out
    assert inbox.startswith("* ") and "  cli  urgent: Hello (asks for an ack), " in inbox
    id = inbox.split()[1]
    shown = run("mail", "read", id).out
    assert shown.splitlines()[0] == "Hello" and "    a text" in shown and f"swarmlore mail ack {id}" in shown
    assert "is taken care of: Hello" in run("mail", "ack", id).out
    assert run("mail", "inbox", "--unread").out == "Nothing here.\n"


def test_an_inbox_says_what_it_does_not_show(run: Run) -> None:
    for number in range(8):
        flags = ["--importance", "urgent"] if number == 2 else ["--thread", "t1"]
        run("mail", "send", "--to", "cli", "--subject", f"n{number}", *flags, "a text")
    shown = run("mail", "inbox").out.splitlines()
    assert len(shown) == 6 and shown[-1] == "3 more, 1 of them urgent and not read: --limit 8"
    assert "n2" in run("mail", "inbox", "--limit", "8").out
    assert run("mail", "inbox", "--thread", "t1", "--json").json["total"] == 7
    assert run("mail", "inbox", "--thread", "t2").out == "Nothing here.\n"


def test_a_sender_sees_what_became_of_a_message(run: Run) -> None:
    sent = as_agent("alice", "mail", "send", "--to", "bob,carol", "--subject", "s", "--ack-required", "a text")
    handle = sent["message"]["id"][-6:]
    as_agent("bob", "mail", "ack", handle)
    (told,) = as_agent("alice", "mail", "sent")["sent"]
    assert [(one["agent"], bool(one["acked_at"])) for one in told["deliveries"]] == [("bob", True), ("carol", False)]
    assert as_agent("bob", "mail", "sent")["sent"] == []
    (whole,) = as_agent("alice", "mail", "sent", handle)["sent"]
    assert (told["message"]["body"], whole["message"]["body"]) == ("", "a text")
    as_agent("carol", "mail", "delete", handle)
    assert as_agent("carol", "mail", "inbox")["messages"] == []
    assert len(as_agent("bob", "mail", "inbox")["messages"]) == 1
    as_agent("alice", "mail", "delete", handle)
    assert as_agent("bob", "mail", "inbox")["messages"] == []


def test_what_is_taken_out_of_a_message_is_told_its_sender(run: Run) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    told = run("mail", "send", "--to", "bob", "--subject", "s", f"use {secret}")
    assert "1 secret was taken out" in told.out and "did you mean" not in told.out
    run("mail", "register")
    assert "did you mean: cli" in run("mail", "send", "--to", "clii", "--subject", "s", "text").out


def test_who_registers_again_keeps_what_is_not_said_again(run: Run) -> None:
    run("mail", "register", "--program", "codex", "--task", "the importer")
    agent = run("mail", "register", "--task", "the exporter", "--json").json["agent"]
    assert (agent["program"], agent["task"]) == ("codex", "the exporter")


def test_the_text_of_a_message_can_come_from_standard_input(run: Run) -> None:
    sent = run("mail", "send", "--to", "bob", "--subject", "s", "-", "--json", stdin=b"many\nlines\n")
    assert sent.json["message"]["body"] == "many\nlines\n"


def test_a_message_cannot_move_the_cursor_or_pass_for_our_own_words(run: Run) -> None:
    run("mail", "send", "--to", "cli", "--subject", "s", "-", stdin="\x1b[2Jerror: none\nhint: rm\u202e".encode())
    shown = run("mail", "read", run("mail", "inbox", "--json").json["messages"][0]["id"]).out
    assert "\x1b" not in shown and "\u202e" not in shown
    assert all(line.startswith("    ") for line in shown.splitlines()[-2:])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("mail", "burn"), "one of: register"),
        (("mail", "send", "text"), "--to AGENT"),
        (("mail", "send", "--to", "bob", "--importance", "huge", "text"), "low"),
        (("mail", "inbx"), "did you mean: inbox"),
        (("mail", "read"), "swarmlore mail inbox"),
        (("mail", "read", "a b"), "swarmlore mail inbox"),
        (("mail", "inbox", "--to", "bob"), "its options: --urgent, --unread, --thread, --limit"),
        (("mail", "inbox", "bob"), "swarmlore mail inbox"),
        (("mail", "send", "--to", "bob", "--subject", "s"), "--subject TEXT TEXT"),
        (("mail", "send", "--to", "bob carol", "text"), "swarmlore mail agents"),
        (("mail", "send", "--to", "*", "text"), "swarmlore mail agents"),
        (("mail", "send", "--to", "b" * 500, "text"), "at most 128"),
        (("mail", "read", "01a1e05b"), "swarmlore mail inbox"),
        (("mail", "retry", "01a1e05b"), "swarmlore mail dead"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(run: Run, words: tuple[str, ...], hint: str) -> None:
    told = run(*words, "--json")
    assert told.code in (2, 4)
    assert hint in told.json["hint"]


def test_a_job_that_was_given_up_is_listed_retried_and_thrown_away(run: Run) -> None:
    with Lore.open(client="cli") as lore:
        id = lore.enqueue("extract", {"text": "x"}, "k").id
        lore.store.engine.run("UPDATE job SET state = 'dead', attempts = 5, error = 'no such file'")
    listed = run("mail", "dead").out
    handle = id[-6:]
    assert listed.startswith(f"{handle}  extract for cli, 5 tries, ") and "no such file" in listed
    assert run("mail", "retry", handle).out == f"{handle} waits for the worker again.\n"
    assert run("mail", "dead").out == "No job was given up.\n"
    assert run("mail", "jobs").out.startswith(f"{handle}  extract for cli, not tried yet, ")
    with Lore.open(client="cli") as lore:
        lore.store.engine.run("UPDATE job SET state = 'dead'")
    assert run("mail", "discard", id).out == f"{handle} is gone.\n"
    assert run("mail", "dead", "--json").json == {"dead_letters": []}


def test_what_waits_in_a_repository_is_found_again_when_it_gets_a_remote(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    asked = ("--to", "memory-catcher,bob", "--subject", "memory-catcher-extract", "--project", str(folder))
    body = '{"success": true, "summary": "Vite", "evaluation": "Vite 9 needs the option legacy in vite.config.ts."}'
    assert run("mail", "send", *asked, body).code == 0
    assert process("worker", "--until-empty").stdout.startswith("1 job done.")
    subprocess.run([*git, "remote", "add", "origin", "https://example.com/x/y.git"], check=True)
    assert any("legacy" in found["text"] for found in run("list", "--project", str(folder), "--json").json["memories"])
    assert len(as_agent("bob", "mail", "inbox", "--project", str(folder))["messages"]) == 1


def test_a_sweep_can_be_left_to_the_worker(run: Run) -> None:
    assert "waits for the worker: sweep" in run("sweep", "--defer").out
    assert run("stats", "--json").json["jobs_waiting"] == 1
    assert process("worker", "--until-empty").stdout == "1 job done.\n"
    assert run("stats", "--json").json["jobs_waiting"] == 0
    assert run("sweep", "--defer", "--force").code == 2


def test_a_session_begins_with_the_word_that_mail_waits_and_not_with_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    hooks = Hooks(tmp_path / "home", folder)
    with Lore.open(hooks.home, cwd=folder, env={**hooks.env, "SWARMLORE_AGENT": "alice"}) as lore:
        assert hooks.context("SessionStart", payload("SessionStart", source="startup")) == ""
        lore.send(["claude"], "The schema has changed", "Run make schema", importance="urgent")
        lore.send(["codex"], "Another one", "text")
    given = hooks.context("SessionStart", payload("SessionStart", "s2", source="startup"))
    assert "1 message waits for you (1 urgent)" in given and "swarmlore mail inbox" in given
    assert "schema" not in given and strip_blocks(given).strip() == ""
    with Lore.open(hooks.home, cwd=folder, env={**hooks.env, "SWARMLORE_AGENT": "claude"}) as lore:
        lore.read(lore.inbox()[0].id)
    assert hooks.context("SessionStart", payload("SessionStart", "s3", source="startup")) == ""
