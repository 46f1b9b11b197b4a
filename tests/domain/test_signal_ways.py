"""The many ways in which people say what is worth keeping: the described lists one by one, and what has no such word."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from swarmlore.clients.transcripts import turns_of_text
from swarmlore.domain.extraction.session_lessons import extract_lessons, lesson_from
from swarmlore.domain.extraction.signals import LEVELS, Signal, scan
from swarmlore.domain.extraction.topics import category_of, points_of
from swarmlore.domain.pages.routing import route

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import signals as signals_bench


def level_of(text: str, speaker: str = "user") -> str:
    return next((level for level in LEVELS if any(one.level == level for one in scan(text, speaker))), "none")


def strongest(text: str, speaker: str = "user") -> Signal:
    return min(scan(text, speaker), key=lambda one: LEVELS.index(one.level))


# Every phrase of the described lists, in a sentence.
LISTED = {
    "high": """Never edit generated files.|Don't use var in new code.|Do not touch the vendored folder.
        |Stop doing it by hand.|That's wrong.|The import order is wrong.|Not like that.|That's incorrect.|Incorrect.
        |You should not commit to main.|You shouldn't log passwords.|Tests must not touch the network.
        |Workers mustn't share a connection.|Always run the linter.|The header must be set.
        |Ticket number required in commit messages.|The rule is: one module per feature.
        |The correct way is to use the factory.|I already told you to use tabs.|You did that again?|Not again.
        |How many times do I have to say it?|You should know that we deploy on Tuesdays.
        |Remember that the API is versioned.|Don't forget the changelog.|The root cause was a missing index.
        |The issue was a stale cache.|The problem was the encoding.|The bug was in the parser.
        |Fixed by clearing the cache.|The fix was a one-line change.|The solution was to retry.
        |Resolved by upgrading to 2.1.|Solved by adding a lock.|We chose Postgres over MySQL.
        |We decided to drop Python 3.8.|I went with a queue.|Turns out the variable was unset.
        |Figured out why it hung.|Found it, the socket was closed.""",
    "medium": """Perfect.|Exactly.|That's right.|Yes, like that.|Correct.|That's correct.|Good.|Great job.|Well done.
        |Nice.|Excellent.|Keep doing it this way.|Continue with this approach.|Stick with pytest.
        |We spent 3 hours on this bug.|It took 45 min to find.|That took 2 days.
        |The docs say it is optional but it crashes without it.|The retry header is undocumented.
        |What a misleading error.|Make sure to close the file.|It requires libpq installed.
        |It only works with Node 20.""",
    "low": """Maybe use a queue.|Perhaps we need a cache.|You might want to add an index.|Consider using an enum.
        |It seems like a race.|It appears to be cached.|It looks like the index is missing.|Interesting.
        |Good idea.|That could work.|It seems to work.|I discovered that the flag exists.|We switched to uv.
        |We switched from npm to pnpm.|Replaced moment with date-fns.""",
    "none": """Never mind.|Never mind, I found it.|That's not wrong.|It's not incorrect.|What if we never cached it?
        |Why would anyone always do this?|If we always cached, it would be faster.|The docs say "always use tabs".
        |Isn't that always the case?""",
}  # fmt: skip


@pytest.mark.parametrize(
    ("level", "text"), [(level, text.strip()) for level, block in LISTED.items() for text in block.split("|")]
)
def test_each_described_phrase_has_its_level(level: str, text: str) -> None:
    assert level_of(text) == level


