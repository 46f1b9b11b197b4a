"""Numbers in sentences and in code: read as amounts of one kind, so that the two can be held against each other."""

from __future__ import annotations

import pytest

from hostile import SCANNERS
from swarmlore.research.conflicts import LINE_CHARS, amounts_in, constants, content_stems, has_number, match_score

MB = 1_048_576.0


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Failed calls are retried three times, 30 seconds apart.", [("count", 3.0, "times"), ("time", 30.0, "")]),
        ("Loans last 21 days and can be renewed twice.", [("time", 21 * 86400.0, ""), ("count", 2.0, "times")]),
        ("An upload may have at most 20 MB.", [("size", 20 * MB, "")]),
        ("The server listens on port 8080.", [("port", 8080.0, "")]),
        ("Open http://localhost:9000/health now.", [("port", 9000.0, "")]),
        ("Stations are polled once a minute.", [("time", 60.0, "")]),
        ("Dumps are taken every hour.", [("time", 3600.0, "")]),
        ("The worker runs four processes.", [("count", 4.0, "process")]),
        ("VAT is 21 % here.", [("percent", 21.0, "")]),
        ("It is asked up to 1,000 times.", [("count", 1000.0, "times")]),
        ("See section 3 for more.", []),
        ("Nothing is said here.", []),
    ],
)
def test_a_sentence_tells_amounts(sentence: str, wanted: list[tuple[str, float, str]]) -> None:
    assert [(found.kind, found.value, found.unit) for found in amounts_in(sentence)] == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("const maxRetries = 5", ("maxRetries", "count", 5.0)),
        ("private static final int MAX_RETRIES = 5;", ("MAX_RETRIES", "count", 5.0)),
        ("    retries: int = 3,", ("retries", "count", 3.0)),
        ("const linkTTL = 30 * 24 * time.Hour", ("linkTTL", "time", 30 * 86400.0)),
        ("const T: Duration = Duration::from_secs(15);", ("T", "time", 15.0)),
        ("Duration WINDOW = Duration.ofHours(24);", ("WINDOW", "time", 86400.0)),
        ("TTL = timedelta(days=7)", ("TTL", "time", 7 * 86400.0)),
        ("cache_for = 15.minutes", ("cache_for", "time", 900.0)),
        ("timeout: 30s", ("timeout", "time", 30.0)),
        ("export const SESSION_DAYS = 30;", ("SESSION_DAYS", "time", 30 * 86400.0)),
        ("MAX_UPLOAD_MB = 50", ("MAX_UPLOAD_MB", "size", 50 * MB)),
        ("LIMIT = 5 * 1024 * 1024", ("LIMIT", "size", 5 * MB)),
        ("  upload-limit: 8MB", ("upload-limit", "size", 8 * MB)),
        ("const DEFAULT_PORT: u16 = 7070;", ("DEFAULT_PORT", "port", 7070.0)),
        ('Addr: get("APP_ADDR", ":8085"),', ("APP_ADDR", "port", 8085.0)),
        ("port: ${PORT:-8080}", ("PORT", "port", 8080.0)),
        ("const PORT = process.env.CHAT_PORT ?? 4000;", ("CHAT_PORT", "port", 4000.0)),
        ("EXPOSE 8085", ("port", "port", 8085.0)),
        ("VAT_PERCENT = 21", ("VAT_PERCENT", "percent", 21.0)),
        ("requestsPerMinute = 120", ("requestsPerMinute", "count", 120.0)),
        ("retry_delay = 60", None),  # of what, nobody says
        ("# RETRIES = 3", None),
        ('name = "web-2"', None),
    ],
)
def test_a_line_of_code_gives_an_amount_to_a_name(line: str, wanted: tuple[str, str, float] | None) -> None:
    found = [(one.name, one.amount.kind, one.amount.value) for one in constants([line])]
    assert found[:1] == ([] if wanted is None else [wanted])


def test_a_constant_has_the_comment_above_it_or_behind_it() -> None:
    lines = ["/// How long a request may take.", "const A_SECS: u64 = 15;", "B_SECS = 3  # between two tries"]
    assert [one.about for one in constants(lines)] == ["How long a request may take.", "between two tries"]


@pytest.mark.parametrize(
    ("sentence", "line", "path", "same"),
    [
        ("Webhooks are retried three times.", "maxRetries = 5", "webhook/send.go", True),
        ("Mails are tried again up to 3 times.", "MAX_ATTEMPTS = 6", "mail/Mailer.java", True),
        ("Loans last 21 days.", "LOAN_DAYS = 28", "loan.rb", True),
        ("Loans last 21 days.", "BACKUP_DAYS = 28", "backup.rb", False),
        ("Loans last 21 days.", "LOAN_MB = 28", "loan.rb", False),
        ("The worker runs four processes.", "WORKER_PROCESSES = 8", "settings.py", True),
        ("The worker runs four processes.", "WORKER_THREADS = 8", "settings.py", False),
        ("The server listens on port 8080.", "PORT = 3000", "main.py", True),
        ("The payment webhook listens on port 8080.", "PORT = 3000", "main.py", False),
    ],
)
def test_what_is_said_and_what_is_held_are_of_one_thing_or_not(sentence: str, line: str, path: str, same: bool) -> None:
    [said] = amounts_in(sentence)
    [held] = constants([line])
    assert bool(match_score(said, held, content_stems(path.rpartition(".")[0]))) is same


@pytest.mark.parametrize(
    ("text", "wanted"), [("at 02:00", True), ("three of them", True), ("once a day", True), ("the one thing", False)]
)
def test_a_text_holds_a_number_or_not(text: str, wanted: bool) -> None:
    assert has_number(text) is wanted


@pytest.mark.parametrize("piece", SCANNERS["amounts"].pieces)
def test_hostile_lines_hold_few_amounts(piece: str) -> None:
    assert len(list(constants([piece * 40_000] * 20))) <= 20 * LINE_CHARS / len(piece)
    assert {found.line for found in constants([piece] * 20_000)} in (set(), set(range(1, 20_001)))
    assert len(list(amounts_in(piece * 50_000))) == (90 if piece == "five five " else 0)
