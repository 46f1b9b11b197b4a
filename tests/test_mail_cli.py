"""The commands of mail and the queue."""

from __future__ import annotations

import os
from typing import Any

import pytest

from command_line import Run, process
from swarmlore import Lore


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
    assert told.code == 0 and "sent to cli." in told.out and "Not registered yet: cli" in told.out
    inbox = run("mail", "inbox").out
    assert inbox.startswith("* ") and "urgent cli: Hello (asks for an ack)" in inbox
    id = inbox.split()[1]
    shown = run("mail", "read", id).out
    assert shown.splitlines()[0] == "Hello" and "    a text" in shown and f"swarmlore mail ack {id}" in shown
    assert "is taken care of: Hello" in run("mail", "ack", id).out
    assert run("mail", "inbox", "--unread").out == "Nothing here.\n"


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
        (("mail", "read"), "an id"),
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
    assert id in listed and "5 tries" in listed and "no such file" in listed
    assert run("mail", "retry", id).out == f"{id} waits for the worker again.\n"
    assert run("mail", "dead").out == "No job was given up.\n"
    with Lore.open(client="cli") as lore:
        lore.store.engine.run("UPDATE job SET state = 'dead'")
    assert run("mail", "discard", id).out == f"{id} is gone.\n"
    assert run("mail", "dead", "--json").json == {"dead_letters": []}


def test_a_sweep_can_be_left_to_the_worker(run: Run) -> None:
    assert "waits for the worker: sweep" in run("sweep", "--defer").out
    assert run("stats", "--json").json["jobs_waiting"] == 1
    assert process("worker", "--until-empty").stdout == "1 job done.\n"
    assert run("stats", "--json").json["jobs_waiting"] == 0
    assert run("sweep", "--defer", "--force").code == 2
