"""Known mistakes of an invented project: how tasks that fall into them are asked for, what avoids them, and what
somebody wrote down that does not.

`wrong` never was right. `former` was right until the project changed; afterwards only `lesson` is. The last prompt of
each is never used for a task: it only asks where lessons rank.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    name: str
    lesson: str
    prompts: tuple[str, ...]
    wrong: str = ""
    former: str = ""


MISTAKES = (
    Mistake(
        "snapshots",
        "Snapshot tests are recorded with make snap-record, never by editing the reference files",
        (
            "update the reference images of the button",
            "the snapshot tests fail after the new theme, fix them",
            "refresh the snapshots of the checkout page",
            "AssertionError: snapshot does not match reference of header",
            "bring the snapshot tests of the footer up to date",
        ),
        wrong="Snapshot tests are refreshed by copying the actual images over the reference folder",
    ),
    Mistake(
        "migrations",
        "Database migrations are generated with tools/mkmigration, numbering by hand collides in CI",
        (
            "add a column for the phone number to the customer table",
            "write the database migration for soft delete",
            "create a migration that drops the legacy index",
            "migration 0042 conflicts with another one in CI",
            "we need a new database migration for invoices",
        ),
        wrong="Database migrations get the next free number by hand, look at the last file in migrations",
    ),
    Mistake(
        "tokens",
        "The auth header of the partner API needs the prefix Token, with Bearer it answers 401",
        (
            "call the partner API for the list of shops",
            "partner API answers 401 although the key is right",
            "add a client for the partner API orders",
            "requests.HTTPError: 401 Unauthorized from the partner API",
            "the auth header of our partner API client",
        ),
        former="The auth header of the partner API needs the prefix Bearer before the key",
    ),
    Mistake(
        "timezones",
        "Report dates are computed in Europe/Berlin with zoneinfo, the server runs in UTC",
        (
            "the daily report shows orders of the wrong day",
            "compute the start of the day for the report",
            "add a weekly total to the report dates",
            "off by one day in the report after midnight",
            "report dates are wrong in summer",
        ),
    ),
    Mistake(
        "feature flags",
        "Feature flags are read through flags.enabled in request scope, a module constant is never refreshed",
        (
            "put the new search behind a feature flag",
            "the feature flag for dark mode does not switch",
            "add a feature flag to the importer",
            "remove the feature flag check from the module top level",
            "feature flag stays off until the server restarts",
        ),
        wrong="Feature flags are loaded once into a module constant at import because reading them is slow",
    ),
    Mistake(
        "queue",
        "Queue workers need acks_late set, otherwise a deploy loses the jobs that are running",
        (
            "jobs disappear when we deploy the queue workers",
            "add a queue worker for sending invoices",
            "queue job of the export was lost last night",
            "configure the new queue worker for thumbnails",
            "why do queue jobs vanish during a deploy",
        ),
    ),
    Mistake(
        "release",
        "A release is tagged by make release on the main branch, a tag pushed by hand has no changelog",
        (
            "make the release 2.4",
            "tag the new release and publish it",
            "the release page has no changelog",
            "prepare the hotfix release for the login bug",
            "how do we cut a release today",
        ),
        former="A release is tagged by scripts/tag.sh on the release branch",
    ),
    Mistake(
        "fixtures",
        "Integration tests take their fixtures from tests/data/seed.sql, loaded by make e2e-seed before the run",
        (
            "the integration tests find no customers",
            "add an integration test for refunds",
            "integration test fails: relation customers is empty",
            "run the integration tests on my branch",
            "integration tests need fixtures for vouchers",
        ),
    ),
    Mistake(
        "caching",
        "The product cache is invalidated by publishing product.changed, deleting the key is undone by the replica",
        (
            "the product page shows the old price after an update",
            "invalidate the product cache when stock changes",
            "stale prices in the product cache",
            "clear the product cache after the import",
            "product cache does not notice a new description",
        ),
        wrong="The product cache is invalidated by deleting its key in redis after the update",
    ),
    Mistake(
        "translations",
        "Translations are edited in the sheet and pulled with make i18n, changes in locale files are overwritten",
        (
            "fix the typo in the German translation of the cart",
            "add a translation for the new consent banner",
            "the translation of the password mail is missing",
            "my change in the locale file is gone again",
            "translations for the voucher page",
        ),
        former="Translations are edited in the locale files and reviewed in the pull request",
    ),
    Mistake(
        "uploads",
        "Uploads above 5 MB go through a signed URL to the bucket, the proxy cuts larger request bodies",
        (
            "large uploads fail with status 413",
            "let customers upload videos",
            "upload of a 20 MB file breaks",
            "raise the limit for file uploads",
            "413 Request Entity Too Large when uploading",
        ),
        wrong="Uploads above 5 MB work when client_max_body_size is raised in the application config",
    ),
    Mistake(
        "lint",
        "Lint runs with make lint which pins the versions, the global linter of the machine disagrees with CI",
        (
            "CI complains about lint although it is clean here",
            "fix the lint errors of the new module",
            "run lint over the importer",
            "lint in CI reports other rules than mine",
            "lint differs between CI and my machine",
        ),
    ),
    Mistake(
        "search index",
        "The search index is rebuilt by the job reindex-shops in staging first, production reads its alias",
        (
            "search finds no new shops in production",
            "rebuild the search index after the mapping change",
            "add the field opening hours to the search index",
            "search index mapping error in production",
            "the search index misses half of the shops",
        ),
        former="The search index is rebuilt by running bin/reindex on the production host",
    ),
    Mistake(
        "mail",
        "Mails are tried out with the mailpit container, the sandbox of the provider sends to real customers",
        (
            "test the new order confirmation mail",
            "the mail template shows raw placeholders, try it out",
            "send a test mail for password reset",
            "a customer received a test mail",
            "try out the mail for abandoned carts",
        ),
    ),
    Mistake(
        "payments",
        "Payment webhooks are answered before the work, a slow answer makes the provider send them twice",
        (
            "orders are paid twice since the payment webhook is slow",
            "handle the payment webhook for refunds",
            "payment webhook times out under load",
            "duplicate payment webhook events in the log",
            "add a payment webhook for chargebacks",
        ),
        wrong="Payment webhooks are answered after the order was stored so that nothing is lost",
    ),
    Mistake(
        "containers",
        "The dev container mounts node_modules as a volume, an install on the host breaks the native modules",
        (
            "npm install fails in the dev container",
            "native module was compiled for another platform in the dev container",
            "add the sharp package to the dev container",
            "dev container does not start after npm install",
            "install a new npm package for the dev container",
        ),
    ),
)
