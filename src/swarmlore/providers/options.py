"""Reading one provider's options. Absent, None and "" all mean "not said"; options of other providers are ignored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from swarmlore.errors import ConfigError


def text_option(options: Mapping[str, Any], key: str, default: str = "") -> str:
    """The option as text, trimmed."""
    value = options.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ConfigError(f"the option {key} must be text", f'write {key} = "..."')
    return value.strip() or default


def whole_option(options: Mapping[str, Any], key: str, default: int, *, low: int, high: int) -> int:
    """The option as a whole number from `low` to `high`; 0 where 0 is not allowed means "not said"."""
    value = options.get(key)
    if value is None or value == "" or (value == 0 and low > 0):
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"the option {key} must be a whole number from {low} to {high}", f"write {key} = {default}")
    return value


def number_option(options: Mapping[str, Any], key: str, default: float, *, low: float, high: float) -> float:
    """The option as a number from `low` to `high`; 0 where 0 is not allowed means "not said"."""
    value = options.get(key)
    if value is None or value == "" or (value == 0 and low > 0):
        return default
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high:
        raise ConfigError(f"the option {key} must be a number from {low:g} to {high:g}", f"write {key} = {default:g}")
    return float(value)
