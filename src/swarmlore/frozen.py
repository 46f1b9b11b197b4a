"""Frozen records: what `dataclasses.dataclass(frozen=True, slots=True)` gives, at a tenth of the start-up cost.

The standard module loads `inspect` and compiles six functions per class at import, which alone exceeds the budget of a
small command (docs/decisions/0005-start-up.md). Here a class costs nothing until its first instance, and type checkers
see a dataclass.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it would cost as much as this whole module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_):
        return lambda decorator: decorator


class Field:
    """A field with a default factory, or with metadata about its setting."""

    __slots__ = ("default", "default_factory", "metadata", "name", "type")

    def __init__(self, default: Any, default_factory: Callable[[], Any] | None, metadata: Mapping[str, Any]) -> None:
        self.default = default
        self.default_factory = default_factory
        self.metadata = metadata
        self.name = ""
        self.type = ""


_NO_METADATA: Mapping[str, Any] = {}
_MISSING: Any = object()


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    metadata: Mapping[str, Any] = _NO_METADATA,
) -> Any:
    """Declare a field whose default cannot be shared, or that has metadata."""
    return Field(default, default_factory, metadata)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Turn a class of annotated fields into a frozen record."""
    specs = {name: _spec(cls, name, str(kind)) for name, kind in cls.__annotations__.items()}
    body = {name: value for name, value in cls.__dict__.items() if name not in specs and name not in _DROPPED}
    body.update(__slots__=tuple(specs), __match_args__=tuple(specs), __frozen_fields__=specs, **_METHODS)
    made: Any = type(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made  # type: ignore[no-any-return]  # the same class with slots


def fields(record: Any) -> tuple[Field, ...]:
    """Return the fields of a record or its class, in order."""
    return tuple(record.__frozen_fields__.values())


def replace(record: T, **changes: Any) -> T:
    """Return a copy of a record with some fields changed."""
    values = {name: getattr(record, name) for name in type(record).__slots__}  # type: ignore[attr-defined]
    values.update(changes)
    return type(record)(**values)


_DROPPED = ("__dict__", "__weakref__", "__slots__", "__match_args__")


def _spec(cls: type, name: str, kind: str) -> Field:
    given = cls.__dict__.get(name, _MISSING)
    spec = given if isinstance(given, Field) else Field(given, None, _NO_METADATA)
    spec.name, spec.type = name, kind
    return spec


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Generate the class's own __init__ when its first record is made, then call it."""
    cls = type(self)
    names: dict[str, Any] = {"_set": object.__setattr__}
    params, lines = [], []
    for name, spec in cls.__frozen_fields__.items():
        value = name
        if spec.default_factory is not None:
            names[f"_make_{name}"], names["_missing"] = spec.default_factory, _MISSING
            params.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif spec.default is not _MISSING:
            names[f"_default_{name}"] = spec.default
            params.append(f"{name}=_default_{name}")
        else:
            params.append(name)
        lines.append(f" _set(self, {name!r}, {value})")
    exec(f"def __init__(self, {', '.join(params)}):\n" + "\n".join(lines), names)
    cls.__init__ = names["__init__"]
    cls.__init__(self, *args, **kwargs)


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, name) for name in self.__slots__))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed, use replace()")


def _reduce(self: Any) -> Any:
    return type(self), tuple(getattr(self, name) for name in self.__slots__)


_METHODS: dict[str, Any] = {
    "__init__": _first_init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
}
