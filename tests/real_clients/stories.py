"""What the agents learn in their first sessions: one story for each client, so that each can be asked about the other's."""

from __future__ import annotations

from dataclasses import dataclass

from real_clients.model import Step
from real_clients.runners import Client, Session

GONE_WRONG = '#!/bin/sh\n[ "$1" = {flag} ] || {{ echo "{name}: {error}" >&2; exit 1; }}\necho "{name} is done"\n'


@dataclass(frozen=True)
class Lesson:
    """Something to be known afterwards: words that it holds, whatever sentence they end up in, and what asks for it."""

    words: tuple[str, ...]
    cue: str

    def is_in(self, text: str) -> bool:
        return all(word.lower() in text.lower() for word in self.words)


@dataclass(frozen=True)
class Story:
    """A task, the user's correction, what the agent notes down, and a program that fails without its flag."""

    task: str
    done: str
    correction: str
    corrected: Lesson
    comment: str
    noted: Lesson
    program: str
    flag: str
    error: str
    fixed: Lesson

    def furnish(self, client: Client) -> None:
        place = client.world.project / "bin" / self.program
        place.write_text(GONE_WRONG.format(name=self.program, flag=self.flag, error=self.error))
        place.chmod(0o755)

    def tell(self, client: Client) -> tuple[Session, Session]:
        """The whole first session, in two prompts."""
        self.furnish(client)
        asked = client.run(self.task, client.shell(self.done), Step("Done as you asked."))
        corrected = client.run(
            self.correction,
            client.shell(f'bd comment SHOP-12 "LEARNED: {self.comment}"'),
            client.shell(self.program),
            client.shell(f"{self.program} {self.flag}"),
            Step("Thank you, it is done that way now."),
            resume=asked.id,
        )
        return asked, corrected


# What else a team knows: with it, no block can hold everything, and each moment has to find what belongs to it.
OTHER_LESSONS = """\
Feature flags live in config/flags.yaml and need a restart of the gateway
Prices are stored in cents as integers, never as floating point numbers
The mailer sends nothing in development unless SMTP_SANDBOX is switched on
Translations are sorted by key, otherwise the linter of the locale folder complains
Images are resized by the thumbnail worker, not in the request
The search index is rebuilt every night at three by the cron job reindex-products
Dates in the database are UTC; only templates convert them to local time
The payment provider calls back twice, so handlers have to be idempotent
Use the Money class for sums, arithmetic on raw amounts loses the currency
Icons come from the sprite file in assets/icons.svg
The invoice number must not have gaps, take it from the sequence table
Orders older than two years are moved to the archive schema
Sessions are kept in memory only, a deploy logs everybody out
The customer export is limited to ten thousand rows per file
Stock is reserved when an order is placed, not when a basket is filled
The audit log is append only, correct an entry with a second one
Every endpoint under /admin needs the role auditor or owner
The barcode scanner sends a carriage return after each code
Shipping rates are cached for six hours in the rates table
The warehouse simulator needs at least four gigabytes of memory
Webhooks are signed with HMAC, compare digests in constant time
Newsletter templates are compiled with mjml before they are committed
The loyalty service answers slowly on Mondays, its timeout is eight seconds
The mobile app pins the certificate of the gateway, tell the team before renewing it
"""


STORIES = {
    "claude": Story(
        task="Add the date library to the shop",
        done="echo npm install date-fns",
        correction="No, use pnpm here, never npm: the lockfile is pnpm's",
        corrected=Lesson(
            ("use pnpm", "never npm"), "Install the zod package with npm for the checkout form, the lockfile too"
        ),
        comment="the checkout tests hang forever unless REDIS_URL is set",
        noted=Lesson(("checkout tests", "REDIS_URL"), "The checkout tests hang, find out why they never end"),
        program="shop-migrate",
        flag="--stop-worker",
        error="database shop.db is locked by the worker",
        fixed=Lesson(("shop-migrate --stop-worker",), "shop-migrate: database shop.db is locked by the worker"),
    ),
    "codex": Story(
        task="Add a field for the voucher to the client of the API",
        done="echo edit src/api/generated.ts",
        correction="No, don't edit src/api/generated.ts by hand, always run make api after changing openapi.yaml",
        corrected=Lesson(("make api", "openapi.yaml"), "Add the delivery date to src/api/generated.ts"),
        comment="the staging database refuses connections without sslmode=require",
        noted=Lesson(("staging database", "sslmode=require"), "The staging database refuses my connection"),
        program="shop-publish",
        flag="--region=eu",
        error="bucket assets was not found in the default region",
        fixed=Lesson(("shop-publish --region=eu",), "shop-publish: bucket assets was not found in the default region"),
    ),
    "gemini": Story(
        task="Write a test for the discount rules",
        done="echo pytest tests/discounts",
        correction="No, run the tests with make check, never call pytest directly: make check sets the fixtures up",
        corrected=Lesson(("make check", "never", "pytest"), "Run pytest for the basket module"),
        comment="the label printer drops jobs larger than two megabytes",
        noted=Lesson(("label printer", "two megabytes"), "The label printer drops my jobs, how large may they be"),
        program="shop-translate",
        flag="--offline",
        error="glossary server does not answer on port 7070",
        fixed=Lesson(("shop-translate --offline",), "shop-translate: glossary server does not answer on port 7070"),
    ),
    "copilot": Story(
        task="Change the colour of the buttons in the basket",
        done="echo edit src/styles/buttons.css",
        correction="No, colours belong in tokens.json, never write hex values into a stylesheet",
        corrected=Lesson(("tokens.json", "hex values"), "Give the stylesheet of the footer the hex values of spring"),
        comment="the coupon service rejects requests without the header X-Shop-Tenant",
        noted=Lesson(("coupon service", "X-Shop-Tenant"), "The coupon service rejects my requests"),
        program="shop-restock",
        flag="--warehouse=north",
        error="no pallet is free in the southern hall",
        fixed=Lesson(("shop-restock --warehouse=north",), "shop-restock: no pallet is free in the southern hall"),
    ),
    "opencode": Story(
        task="Add a column for the gift note to the orders",
        done="echo alembic revision",
        correction="No, migrations are plain SQL files in db/changes, never use alembic here",
        corrected=Lesson(("db/changes", "never", "alembic"), "Write the migrations for the orders table with alembic"),
        comment="the parcel tracker only accepts timestamps with a time zone",
        noted=Lesson(("parcel tracker", "time zone"), "The parcel tracker does not accept my timestamps"),
        program="shop-snapshot",
        flag="--no-thumbnails",
        error="the image cache has no room for another frame",
        fixed=Lesson(
            ("shop-snapshot --no-thumbnails",), "shop-snapshot: the image cache has no room for another frame"
        ),
    ),
}
