from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.statements import read
from swarmlore.domain.language.tokenizer import stem
from swarmlore.domain.policy.contradiction import contradicts, differences, infer_tags, same_subject
from swarmlore.domain.policy.gate import is_vague

_WORDS = "use avoid not never before after pnpm npm, in CI 30 s 30s src/a.py --no-cache the is . ` only or must may"
WORDS = st.sampled_from(_WORDS.split(" "))
TEXTS = st.lists(WORDS, max_size=14).map(" ".join)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Don't forget to bump it", ("todo",)),
        ("Don’t forget it, remember it", ("todo",)),
        ("TODO: TypeScript and JS", ("todo", "typescript", "javascript")),
        ("ts, js, python", ("typescript", "javascript", "python")),
        ("Deno in Docker with React", ("runtime", "frontend", "container")),
        ("gitlab ci runs the mysql spec", ("git", "database", "testing", "ci-cd")),
        ("auth token latency of the grpc endpoint", ("security", "performance", "api")),
        ("an agent makes a plan", ("opencode-swarm",)),
        ("requires contests, restful planning, digital actions", ()),
        ("", ()),
    ],
)
def test_tags_are_inferred_from_whole_words(text, tags):
    assert infer_tags(text) == tags


@pytest.mark.parametrize(
    ("text", "vague"),
    [
        ("Things should be nicer over there", True),
        ("It was a bit odd, all in all", True),
        ("", True),
        ("Misuse of preferences", True),
        ("Docker is slow here", False),
        ("Prefer the shorter one", False),
        ("The tests were odd", False),
        ("Sometimes SQL is fine", False),
    ],
)
def test_a_text_without_a_technical_word_and_without_a_verb_of_action_is_vague(text, vague):
    assert is_vague(text) is vague


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always run git hooks locally", "Never run git hooks locally"),
        ("The API client must retry on 503", "The API client must not retry on 503"),
        ("The API client must retry on 503", "The API client should not retry on 503"),
        ("A token must be cached", "A token mustn't be cached, and no password either"),
        ("Enable the docker cache on CI runners", "Disable the docker cache on CI runners"),
        ("Docker layer cache is enabled on CI", "Docker layer cache is disabled on our CI runners"),
        ("Use vitest for every test of the web app", "Avoid vitest, its test runner leaks memory"),
        ("Use vitest for every test of the web app", "Don't use vitest for any test that needs a browser"),
        ("Use vitest for every test of the web app", "Dont use vitest in a test that needs a browser"),
        ("Use vitest for every test of the web app", "Never use vitest in a test that needs a browser"),
        ("Use vitest for every test of the web app", "vitest should not be used in a test with a browser"),
        ("GraphQL is recommended for the api of the app", "GraphQL is not recommended for an api with many writes"),
    ],
)
def test_opposing_pairs_in_overlapping_context_contradict_where_a_tag_is_shared(one, other):
    assert contradicts(one, other)
    assert contradicts(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always lint before you push changes upstream", "Never mind the odd warning of the importer"),
        ("Always run the test suite twice on Monday", "The old spec says that snapshots are never kept"),
        ("Use pnpm, avoid npm in the CI pipeline", "Avoid npm in the CI pipeline"),
        ("For CI installs use pnpm", "Avoid npm for CI installs"),
        ("Enable the cache of docker in CI", "Disable telemetry of docker in CI"),
        ("You must not use npm in CI", "CI must not use npm for the pipeline"),
        ("Use git worktrees for reviews", "Use git worktrees for reviews"),
        ("Use git, avoid svn", "Use git, avoid svn"),
        ("Python must be 3.11", "A Python class must have a docstring"),
        ("Config files must be committed to git", "Secrets must not be committed to git"),
        ("Disable the docker cache", "Do not enable the docker cache"),
        ("The node process is not restarted", "The node process has no memory limit"),
    ],
)
def test_other_texts_do_not_contradict(one, other):
    assert contradicts(one, other) == ""
    assert contradicts(other, one) == ""


