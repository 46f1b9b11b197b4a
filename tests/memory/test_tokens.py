"""Tokens: shown once, kept as a mark, told apart, revoked at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ALICE, LEAD, NOW, OTHER, PERSON, Open, quick_env
from swarmlore.domain.records import Caller, Token
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from swarmlore.lore import Lore
from swarmlore.memory.tokens import caller_of, is_due, verify
from swarmlore.store.store import Store


@pytest.fixture
def lead(open_as: Open) -> Lore:
    return open_as(LEAD)


def test_a_token_is_its_agent_and_its_project(lead: Lore) -> None:
    token, secret = lead.create_token("tester", role="worker")
    found = verify(lead.store, secret, lead.now())
    assert found is not None
    assert found.id == token.id
    assert caller_of(found) == Caller(LEAD.project, "tester", "worker", 2)


def test_what_is_shown_is_kept_nowhere(lead: Lore, engine_name: str) -> None:
    _, secret = lead.create_token("tester")
    own = secret.split("_", 2)[2]  # drawn: it may hold more of them
    rows = lead.store.engine.run("SELECT * FROM token")
    assert rows
    assert own not in repr(rows)
    if engine_name == "sqlite":
        files = [path.read_bytes() for path in Path(lead.home).rglob("*") if path.is_file()]
        assert not any(own.encode() in data for data in files)


@pytest.mark.parametrize(
    "change",
    [
        lambda secret: "",
        lambda secret: "swl_",
        lambda secret: secret[:-1],
        lambda secret: secret + "x",
        lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        lambda secret: secret.upper(),
        lambda secret: " " + secret,
        lambda secret: secret.replace("swl_", "swl-"),
        lambda secret: secret[:14] + "_" + "a" * 43,
        lambda secret: "swl_0000000000_" + secret[15:],
        lambda secret: "\ud800" * 58,
        lambda secret: "x" * 100_000,
    ],
)
def test_another_text_is_nobodys_token(lead: Lore, change: Callable[[str], str]) -> None:
    _, secret = lead.create_token("tester")
    assert verify(lead.store, change(secret), lead.now()) is None


def test_a_revoked_token_lets_nobody_in_from_then_on(lead: Lore) -> None:
    token, secret = lead.create_token("tester")
    _, other = lead.create_token("writer")
    assert lead.revoke_token(token.id).revoked_at is not None
    assert verify(lead.store, secret, lead.now()) is None
    assert verify(lead.store, other, lead.now()) is not None


@pytest.mark.parametrize(("days", "after", "holds"), [(1, 86_399, True), (1, 86_400, False), (0, 10**9, True), (0.5, 43_200, False)])  # fmt: skip
def test_a_token_ends_when_it_was_said_to(lead: Lore, days: float, after: float, holds: bool) -> None:
    token, secret = lead.create_token("tester", days=days)
    assert (verify(lead.store, secret, token.created_at + after) is not None) == holds


@pytest.mark.parametrize("ref", ["id", "beginning", "secret"])
def test_a_token_is_named_by_its_id_its_beginning_or_itself(lead: Lore, ref: str) -> None:
    token, secret = lead.create_token("tester")
    assert lead.revoke_token({"id": token.id, "beginning": token.id[:6], "secret": secret}[ref]).id == token.id


def test_an_unknown_or_an_ambiguous_name_changes_nothing(lead: Lore) -> None:
    for number in range(17):  # of 16 digits one is first twice
        lead.create_token(f"agent {number}")
    firsts = [token.id[0] for token in lead.tokens()]
    twice = next(first for first in firsts if firsts.count(first) > 1)
    with pytest.raises(Ambiguous):
        lead.revoke_token(twice)
    for wrong in ("zzzz", "", "swl_", "%"):
        with pytest.raises(NotFound):
            lead.revoke_token(wrong)
    assert all(token.revoked_at is None for token in lead.tokens())


def test_only_a_lead_or_a_person_makes_sees_and_revokes(open_as: Open) -> None:
    worker = open_as(ALICE)
    for act in (lambda: worker.create_token("x"), worker.tokens, lambda: worker.revoke_token("x")):
        with pytest.raises(NotAllowed):
            act()


def test_a_lead_sees_its_projects_tokens_and_a_person_all(open_as: Open) -> None:
    open_as(LEAD).create_token("tester")
    lead_of_other = Caller(OTHER.project, "boss", "lead", 2)
    other = open_as(lead_of_other)
    other.create_token("writer")
    assert [token.agent for token in other.tokens()] == ["writer"]
    with pytest.raises(NotFound):
        other.revoke_token(open_as(LEAD).tokens()[0].id)
    with pytest.raises(NotAllowed):
        other.tokens(all_projects=True)
    assert {token.agent for token in open_as(PERSON).tokens(all_projects=True)} == {"tester", "writer"}


@pytest.mark.parametrize(
    "facts",
    [
        {"agent": ""},
        {"agent": "person"},
        {"agent": " padded"},
        {"agent": "two\nlines"},
        {"agent": "x" * 201},
        {"agent": "x", "role": "person"},
        {"agent": "x", "role": ""},
        {"agent": "x", "days": -1},
        {"agent": "x", "days": float("nan")},
        {"agent": "x", "days": 1e9},
        {"agent": "x", "folder": "/no/such/folder"},
    ],
)
def test_nonsense_is_refused_with_a_hint_and_nothing_is_made(lead: Lore, facts: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as error:
        lead.create_token(**facts)  # type: ignore[arg-type]
    assert error.value.hint
    assert lead.tokens() == ()


def test_use_is_noted_about_once_a_minute(store: Store) -> None:
    token = Token("0123456789", "p", "tester", created_at=NOW)
    store.add_token(token, "mark")
    store.use_token(token.id, NOW)
    found = store.find_token(token.id)
    assert found is not None
    assert [is_due(found[1], NOW + after) for after in (1, 59, 61)] == [False, False, True]
    assert is_due(token, NOW)


@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)  # a file has one writer at a time
def test_noting_use_waits_for_no_writer(open_store: Callable[[], Store]) -> None:
    store, other = open_store(), open_store()
    store.add_token(Token("0123456789", "p", "tester"), "mark")
    with store.engine.writing(), other.engine.hurried(0.3):
        other.use_token("0123456789", NOW)
    found = store.find_token("0123456789")
    assert found is not None
    assert found[1].used_at == NOW


def test_a_token_in_a_text_is_taken_out(tmp_path: Path) -> None:
    with Lore.open(tmp_path, cwd=tmp_path, caller=LEAD, env=quick_env()) as lore:
        _, secret = lore.create_token("tester")
    assert redact(f"curl -H 'Authorization: Bearer {secret}'")[0].count(secret) == 0
    assert redact(f"use {secret} there")[1] == ("swarmlore-token",)
