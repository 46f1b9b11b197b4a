"""Where in the code the words of a question stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.research.question import Question, Weights, stems
from swarmlore.research.records import Finding
from swarmlore.research.scan import Holding, text_of
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import is_config, is_test, language_of

OPENED = 60  # files that are read once more, line by line
WINDOW = 6  # lines that count as one place
LINE_CHARS = 260
COMMENTS = ("#", "//", "/*", "*", '"', "'", "--")
_TEST_SHARE = 0.7  # a test says less about how things work
_CONFIG_SHARE = 0.8  # settings name things more often than they say something about them
_PATH_SHARE = 0.6
_IMPORT_SHARE = 0.3  # what is imported is explained elsewhere
_IMPORTS = ("import ", "from ", "use ", "#include", "require", "using ", "export * from", "export {")


def best_files(holdings: Sequence[Holding], question: Question, weights: Weights) -> list[tuple[float, str]]:
    """Files of code by what they hold; a term in the path counts again."""
    scored = []
    for item in holdings:
        if language_of(item.path) or is_config(item.path):
            held = weights.of([question.terms[number] for number in item.terms])
            named = weights.of({stem_word(word) for word in split_words(item.path)} & set(question.terms))
            share = (_TEST_SHARE if is_test(item.path) else 1.0) * (1.0 if language_of(item.path) else _CONFIG_SHARE)
            scored.append(((held + _PATH_SHARE * named) * share, item.path))
    return sorted(scored, key=lambda entry: (-entry[0], entry[1]))


def search_code(
    tree: Tree, files: Sequence[tuple[float, str]], question: Question, weights: Weights, limit: int
) -> tuple[Finding, ...]:
    """The best place of each of the best files."""
    found = []
    for _, path in files[:OPENED]:
        place = _best_place(text_of(tree, path), question, weights)
        if place is not None:
            score, line, text = place
            rank = score * (_TEST_SHARE if is_test(path) else 1.0)
            found.append(Finding(text, "code", f"{path}:{line}", rank=rank))
    return tuple(sorted(found, key=lambda item: (-item.rank, item.place))[:limit])


def _best_place(text: str, question: Question, weights: Weights) -> tuple[float, int, str] | None:
    """The few lines that hold most of the question: their score, and the one among them that holds most itself."""
    lines = text.split("\n")
    held = list(_holding(lines, question, weights))
    best: tuple[float, int] | None = None
    begin = 0
    for end, (number, _, _) in enumerate(held):
        while held[begin][0] <= number - WINDOW:
            begin += 1
        near = held[begin : end + 1]
        score = weights.of(set().union(*(terms for _, terms, _ in near))) + max(own for _, _, own in near)
        if best is None or score > best[0]:
            best = (score, max(near, key=lambda entry: (entry[2], -entry[0]))[0])
    if best is None:
        return None
    return best[0] / (2 * weights.whole), best[1] + 1, _whole(lines, best[1])


def _whole(lines: Sequence[str], at: int) -> str:
    """A line of code or, where it is a comment, the sentence that begins in it."""
    text = lines[at].strip()
    if text.startswith(COMMENTS):
        for line in lines[at + 1 : at + 4]:
            said = line.strip().lstrip("#/*- ")
            if not said or text.rstrip("\"' ").endswith((".", ":")) or text.count('"""') > 1:
                break
            text = f"{text} {said}"
    return text[:LINE_CHARS]


def _holding(lines: Sequence[str], question: Question, weights: Weights) -> Iterator[tuple[int, set[str], float]]:
    """Lines that hold a term, which ones, and their weight."""
    needles = [needle.decode() for needle in question.needles]
    wanted = set(question.terms)
    for number, line in enumerate(lines):
        low = line[:1_000].lower()
        if any(needle in low for needle in needles):
            said = stems(line[:1_000]) & wanted
            if said:
                share = _IMPORT_SHARE if line.lstrip().startswith(_IMPORTS) else 1.0
                yield number, said, share * weights.of(said)
