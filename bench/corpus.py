"""Made-up lessons for the speed benchmark: words by Zipf's law, identifiers of their own, no two alike."""

from __future__ import annotations

import random

COMMON = """
    test build deploy config service database migration cache token queue worker branch commit release pipeline
    index schema endpoint client server request response timeout retry error log file path module function class
    import package version lock port host header cookie session user password key cert proxy network socket thread
    process memory disk container image volume cluster node pod secret variable environment flag option default
    limit batch chunk stream buffer parser lexer compiler linter formatter type interface enum struct field column
    row table view query join transaction snapshot backup restore replica shard partition topic consumer producer
    event message payload webhook cron job schedule timezone locale encoding unicode newline whitespace indent
    comment docstring readme changelog license vendor dependency registry mirror artifact wheel tarball checksum
    signature digest hash salt nonce seed random fixture mock stub assertion coverage benchmark profile trace metric
    alert dashboard report export template render widget button layout theme color font icon modal dropdown form
    validation submit upload download archive compress encrypt decode serialize marshal pickle protobuf json yaml
    toml xml csv markdown html css script bundle minify tree shake hydrate route redirect middleware handler
    controller model repository factory adapter decorator callback promise future coroutine generator iterator
    closure lambda macro pointer reference lifetime borrow trait
""".split()
GLUE = "the a in of to for with on when before after because only until without from by at its our each".split()
VERBS = "needs uses reads writes breaks expects ignores caches retries rejects returns requires drops keeps".split()
QUESTIONS = (
    "why does the {} {} fail after the {} change",
    "which {} does the {} {} need",
    "the {} {} hangs on the {}",
    "TimeoutError: {} {} exhausted in {}_module.py line 88",
    "update the {} of the {} {}",
)


def word(rng: random.Random) -> str:
    """A word by Zipf's law, or a rarer compound of two."""
    first = COMMON[
        min(int(rng.paretovariate(0.6)) - 1, len(COMMON) - 1) if rng.random() < 0.5 else rng.randrange(len(COMMON))
    ]
    return first if rng.random() < 0.7 else f"{first}{rng.choice(COMMON)}"


def lesson(rng: random.Random) -> str:
    """One lesson of 80 to 220 characters."""
    words = [word(rng).capitalize(), rng.choice(VERBS)]
    words += [rng.choice(GLUE) if rng.random() < 0.35 else word(rng) for _ in range(rng.randrange(9, 20))]
    words.insert(3, f"{word(rng)}_{rng.randrange(10**5)}")
    return f"{' '.join(words)}, see {word(rng)}-{rng.randrange(10**6)}."


def lessons(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [lesson(rng) for _ in range(count)]


def questions(count: int, seed: int = 2) -> list[str]:
    rng = random.Random(seed)
    return [rng.choice(QUESTIONS).format(word(rng), word(rng), word(rng)) for _ in range(count)]
