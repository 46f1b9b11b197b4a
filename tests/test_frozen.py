"""Frozen records behave as frozen dataclasses with slots do."""

from __future__ import annotations

import pickle

import pytest

from swarmlore.frozen import field, fields, frozen, replace


@frozen
class Point:
    """Two numbers and what is known about them."""

    x: int
    y: int = 2
    notes: list[str] = field(default_factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y

    @classmethod
    def origin(cls) -> Point:
        return cls(0, 0)


def test_positions_names_and_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 5).y, Point(x=3, y=4).sum) == (1, 2, 5, 7)
    assert Point.origin() == Point(0, 0)


def test_a_default_factory_makes_a_new_value_each_time() -> None:
    assert Point(1).notes == []
    assert Point(1).notes is not Point(1).notes


def test_equality_repr_and_hash() -> None:
    assert Point(1, 2) == Point(1)
    assert Point(1) != Point(2)
    assert Point(1) != (1, 2, [])
    assert repr(Point(1)) == "Point(x=1, y=2, notes=[])"
    assert hash(Point(1, notes=())) == hash(Point(1, notes=()))  # type: ignore[arg-type]


def test_nothing_can_be_changed_or_added() -> None:
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "z", 2), lambda: delattr(point, "x")):
        with pytest.raises(AttributeError):
            change()
    assert not hasattr(point, "__dict__")


def test_replace_makes_a_changed_copy() -> None:
    assert replace(Point(1), y=9) == Point(1, 9)
    with pytest.raises(TypeError):
        replace(Point(1), z=9)


def test_wrong_arguments_are_type_errors() -> None:
    for call in (lambda: Point(), lambda: Point(1, 2, [], 4), lambda: Point(1, z=3)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            call()


def test_fields_are_named_in_order_and_records_survive_pickling() -> None:
    assert [spec.name for spec in fields(Point)] == ["x", "y", "notes"]
    assert pickle.loads(pickle.dumps(Point(1, 2, ["a"]))) == Point(1, 2, ["a"])
