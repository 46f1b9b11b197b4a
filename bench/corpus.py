"""Made-up lessons for the speed benchmark: realistic words and lengths, no two alike."""

from __future__ import annotations

import random

SUBJECTS = (
    *("the payment worker", "the image resizer", "the search indexer", "the session cache", "the feature flags"),
    *("the nightly import", "the webhook relay", "the billing export", "the auth gateway", "the CI runner"),
    *("the mobile build", "the docs site", "the migration script", "the rate limiter", "the event bus"),
)
VERBS = ("needs", "must use", "should never call", "fails without", "retries", "logs to", "reads", "depends on")
OBJECTS = (
    *("connection pool", "lock file", "schema version", "retry budget", "signing key", "cache header", "time zone"),
    *("feature branch", "queue depth", "socket timeout", "build matrix", "test fixture", "vendor folder", "heap size"),
)
REASONS = (
    *("because the upstream drops idle connections", "otherwise the deploy hangs", "since the June incident"),
    *("or the snapshot tests turn red", "because two writers race", "as the linter cannot see it"),
    *("until the vendor ships a fix", "because staging has less memory", "or the hashes differ between machines"),
)
QUESTIONS = (
    "why does {subject} fail after the deploy",
    "which {object} does {subject} need",
    "{subject} hangs on the {object}",
    "TimeoutError: {object} exhausted in module_{number}.py",
    "change the {object} of {subject}",
)


def lesson(rng: random.Random) -> str:
    """One lesson of 90 to 200 characters with identifiers of its own."""
    name = f"{rng.choice(OBJECTS).replace(' ', '_')}_{rng.randrange(10**6)}"
    return (
        f"In module_{rng.randrange(10**5)} {rng.choice(SUBJECTS)} {rng.choice(VERBS)} {name} "
        f"with {rng.choice(OBJECTS)} {rng.randrange(1, 9000)} {rng.choice(REASONS)} (see PR {rng.randrange(10**6)})."
    )


def lessons(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [lesson(rng) for _ in range(count)]


def questions(count: int, seed: int = 2) -> list[str]:
    rng = random.Random(seed)
    return [
        rng.choice(QUESTIONS).format(
            subject=rng.choice(SUBJECTS), object=rng.choice(OBJECTS), number=rng.randrange(10**5)
        )
        for _ in range(count)
    ]