@pytest.mark.parametrize(
    "text",
    [
        "Only touch the lines that the ticket is about.",
        "tabs in make files, two spaces everywhere else",
        "First the failing test, then the fix.",
        "Run the linter before you tell me that it works.",
        "One logical change per commit, please.",
        "Comments explain why, not what.",
        "Public methods get a doc comment, private ones don't.",
        "Every commit title starts with the ticket.",
        "We pin versions exactly, no ranges.",
        "No string concatenation in SQL.",
        "Unwrapping in library code is a no-go.",
        "hands off the production credentials",
        "Controllers have no business in the storage layer.",
        "Deploying is mine to do, you only ever prepare it.",
        "No, use the factory instead.",
        "Again: no default exports.",
        "You keep reformatting files that you need not touch.",
        "You left the type hints out again.",
        "That broke production last time.",
        "We don't do that here.",
        "gradle wrapper only, the system gradle is ancient",
        "I want to see the plan before you write a single line.",
        "'stale' for us means no quote for three seconds",
        'In our world a "leg" is one segment of a flight.',
        'FYI "tenant" means the hospital.',
    ],
)
def test_a_rule_needs_no_word_of_ruling(text: str) -> None:
    assert level_of(text) == "high"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Bitte Kommentare immer auf Englisch schreiben.", "high"),
        ("Keine Umlaute in Dateinamen.", "high"),
        ("Frag mich, bevor du neue Pakete installierst.", "high"),
        ("Die Ursache war ein fehlender Index.", "high"),
        ("Genau so, kurze Funktionen.", "medium"),
        ("Die Pipeline läuft nur mit Node 20.", "medium"),
        ("Vielleicht reicht eine Tabelle.", "low"),
        ("Soll ich das immer so machen", "none"),
        ("Das ist immer noch langsam, kannst du nachsehen?", "none"),
        ("Il faut toujours lancer les tests avant de pousser.", "high"),
        ("Pas d'abréviations dans les noms.", "high"),
        ("Parfait, garde ce style.", "medium"),
        ("Peut-être une file serait mieux.", "low"),
        ("Est-ce qu'il faut toujours relancer le serveur ?", "none"),
        ("Nunca subas claves al repositorio.", "high"),
        ("Hay que preguntar antes de borrar.", "high"),
        ("Muy bien, sigue así.", "medium"),
        ("Quizás convenga otra cola.", "low"),
        ("¿Siempre hay que reiniciar?", "none"),
    ],
)
def test_the_plainest_words_count_in_four_languages(text: str, level: str) -> None:
    assert level_of(text) == level


@pytest.mark.parametrize(
    ("text", "speaker", "level"),
    [
        ("The deadlock came from two workers that lock in opposite order.", "assistant", "high"),
        ("Sorting by id before locking removed it.", "assistant", "high"),
        ("The crash went away once I pinned the plugin to 1.9.", "assistant", "high"),
        ("Finally got it working by disabling the cache.", "user", "high"),
        ("The suite needs the tunnel up, otherwise it hangs.", "user", "medium"),
        ("The simulator build works only with the old toolchain.", "user", "medium"),
        ("According to the manual it takes lists, in practice only literals.", "user", "medium"),
        ("Batching the inserts made it 12x faster.", "assistant", "medium"),
        ("After two hours of bisecting it was the locale.", "assistant", "medium"),
        ("heads-up, the bus delivers twice now and then", "user", "medium"),
        ("The bucket is shared, so the names have a prefix.", "user", "medium"),
        ("I lean towards dataclasses for these, no strong feelings.", "user", "low"),
        ("I wonder whether a single file would be enough.", "user", "low"),
    ],
)
def test_what_was_found_out_is_told_in_many_ways(text: str, speaker: str, level: str) -> None:
    assert level_of(text, speaker) == level


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Add a check that the amount can never be negative.", "user"),
        ("The banner should always be visible, please implement it in the header.", "user"),
        ("Users must be able to reset their password, add a page for that.", "user"),
        ("only show active users in the dropdown", "user"),
        ("show the price in every row of the table", "user"),
        ("I'm not saying you must always write a test.", "user"),
        ("Scrap what I said about always sorting imports.", "user"),
        ("Redistributions of source code must retain the above copyright notice.", "user"),
        ("At my last job we always deployed on Fridays.", "user"),
        ("Users report that the list is always empty.", "user"),
        ("never seen that error before", "user"),
        ("So the root cause is still unknown.", "user"),
        ("great, thx", "user"),
        ("Exactly one row is missing.", "user"),
        ("it took 3 minutes to build", "user"),
        ("No errors in the console, but the list is empty.", "user"),
        ("before you start, read the architecture page", "user"),
        ("the last commit broke the build", "user"),
        ("we have to finish this by Friday", "user"),
        ("The cache must be cleared somewhere, find out where.", "user"),
        ("The client never calls this endpoint, so remove it.", "user"),
        ("let's assume prices never change", "user"),
        ("I wish it was always that easy", "user"),
        ("they decided to postpone the launch", "user"),
        ("wait for the build before you push this", "user"),
        ("If the fix was correct, the test should pass now.", "assistant"),
        ("Each handler validates its input and returns a typed result.", "assistant"),
        ("A mutex guarantees that two threads never enter at once.", "assistant"),
        ("The function takes two arguments and returns a promise.", "assistant"),
        ("I decided to look at the router first.", "assistant"),
        ("This might be related to the cache; checking.", "assistant"),
        ("The timeout is the same on both sides, so that is not it.", "assistant"),
        ("Because the queue is empty.", "assistant"),
        ("The fix is in src/app.ts, line 40.", "assistant"),
    ],
)
def test_tasks_reports_and_talk_are_no_signals(text: str, speaker: str) -> None:
    assert scan(text, speaker) == ()


