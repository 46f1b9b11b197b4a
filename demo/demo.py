"""The main job in a minute: two projects learn, and the right few lines come back.

Everything happens in a temporary folder, through the installed `swarmlore` command. Each claim is checked; the exit
code is 1 if one does not hold.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time

from swarmlore.clients.hook.spool import has_events

WIDTH = 100
SNAPSHOTS = "Snapshot tests are recorded with make snap-record, never by hand"
SHOP_LESSONS = """\
The checkout service reads its port from CHECKOUT_PORT in config/env.ts
Run pnpm install with --frozen-lockfile in CI, otherwise the cache is rebuilt on every push
Prices are integers in cents; a float in src/pricing breaks the invoice totals
Playwright needs make e2e-seed first, or the login test times out waiting for the demo user
Database migrations in db/migrate are never edited after merge; write a new one
"""
HUB_LESSONS = """\
Flash the sensor board with cargo flash --release; debug builds miss the watchdog window
MQTT topics are documented in docs/topics.md and are checked by make lint-topics
The integration tests need a broker: docker compose up mosquitto before pytest tests/integration
Timestamps from the gateway are UTC milliseconds, the database column is in seconds
Use struct.unpack with an explicit '<' for radio frames, the boards are little endian
"""
ERROR_OUTPUT = "TimeoutError: locator.click: Timeout 30000ms exceeded waiting for demo user, tests/e2e/login.spec.ts:14"


class Demo:
    """Runs the command in a temporary world, shows what it says, and keeps count of what does not hold."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.failed: list[str] = []
        self.program = os.path.join(os.path.dirname(sys.executable), "swarmlore")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SWARMLORE_")}
        self.env = {**kept, "SWARMLORE_HOME": os.path.join(folder, "home"), "COLUMNS": str(WIDTH - 4)}
        self.env["SWARMLORE_AGENT"] = "demo"

    def project(self, name: str) -> str:
        """A folder that looks like a clone of a repository of its own."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.join(path, ".git"))
        with open(os.path.join(path, ".git", "config"), "w", encoding="utf-8") as file:
            file.write(f'[remote "origin"]\n\turl = https://git.example/demo/{name}.git\n')
        return path

    def run(self, where: str, *words: str, text: str = "") -> str:
        """Run one command in a project and show both, the command and its answer."""
        say(f"{os.path.basename(where)} $ swarmlore {' '.join(map(shown, words))}", indent="  ")
        if text:
            say(text.rstrip(), indent="  < ")
        done = self._process(where, *words, text=text)
        say((done.stdout + done.stderr).rstrip() or "(no output)", indent="  | ")
        say("")
        return done.stdout + done.stderr

    def ask(self, where: str, *words: str) -> dict[str, object]:
        """The same answer as a document, for the checks."""
        found: dict[str, object] = json.loads(self._process(where, *words, "--json").stdout)
        return found

    def _process(self, where: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *words],
            cwd=where,
            env=self.env,
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def let_a_day_pass(self) -> None:
        """Nobody waits for what a hook reported: it is learned behind the hook's back, in a moment."""
        spool, deadline = os.path.join(self.env["SWARMLORE_HOME"], "spool"), time.monotonic() + 10
        while has_events(spool) and time.monotonic() < deadline:
            time.sleep(0.05)

    def expect(self, holds: bool, claim: str) -> None:
        if not holds:
            self.failed.append(claim)
            say(f"!! does not hold: {claim}\n")


def say(text: str, indent: str = "") -> None:
    for line in text.split("\n"):
        hanging = indent + " " * (4 + len(line) - len(line.lstrip()))
        parts = textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=hanging, drop_whitespace=True)
        sys.stdout.write("\n".join(parts or [indent.rstrip()]) + "\n")
    sys.stdout.flush()


def heading(text: str) -> None:
    say(f"{text}\n{'-' * len(text)}")


def shown(word: str) -> str:
    """A word as one would type it, a secret shortened."""
    return shlex.quote(re.sub(r"(ghp_\w{4})\w+", r"\1…", word))


def learn(demo: Demo, shop: str, hub: str) -> None:
    heading("1. Two projects learn")
    told = demo.run(shop, "remember", "-", "--each-line", "--category", "tooling", text=SHOP_LESSONS)
    demo.expect("5 added" in told, "five lessons of the shop are stored")
    told = demo.run(hub, "remember", "-", "--each-line", text=HUB_LESSONS)
    demo.expect("5 added" in told, "five lessons of the hub are stored")
    situation = "the reference images no longer match after the button was moved"
    told = demo.run(shop, "remember", SNAPSHOTS, "--kind", "correction", "--situation", situation)
    demo.expect("Remembered" in told, "a lesson is stored with the situation that taught it")
    demo.run(hub, "remember", "Never force-push to main; open a revert pull request", "--tier", "hive", "--tag", "git")


def recall(demo: Demo, shop: str) -> None:
    heading("2. A question in other words finds the lesson, and says why")
    told = demo.run(shop, "recall", "how do I update the reference images?", "--limit", "1", "--explain")
    demo.expect("make snap-record" in told, "the snapshot lesson comes first")


