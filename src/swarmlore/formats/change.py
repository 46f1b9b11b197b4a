"""A change that somebody has yet to agree to: a file's text before and after, and the difference between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarmlore.frozen import frozen

CONTEXT = 3  # lines around a change
MOST_LINES = 1_000  # of a text that is compared line by line; of a longer one, only what is equal at both ends is told


@frozen
class Change:
    """What a file of a folder would become. `before` is '' where there is no such file yet."""

    root: str
    path: str
    before: str
    after: str

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        """What is shown of it: the file may hold secrets that are nobody's to see here."""
        from swarmlore.domain.security.redaction import redact

        return diff_of(self.path, redact(self.before)[0], redact(self.after)[0])


def diff_of(path: str, before: str, after: str) -> str:
    """The difference as `git apply` reads it; '' where there is none."""
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    head = [f"--- {'a/' + path if before else '/dev/null'}\n", f"+++ b/{path}\n"]
    return "".join([*head, *_hunks(old, new)])


def _lines(text: str) -> list[str]:
    """Lines with their ends; only what git takes for an end is one."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n"
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from (_line(" ", line) for line in old[a:b])
                continue
            yield from (_line("-", line) for line in old[a:b])
            yield from (_line("+", line) for line in new[c:d])


def _groups(old: Sequence[str], new: Sequence[str]) -> list[list[tuple[str, int, int, int, int]]]:
    from difflib import SequenceMatcher

    if max(len(old), len(new)) <= MOST_LINES:
        matched = SequenceMatcher(None, old, new, autojunk=False)
        return [list(group) for group in matched.get_grouped_opcodes(CONTEXT)]
    top = _equal(zip(old, new, strict=False))
    room = min(len(old), len(new)) - top
    end = min(room, _equal(zip(reversed(old), reversed(new), strict=False)))
    a, b, c, d = top, len(old) - end, top, len(new) - end
    above, below = min(CONTEXT, top), min(CONTEXT, end)
    return [[("equal", a - above, a, c - above, c), ("replace", a, b, c, d), ("equal", b, b + below, d, d + below)]]


def _equal(pairs: Iterator[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _span(start: int, end: int) -> str:
    """Where a hunk begins and how many lines it has, as the format counts them."""
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
