"""Designs of evaluations, and judgments drawn from them: judges and segments that repeat.

Judges differ in level, in spread and in what they think of a system; segments in difficulty, and
each system in what it makes of them; in some designs segments are of documents, which also suit
one system more than another. So judgments of one judge or one segment err together, as
those of real campaigns do. What does not belong here: what is measured (ranking_coverage).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.rankings.adjusted_comparisons import ComparisonBlock

SYSTEMS = 6
SCORE_EFFECTS = np.linspace(4, -4, SYSTEMS)
"""Points between systems."""
STRENGTHS = np.linspace(0.5, -0.5, SYSTEMS)
"""Logits between systems."""

JUDGE_SD, SPREAD_SD = 15.0, 0.3
JUDGE_SYSTEM_SD, BLOCK_SD, SEGMENT_SD, SEGMENT_SYSTEM_SD, JUDGE_SEGMENT_SD, REST_SD = (
    4.2, 5.8, 6.2, 4.5, 6.8, 13.4,
)  # fmt: skip
"""Standard deviations, points of 100: those of WMT22's direct assessment."""
DOCUMENT_SYSTEM_SD = 6.0
"""Points, of what a document makes of a system: somewhat more than a segment does."""


@dataclass(frozen=True)
class Design:
    """Who judges what: ``(n,)`` codes of judges, systems, segments and runs of work.

    ``documents``: ``(n_segments,)`` codes; None where each segment stands alone.
    """

    judges: Codes
    systems: Codes
    segments: Codes
    runs: Codes
    documents: Codes | None = None


Drawn = Callable[[np.random.Generator], Design]


def hits(rng: np.random.Generator) -> Design:
    """Draw HITs as WMT's: 40 judges, one or two of all systems' runs of 12 segments of 480."""
    rows, n_runs = [], 0
    for judge in range(40):
        for _ in range(1 + int(rng.integers(2))):
            for system in rng.permutation(SYSTEMS).tolist():
                first = int(rng.integers(40)) * 12
                rows += [(judge, system, first + n, n_runs) for n in range(12)]
                n_runs += 1
    return _design(rows)


def panel(n_judges: int, n_segments: int) -> Drawn:
    """Return a design in which all judges judge all systems on all segments."""

    def draw(_: np.random.Generator) -> Design:
        cells = np.indices((n_judges, SYSTEMS, n_segments)).reshape(3, -1)
        return Design(cells[0], cells[1], cells[2], np.zeros(cells.shape[1], np.int64))

    return draw


def scattered(n_judges: int, skew: float = 0.0) -> Drawn:
    """Return a design of two judges for each output of 150 segments; skew: exponent of Zipf."""
    share = 1 / np.arange(1, n_judges + 1) ** skew
    share /= share.sum()

    def draw(rng: np.random.Generator) -> Design:
        return _design(
            [
                (judge, system, segment, 0)
                for system in range(SYSTEMS)
                for segment in range(150)
                for judge in rng.choice(n_judges, 2, replace=False, p=share).tolist()
            ]
        )

    return draw


def one_has_half(_: np.random.Generator) -> Design:
    """Return 12 judges with segments of their own, 10 each, of whom one has 110."""
    loads = np.array([110, *[10] * 11])
    segments = np.repeat(np.arange(loads.sum()), SYSTEMS)
    judges = np.repeat(np.arange(loads.size), loads)[segments]
    systems = np.arange(segments.size) % SYSTEMS
    return Design(judges, systems, segments, np.zeros(segments.size, np.int64))


def own_segments(_: np.random.Generator) -> Design:
    """Return 20 judges with 10 segments each, that nobody else judges."""
    cells = np.indices((20, 10, SYSTEMS)).reshape(3, -1)
    return Design(cells[0], cells[2], cells[0] * 10 + cells[1], np.zeros(cells.shape[1], np.int64))


