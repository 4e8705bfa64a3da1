"""How far intervals and tests of rankings hold, over replications of simulated evaluations.

Beside the headline stands what WMT does with the same scores: rank-sum tests of segment scores,
from z-scores, which take segments as independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.methods.comparisons.clusters import clusters
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.rankings.adjusted_comparisons import adjusted_comparisons
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import TESTED, RankingInference, compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import ScoreParams
from annot_pipeline.methods.scores.system_comparisons import compare_systems
from annot_pipeline.methods.scores.zscores import z_scores
from studies.coverage_designs import (
    PAIR_DESIGNS,
    SCORE_DESIGNS,
    SCORE_EFFECTS,
    STRENGTHS,
    SYSTEMS,
    Design,
    Drawn,
    PairDesign,
    draw_comparisons,
    draw_scores,
)

ALPHA = 0.05
WITH_DOCUMENTS = ("40 documents",)
UNDECLARED = ", documents not mapped"
"""Of a method that takes segments of one document as independent."""


@dataclass(frozen=True)
class Coverage:
    """How often what is said holds, over replications; shares.

    Parameters
    ----------
    coverage
        Of 95% intervals of differences, by the truth; NaN for a method without intervals.
    system_coverage
        Of 95% intervals of a system's difference from the mean of the others.
    size
        Of one-sided tests at 5%, where all systems are equal.
    familywise
        Replications with a win after Holm, where all are equal.
    false_boundary
        Replications with two clusters or more, where all are equal.
    power
        Of pairs, one-sided at 5%, before Holm.
    power_at_size
        Of pairs, one-sided, at the critical value that has a size of 5% in these replications.
    is_tested, is_confirmed
        Pairs with a test, and pairs that may cut clusters.
    replications
        Of each.
    """

    coverage: float
    system_coverage: float
    size: float
    familywise: float
    false_boundary: float
    power: float
    power_at_size: float
    is_tested: float
    is_confirmed: float
    replications: int


@dataclass(frozen=True)
class _Compared:
    """What a method says of K systems in one replication; arrays are ``(K, K)``."""

    difference: Floats
    low: Floats
    high: Floats
    half_width: Floats
    p_value: Floats
    beats: Flags
    is_tested: Flags
    is_confirmed: Flags
    n_clusters: int


Fit = Callable[[Floats], _Compared]


def score_coverage(
    draw: Drawn,
    params: ScoreParams,
    replications: int,
    rng: np.random.Generator,
    *,
    declares_documents: bool = True,
) -> Coverage:
    """Measure how far adjusted scores hold in a design, with its documents or without."""

    def compare(effects: Floats) -> _Compared:
        design = draw(rng)
        scores = draw_scores(design, effects, rng)
        sizes = (int(design.segments.max()) + 1, int(design.judges.max()) + 1, SYSTEMS)
        block = ScoreBlock.from_rows(
            design.segments, design.judges, design.systems, scores, sizes,
            design.documents if declares_documents else None,
        )  # fmt: skip
        return _of_inference(
            compare_estimates(adjusted_scores(InMemoryBlocks([block]), params).estimates)
        )

    return _measure(compare, SCORE_EFFECTS, replications)


def pair_coverage(
    design: PairDesign,
    replications: int,
    rng: np.random.Generator,
    *,
    declares_documents: bool = True,
) -> Coverage:
    """Measure how far adjusted comparisons hold in a design, with its documents or without."""

    def compare(strengths: Floats) -> _Compared:
        block = draw_comparisons(design, strengths, rng, declares_documents=declares_documents)
        fitted = adjusted_comparisons(InMemoryBlocks([block]), shrinks_orders=True)
        return _of_inference(compare_estimates(fitted.estimates))

    return _measure(compare, STRENGTHS, replications)


def rank_sum_coverage(draw: Drawn, replications: int, rng: np.random.Generator) -> Coverage:
    """Measure how far WMT's tests of z-scores hold in a design: without Holm, wins cut clusters."""

    def compare(effects: Floats) -> _Compared:
        design = draw(rng)
        return _rank_sum(design, draw_scores(design, effects, rng))

    return _measure(compare, SCORE_EFFECTS, replications)


def _rank_sum(design: Design, scores: Floats) -> _Compared:
    z = z_scores(design.judges, scores, n_judges=int(design.judges.max()) + 1).z
    cells, cell = np.unique(
        design.systems * (int(design.segments.max()) + 1) + design.segments, return_inverse=True
    )
    of_cell = means(cell.reshape(-1), z, n_groups=cells.size)
    systems = cells // (int(design.segments.max()) + 1)
    compared = compare_systems(systems, of_cell, n_systems=SYSTEMS)
    beats = np.nan_to_num(compared.p_value, nan=1.0) < ALPHA
    order = np.argsort(-means(systems, of_cell, n_groups=SYSTEMS), kind="stable")
    tested = ~np.isnan(compared.p_value)
    nothing = np.full((SYSTEMS, SYSTEMS), np.nan)
    return _Compared(
        compared.difference, nothing, nothing, np.full(SYSTEMS, np.nan), compared.p_value, beats,
        tested, tested, int(clusters(beats[np.ix_(order, order)], "wmt").max()),
    )  # fmt: skip