def test_opposing_pairs_need_a_shared_tag_or_entity():
    one, other = "Always freeze the invoice number on export", "Never freeze any invoice number of a draft"
    assert contradicts(one, other) == ""
    assert contradicts(one, other, shared_entity=True) == "always / never"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Drafts are exported nightly", "Drafts are not exported nightly", True),
        ("Drafts are exported nightly", "Drafts aren't exported nightly", True),
        ("Drafts are never exported nightly", "Drafts are not exported nightly", False),
        ("Drafts are exported nightly to the archive", "Drafts are not exported nightly to the cloud", False),
        ("Drafts are exported nightly", "Drafts are exported nightly", False),
    ],
)
def test_one_negation_in_otherwise_equal_words_contradicts(one, other, expected):
    assert bool(contradicts(one, other)) is expected
    assert bool(contradicts(other, one)) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm, not npm", "Instead of npm, use pnpm"),
        ("Disable the cache", "Do not enable the cache"),
        ("Turn the cache off", "Disable the cache"),
        ("Node >= 18", "Node 18 or newer"),
        ("Node 18+", "Node >= 18"),
        ("wait 60 s", "Wait 1 minute."),
        ("wait 1,500 ms", "Wait 1.5s"),
        ("up to 3 retries", "At most three retries"),
        ("Set timeout=30", "Set the timeout to 30"),
        ("Prefer const over let", "Prefer const to let"),
        ("Call `flush()` first", "Call flush first"),
        ("Export $API_KEY", "Export API_KEY"),
        ("Use v2.1 of S3", "use 2.1 of s3"),
        ("Works since 3.11", "Works with 3.11 or newer"),
    ],
)
def test_wording_makes_no_difference(one, other):
    assert differences(one, other) == ()
    assert differences(other, one) == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Use port 5432", "Use port 5433", "value: 5432 → 5433"),
        ("Use pnpm, not npm", "Use npm, not pnpm", "opposed: pnpm not npm → npm not pnpm"),
        ("Wait 30 s", "Wait 30 ms", "value: 30s → 30ms"),
        ("Set x to true", "Set x to false", "opposed: true → not false"),
        ("You must rebuild it", "You may rebuild it", "opposed: must → may"),
        ("The flag is `Foo`", "The flag is `foo`", "spelling: Foo → foo"),
        ("Run fmt, lint", "Run lint, fmt", "order: Run fmt lint → Run lint fmt"),
        ("Run the tests", "Run the tests 3 times", "added: 3times"),
        ("Run only unit tests", "Run unit tests", "opposed: only unit → unit"),
    ],
)
def test_a_difference_is_named(old, new, expected):
    assert differences(new, old) == (expected,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--no-cache", "no cache"),
        ("a.b", "a b"),
        ("x < y", "x > y"),
        ("limit >= 5", "limit > 5"),
        ("a && b", "a || b"),
        ("userId", "userid"),
        ("README.md is read", "readme.md is read"),
        ("lodash ~4.17", "lodash ^4.17"),
        ("version 3.1", "version 3.10"),
        ("C# code", "C++ code"),
        ("offset -5", "offset 5"),
        ("opt-in", "opt-out"),
        ("works since 3.11", "works in 3.11"),
        ("deploy to US first", "deploy to EU first"),
        ("non-blocking reads", "blocking reads"),
        ("100 MB", "100 Mb"),
        ("the table is called user", "the table is called users"),
    ],
)
def test_signs_that_normalised_text_loses_count(one, other):
    assert differences(one, other)
    assert differences(other, one)


@given(TEXTS, TEXTS)
def test_a_difference_is_seen_from_both_sides(one, other):
    assert bool(differences(one, other)) == bool(differences(other, one))


@given(st.text(max_size=300))
def test_no_text_differs_from_itself(text):
    assert differences(text, text) == ()
    assert contradicts(text, text) == ""


def test_long_texts_are_compared_as_they_are_written():
    text = "word " * 1000
    assert differences(text, text.strip() + "\n") == ()
    assert differences(text, text + "more")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The dev database listens on port 5432", "The dev database listens on port 5433", True),
        ("Sessions are stored in Redis", "Sessions are stored in Postgres", True),
        ("Always lock the table on import", "Never lock the table on import", True),
        ("Set NODE_ENV=production in the image", "Set NODE_ENV=development in the image", True),
        ("The staging database listens on port 5432", "The production database listens on port 5433", False),
        ("The auth service needs JWT_SECRET", "The billing service needs JWT_SECRET", False),
        ("Use tabs in Go files", "Use tabs in Makefiles", False),
        ("The timeout for uploads is 60 s", "The timeout for exports is 60 s", False),
        ("Exit code 3 means the lock is held", "Exit code 4 means the lock is held", True),
        ("If the build hangs, clear the cache", "If the deploy hangs, clear the cache", False),
        ("Keys of the cache need a TTL", "Keys of the cache need a prefix", False),
        ("Docker needs 4 GB", "The linter ignores vendored code", False),
    ],
)
def test_texts_are_about_the_same_thing_unless_place_or_owner_changed(one, other, expected):
    assert same_subject(one, other) is expected


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Don't use `npm`.", ("not|use", "npm")),
        ("npm must not be used", ("npm", "not|use")),
        ("Avoid committing .env files", ("not|commit", ".env", "fil")),
        ("Run lint before the tests", ("run", "lint", "before|test")),
        ("Copy from a/b to c/d", ("copy", "from|a/b", "c/d")),
        ("x<5 and y != 3", ("x", "<|5", "y", "!=|3")),
        ("No, use pnpm", ("use", "pnpm")),
        ("https://a.b/c?d=1, ok", ("https://a.b/c?d=1",)),
        ("", ()),
    ],
)
def test_a_text_is_read_as_the_tokens_that_matter(text, keys):
    assert read(text).keys == keys


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("cache caches cached caching", "cach"),
        ("run runs running ran", "run"),
        ("policy policies", "policy"),
        ("class classes", "class"),
        ("use uses used using", "use"),
        ("need needs needed", "need"),
        ("status", "status"),
        ("string strings", "string"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms, expected):
    assert {stem(form) for form in forms.split()} == {expected}
