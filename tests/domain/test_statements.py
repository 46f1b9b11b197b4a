"""Statements of a person that hold beyond the task: signs added up, none of them a shape of its own."""

from __future__ import annotations

import pytest

from swarmlore.domain.extraction.corrections import find_corrections
from swarmlore.domain.extraction.message_text import sentences
from swarmlore.domain.extraction.statement_score import ENOUGH, StatementContext, holds_in_general, signs_of


def texts(prompt: str, said_before: str = "") -> list[str]:
    return [found.text for found in find_corrections(prompt, said_before)]


# --- what holds in general, said to an agent that has done something

HELD = [
    ("I set minSdk to 29.", "hm, hang on. We can't go above 26, the kiosk tablets still run Android 8."),
    ("I cast the SKUs to integers.", "You can't cast skus to int. They carry leading zeros."),
    ("Shall I apply?", "God no. Nobody runs apply from a laptop, Atlantis does that from the PR."),
    ("There are rows for warehouse 9; shall I filter them?", "Leave them in. Warehouse 9 is virtual, it stands for suppliers."),
    ("Opened #812.", "good. also fyi PRs get squashed when merged so don't bother cleaning up the history"),
    ("I sorted the list on the client.", "sorting happens in the database here, the lists can have a million rows"),
    ("I committed the lock file.", "lock files aren't committed in this repo, renovate manages them"),
    ("I enabled caching for /prices.", "prices can't be cached, they change per customer"),
    ("I ran the migration.", "migrations are run by the deploy job only, nobody does that by hand"),
    ("I removed the sleep.", "that sleep is there on purpose, the printer needs 200ms between jobs"),
    ("I changed the public API.", "anything under /v1 is frozen, partners depend on it"),
    ("I hardcoded the currency.", "currency comes from the tenant settings"),
    ("I used POST.", "PUT. our proxies don't retry POST"),
    ("I put it into the monolith.", "new features go into the services, the monolith is in maintenance mode"),
    ("I deployed to eu-west-1.", "we're contractually bound to keep data in Germany, so only eu-central-1"),
    ("I wrote the SQL by hand.", "we dont write raw sql, thats what the query builder is for"),
    ("88,123, from db1.", "please use db2 for things like that, db1 is the primary and long queries there hurt the shop"),
    ("I used threading.", "the SDK isn't thread-safe, use processes instead of threads"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "prompt"), HELD)
def test_a_statement_about_the_project_is_a_lesson(before: str, prompt: str) -> None:
    assert len(texts(prompt, before)) == 1


NOT_HELD = [
    ("I moved the button.", "the button is a bit too far to the left"),
    ("I added the page.", "the customers see an empty page when they open it on mobile"),
    ("The page is cached.", "nice, the page is much faster now"),
    ("The test takes 3 seconds.", "the test takes 3 seconds, that's ok for me"),
    ("Shall I push?", "not yet, I want Ann to look at it first"),
    ("I made the header green.", "the header should be blue and the footer should have the same height"),
    ("I added the discount.", "we need a second column for the discount, marketing wants it by friday"),
    ("Ready for review by Bob.", "Bob is on vacation, so I'll review it"),
    ("The import works.", "the import fails for files with umlauts, have a look"),
    ("The login is deployed.", "users can't log in since the deploy, please check"),
    ("I listed the entries.", "the list shows 20 entries, I'd expect 25"),
    ("Memory is measured.", "memory goes up all the time, every request adds a few MB"),
    ("The job is scheduled.", "sometimes the job runs twice, no idea why"),
    ("I can't reproduce it.", "we can't reproduce it, so let's close it"),
    ("I changed both files.", "you must have missed the second file, it still has the old name"),
    ("Redis runs.", "Redis is at 90% memory, restart it"),
    ("The backup runs.", "prod is slow, because the backup is running"),
    ("I stored the orders.", "we lost 3 orders yesterday because of that"),
    ("I added the endpoint.", "the endpoint must also accept POST, the mobile team asked for it"),
    ("I restarted the server.", "you have to restart the server because I changed the env"),
    ("Option 1 is a queue, option 2 a table.", "use option 2, it's simpler"),
    ("I removed it.", "remove dead code in utils/strings.py, only functions w/o callers"),
    ("", "pods of the importer get OOMKilled every couple of hours"),
    ("", "src/app.py: wrap the call in a cached function so that it works from any machine"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "prompt"), NOT_HELD)
def test_a_report_a_wish_or_an_order_is_none(before: str, prompt: str) -> None:
    assert texts(prompt, before) == []


def test_a_sum_can_be_explained_and_a_new_report_takes_up_nothing() -> None:
    said = "prices can't be cached, they change per customer"
    replied = signs_of(said, frozenset(), StatementContext("I enabled caching for /prices."))
    assert replied["taken up"] == 2 and sum(replied.values()) >= ENOUGH
    assert "taken up" not in signs_of(said, frozenset(), StatementContext("I fixed the footer."))
    assert not holds_in_general("the page is empty", frozenset(), StatementContext("I emptied the page."))