def _of_inference(inference: RankingInference) -> _Compared:
    is_tested = inference.reason == TESTED
    return _Compared(
        inference.difference, inference.low, inference.high, inference.half_width,
        inference.p_value, inference.beats, is_tested, inference.is_confirmed,
        int(inference.cluster.max()),
    )  # fmt: skip


def _measure(compare: Fit, effects: Floats, replications: int) -> Coverage:
    """Return shares over replications with these effects, and with none."""
    rankings = [compare(effects) for _ in range(replications)]
    equal = [compare(np.zeros_like(effects)) for _ in range(replications)]
    pairs = ~np.eye(effects.size, dtype=np.bool_)
    truth = _truth([one.difference for one in rankings], effects)
    better = pairs & (truth > 0)
    inside: list[bool] = []
    systems_inside: list[bool] = []
    for one in rankings:
        has_interval = pairs & ~np.isnan(one.low)
        inside += ((one.low <= truth) & (truth <= one.high))[has_interval].tolist()
        systems_inside += _system_intervals(one, truth)
    null = np.concatenate([one.p_value[pairs] for one in equal])
    null = null[~np.isnan(null)]
    critical = float(np.quantile(null, ALPHA)) if null.size else np.nan
    p_better = [one.p_value[better] for one in rankings]
    return Coverage(
        _share(inside),
        _share(systems_inside),
        _share_below([null], ALPHA),
        float(np.mean([one.beats.any() for one in equal])),
        float(np.mean([one.n_clusters > 1 for one in equal])),
        _share_below(p_better, ALPHA),
        _share_below(p_better, critical),
        float(np.mean([one.is_tested[pairs].mean() for one in rankings])),
        float(np.mean([one.is_confirmed[pairs].mean() for one in rankings])),
        replications,
    )


def _system_intervals(one: _Compared, truth: Floats) -> list[bool]:
    """Return whether intervals of systems hold their difference from the mean of the others."""
    is_other = ~np.isnan(one.difference) & ~np.eye(truth.shape[0], dtype=np.bool_)
    error = np.where(is_other, one.difference - truth, 0).sum(axis=1)
    gap = error / np.maximum(is_other.sum(axis=1), 1)
    has_interval = ~np.isnan(one.half_width)
    inside: list[bool] = (np.abs(gap) <= one.half_width)[has_interval].tolist()
    return inside


def _truth(differences: Sequence[Floats], effects: Floats) -> Floats:
    """Return true differences, in the units of the estimates.

    Judges who stretch the scale, and ties, change the unit alone: it is that of the mean estimate.
    """
    truth = effects[:, None] - effects
    estimates = np.array(differences)
    is_known = ~np.isnan(estimates)
    if not (is_known & (truth != 0)).any():
        return truth
    repeated = np.broadcast_to(truth, estimates.shape)[is_known]
    slope = (estimates[is_known] @ repeated) / (repeated @ repeated)
    return np.asarray(slope * truth)


def _share(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else np.nan


def _share_below(p_values: Sequence[Floats], level: float) -> float:
    values = np.concatenate(p_values)
    values = values[~np.isnan(values)]
    return float((values <= level).mean()) if values.size else np.nan


@dataclass(frozen=True)
class Measurement:
    """One design and method to measure; ``run`` takes replications and the generator."""

    design: str
    method: str
    run: Callable[[int, np.random.Generator], Coverage]


def measurements() -> Iterator[Measurement]:
    """Yield all designs, by all methods that rank them."""
    for name, draw in SCORE_DESIGNS.items():
        judges: Literal["fixed", "random"] = "random" if name == "one system each" else "fixed"
        for is_scaled in (False, True):
            params = ScoreParams(judges=judges, is_scaled=is_scaled)
            method = "adjusted_scaled" if is_scaled else "adjusted"
            yield Measurement(name, method, partial(score_coverage, draw, params))
        if name in WITH_DOCUMENTS:
            run = partial(score_coverage, draw, ScoreParams(), declares_documents=False)
            yield Measurement(name, f"adjusted{UNDECLARED}", run)
        yield Measurement(name, "z_mean, rank-sum", partial(rank_sum_coverage, draw))
    for name, design in PAIR_DESIGNS.items():
        yield Measurement(name, "bradley_terry", partial(pair_coverage, design))
        if design.n_documents:
            pairs = partial(pair_coverage, design, declares_documents=False)
            yield Measurement(name, f"bradley_terry{UNDECLARED}", pairs)
