"""The memory-catcher: from a mail, a report or the end of a session to lessons, results and summaries, each once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_catching_rules import OAUTH

from command_line import Run
from conftest import ALICE, BOB, NOW, quick_env
from hook_runs import Hooks
from swarmlore.capture.extract import session_body
from swarmlore.clients.transcripts import CLIENTS, Turn
from swarmlore.domain.policy.context_block import TASK_HEADER
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.records import Caller, Memory
from swarmlore.lore import Lore
from waiting import wait_until
from waiting_jobs import do_jobs, waiting

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[2] / "torture"))
import extraction
import labelled

DAY = 86_400.0
OTHERS = (
    "fresh", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
    "thirteenth", "fourteenth", "fifteenth", "sixteenth", "judge", "judge2",
)  # fmt: skip
PNPM = "No, use pnpm here, never npm: the lockfile is pnpm's"
CAUSE = "The root cause was that the worker reads its configuration before the secrets are mounted."
LESSON = f"{OAUTH['summary']}: {OAUTH['evaluation']}"


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lore]:
    """A memory on either engine, whose clock stands still."""
    env = quick_env()
    if request.param == "postgres":
        from databases import server

        server().empty()
        env["SWARMLORE_STORE_URL"] = server().url
    caller = Caller(ALICE.project, "alice", "lead")
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=caller, env=env, clock=lambda: NOW) as lore:
        yield lore


def lessons(lore: Lore) -> list[Memory]:
    return [memory for memory in lore.list(limit=100) if not memory.raw]


def material(lore: Lore, source: str) -> list[Memory]:
    return list(lore.list(source=source, limit=100))


def a_session(*said: tuple[str, str], **facts: Any) -> dict[str, Any]:
    return session_body([Turn(role, text) for role, text in said], client="claude", session="s1", **facts)


# --- mails and reports


def test_a_mail_to_the_catcher_becomes_an_outcome_a_lesson_and_a_result(memory: Lore) -> None:
    body = {**OAUTH, "transcript": "user: go on\nassistant: done", "project_key": "/elsewhere", "agent_name": "alice"}
    memory.send(["memory-catcher"], "memory-catcher-extract", json.dumps(body))
    assert lessons(memory) == []  # whoever sent it did not wait
    do_jobs(memory)
    (lesson,) = lessons(memory)
    assert (lesson.text, lesson.kind, lesson.entities) == (LESSON, "correction", ("feature:auth",))
    assert (lesson.confidence, lesson.trust, lesson.status) == (0.85, 2, "candidate")
    assert (lesson.source, lesson.source_ref["task"], lesson.source_ref["agent"]) == (
        "reflect",
        "cell-abc123",
        "alice",
    )
    (outcome,) = memory.outcomes()
    assert (outcome.task, outcome.score, outcome.verdict) == ("cell-abc123", 0.92, "helpful")
    (result,) = material(memory, "task_completion")
    assert result.text.startswith("Task: cell-abc123\n\nOutput:\nOAuth login")
    assert (result.tier, result.expires_at, result.entities) == ("agent", NOW + 7 * DAY, ("feature:auth",))


def test_the_same_job_twice_changes_nothing(memory: Lore) -> None:
    memory.enqueue("extract", {"outcome": OAUTH, "session": "s1"}, "k")
    do_jobs(memory)
    before = memory.list(limit=100), memory.outcomes()
    memory.enqueue("extract", {"outcome": OAUTH, "session": "s1"}, "k", again=True)
    assert len(do_jobs(memory)) == 1
    assert (memory.list(limit=100), memory.outcomes()) == before


def test_an_outcome_leaves_one_extraction_and_its_sender_does_not_wait(memory: Lore) -> None:
    facts = {"summary": OAUTH["summary"], "evaluation": OAUTH["evaluation"], "errors": 2}
    outcome = memory.outcome(True, **facts, files=["src/auth/service.ts"])
    assert waiting(memory) == {"extract": 1}
    assert memory.list() == ()
    do_jobs(memory)
    (lesson,) = lessons(memory)
    assert (lesson.text, lesson.source_ref["outcome"]) == (LESSON, outcome.id)
    assert len(memory.outcomes()) == 1  # it was recorded when it was reported


def test_an_outcome_that_tells_nothing_leaves_nothing(memory: Lore) -> None:
    memory.outcome(True, errors=3)
    assert waiting(memory) == {}


def test_a_failed_task_is_kept_with_what_went_wrong(memory: Lore) -> None:
    told = {
        "task": "bd-9",
        "summary": "Move the sessions to Redis",
        "success": False,
        "failure_mode": "dependency_blocked",
    }
    told["failure_details"] = "The staging cluster has no Redis 7, only 6.2, and streams need 7."
    memory.enqueue("extract", {"outcome": told}, "k")
    do_jobs(memory)
    (result,) = material(memory, "task_completion")
    assert result.text.startswith(
        "Task: bd-9 Move the sessions to Redis\n\nFailure reason:\ndependency_blocked\nThe staging"
    )
    assert result.title == "Failed task: Move the sessions to Redis"
    assert memory.recall("move the sessions to redis", profile="swarm", mode="keyword")[0].memory.id == result.id


@pytest.mark.parametrize(
    ("facts", "tiers"),
    [
        ({}, {"agent"}),
        ({"taskType": "research"}, {"agent", "swarm"}),
        ({"tags": ["knowledge"]}, {"agent", "swarm"}),
        ({"taskType": "heartbeat"}, set()),
        ({"taskType": "scheduled", "persistMemory": True}, {"agent"}),
        ({"summary": "ok", "evaluation": ""}, set()),
    ],
)
def test_which_results_are_kept_and_for_whom(lore: Lore, facts: dict[str, Any], tiers: set[str]) -> None:
    told = {"task": "bd-1", "summary": "Compared three queues for the export job", "success": True, **facts}
    lore.enqueue("extract", {"outcome": told}, "k")
    do_jobs(lore)
    assert {memory.tier for memory in material(lore, "task_completion")} == tiers


def test_words_in_a_mail_are_trusted_less_than_a_report(lore: Lore) -> None:
    lore.send(["memory-catcher"], "memory-catcher-extract", CAUSE)
    lore.send(["memory-catcher"], "memory-catcher-extract", "user: We decided to keep the lock in S3, not in DynamoDB")
    lore.send(["memory-catcher"], "memory-catcher-extract", json.dumps(OAUTH))
    do_jobs(lore)
    assert {memory.text[:9]: memory.trust for memory in lessons(lore)} == {CAUSE[:9]: 1, "We decide": 1, "OAuth log": 2}


@pytest.mark.parametrize(
    "body", ["[]", "{}", '{"outcome": 3}', "\x00", '{"success": "x", "files_touched": {"a": 1}}', "0"]
)
def test_a_mail_of_any_shape_harms_nothing(lore: Lore, body: str) -> None:
    lore.send(["memory-catcher"], "memory-catcher-extract", body)
    do_jobs(lore)
    assert lessons(lore) == []


def test_another_subject_or_another_agent_asks_for_nothing(lore: Lore) -> None:
    lore.send(["memory-catcher"], "hello", json.dumps(OAUTH))
    lore.send(["bob"], "memory-catcher-extract", json.dumps(OAUTH))
    assert waiting(lore) == {}


# --- sessions


def test_a_session_teaches_candidates_with_their_origin(memory: Lore) -> None:
    memory.enqueue("extract", a_session(("user", "install it"), ("user", PNPM), ("assistant", CAUSE)), "k")
    do_jobs(memory)
    found = {memory.text[:9]: memory for memory in lessons(memory)}
    assert {(item.status, item.trust, item.source_ref["session"]) for item in found.values()} == {
        ("candidate", 2, "s1")
    }
    assert found["Use pnpm "].kind == "correction"
    assert found["Use pnpm "].confidence == 0.85
    assert found["The root "].confidence == 0.7


def test_what_is_known_already_is_skipped(lore: Lore) -> None:
    known = lore.remember("The worker listens on port 5432 in staging").memory
    lore.enqueue("extract", a_session(("user", "remember that the worker listens on port 5432 in staging")), "k")
    do_jobs(lore)
    assert [memory.id for memory in lore.list(status="any")] == [known.id]


def test_what_differs_in_a_number_is_no_repetition(lore: Lore) -> None:
    lore.remember("The worker listens on port 5432 in staging")
    lore.enqueue("extract", a_session(("user", "No, the worker listens on port 5433 in staging")), "k")
    do_jobs(lore)
    assert {memory.text.rstrip(".")[-15:] for memory in lore.list(status="any")} == {
        "5432 in staging",
        "5433 in staging",
    }


def test_a_session_gives_ten_lessons_at_most_however_often_it_is_read(lore: Lore) -> None:
    for part in range(4):
        said = [
            ("user", f"No, the {name}{part} service listens on port {9000 + 100 * part + n}")
            for n, name in enumerate("abcdef")
        ]
        lore.enqueue("extract", a_session(*said), f"k{part}")
    do_jobs(lore)
    assert len(lessons(lore)) == 10


def test_the_words_of_a_tool_have_the_least_trust(lore: Lore) -> None:
    turns = [
        Turn(
            "tool",
            tool="shell",
            command="redis-cli -h r dbsize",
            error="Error: Server closed the connection",
            failed=True,
        ),
        Turn("tool", tool="shell", command="redis-cli --tls -h r dbsize", output="1", failed=False),
    ]
    lore.enqueue("extract", session_body(turns, session="s1"), "k")
    do_jobs(lore)
    assert [(memory.trust, memory.kind) for memory in lessons(lore)] == [(1, "correction")]


def test_nothing_is_kept_where_the_memory_is_switched_off(tmp_path: Path) -> None:
    off = quick_env(SWARMLORE_KNOWLEDGE_ENABLED="false")
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.enqueue("extract", {"outcome": OAUTH}, "k")
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=off) as lore:
        assert len(do_jobs(lore)) == 1
        lore.outcome(True, summary="x", evaluation="Always pin the base image by its digest")
        assert waiting(lore) == {}
        assert lore.list(status="any") == ()


def test_no_secret_of_a_session_is_kept(lore: Lore, tmp_path: Path) -> None:
    token = "ghp_" + "R7yXb2Kd9Qw3" * 3
    said = f"No, never put {token} into the settings, use the variable GH_TOKEN in this repo"
    lore.enqueue(
        "extract", {**a_session(("user", said), ("assistant", CAUSE)), "outcome": {**OAUTH, "evaluation": said}}, "k"
    )
    lore.enqueue("summarise", a_session(("user", said * 3), ("assistant", CAUSE)), "s")
    do_jobs(lore)
    assert len(lessons(lore)) >= 2
    assert all(token.encode() not in path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())


# --- summaries


def a_long_talk(last: str = "It is there.") -> dict[str, Any]:
    return a_session(
        ("user", "add a refund endpoint to the payments service and make sure that it is idempotent, please"),
        ("assistant", CAUSE),
        ("assistant", last),
    )


def test_a_session_is_summed_up_for_three_days_for_its_agent_alone(memory: Lore) -> None:
    memory.enqueue("summarise", a_long_talk(), "k")
    do_jobs(memory)
    (summary,) = material(memory, "session_summary")
    assert summary.title == "Session: add a refund endpoint to the payments service and make sure…"
    assert summary.text.splitlines()[1:] == [f"Learned: {CAUSE}", "Ended with: It is there."]
    assert (summary.tier, summary.owner, summary.expires_at, summary.trust) == ("agent", "alice", NOW + 3 * DAY, 1)
    with memory.acting():
        assert memory.store.get(BOB, summary.id) is None


def test_a_session_that_goes_on_has_one_summary(memory: Lore) -> None:
    for number, last in enumerate(("First part.", "Second part.")):
        memory.enqueue("summarise", a_long_talk(last), f"k{number}")
        do_jobs(memory)
    (summary,) = material(memory, "session_summary")
    assert summary.text.endswith("Second part.")


def test_short_sessions_and_heartbeats_have_no_summary(lore: Lore) -> None:
    lore.enqueue("summarise", a_session(("user", "hi"), ("assistant", CAUSE)), "k1")
    lore.enqueue(
        "summarise", a_session(("user", "[heartbeat] " + "look at the queue " * 9), ("assistant", CAUSE)), "k2"
    )
    do_jobs(lore)
    assert material(lore, "session_summary") == []


def test_a_session_that_only_sums_up_another_is_not_summed_up(tmp_path: Path) -> None:
    project, path = tmp_path / "project", tmp_path / "s1.jsonl"
    project.mkdir()
    said = ("add a refund endpoint to the payments service and make sure that it is idempotent, please", CAUSE)
    lines = [{"type": "user", "message": {"role": "user", "content": text}} for text in said]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for number, env in enumerate(({}, {"SKIP_SESSION_SUMMARY": "1"})):
        hooks = Hooks(tmp_path / f"home{number}", project, **env)
        hooks.env |= {"SWARMLORE_AGENT": "alice"}
        hooks.run("SessionEnd", {"session_id": "s1", "transcript_path": str(path)})
    homes = [tmp_path / f"home{number}" for number in range(2)]
    wait_until(lambda: [_done(home, project) for home in homes] == [2, 1], "both sessions are read", pause_s=0.2)


def _done(home: Path, project: Path) -> int:
    with Lore.open(home, cwd=project, env=quick_env(SWARMLORE_AGENT="alice")) as lore, lore.acting():
        return lore.store.done_since(0.0)


# --- before a task


def test_before_a_task_comes_what_the_past_knows(lore: Lore) -> None:
    lore.remember("Refund endpoints of the payments service need an idempotency key")
    block = lore.before_task("add a refund endpoint to the payments service", session="s9")
    lines = block.text.splitlines()
    assert lines[2] == TASK_HEADER == "### Relevant Past Knowledge"
    assert "idempotency key" in lines[3]
    assert strip_blocks(f"before\n{block.text}\nafter") == "before\nafter"
    assert strip_blocks("\n".join(lines[:-1])) == ""  # cut off
    assert (block.receipt.trigger, block.receipt.session, len(block.receipt.shown)) == ("task", "s9", 1)
    assert lore.before_task("paint the shed").text == ""


def test_prime_prints_the_block_for_a_task(run: Run) -> None:
    run("remember", "Refund endpoints of the payments service need an idempotency key")
    assert TASK_HEADER in run("prime", "--task", "add a refund endpoint to the payments service").out
    told = run("prime", "--json", "--task", "add a refund endpoint to the payments service").json
    assert TASK_HEADER in told["block"]
    silent = run("prime", "--task", "paint the shed")
    assert (silent.code, silent.out) == (0, "") and "nothing is given" in silent.err
    assert run("prime", "words", "--task", "paint").code == run("prime", "--task", " ").code == 2


# --- from a hook


@pytest.mark.parametrize(
    ("client", "event"),
    [("claude", "SessionEnd"), ("codex", "SessionEnd"), ("gemini", "SessionEnd"), ("copilot", "sessionEnd")],
)
def test_the_end_of_a_session_leads_to_its_lessons_without_server_and_worker(
    tmp_path: Path, client: str, event: str
) -> None:
    (session,) = [item for item in labelled.all_sessions(only="second") if item.name == "wrong-branch"]
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    path = labelled.write_session(labelled.retold(session, client), tmp_path)
    hooks = Hooks(home, project)
    told = {"session_id": "s1", "sessionId": "s1", "hook_event_name": event, "reason": "other"}
    hooks.run(event, {**told, "transcript_path": str(path), "transcriptPath": str(path)}, client)
    found = wait_until(lambda: _lessons_in(home, project), "a lesson is kept", hooks.problems, pause_s=0.2)
    assert found == ["PRs go against develop, main is only for releases."]


def _lessons_in(home: Path, project: Path) -> list[str]:
    with Lore.open(home, cwd=project, env=quick_env(SWARMLORE_ROLE="lead")) as lore:
        return [memory.text for memory in lessons(lore)]


def test_a_reported_task_in_a_session_is_recorded_and_learned_from(tmp_path: Path) -> None:
    report = {"tool_name": "mcp__swarm__swarm_complete", "tool_use_id": "t1", "tool_input": dict(OAUTH)}
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    hooks = Hooks(home, project)
    for _ in range(2):  # two hook files, one event
        hooks.run("PostToolUse", {"session_id": "s1", **report, "tool_response": {"ok": True}})
    found = wait_until(lambda: _lessons_in(home, project), "a lesson is kept", hooks.problems, pause_s=0.2)
    assert found == [LESSON]
    with Lore.open(home, cwd=project, env=quick_env(SWARMLORE_ROLE="lead")) as lore:
        assert [outcome.task for outcome in lore.outcomes()] == ["cell-abc123"]


# --- quality


def test_forty_sessions_of_five_clients_are_understood() -> None:
    known = [session for session in labelled.all_sessions() if session.client in CLIENTS]
    figures = extraction.measure(known)
    assert figures.precision >= 0.95, figures.notes
    assert figures.recall >= 0.95, figures.notes
    assert figures.kinds >= 0.95 * figures.good, figures.notes
    assert figures.entities == figures.judged, figures.notes


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_understood_as_well(name: str) -> None:
    figures = extraction.measure(session for session in labelled.all_sessions(only=name) if session.client in CLIENTS)
    assert figures.wanted
    assert figures.precision >= 0.9, figures.notes
    assert figures.recall >= 0.8, figures.notes


# --- kills


def test_a_kill_between_capture_and_extraction_loses_and_doubles_nothing() -> None:
    import catching

    steps = catching.whole_run()
    assert steps > 50
    for place in range(5, steps, steps // 6):
        assert catching.attempt(place) == catching.WANTED, f"killed at step {place} of {steps}"