def tell_twice(demo: Demo, shop: str) -> None:
    heading("3. What is known already is recognised")
    told = demo.run(shop, "remember", "snapshot tests are recorded with  make snap-record, never by hand.")
    demo.expect("Already known" in told, "the same lesson in other letters is not stored twice")


def tell_secret(demo: Demo, shop: str) -> None:
    heading("4. A secret never gets in")
    token = "ghp_" + "Zx8Kq2Lm5Nv7Rt3Wy9Bc" * 2  # made here, opens nothing
    told = demo.run(shop, "remember", f"Use {token[:40]} in .github/workflows/release.yml to publish packages")
    demo.expect("redacted" in told and token[:40] not in told, "the token is redacted")
    found = any(token[:40].encode() in content for content in files_of(demo.env["SWARMLORE_HOME"]))
    demo.expect(not found, "the token is in no file of the store")


def files_of(folder: str) -> list[bytes]:
    contents = []
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                contents.append(file.read())
    return contents


def correct(demo: Demo, shop: str) -> None:
    heading("5. A correction replaces what was wrong, and nothing is lost")
    demo.run(shop, "remember", "Use port 5432 to connect to the staging database")
    told = demo.run(shop, "remember", "Use port 5433 to connect to the staging database")
    demo.expect("it replaces" in told, "the new port supersedes the old one")
    told = demo.run(shop, "recall", "psql cannot reach staging: which port is it?", "--limit", "1")
    demo.expect("5433" in told and "5432" not in told, "only the new port is found")


def give(demo: Demo, shop: str, hub: str) -> None:
    heading("6. What an agent is given when a test fails")
    told = demo.run(shop, "recall", "--block", "--trigger", "error", "--session", "demo", ERROR_OUTPUT)
    demo.expect("make e2e-seed" in told, "the block holds the lesson that helps")
    heading("7. Silence where nothing helps")
    told = demo.run(shop, "recall", "--block", "write a haiku about the sea in autumn")
    demo.expect("nothing is given" in told, "an unrelated prompt gets nothing")
    heading("8. Projects stay apart; the hive is for all")
    found = demo.ask(hub, "recall", "update the snapshot tests")
    hidden = "snap-record" not in json.dumps(found)
    demo.expect(hidden, "the hub does not see the shop's lessons")
    say("  In hub, 'update the snapshot tests' finds none of the shop's lessons.\n" if hidden else "")
    told = demo.run(shop, "recall", "may I force-push to main?", "--limit", "1")
    demo.expect("revert pull request" in told, "a hive lesson of the hub is found in the shop")


def sessions(demo: Demo, shop: str) -> None:
    heading("9. Corrected in Claude Code, known in Codex: what their hooks do")
    said = "No, the feature flags are in config/flags.yaml here, never in the database"
    prompt = {"session_id": "monday", "cwd": shop, "prompt_id": "1", "prompt": said}
    demo.run(shop, "hook", "claude", "UserPromptSubmit", text=json.dumps(prompt))
    demo.let_a_day_pass()
    asked = {**prompt, "session_id": "tuesday", "prompt": "add a feature flag for the new checkout"}
    told = demo.run(shop, "hook", "codex", "UserPromptSubmit", text=json.dumps(asked))
    demo.expect("config/flags.yaml" in told, "the next session, of another client, is given the correction")
    demo.run(shop, "receipts", "--limit", "1")


def swarm(demo: Demo, shop: str) -> None:
    heading("10. A worker of a swarm reports its task; the next one is told before it begins")
    said = "The refund endpoint needs an idempotency key, otherwise Stripe books a retried call twice."
    report = ("--success", "--errors", "2", "--task", "bd-17", "--summary", "Refund endpoint", "--evaluation", said)
    demo.run(shop, "outcome", *report)
    done = demo.run(shop, "worker", "--until-empty")
    demo.expect(re.match(r"[1-9]\d* jobs? done\.", done) is not None, "a worker does what nobody waited for")
    told = demo.run(shop, "prime", "--task", "add partial refunds to the refund endpoint")
    demo.expect("### Relevant Past Knowledge" in told and "idempotency key" in told, "what the task taught comes back")
    demo.run(shop, "mail", "send", "--to", "bob", "--subject", "Refunds", "Partial ones are mine, take the webhooks.")
    demo.env["SWARMLORE_AGENT"] = "bob"
    told = demo.run(shop, "mail", "inbox")
    demo.expect("Refunds" in told, "agents write to each other")


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="swarmlore-demo-") as folder:
        demo = Demo(os.path.realpath(folder))
        shop, hub = demo.project("shop"), demo.project("hub")
        learn(demo, shop, hub)
        recall(demo, shop)
        tell_twice(demo, shop)
        tell_secret(demo, shop)
        correct(demo, shop)
        give(demo, shop, hub)
        sessions(demo, shop)
        swarm(demo, shop)
        say(
            f"{time.monotonic() - began:.1f} s. "
            + (f"Claims that do not hold: {len(demo.failed)}." if demo.failed else "All claims hold.")
        )
    return 1 if demo.failed else 0


if __name__ == "__main__":
    sys.exit(main())