# --- openings


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("One remark though: the webhook handler must stay free of side effects, because Stripe delivers events more than once.",
         "The webhook handler must stay free of side effects, because Stripe delivers events more than once."),
        ("Small caveat for later: only mac-02 holds the distribution certificate, the other agents can't sign",
         "Only mac-02 holds the distribution certificate, the other agents can't sign."),
        ("I should have been more precise: any library as long as it isn't (A)GPL, legal does not allow copyleft",
         "Any library as long as it isn't (A)GPL, legal does not allow copyleft."),
        ("Careful: the nightly job must never run twice, because it books the invoices again",
         "The nightly job must never run twice, because it books the invoices again."),
    ],
)  # fmt: skip
def test_what_only_announces_a_statement_is_taken_off(prompt: str, text: str) -> None:
    assert texts(prompt, "I looked for a library that signs the webhook and ran the nightly job.") == [text]


@pytest.mark.parametrize("word", ["dont", "don't", "DONT"])
def test_an_apostrophe_may_be_missing(word: str) -> None:
    assert texts(f"we {word} mock the file system, use tmp_path")


@pytest.mark.parametrize(
    ("prompt", "before", "found"),
    [
        ("pathlib not os.path", "Written with os.path and unittest.mock.", ["Use pathlib, not os.path."]),
        ("bun not npm", "Added with npm.", ["Use bun, not npm."]),
        ("tmp_path, not mkdtemp", "The test uses mkdtemp.", ["Use tmp_path, not mkdtemp."]),
        ("left not right", "It is on the right side.", []),
        ("red not blue", "The bar is blue.", []),
        ("bun not npm", "Added the package.", []),
    ],
)
def test_one_thing_and_not_the_other_that_the_agent_spoke_of(prompt: str, before: str, found: list[str]) -> None:
    assert texts(prompt, before) == found


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("can you add a toggle to the settings page? always visible, top right", False),
        ("add a banner, never dismissable on mobile", False),
        ("Please write tests as well, and take your time.", False),
        ("always point people to the docs", True),
        ("always disable the cache in tests", True),
        ("write commit messages as imperatives", True),
        ("validation must be finished by then", False),
    ],
)
def test_a_property_of_the_thing_asked_for_is_no_rule(prompt: str, found: bool) -> None:
    assert bool(texts(prompt)) is found


def test_the_reason_of_a_decision_may_be_a_symptom() -> None:
    said = "Also we decided against desugaring last year because of the R8 crashes, so stick to ThreeTenABP"
    assert [found.kind for found in find_corrections(said)] == ["decision"]
    assert texts("the app crashes because we decided against desugaring") == []


def test_what_the_project_runs_on_is_no_decision() -> None:
    assert texts("Please investigate, we are on MySQL 8.") == []
    assert [found.kind for found in find_corrections("actually we're on Vue 2, so no composition API")] == ["learning"]


@pytest.mark.parametrize(
    ("before", "prompt", "kinds"),
    [
        ("Either we delete the row or set deleted_at. Which?", "soft delete, the tax office wants ten years", ["learning"]),
        ("A soft delete keeps the row; a hard delete does not.", "soft delete, the tax office wants ten years", ["decision"]),
        ("GraphQL reuses the schema; REST is easier to cache.", "REST. rate limits per endpoint are part of the contract", ["decision"]),
        ("GraphQL or REST?", "REST, I think", []),
        ("The first or the second?", "the second one, it's simpler", []),
    ],
)  # fmt: skip
def test_a_choice_of_what_was_offered_is_kept_with_its_reason(before: str, prompt: str, kinds: list[str]) -> None:
    assert [found.kind for found in find_corrections(prompt, before)] == kinds


def test_the_one_file_that_the_agent_spoke_of_is_named() -> None:
    said = "that's a generated file, the next build overwrites it"
    assert texts(said, "I added it in src/api/orders.ts.") == [
        "src/api/orders.ts is a generated file, the next build overwrites it."
    ]
    assert not any("a/b.ts" in text for text in texts(said, "I changed src/a/b.ts and src/c/d.ts."))


# --- sentences


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("ALTER TYPE ... ADD VALUE cannot run here. Stop.", ["ALTER TYPE ... ADD VALUE cannot run here.", "Stop."]),
        ("Hm... The port is 8081.", ["Hm...", "The port is 8081."]),
        ("I am not sure ...", ["I am not sure ..."]),
        ('It starts with the ticket, e.g. "PAY-12 Correct typo", otherwise it fails.',
         ['It starts with the ticket, e.g. "PAY-12 Correct typo", otherwise it fails.']),
        ('Something like "never push to main" was said.', ["Something like “…” was said."]),
        ('The README says "use the old one" here.', ["The README says “…” here."]),
    ],
)  # fmt: skip
def test_dots_that_leave_something_out_and_quoted_examples(line: str, parts: list[str]) -> None:
    assert [said.text for said in sentences(line)] == parts
