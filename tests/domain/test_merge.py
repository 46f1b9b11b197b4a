"""Merging versions of one memory: the same result in any order, nothing gathered is lost, the newer content wins."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_knowledge_lines import memories

from conftest import NOW
from swarmlore.domain.policy.merge import Version, applied, erasure, merge, merge_all, published, settled
from swarmlore.domain.records import Citation, Confirmation, Memory
from swarmlore.frozen import replace

some_times = st.integers(1, 6).map(float)  # few, so that they often meet


@st.composite
def versions(draw: Any) -> Version:
    """Versions of one memory: contents and deletions of a few moments."""
    memory = draw(memories(tiers=("swarm",), ids=st.just("one")))
    deleted_at = draw(st.one_of(st.just(0.0), st.just(0.0), some_times))
    memory = replace(
        memory,
        created_at=draw(some_times),
        updated_at=draw(some_times),
        forgotten_at=deleted_at or None,
        confirmed_by=tuple(
            Confirmation(where, at) for where, at in draw(st.dictionaries(st.sampled_from("abc"), some_times)).items()
        ),
    )
    version = published(memory, "p", situations=draw(st.booleans()))
    return settled(replace(version, erased=version.gone and draw(st.booleans())))


@given(versions(), versions())
def test_the_order_of_two_does_not_matter(one: Version, other: Version) -> None:
    assert merge(one, other) == merge(other, one)


@given(versions(), versions(), versions())
def test_the_order_of_three_does_not_matter(one: Version, two: Version, three: Version) -> None:
    left = merge(merge(one, two), three)
    right = merge(one, merge(two, three))
    assert without_situations(left) == without_situations(right)


def without_situations(version: Version) -> Version:
    """A deletion drops situations for good: they are words of a person and are not kept for later."""
    return replace(version, memory=replace(version.memory, situations=()))


@given(versions(), versions())
def test_merging_again_changes_nothing(one: Version, other: Version) -> None:
    assert merge(one, one) == one
    both = merge(one, other)
    assert merge(both, one) == both
    assert merge(both, other) == both


@given(st.lists(versions(), min_size=1, max_size=5))
def test_nothing_gathered_is_lost(several: list[Version]) -> None:
    merged = merge_all(several)
    assert merged is not None
    if merged.erased:  # the one case where it is
        assert merged == erasure("one", "swarm", max(v.deleted_at for v in several if v.erased))
        return
    assert not any(version.erased for version in several)
    for version in several:
        assert set(version.memory.tags) <= set(merged.memory.tags)
        assert set(version.memory.citations) <= set(merged.memory.citations)
        assert {c.where for c in version.memory.confirmed_by} <= {c.where for c in merged.memory.confirmed_by}


@given(st.lists(versions(), min_size=1, max_size=5))
def test_the_newest_content_wins_unless_a_deletion_is_as_new(several: list[Version]) -> None:
    merged = merge_all(several)
    newest = max((v.memory.updated_at for v in several if v.memory.text), default=0.0)
    deleted = max(v.deleted_at for v in several)
    assert merged is not None
    assert merged.gone == (deleted >= newest or any(v.erased for v in several))
    if not merged.gone:
        assert merged.memory.text in {v.memory.text for v in several if v.memory.updated_at == newest}


@given(memories(tiers=("swarm",), ids=st.just("one")), versions())
def test_a_stored_memory_tells_what_was_merged_into_it(local: Memory, incoming: Version) -> None:
    merged = merge(published(local, "p"), replace(incoming, memory=replace(incoming.memory, situations=())))
    after = applied(local, merged, "ledger")
    if merged.erased:  # hidden here, and nothing lost
        assert after == replace(local, forgotten_at=merged.deleted_at)
    else:
        assert published(after, "p") == merged
    kept = ("access_count", "feedback_score", "feedback_count", "outcomes", "handle", "version", "project")
    assert [getattr(after, name) for name in kept] == [getattr(local, name) for name in kept]


A = Memory(id="one", text="Use pnpm here", created_at=NOW, updated_at=NOW, trust=2)


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (Version(A), Version(replace(A, text="Use npm here", updated_at=NOW + 1)), "Use npm here"),
        (Version(A), Version(replace(A, text="", updated_at=0.0), NOW), ""),
        (Version(A), Version(replace(A, text="", updated_at=0.0), NOW - 1), "Use pnpm here"),
        (
            Version(replace(A, updated_at=NOW + 2)),
            Version(replace(A, text="", updated_at=0.0), NOW + 1),
            "Use pnpm here",
        ),
    ],
    ids=["newer text", "deleted at that time", "deleted before", "changed after the deletion"],
)
def test_who_wins(one: Version, other: Version, text: str) -> None:
    assert merge(one, settled(other)).memory.text == text
    assert merge(settled(other), one).memory.text == text


def test_a_persons_trust_stays_here_and_is_published_as_an_agents() -> None:
    mine = replace(A, trust=3)
    assert published(mine).memory.trust == 2
    more = merge(published(mine), Version(replace(A, tags=("new",))))
    assert applied(mine, more, "ledger").trust == 3


def test_unions_are_in_an_order_of_their_own() -> None:
    cites = (Citation("b.py", 1, 2), Citation("a.py", 3, 4))
    told = published(replace(A, tags=("z", "a", "z"), citations=cites)).memory
    assert told.tags == ("a", "z")
    assert told.citations == (Citation("a.py", 3, 4), Citation("b.py", 1, 2))
