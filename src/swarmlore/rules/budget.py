"""How much of a context may be filled with memories."""

from __future__ import annotations

from swarmlore.frozen import frozen

MAX_BLOCK_CHARS = 9_000  # clients cut a longer injection
_SLACK = 1e-9  # 1 - 0.8 is a little less than 0.2

# Least headroom, divisor, its name.
_REGIMES = ((0.60, 1, "full"), (0.20, 2, "half"), (0.05, 4, "a quarter of the"))


@frozen
class Allowance:
    """How many memories and characters one block may have, and why."""

    count: int
    chars: int
    reason: str


def allowance(
    headroom: float | None,
    chars_left: int | None,
    *,
    max_count: int = 5,
    char_budget: int = 2_000,
    floor_chars: int = 300,
) -> Allowance:
    """Say what an injection may use, by the free share of the context (0 to 1) and its free characters.

    Unknown headroom counts as full. Shares are rounded down; a regime that allows anything allows one memory.
    """
    if max_count <= 0 or char_budget <= 0:
        return Allowance(0, 0, "injection is set to nothing")
    if chars_left is not None and chars_left < floor_chars:
        return Allowance(0, 0, f"{max(0, chars_left)} characters of context left, {floor_chars} needed")
    if headroom is None or headroom != headroom:  # NaN is no measurement either
        return _share(1, max_count, char_budget, "headroom unknown: full budget")
    for least, divisor, name in _REGIMES:
        if headroom >= least - _SLACK:
            return _share(divisor, max_count, char_budget, f"headroom {headroom:.0%}: {name} budget")
    return Allowance(0, 0, f"headroom {headroom:.1%}, 5% needed")


def _share(divisor: int, max_count: int, char_budget: int, reason: str) -> Allowance:
    count = max(1, max_count // divisor)
    chars = max(1, char_budget // divisor)
    return Allowance(count, min(chars, MAX_BLOCK_CHARS), reason)
