"""Names as people read them."""

from __future__ import annotations

import pytest

from swarmlore.domain.language.display import place_name, project_name, project_names, readable_reason

LOT = "3cc75546108315b7caf3d21df478a95a"


@pytest.mark.parametrize(
    ("id", "name"),
    [
        (f"api#{LOT}", "api"),
        ("github.com/acme/shop", "shop"),
        ("/work/notes/.git", "notes"),
        ("/work/notes/.git#2", "notes"),
        ("/work/plain folder", "plain folder"),
        ("/work/c#/.git", "c#"),
        ("C:\\work\\api", "api"),
        ("(hive)", "(hive)"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_project_is_called_by_its_short_name(id: str, name: str) -> None:
    assert project_name(id) == name


def test_two_projects_of_one_name_are_told_apart() -> None:
    ids = (f"api#{LOT}", "github.com/acme/api", "github.com/acme/shop", "/work/api/.git#2")
    assert project_names(ids) == {
        f"api#{LOT}": "api#3cc75546",
        "github.com/acme/api": "github.com/acme/api",
        "github.com/acme/shop": "shop",
        "/work/api/.git#2": "/work/api/.git#2",
    }


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("day:2026-11-15", "2026-11-15"),
        ("phase:2", "phase 2"),
        (f"phase:2@shop#{LOT}", "phase 2 of shop"),
        ("phase:2@/work/plain folder", "phase 2 of plain folder"),
        (f"shop#{LOT}", "shop"),
        ("github.com/acme/shop", "shop"),
    ],
)
def test_a_place_is_a_date_a_phase_or_a_project(where: str, name: str) -> None:
    assert place_name(where) == name


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("seen again in day:2026-11-15", "seen again in 2026-11-15"),
        ("seen again in phase:12, said by bob", "seen again in phase 12, said by bob"),
        (f"learned in api#{LOT} too", "learned in api too"),
        (f"seen in phase:3@api#{LOT}", "seen in phase 3 of api"),
        ("a holiday:2026-11-15 is no day", "a holiday:2026-11-15 is no day"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_reasons_name_places_as_people_do(reason: str, said: str) -> None:
    assert readable_reason(reason) == said
