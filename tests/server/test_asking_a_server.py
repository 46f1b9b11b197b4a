"""Commands over a server on another machine: the same words and documents as alone, and honest where that cannot be."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from difflib import unified_diff
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line import Run
from conftest import LEAD
from serving import LESSON, Server
from swarmlore.cli.command_table import COMMANDS, LOCAL_COMMANDS, REFUSED, SERVER_COMMANDS
from swarmlore.server.client import http as remote_line
from swarmlore.server.http.run import Place, listening

SECOND = "Tokens are refreshed in auth.py:1-2 before they expire, never after"
AGENT = "alice"
# {0} and {1} are the handles of the first two memories.
SCRIPT = (
    f"remember|{LESSON}|--tag|snapshots|--category|testing|--json",
    f"remember|{SECOND}|--kind|decision|--title|Refreshing|--json",
    "remember|short",
    "remember|Deploys go through make ship|--key|deploy|--json",
    "remember|Deploys go through make release|--key|deploy",
    "remember|--each-line|-",
    "remember|My own note about flaky network tests on Mondays|--tier|agent",
    "recall|how are snapshot tests recorded|--json",
    "recall|tokens refreshed|--explain",
    "recall|tokens refreshed|--profile|lane|--json",
    "recall|snapshot tests recorded|--block|--session|s-1",
    "recall|x|--all-projects",
    "list",
    "list|--tier|agent|--json",
    "list|--limit|2",
    "get|{1}",
    "get|{1}|--json",
    "get|nothing",
    "rate|{0}|--helpful",
    "outcome|--success|--task|T-1|--applied|{0}|--json",
    "confirm|{1}",
    "promote|Pin the base image of every container by digest, tags move",
    "promote|--list",
    "why|{0}",
    "history|{0}|--json",
    "receipts",
    "receipts|--json",
    "prime|--json",
    "prime|--task|record the snapshot tests",
    "stale",
    "phase",
    "phase|start|Phase 2: importer",
    "sweep|--dry-run|--json",
    "curate",
    "report|--json",
    "stats|--json",
    "mail|register|--program|claude",
    "mail|send|--to|alice|--subject|New schema|Run make schema first",
    "mail|inbox",
    "swarm|knowledge",
    "quarantine|{0}|it is wrong by now",
    "restore|{0}",
    "inject|Every migration is tried on a copy first|--agent|bob|--category|best-practice",
    "forget|{1}",
    "forget|--session|s-9|--json",
    "undo",
)
LINES = b"Lint with make lint before every push\n\nbad\n"
OF_THE_MACHINE = ("store", "bytes", "embedder")  # of `stats`: a server tells nobody


def _run_all(run: Run) -> list[tuple[str, int, str, str]]:
    """What each command of the script said, with one name for each id and none for times."""
    handles: list[str] = []
    told = []
    for line in SCRIPT:
        words = [word.format(*handles) if "{" in word else word for word in line.split("|")]
        reply = run(*words, stdin=LINES)
        if line.startswith("remember") and len(handles) < 2:
            handles.append(reply.json["memory"]["handle"])
        out = reply.out
        if words[0] == "stats":
            out = json.dumps({key: value for key, value in reply.json.items() if key not in OF_THE_MACHINE})
        if words[0] == "report":  # a server that has no checkout does not look at code
            out = re.sub(r'"cited_code": \d+|"code": "unch\w+"', "CODE", out)
        told.append((line, reply.code, out, reply.err))
    names: dict[str, str] = {}
    return [(line, code, _plain(out, names), _plain(err, names)) for line, code, out, err in told]


def _plain(text: str, names: dict[str, str]) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d([T ][\d:.]+Z?)?", "DATE", text)
    text = re.sub(r"\b(now|just now|\d+ (s|min)( ago)?)\b", "AGO", text)
    text = re.sub(r'"(score|value|at|took_ms|duration_ms|ms)": [\d.e-]+', r'"\1": N', text)
    text = re.sub(r" +(score [\d.e-]+|[-+]?\d\.\d+e-\d\d|[-+]?\d\.\d{2,})(?![\w.])", " N", text)
    ids = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{8}-[0-9a-f]{3,4}…|\b[0-9a-f]{16}\b|\b[0-9a-f]{6}\b"
    return re.sub(ids, lambda found: names.setdefault(found[0], f"ID{len(names)}"), text)


def _difference(*told: tuple[str, int, str, str]) -> str:
    """Where two answers differ, short enough to be read."""
    return "\n".join(unified_diff(*("\n".join(map(str, one)).split("\n") for one in told), n=1))


def _project(world: Path) -> None:
    (world / "project" / "auth.py").write_text("def refresh():\n    return 2\n")
    (world / "project" / "pyproject.toml").write_text("[project]\nname = 'app'\n")


def test_a_script_of_commands_says_the_same_alone_and_over_a_server(
    run: Run, world: Path, any_server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _project(world)
    monkeypatch.setenv("SWARMLORE_PROJECT", LEAD.project)
    monkeypatch.setenv("SWARMLORE_AGENT", AGENT)
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    monkeypatch.setenv("SWARMLORE_HOME", str(tmp_path / "alone"))
    alone = _run_all(run)
    over(any_server, monkeypatch, any_server.token(AGENT, "lead"))
    monkeypatch.setenv("SWARMLORE_HOME", str(tmp_path / "away"))
    far = _run_all(run)
    for here, there in zip(alone, far, strict=True):
        assert _difference(here, there) == ""
    assert not (tmp_path / "away" / "lore.db").exists()


def over(server: Server, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """Let commands ask this server."""
    for name in ("SWARMLORE_AGENT", "SWARMLORE_ROLE", "SWARMLORE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SWARMLORE_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("SWARMLORE_TOKEN", token)


def test_every_command_asks_works_here_or_says_why_not() -> None:
    assert sorted((*SERVER_COMMANDS, *LOCAL_COMMANDS, *REFUSED)) == sorted(COMMANDS)
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    rows = [set(re.findall(r"`([a-z-]+)`", row.split("|")[1])) for row in page.split("\n") if row.startswith("| `")]
    for names in (SERVER_COMMANDS, LOCAL_COMMANDS, REFUSED):
        assert set(names) in rows


@pytest.mark.parametrize(
    "command", [name for name in REFUSED if name not in ("import", "migrate-store", "restore-backup")]
)
def test_what_cannot_be_asked_is_refused_with_what_to_type(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWARMLORE_URL", "http://127.0.0.1:1")
    words = {"research": ("x",), "token": ("list",), "export": ("-",)}.get(command, ())
    reply = run(command, *words)
    assert reply.code == 7, reply
    assert f"env -u SWARMLORE_URL swarmlore {command}" in reply.err


def test_whoever_names_a_home_means_that_one(run: Run, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARMLORE_URL", "http://127.0.0.1:1")
    assert run("remember", LESSON, "--home", str(world / "own")).code == 0
    assert LESSON in run("list", "--home", str(world / "own")).out


def test_a_folder_cannot_choose_another_project_than_the_token(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARMLORE_URL", "http://127.0.0.1:1")
    reply = run("list", "--project", ".")
    assert (reply.code, "--project" in reply.err) == (2, True)


def test_status_and_doctor_say_which_server_is_asked_and_whether_the_token_holds(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(server, monkeypatch, server.token(AGENT, "lead"))
    told = run("status", "--json").json["server"]
    assert (told["agent"], told["role"], told["project"]) == (AGENT, "lead", LEAD.project)
    assert told["answers"] and told["token_holds"] and told["ms"] > 0
    assert f"127.0.0.1:{server.port}" in run("status").out
    checks = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
    assert {checks[name]["state"] for name in ("server", "token", "project", "outbox")} == {"ok"}
    assert "lead" in checks["token"]["message"]
    monkeypatch.setenv("SWARMLORE_TOKEN", "swl_0000000000_" + "x" * 43)
    failed = run("doctor", "--json")
    states = {check["name"]: check["state"] for check in failed.json["checks"]}
    assert (failed.code, states["server"], states["token"]) == (1, "ok", "fail")
    assert "SWARMLORE_TOKEN" in run("status").out


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is named, and nothing listens there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("SWARMLORE_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("SWARMLORE_TOKEN", "t")


@pytest.mark.usefixtures("nobody")
def test_doctor_says_that_nobody_answers(run: Run) -> None:
    reply = run("doctor")
    assert (reply.code, "does not answer" in reply.out) == (1, True)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("words", [["list"], ["import", "{}/lessons.jsonl"], ["export", "{}/out.jsonl"]])
def test_a_command_says_in_a_moment_that_nobody_answers(
    run: Run, world: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (world / "lessons.jsonl").write_text('{"lesson": "Run make schema first"}\n')
    slept: list[float] = []
    clock = SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept))
    monkeypatch.setattr(remote_line, "time", clock)
    reply = run(*(word.format(world) for word in words))
    assert (reply.code, "does not answer" in reply.err, "is it running" in reply.err) == (7, True, True)
    assert sum(slept) < 1.0
    assert not (world / "out.jsonl").exists()


def test_code_is_cited_and_checked_in_the_checkout_here(
    run: Run, world: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _project(world)
    over(server, monkeypatch, server.token(AGENT))
    told = run("remember", "Refreshing has a lock of its own", "--cite", "auth.py:1-2", "--json").json
    assert told["memory"]["citations"][0]["path"] == "auth.py"
    assert "unchanged" in run("recall", "refreshing lock").out
    (world / "project" / "auth.py").write_text("def renew():\n    return 3\n")
    assert "changed" in run("get", told["memory"]["handle"]).out
    assert told["memory"]["handle"] in run("stale").out
    assert run("remember", "Refreshing is done elsewhere", "--cite", "gone.py:1").code == 2


def test_a_server_without_the_code_does_not_take_it_for_gone(server: Server) -> None:
    token = server.token()
    cited = {"path": "auth.py", "first_line": 1, "last_line": 2, "span_hash": "1:" + "0" * 16, "commit": ""}
    status, _ = server.ask("/v1/remember", {"text": "Refreshing has a lock of its own", "citations": [cited]}, token)
    assert status == 200
    _, found = server.ask("/v1/recall", {"query": "refreshing lock"}, token)
    assert [item["state"] for item in found["result"][0]["cited"]] == ["unchecked"]
    for strange in ({"path": "../x"}, {"path": "a", "no": 1}, {}, {"path": 3}, {"path": "/etc/passwd"}):
        assert server.ask("/v1/remember", {"text": "Refreshing is strange", "citations": [strange]}, token)[0] == 400


def test_a_small_answer_does_not_wait_for_an_acknowledgement() -> None:
    """Without TCP_NODELAY each answer after the first of a connection takes 40 ms."""
    set_for: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken = writer.get_extra_info("socket")
        set_for.append(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def ask() -> None:
        listener = listening(Place())
        async with await asyncio.start_server(answer, sock=listener):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            await reader.read()
            writer.close()

    asyncio.run(ask())
    assert set_for == [1]


def test_what_is_erased_over_a_server_is_in_its_file_no_more(
    run: Run, any_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is rewritten, which cannot be done within a group of writes."""
    over(any_server, monkeypatch, any_server.token(AGENT))
    handle = run("remember", "The xylophone room is drained on Fridays by make drain", "--json").json["memory"][
        "handle"
    ]
    reply = run("forget", handle, "--erase", "--yes")
    assert (reply.code, "server's machine" in reply.err) == (0, True), reply
    assert run("list", "--status", "any").out.count(handle) == 0
    assert not any(b"xylophone" in path.read_bytes() for path in any_server.home.glob("lore.db*"))
