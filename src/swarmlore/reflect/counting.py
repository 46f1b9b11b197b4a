"""What reflecting found and what people made of it, counted in `metrics.yaml` of the learnings: each thing once, also
where whoever counts it is killed and another one counts again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import Approval, Edit, Proposal, Reflection
from swarmlore.formats.metrics_yaml import FILE, Metrics, counted, parse_metrics
from swarmlore.formats.yaml_edit import with_values
from swarmlore.formats.yaml_text import plain, read
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.reflect.places import LEARNINGS, Places, text_in

if TYPE_CHECKING:
    from typing import Any

LAST = "last_counted"  # the newest ids that were counted
REMEMBERED = 8
MINUTES_SAVED = 5  # by a rule or note that nobody has to say or find out again


def count_reflection(places: Places, reflection: Reflection) -> None:
    """A session was looked at: its signals, and what is proposed."""
    _count(
        places,
        reflection.id,
        Metrics(
            at=iso(reflection.at) or "",
            sessions=0 if reflection.again else 1,
            signals=sum(reflection.signals.values()),
            proposed=len(reflection.proposals),
            confidence=dict(reflection.signals),
        ),
    )


def count_approval(places: Places, approval: Approval, applied: Sequence[Proposal]) -> None:
    """A person approved: what was accepted, by kind, scope and agent."""
    agents = Counter(_agent_of(item) for item in applied if item.route == "behavioral")
    _count(
        places,
        approval.id,
        Metrics(
            accepted=len(applied),
            skills=sum(item.route == "skill" for item in applied),
            minutes_saved=MINUTES_SAVED * len(applied),
            agents=dict(agents),
            types=dict(Counter(item.route for item in applied)),
            scopes=dict(Counter(item.scope or "project" for item in applied)),
        ),
    )


def read_metrics(places: Places) -> Metrics:
    return parse_metrics(places.read(LEARNINGS, FILE) or "")


def _agent_of(item: Proposal) -> str:
    edit = item.edits[0]
    name = edit.path.rpartition("/")[2].removesuffix(".md").removesuffix(".toml").removesuffix(".agent")
    return item.agent or (name if edit.place != LEARNINGS else "")


def _count(places: Places, id: str, more: Metrics) -> None:
    with places.changing(Edit(LEARNINGS, FILE, "")) as (folder, name):
        text = text_in(folder, name) or ""
        before = _last(text)
        if id in before:
            return
        text = counted(text, more)
        text = with_values(read(text), {(LAST,): " ".join([*before, id][-REMEMBERED:])})
        folder.replace(name, [text.encode()])


def _last(text: str) -> list[str]:
    said: Any = plain(read(text).root) if text.strip() else {}
    value = said.get(LAST) if isinstance(said, dict) else ""
    return value.split() if isinstance(value, str) else []
