"""How well a memory answers a cue: the scoring recipe of profile `default`, and when to stay silent.

Three views of one pair of texts are added, never normalised per list: their sum also says when nothing fits.

    relevance = late + meaning · cosine + lexical weight · bm25 / ln N − nothing

`late` is late interaction (each piece of the cue finds its best piece in the memory), `cosine` compares the two
sentence vectors, `bm25` counts shared words. Whether anything is shown at all is asked apart, of cosine and words only
and less the cue's closeness to everyday requests: late interaction favours short cues and would talk too much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from swarmlore.frozen import frozen


@frozen
class Relevance:
    """The constants of the recipe; each optimum is flat, so that a third more or less changes little."""

    # BM25: memories are short, a repeated word says little (k1) and neither does length (b); rare words count more.
    saturation: float = 1.2
    length_share: float = 0.3
    idf_power: float = 1.5
    # Sums of rare words grow with the store, cosines do not: words are divided by ln N.
    size_power: float = 1.0
    least_size: int = 10
    # Words weigh little in a plain sentence and five times as much where half of the cue is code or machine output.
    plain_words: float = 0.0125
    code_words: float = 0.05
    full_code_share: float = 0.5
    # The sentence vector adds little to the late interaction, but it is what remains where pieces are missing.
    meaning: float = 0.2
    late_slope: float = 0.68
    late_base: float = 0.27
    # What two unrelated texts get; below it relevance is zero.
    nothing: float = 0.25
    # Half of what the best situation has above chance is added; a situation that does not fit takes nothing away,
    # or memories without any would pass those that have been useful.
    situation_share: float = 0.5
    situation_floor: float = 0.15
    # A turn of a conversation gets a share of the best turn within two of it, as far as that one is among the upper
    # quarter of the candidates: a session full of mildly fitting turns must not outweigh the one that answers.
    neighbour_share: float = 0.25
    neighbour_reach: float = 2
    neighbour_floor: float = 0.75
    # A question by meaning alone: a nearest vector there always is, also for words that mean nothing. Such questions
    # reach a cosine of .03 to .18 with the notes of a project, those that have an answer .21 and more.
    naive_floor: float = 0.2
    # The gate: words weigh the same for every cue; most of the closeness to everyday requests is taken off.
    gate_words: float = 0.05
    gate_generic: float = 0.6
    # Where there is no vector: the cosine that makes the words alone meet the same bar.
    gate_blind: float = 0.05
    # The best of many is better by chance: measured from 10 to 600 memories, level from 3,000 on.
    bar: float = -0.115
    bar_growth: float = 0.0756
    bar_size: int = 3_000
    # Of the best ones only those near the first are shown: three instead of five, and hardly an answer is lost.
    near_best: float = 0.2
    share_of_best: float = 0.25  # and where even the best is weak, not everything that is a little weaker


DEFAULT = Relevance()


@frozen
class Evidence:
    """What is known about one memory and one cue. None: the memory has no vector, or no pieces."""

    words: float = 0.0
    cosine: float | None = None
    late: float | None = None


def idf(frequency: int, size: int) -> float:
    """How rare a word is that `frequency` of `size` visible memories hold; never negative."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5)) if size >= frequency else 0.0


def term_weights(frequencies: Mapping[str, int], size: int, rules: Relevance = DEFAULT) -> dict[str, float]:
    """The weight of each of the cue's terms, made comparable between stores of different sizes.

    Among a handful of memories no word is rare; it is taken as rare as it would be among `least_size`.
    """
    size = max(size, rules.least_size)
    scale = math.log(size) ** rules.size_power
    return {term: idf(count, size) ** rules.idf_power / scale for term, count in frequencies.items() if count > 0}


def words_score(
    words: Sequence[str], weights: Mapping[str, float], average_length: float, rules: Relevance = DEFAULT
) -> float:
    """BM25 of a memory given as its stems, for a cue given as weighted terms."""
    counts: dict[str, int] = {}
    for word in words:
        if word in weights:
            counts[word] = counts.get(word, 0) + 1
    length = len(words) / max(average_length, 1.0)
    damp = rules.saturation * (1 - rules.length_share + rules.length_share * length)
    return sum(weights[word] * n * (rules.saturation + 1) / (n + damp) for word, n in counts.items())


def words_weight(code_share: float, rules: Relevance = DEFAULT) -> float:
    """How much words count for a cue of which this share looks like code."""
    return rules.plain_words + rules.code_words * min(1.0, code_share / rules.full_code_share)


def relevance(evidence: Evidence, code_share: float, rules: Relevance = DEFAULT) -> float:
    """0 for unrelated texts, about .5 for an answer; a missing view is estimated from the others."""
    cosine = 0.0 if evidence.cosine is None else evidence.cosine
    late = rules.late_base + rules.late_slope * cosine if evidence.late is None else evidence.late
    score = late + rules.meaning * cosine + words_weight(code_share, rules) * evidence.words
    return max(0.0, score - rules.nothing)


def with_situations(text: float, situations: Iterable[float], rules: Relevance = DEFAULT) -> float:
    """The text's score and a share of how well the cue fits the best situation in which the memory was needed."""
    best = max(situations, default=0.0)
    return text + rules.situation_share * max(0.0, best - rules.situation_floor)


def with_neighbours(
    scores: Sequence[float], places: Sequence[tuple[str, float] | None], rules: Relevance = DEFAULT
) -> list[float]:
    """The scores, with a share of the best turn near each in its session; `places` are (session, position)."""
    if not any(places):
        return list(scores)
    floor = sorted(scores)[int(len(scores) * rules.neighbour_floor)]
    strong: dict[str, list[tuple[float, float]]] = {}
    for score, place in zip(scores, places, strict=True):
        if place and score > floor:
            strong.setdefault(place[0], []).append((place[1], score - floor))
    return [
        score + rules.neighbour_share * _best_near(place[1], strong.get(place[0], ()), rules) if place else score
        for score, place in zip(scores, places, strict=True)
    ]


def _best_near(position: float, turns: Sequence[tuple[float, float]], rules: Relevance) -> float:
    reach = rules.neighbour_reach
    return max((excess for at, excess in turns if 0 < abs(at - position) <= reach), default=0.0)


def is_near(views: Iterable[Evidence], rules: Relevance = DEFAULT) -> bool:
    """Whether a memory is close to a cue by meaning: its text, or a situation of it."""
    return any(view.cosine is not None and view.cosine >= rules.naive_floor for view in views)


def is_related(views: Iterable[Evidence], rules: Relevance = DEFAULT) -> bool:
    """The same, or it shares a word with the cue."""
    views = tuple(views)
    return any(view.words > 0 for view in views) or is_near(views, rules)


def gate_score(evidence: Evidence, generic: float, rules: Relevance = DEFAULT) -> float:
    """What is compared with the bar; `generic` is the cue's best cosine to the everyday requests."""
    cosine = rules.gate_blind if evidence.cosine is None else evidence.cosine
    return cosine + rules.gate_words * evidence.words - rules.gate_generic * max(0.0, generic)


def bar(size: int, rules: Relevance = DEFAULT) -> float:
    """What the best memory must reach before anything is shown."""
    return rules.bar + rules.bar_growth * math.log(min(max(size, rules.least_size), rules.bar_size))


def near_best(scores: Sequence[float], limit: int, rules: Relevance = DEFAULT) -> int:
    """How many of the descending scores to show: at most `limit`, none far below the first."""
    if not scores:
        return 0
    least = max(scores[0] - rules.near_best, scores[0] * rules.share_of_best)
    near = [score for score in scores[:limit] if score >= least]
    return len(near)