@pytest.mark.parametrize(
    ("text", "sentence", "category"),
    [
        (
            "The cluster only takes kubectl 1.27. Keep that in mind.",
            "The cluster only takes kubectl 1.27. Keep that in mind.",
            "Tools",
        ),
        ("Before you drop a table you ask me. Always.", "Before you drop a table you ask me. Always.", "Process"),
        ("Should I keep it? Always.", "Always.", "Unknown"),
    ],
)
def test_a_sentence_that_points_back_is_about_the_one_before(text: str, sentence: str, category: str) -> None:
    (signal,) = scan(text)
    assert (signal.level, signal.sentence, signal.category) == ("high", sentence, category)


@pytest.mark.parametrize(
    ("text", "speaker", "category"),
    [
        ("Stop adding singletons to the game loop.", "user", "Architecture"),
        ("The VPN has to be on for the integration tests.", "user", "Tools"),
        ("Never commit the .env file, not even for a test.", "user", "Security"),
        ("Run the formatter before every commit.", "user", "Process"),
        ("Don't claim success unless you have run the tests.", "user", "Process"),
        ("Answer short, without a summary.", "user", "Process"),
        ("Never call a variable data2.", "user", "Code Style"),
        ("A refund never exceeds the payment of the customer.", "user", "Domain"),
        ("The fix was to close the pipe before waiting.", "assistant", "New Skill"),
        ("The fix was to hash the password before the token is made.", "assistant", "Security"),
        ("Spent two days on it, the clock ran backwards.", "user", "New Skill"),
    ],
)
def test_a_topic_is_known_by_what_a_sentence_is_chiefly_about(text: str, speaker: str, category: str) -> None:
    assert strongest(text, speaker).category == category


def test_what_a_sentence_opens_with_weighs_more_than_its_place_or_reason() -> None:
    assert (
        points_of("the start is slow because of singletons")["Architecture"] < points_of("singletons")["Architecture"]
    )
    assert category_of("the singletons because of tests") == "Architecture"
    assert category_of("the unit tests because of singletons") == "Process"


@pytest.mark.parametrize(
    ("text", "speaker", "targets"),
    [
        ("Every release we hit that signing error, and every time re-signing the frameworks fixes it.", "user", ("knowledge", "skill")),
        ("The same mismatch as in the last two tickets: rendering a placeholder solves it.", "assistant", ("knowledge", "skill")),
        ("The fix was to render a placeholder.", "assistant", ("knowledge",)),
        ("Maybe move the search into its own service some day.", "user", ("memory",)),
        ("Maybe that is better.", "user", ("review",)),
        ("heads-up, the search index lags behind the database", "user", ("memory",)),
        ("The old module reads the table directly, so you can't rename columns there.", "user", ("memory",)),
        ("careful, the seed script wipes the local database", "user", ("memory",)),
        ("The docs claim the flag is optional but the CLI crashes without it.", "user", ("knowledge",)),
        ("Handlers stay thin.", "user", ("behavioral",)),
    ],
)  # fmt: skip
def test_what_is_said_goes_where_somebody_would_look_for_it(text: str, speaker: str, targets: tuple[str, ...]) -> None:
    assert route(lesson_from(strongest(text, speaker))).targets == targets


@pytest.mark.parametrize(
    "text",
    [
        "Somebody on the forum claims you should never use an ORM.",
        "According to the forum one should never use eval.",
        "Our lawyer told me we must keep it for ten years.",
        "Never seen that error before.",
        "Add a check that the amount can never be negative.",
    ],
)
def test_hearsay_and_tasks_teach_nothing_whoever_said_them(text: str) -> None:
    assert extract_lessons(turns_of_text(text)) == ()


@pytest.mark.parametrize("name", ["blind_a", "varied"])
def test_what_others_say_is_understood_as_well(name: str) -> None:
    report = signals_bench.measure(name)
    assert report.turns >= 150
    assert report.alarms <= 0.03 * report.silent
    assert min(report.levels.precision(), report.levels.recall()) >= 0.9, report.levels.notes
    assert min(report.categories.precision(), report.routes.precision()) >= 0.86, report.categories.notes
