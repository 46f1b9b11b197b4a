"""Hostile texts for everything that scans text: a suite test counts the work on them, `bench/proportion.py` times it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from swarmlore.clients.install.edit_json import blanked
from swarmlore.clients.transcripts import Turn, turns_of_text
from swarmlore.domain.extraction.corrections import find_corrections
from swarmlore.domain.extraction.fixes import error_excerpt, error_line
from swarmlore.domain.extraction.learned_comments import find_bead_lessons
from swarmlore.domain.extraction.session_lessons import Lesson, extract_lessons
from swarmlore.domain.extraction.signals import scan as find_signals
from swarmlore.domain.extraction.task_reports import TaskReport, lessons_of_task
from swarmlore.domain.language.citations import Found, Lines, find_citations, find_span, fingerprint_span
from swarmlore.domain.language.concepts import canonical, concepts_of
from swarmlore.domain.language.unicode import clean, fold
from swarmlore.domain.pages.drafting import draft
from swarmlore.domain.pages.routing import ROUTES, Context
from swarmlore.domain.pages.rule_conflicts import conflicts_with, says_already
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.security.redaction import redact
from swarmlore.domain.security.safety import inspect_safety
from swarmlore.errors import Conflict
from swarmlore.memory.swarm_files import current_phase
from swarmlore.memory.swarm_files import read as read_context
from swarmlore.notes.markdown import read_page, with_added
from swarmlore.notes.note_format import parse_note
from swarmlore.notes.project_memory import memory_md
from swarmlore.research.conflicts import amounts_in, constants
from swarmlore.workspace.codebase import read_readme

ARMOUR = "-----BEGIN " + "RSA PRIVATE KEY-----"


@dataclass(frozen=True)
class Scanner:
    """Something that reads a text, and pieces which it would be slow on if it read a part twice."""

    scan: Callable[[str], object]
    pieces: tuple[str, ...]
    size: int = 200_000

    def text(self, piece: str, size: int = 0) -> str:
        """A text of about this many characters made of one piece."""
        return piece * ((size or self.size) // len(piece))


def _explain(text: str) -> object:
    edit = Turn("tool", tool="write", files=("src/a.py",), failed=False)
    works = Turn("tool", tool="shell", command="pytest -q")
    return lessons_of_task([Turn("user", text), Turn("assistant", text), edit, works, Turn("user", text)], TaskReport())


def _edit_note(text: str) -> None:
    """Read a page in every way and change it in every way; a page that cannot be changed is refused."""
    parse_note(text)
    memory_md.parse(text)
    memory_md.overflowing(text)
    memory_md.reference_in(text)
    with suppress(Conflict):
        memory_md.with_entry(text, "Testing", "x")
    with suppress(Conflict):
        with_added(read_page(text), "A", "x")


def _compare(text: str) -> object:
    never = "Never use tabs in this project"
    return conflicts_with(f"{never}, always use spaces.", text), says_already(f"{never}.", text)


def draft_everywhere(text: str) -> list[object]:
    lesson = Lesson(text, situation=text, situation_via="error", way="cause", fix=text)
    return [draft(lesson, target, Context(project="shop", seen=3)) for target in ROUTES]


def _amounts(text: str) -> object:
    lines = [text, *(text[start : start + 60] for start in range(0, len(text), 60))]
    return list(constants(lines)), list(amounts_in(text))


def _concepts(text: str) -> object:
    return concepts_of(text, (text,), text), canonical(text)


def _strip_numbered(text: str) -> str:
    """Strip as many open blocks as fit into a text, each with a fence of its own."""
    return strip_blocks("".join(f"=== swarmlore notes {number:08} ===\nwords\n" for number in range(len(text) // 36)))


def _cite(text: str) -> object:
    """One long word is looked at, too, without any end before its last letter."""
    return find_citations(text), find_citations("a" * len(text) + ":1a:1")


def _one_sentence(text: str) -> object:
    return [list(find_signals(text + ".\n", speaker)) for speaker in ("user", "assistant")]


def _find_lines(text: str) -> Found | None:
    """Look for some lines of a file far from where they were."""
    lines = Lines(text.encode())
    last = text.count("\n")
    return find_span(lines, fingerprint_span(lines, 5, 500), last - 600, last - 105)


_SECRETS = (
    *("a", "=", "a=", "a1:b2:", ":A1b2-_x9.", "token=", "token=a1b2c3d4e5", '":"a1b2c3', "a1-b2-", '"""a1'),
    *("://", "://a:", "://a:b@", "eyJ", "eyJaaaaaaaaaaaaa.", "eyJaaaaaaaaaaaaa.eyJaaaaaaaaaaaaa."),
    *("[redacted:password]", ARMOUR, ARMOUR + "\nabcdefghijklmnopqrst\n", ARMOUR + "a "),
    *("kind: Secret\ndata:\n  a: b\n", '"kind":"secret","data":{', "curl -u ", "curl -u a:", "machine a login b "),
    *("a:5432:b:c:", "mysql -", "redis-cli -", " --a-token ", " --password "),
    *("authorization: ", "authorization:bearer ", "bearer a1b2c3d4e5f6g7h8 ", "cookie: a=", "password is ", "key is "),
    *("sk-", "sk-ant-api03-", "ghp_", "xoxb-1234567890-", "glpat-", "AKIA", "hooks.slack.com/services/", "s."),
    *("live_", "Q~", "client_id=", "spotify_client_id=", "host: a.jfrog.io ", "url=https://a.b.c.", "\ud800", "\0"),
    *("é1=", " " * 50 + "="),
)
_SAFETY = (
    *("ignore ", "your answer ", "never disable tls ", "disable x", "no ", "skip ", "a", "rm ", "rm -r ", "sudo -a b "),
    *("python -a -c rm ", "$(rm ", "sh $(", "base64 -d ", "{,", "\\x72", "`", "eval ", "javascript:", "user:\n"),
    *(
        "$ifs",
        "忽略",
        "é ",
        "\u200d",
        "instuctions prevoius ",
        "git push a ",
        "dd a ",
        "chmod -a ",
        "a{a|",
        "...",
        "\n",
    ),
    "\x00",
)
STATEMENTS = (
    *("we can't ", "nobody runs ", "a/b.c ", "x.y", "/a", "they ", ", so no ", "leave it, ", "the one is ", ": "),
    *('e.g. "a b c" ', "... ", "all of them ", "use x, ", "soft delete, ", "that's a generated ", "our things are "),
)
CORRECTIONS = (
    *("no, ", "never ", "use ", "it's ", "not ", "`", '"', "<a>", "</a>", "```", "\n", "\n\n", "> ", "- ", "don't "),
    *(
        "always ",
        "I told you ",
        "from now on ",
        "remember that ",
        "we ",
        "pnpm",
        ", ",
        ". ",
        "?",
        "must not be ",
        "8080",
    ),
    *("src/x.py", "\u200b"),
)
_PHRASES = ("if would ", "don't have to ", "the docs say ", "'a b", "use x not ", "reads the ", "is always required ")
_NOTES = (
    *("#", "# ", " #", "```\n", "~", "<!--\n", "- ", "-\n", "\n", " ", "@.agents/", "@", "---\n", "## A\n"),
    *("- a\n\n  b\n", "\r"),
)
SCANNERS = {
    "amounts": Scanner(
        _amounts, ("a=" * 10, "1 * ", "x: 1_", '"A_B", ', "five five ", "port port ", "9,999", "a = 1\n")
    ),
    "blocks": Scanner(
        strip_blocks, ("=== swarmlore notes abcdef12 ===\nwords\n", "=== end abcdef12 ===\n", "=== ", "=")
    ),
    "blocks of their own": Scanner(_strip_numbered, ("x",)),
    "citations": Scanner(_cite, ("a", "a(", '"', "line 1 of ", "[a]", "a:1 ", "a" * 5_000 + ":1"), 400_000),
    "clean": Scanner(
        lambda text: (clean(text), fold(text)),
        (
            *("\u200d", "👩\ufe0f\u200d", "x\ufe0f\u200d👩", "\ud800", "\u200b\u0301\u200b\u0316", "\u0301\u0316"),
            *("\u0f73", "a\u0301"),
        ),
    ),
    "concepts": Scanner(
        _concepts, ("a-", "`", "A", "((((", "x.", "error: ", "a b ", "EError", "\u200b", "`a` ", "v1.1.1 ")
    ),
    "context.md": Scanner(lambda text: read_context("## Patterns\n" + text), ("- ", "# ", "   ", "1.", "- a\n", "\n")),
    "corrections": Scanner(lambda text: find_corrections(text, text), (*CORRECTIONS, *STATEMENTS)),
    "drafts": Scanner(draft_everywhere, ("because ", "the root cause was ", "a, ", "`", "x", "\n## Problem\n"), 60_000),
    "errors": Scanner(
        lambda text: (error_excerpt(text), error_line(text)),
        ("\n", "a", "error: x\n", "Error: \n", "\x1b[", "/tmp/", "at x (", "0x1234 ", "2026-01-05 ", "in 1"),
    ),
    "explanations": Scanner(
        _explain,
        ("and ", "ok, ", "which a ", "so a ", "it is not ", "let me ", "a: b ", "no ", "x, since "),
    ),
    "JSON comments": Scanner(blanked, ("/* ", '\\"', "\\\n", ", ", "/", '"')),
    "learned": Scanner(
        lambda text: find_bead_lessons("bd comment X 'LEARNED: a'; " + text),
        (
            *("$(", '"$(', "<<a\n", "'", "((", "`", "\\", 'bd comment X "$(cat <<E\n', "a|", "$((", "eval '"),
            "x=$(bd ",
        ),
    ),
    "lessons": Scanner(
        lambda text: list(extract_lessons(turns_of_text("Assistant: " + text))),
        ("The root cause was a lock in part x. Setting it to true fixed that. ", "No, use x. ", "```\n", "> "),
    ),
    "notes": Scanner(_edit_note, _NOTES),
    "plans": Scanner(
        current_phase,
        (
            *("## Phase 1" + " " * 300 + "[x] y\n", "## Phase 1" + "\t :" * 90 + "]\n"),
            *("## Phase " + "1" * 390 + "\n", "#" * 399 + "\n", "#", "## Phase 1"),
        ),
    ),
    "readme": Scanner(
        lambda text: read_readme(text, "README.md"), ("#", "- ", "```\n", "    x\n", "| a ", "---\n", "a. ")
    ),
    "rules": Scanner(_compare, ("- always use tabs\n", "`", "- x. ", "a, b and c not d ", "\n", "never ")),
    "safety": Scanner(inspect_safety, _SAFETY),
    "secrets": Scanner(redact, _SECRETS),
    "sentences": Scanner(_one_sentence, _PHRASES, 600),  # a longer one is not looked at
    "signals": Scanner(
        lambda text: list(find_signals(text)),
        ("never x. ", "- x\n", "`", '"', "<a>\n", "maybe ", "...", "a", "\n", *_PHRASES),
    ),
    "spans": Scanner(_find_lines, ("a\n", "a\nb\n")),
}
CASES = [(name, piece) for name, scanner in SCANNERS.items() for piece in scanner.pieces]