def neighbours(rng: np.random.Generator) -> Design:
    """Draw 36 judges who see two neighbouring systems each."""
    rows = []
    for judge in range(36):
        system = int(rng.integers(SYSTEMS - 1))
        for segment in rng.choice(200, 30, replace=False).tolist():
            rows += [(judge, system, segment, 0), (judge, system + 1, segment, 0)]
    return _design(rows)


def one_system_each(rng: np.random.Generator) -> Design:
    """Draw ten judges a system, who see no other."""
    return _design(
        [
            (system * 10 + judge, system, segment, 0)
            for system in range(SYSTEMS)
            for judge in range(10)
            for segment in rng.choice(100, 30, replace=False).tolist()
        ]
    )


def documents(rng: np.random.Generator) -> Design:
    """Draw 40 judges who judge all systems on 3 of 40 documents, each of 8 segments."""
    cells = np.indices((40, 3, 8, SYSTEMS)).reshape(4, -1)
    picks = np.array([rng.choice(40, 3, replace=False) for _ in range(40)])
    segments = picks[cells[0], cells[1]] * 8 + cells[2]
    names, codes = np.unique(segments, return_inverse=True)
    nothing = np.zeros(segments.size, np.int64)
    return Design(cells[0], cells[3], codes.reshape(-1), nothing, _code(names // 8))


SCORE_DESIGNS: Mapping[str, Drawn] = {
    "HITs": hits,
    "scattered, 150 judges": scattered(150),
    "scattered, 20 judges by Zipf": scattered(20, 1.0),
    "own segments": own_segments,
    "12 judges, one has half": one_has_half,
    "panel 10 x 20": panel(10, 20),
    "panel 10 x 10": panel(10, 10),
    "panel 20 x 100": panel(20, 100),
    "two neighbours of six": neighbours,
    "one system each": one_system_each,
    "panel 4 x 100": panel(4, 100),
    "panel 6 x 100": panel(6, 100),
    "40 documents": documents,
}


@dataclass(frozen=True)
class PairDesign:
    """Comparisons by judges of pairs of systems, drawn at random.

    Parameters
    ----------
    comparisons
        Of each judge.
    n_segments
        Segments (prompts), drawn for each comparison.
    judge_sd, segment_sd
        Standard deviation, logits, of what a judge or a segment makes of a system.
    order, order_sd
        Mean and standard deviation over judges of the effect of being shown first, logits.
    better_first
        Whether the better system is always shown first.
    n_documents, document_sd
        Documents that the segments are of, 0: none; standard deviation, logits, of what a document
        makes of a system.
    """

    comparisons: Sequence[int]
    n_segments: int = 200
    judge_sd: float = 0.5
    segment_sd: float = 0.5
    order: float = 0.0
    order_sd: float = 0.0
    better_first: bool = False
    n_documents: int = 0
    document_sd: float = 0.5


def _zipf(n_judges: int, n: int) -> list[int]:
    share = 1 / np.arange(1, n_judges + 1)
    counts: list[int] = np.maximum(n * share / share.sum(), 2).astype(np.int64).tolist()
    return counts


PAIR_DESIGNS: Mapping[str, PairDesign] = {
    "independent": PairDesign([60] * 20, judge_sd=0.0, segment_sd=0.0),
    "20 judges": PairDesign([60] * 20),
    "10 judges": PairDesign([120] * 10),
    "5 judges": PairDesign([240] * 5),
    "100 judges, 20 prompts": PairDesign([12] * 100, n_segments=20, segment_sd=0.7),
    "40 judges by Zipf": PairDesign(_zipf(40, 1200)),
    "12 judges, one has half of 1,210": PairDesign([605, *[55] * 11]),
    "order -.37": PairDesign([60] * 20, order=-0.37, order_sd=0.3),
    "order .5, better first": PairDesign([60] * 20, order=0.5, order_sd=0.3, better_first=True),
    "40 documents, compared": PairDesign([60] * 20, n_documents=40, document_sd=0.7),
}
TIE = 0.6
"""Davidson's nu."""


def _design(rows: Sequence[tuple[int, int, int, int]]) -> Design:
    judges, systems, segments, runs = np.array(rows).T
    return Design(_code(judges), systems, _code(segments), runs)


def _code(names: Codes) -> Codes:
    return np.asarray(np.unique(names, return_inverse=True)[1].reshape(-1), np.int64)


def draw_scores(design: Design, effects: Floats, rng: np.random.Generator) -> Floats:
    """Draw the scores of a design, points; ``effects``: ``(SYSTEMS,)`` points of systems."""
    judges, systems, segments = design.judges, design.systems, design.segments
    n_judges, n_segments = int(judges.max()) + 1, int(segments.max()) + 1

    def normal(sd: float, *sizes: int) -> Floats:
        return rng.normal(0, sd, sizes)

    quality = (
        effects[systems]
        + normal(SEGMENT_SD, n_segments)[segments]
        + normal(SEGMENT_SYSTEM_SD, n_segments, SYSTEMS)[segments, systems]
        + normal(JUDGE_SYSTEM_SD, n_judges, SYSTEMS)[judges, systems]
        + normal(JUDGE_SEGMENT_SD, n_judges, n_segments)[judges, segments]
        + normal(REST_SD, judges.size)
    )
    if design.runs.any():
        quality = quality + normal(BLOCK_SD, int(design.runs.max()) + 1)[design.runs]
    if design.documents is not None:
        by_document = normal(DOCUMENT_SYSTEM_SD, int(design.documents.max()) + 1, SYSTEMS)
        quality = quality + by_document[design.documents[segments], systems]
    spread = np.exp(normal(SPREAD_SD, n_judges))[judges]
    return np.asarray(60 + normal(JUDGE_SD, n_judges)[judges] + spread * quality)


def draw_comparisons(
    design: PairDesign,
    strengths: Floats,
    rng: np.random.Generator,
    *,
    declares_documents: bool = True,
) -> ComparisonBlock:
    """Draw the comparisons of a design; ``strengths``: ``(SYSTEMS,)`` logits.

    Without ``declares_documents``, clusters are segments although these have documents.
    """
    n_judges = len(design.comparisons)
    judges = np.repeat(np.arange(n_judges), design.comparisons)
    n = judges.size
    segments = rng.integers(0, design.n_segments, n)
    first = rng.integers(0, SYSTEMS, n)
    second = (first + rng.integers(1, SYSTEMS, n)) % SYSTEMS
    if design.better_first:
        first, second = np.minimum(first, second), np.maximum(first, second)
    of_judge = rng.normal(0, design.judge_sd, (n_judges, SYSTEMS))
    of_segment = rng.normal(0, design.segment_sd, (design.n_segments, SYSTEMS))
    order = design.order + rng.normal(0, design.order_sd, n_judges)
    odds = strengths[first] - strengths[second] + order[judges]
    odds += of_judge[judges, first] - of_judge[judges, second]
    odds += of_segment[segments, first] - of_segment[segments, second]
    has_documents = bool(design.n_documents) and declares_documents
    if design.n_documents:
        document = segments % design.n_documents
        of_document = rng.normal(0, design.document_sd, (design.n_documents, SYSTEMS))
        odds += of_document[document, first] - of_document[document, second]
        segments = document if has_documents else segments
    win, lose = np.exp(odds / 2), np.exp(-odds / 2)
    at = rng.random(n) * (win + lose + TIE)
    preferences = np.where(at < win, 1.0, np.where(at < win + lose, 0.0, 0.5))
    return ComparisonBlock(
        _code(segments), judges, first, second, preferences, np.zeros(n, np.int64),
        int(np.unique(segments).size), n_judges, SYSTEMS, 1, has_documents,
    )  # fmt: skip
