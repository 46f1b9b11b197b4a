"""Entities from paths, from text, and meant by a bare word."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swarmlore.domain.language.concepts import entities_from_path, entities_from_text, resolve_entity


@pytest.mark.parametrize(
    ("path", "entities"),
    [
        ("src/features/checkout/cart.ts", ("feature:checkout",)),
        ("feature/login.ts", ("feature:login",)),
        ("app/components/Button.tsx", ("feature:button-component",)),
        ("src/component/date-picker/index.tsx", ("feature:date-picker-component",)),
        ("packages/mail-queue/index.ts", ("project:mail-queue",)),
        ("apps/web", ("project:web",)),
        ("services/billing/main.go", ("project:billing",)),
        ("docs/architecture/rooms.md", ("feature:architecture-docs",)),
        ("docs/API.md", ("feature:api-docs",)),
        (".hive/analysis/slow-queries/report.md", ("feature:slow-queries-analysis",)),
        ("skill/memory-catcher/SKILL.md", ("agent:memory-catcher",)),
        ("tool/linter.ts", ("agent:linter",)),
        ("tools/release.py", ("agent:release",)),
        ("src/auth/service.ts", ("feature:auth",)),
        ("src/auth/deep/er/schema.ts", ("feature:auth",)),
        ("src\\auth\\service.ts", ("feature:auth",)),
        ("C:\\work\\packages\\Core-Api\\src\\Search\\index.ts", ("project:core-api", "feature:search")),
        ("packages/web/src/features/cart/components/row.tsx", ("feature:cart", "feature:row-component", "project:web")),
        ("src/features/auth/src/auth/x.ts", ("feature:auth",)),
        ("services/users/docs/setup.md", ("project:users", "feature:setup-docs")),
        ("src/lib/strings.ts", ()),
        ("src/utils/time.ts", ()),
        ("src/types/user.ts", ()),
        ("src/helpers/x.py", ()),
        ("src/main/java/Main.java", ()),
        ("src/index.ts", ()),
        ("mysrc/auth/x.ts", ()),
        ("README.md", ()),
        ("", ()),
    ],
)
def test_a_path_says_what_a_file_is_about(path: str, entities: tuple[str, ...]) -> None:
    assert entities_from_path(path) == entities


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Retry in feature:auth-flow, see person:alex.", ("feature:auth-flow", "person:alex")),
        ("Project:Web and AGENT:BlueLake and project:web", ("project:web", "agent:bluelake")),
        ("business:indy chore:rotate-keys", ("business:indy", "chore:rotate-keys")),
        ("feature:auth- is cut", ("feature:auth",)),
        ("subproject:web team:core feature: auth", ()),
        ("src/auth/service.ts", ()),
        ("", ()),
    ],
)
def test_slugs_are_found_in_a_text(text: str, entities: tuple[str, ...]) -> None:
    assert entities_from_text(text) == entities


KNOWN = {
    "feature:auth",
    "feature:auth-docs",
    "feature:user-profile",
    "person:ann-lee",
    "person:ann-moor",
    "project:auth-x",
}


@pytest.mark.parametrize(
    ("word", "slugs"),
    [
        ("auth", ("feature:auth",)),
        ("AUTH", ("feature:auth",)),
        ("user profile", ("feature:user-profile",)),
        ("userprofile", ("feature:user-profile",)),
        ("profile", ("feature:user-profile",)),
        ("the-user-profile-page", ("feature:user-profile",)),
        ("ann", ("person:ann-lee", "person:ann-moor")),
        ("aut", ("feature:auth", "feature:auth-docs", "project:auth-x")),
        ("feature:payment", ("feature:payment",)),
        ("Feature:Auth", ("feature:auth",)),
        ("billing", ()),
        ("--", ()),
        ("", ()),
    ],
)
def test_a_word_means_known_slugs(word: str, slugs: tuple[str, ...]) -> None:
    assert resolve_entity(word, KNOWN) == slugs


def test_two_exact_names_are_both_told() -> None:
    assert resolve_entity("auth", {"project:auth", "feature:auth", "feature:auth-ui"}) == (
        "feature:auth",
        "project:auth",
    )


def test_a_foreign_slug_keeps_its_case() -> None:
    assert resolve_entity("person:mark", {"person:Mark"}) == ("person:Mark",)


PATHS = st.lists(st.sampled_from(["src", "docs", "tools", "apps", "Features", ".hive", "analysis"]) | st.text()).map(
    "/".join
)


@given(PATHS)
def test_any_path_gives_well_formed_slugs_once(path: str) -> None:
    found = entities_from_path(path)
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"(feature|project|agent):[a-z0-9-]+", slug) for slug in found)


@example("-_")
@given(st.text())
def test_slugs_found_in_a_text_are_found_in_themselves(text: str) -> None:
    found = entities_from_text(text + " Chore:" + text + " person:ann")
    assert entities_from_text(" ".join(found)) == found
    assert "person:ann" in found
