"""Numbers in code and settings that answer how much, how long, how often; and where the docs tell another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarmlore.frozen import frozen
from swarmlore.research.question import Question, Weights, root
from swarmlore.research.records import Conflict, Finding
from swarmlore.research.scan import text_of
from swarmlore.rules.amounts import Amount, Constant, about_the_same, constants, spoken_amounts, telling
from swarmlore.rules.asking import Asked
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import is_test

OPENED = 60
PER_FILE = 400
LEAST = 0.34  # of the question, that a constant or a sentence holds
CONSTANT = "a constant"
NEAR_BEST = 0.75
MOSTLY = 0.6
ASKED_FOR = 2.0
_ELSEWHERE = ("bench", "benches", "demo", "example", "examples", "fixtures", "migrations", "docs")


@frozen
class Placed:
    """A constant and the file it stands in."""

    path: str
    held: Constant

    @property
    def place(self) -> str:
        return f"{self.path}:{self.held.line}"

    @property
    def text(self) -> str:
        told = self.held.about and self.held.about not in self.held.text
        return f"{self.held.text} — {self.held.about}" if told else self.held.text

    def finding(self, rank: float = 0.0, about: str = "") -> Finding:
        return Finding(self.text, "definitions", self.place, title=self.held.name, how=CONSTANT, rank=rank, about=about)


def read_constants(tree: Tree, files: Sequence[tuple[float, str]]) -> list[Placed]:
    """The constants of the files that hold most of a question; tests and examples hold numbers of their own."""
    found: list[Placed] = []
    for _, path in files[:OPENED]:
        if not is_test(path) and not set(path.lower().split("/")[:-1]) & set(_ELSEWHERE):
            lines = text_of(tree, path).split("\n")
            found += [Placed(path, held) for held, _ in zip(constants(lines), range(PER_FILE), strict=False)]
    return found


def search_constants(known: Sequence[Placed], question: Question, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """Those that a question for an amount is about, by name, comment and path: `ratelimit.go` is about a rate limit."""
    scored = []
    for one in known:
        low = one.path.lower()
        path = [term for term, needle in zip(question.terms, question.needles, strict=True) if needle.decode() in low]
        about = f"{one.held.name} {one.held.about}"
        covers = max(weights.coverage(about, one.path), 0.6 * weights.coverage(f"{about} {' '.join(path)}"))
        if covers >= LEAST:
            scored.append((-covers, one.path, one.held.line, one.finding(covers, " ".join(path))))
    return tuple(entry[-1] for entry in sorted(scored, key=lambda entry: entry[:3])[:limit])


def told_otherwise(
    findings: Sequence[Finding], known: Sequence[Placed], weights: Weights, asked: Asked
) -> Iterator[Conflict]:
    """Amounts in docs and memories that the code does not hold: with the constant that is meant, as a finding. What a
    question did not ask for is not its business: another kind of amount or, where it asks for none, what a sentence
    says beside."""
    least = LEAST if asked.amount else MOSTLY
    terms = set(weights.terms)
    for item in findings:
        for sentence in _about_it(item, weights, least):
            said = list(spoken_amounts(sentence))
            for amount in (one for one in said if {root(word) for word in (*one.words, one.unit)} & terms):
                if asked.kinds and amount.kind not in asked.kinds:
                    continue
                meant = _meant(amount, said, known)
                if meant is not None:
                    what = f"{amount.written} here, {meant.held.name} {meant.held.amount.written} there"
                    yield Conflict(what, item, meant.finding())


def _about_it(item: Finding, weights: Weights, least: float) -> list[str]:
    """The sentences of a passage that are about the question; what stands beside the one that answers is not."""
    held = [(weights.held(sentence, item.title), sentence) for sentence in sentences(item.text)]
    best = max((covers for covers, _ in held), default=0.0)
    return [sentence for covers, sentence in held if covers >= max(least, NEAR_BEST * best)]


def _meant(said: Amount, others: Sequence[Amount], known: Sequence[Placed]) -> Placed | None:
    """The constant that is surely meant and differs; None where one that may be meant holds what was said."""
    scored = [
        (score, one) for one in known if (score := about_the_same(said, one.held, telling(one.path.rpartition(".")[0])))
    ]
    if any(one.held.amount.value == said.value for _, one in scored):
        return None
    told = {amount.value for amount in others if amount.kind == said.kind}
    free = [(score, one) for score, one in scored if one.held.amount.value not in told]
    if not free:
        return None
    score, best = max(free, key=lambda entry: (entry[0], -entry[1].held.line, entry[1].path))
    alone = len({one.held.amount.value for _, one in free}) == 1
    return best if score >= 3 or (alone and (said.kind == "port" or said.unit == "times" or score >= 2)) else None


def sentences(text: str) -> list[str]:
    """The sentences of a passage."""
    import re

    return [part for part in re.split(r"(?<=[.!?;])\s+|\s⏎\s|\s—\s", text[:1_500]) if len(part.split()) >= 2][:12]
