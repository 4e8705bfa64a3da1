"""How far bootstrap intervals of agreement on scores hold: simulated scores from 0 to 100.

Judges differ in level and in how far they stretch the scale. The bootstrap draws items, so the
truth is that of the same judges on many more items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.agreement.scale_agreement import (
    equal_bins,
    inter_judge_binned_agreement,
)
from annot_pipeline.methods.agreement.score_differences import inter_judge_score_differences
from annot_pipeline.methods.judges.judge_correlations import mean_spearman
from studies.agreement_coverage import AgreementCoverage, SimulatedJudges

SCALE = (0.0, 100.0)
N_BINS = 5
ITEM_SD, JUDGE_SD, REST_SD = 15.0, 8.0, 12.0
"""Standard deviations of items, of judges' levels, and of the rest; points."""
LEAST_MANY, MANY_TIMES = 4_000, 20
"""Items that stand for all: so many, and so many times those of the design."""


class _Statistic(Protocol):
    """A value with the ends of its interval."""

    @property
    def value(self) -> float: ...
    @property
    def ci_low(self) -> float: ...
    @property
    def ci_high(self) -> float: ...


@dataclass(frozen=True)
class ScoreDesign:
    """Who scores what.

    Parameters
    ----------
    n_items, n_judges
        Sizes.
    per_item
        Judges of an item, drawn for each; all of them where it is ``n_judges``.
    """

    n_items: int
    n_judges: int
    per_item: int


DESIGNS = (
    *(ScoreDesign(n_items, 5, 5) for n_items in (10, 20, 30, 50, 200)),
    *(ScoreDesign(n_items, 3, 3) for n_items in (20, 30, 50)),
    *(ScoreDesign(n_items, 2, 2) for n_items in (50, 100)),
    ScoreDesign(200, 20, 4),
    ScoreDesign(1000, 100, 3),
)


def score_agreement_coverage(
    design: ScoreDesign, replications: int, rounds: int, rng: np.random.Generator
) -> Mapping[str, AgreementCoverage]:
    """Measure bootstrap intervals of agreement on scores in a design, by statistic.

    Parameters
    ----------
    design
        Who scores what.
    replications
        Sets of judges, each with items of its own.
    rounds
        Of the bootstrap.
    rng
        Draws judges, items and resamples.
    """
    replicated: dict[str, list[tuple[float, float, float, float]]] = {}
    for _ in range(replications):
        judges = SimulatedJudges.draw(design.n_judges, JUDGE_SD, rng)
        n_many = max(LEAST_MANY, MANY_TIMES * design.n_items)
        truths = _agreement(design, judges, n_many, 0, rng)
        for name, estimate in _agreement(design, judges, design.n_items, rounds, rng).items():
            row = (estimate.value, estimate.ci_low, estimate.ci_high, truths[name].value)
            replicated.setdefault(name, []).append(row)
    return {
        name: AgreementCoverage.from_replications(np.array(rows))
        for name, rows in replicated.items()
    }


def _agreement(
    design: ScoreDesign,
    judges: SimulatedJudges,
    n_items: int,
    rounds: int,
    rng: np.random.Generator,
) -> Mapping[str, _Statistic]:
    """Return statistics of scores by these judges for items drawn anew."""
    chosen = np.argsort(rng.random((n_items, design.n_judges)), axis=1)[:, : design.per_item]
    by, items = chosen.reshape(-1), np.repeat(np.arange(n_items), design.per_item)
    quality = rng.normal(0, ITEM_SD, n_items)[items]
    scores = 50 + judges.levels[by] + judges.slopes[by] * quality
    scores = np.clip(np.round(scores + rng.normal(0, REST_SD, items.size)), *SCALE)
    binned = inter_judge_binned_agreement(
        items, by, equal_bins(scores, *SCALE, N_BINS), n_categories=N_BINS,
        n_items=n_items, n_judges=design.n_judges, rounds=rounds, rng=rng,
    )  # fmt: skip
    return {
        "alpha_ordinal": krippendorff_alpha(
            items, scores, n_units=n_items, metric="ordinal", rounds=rounds, rng=rng
        ),
        "alpha_interval": krippendorff_alpha(
            items, scores, n_units=n_items, metric="interval", rounds=rounds, rng=rng
        ),
        "inter_kappa_raw_5": binned.kappa,
        "inter_percent_agreement_raw_5": binned.percent_agreement,
        "inter_difference_mean": inter_judge_score_differences(
            items, by, scores, n_items=n_items, rounds=rounds, rng=rng
        ).mean,
        "inter_spearman": mean_spearman(
            items, by, scores, n_items=n_items, n_judges=design.n_judges, rounds=rounds, rng=rng
        ),
    }


def score_coverage_rows(
    replications: int, rounds: int, seed: int, designs: Sequence[ScoreDesign] = DESIGNS
) -> Iterator[tuple[ScoreDesign, str, AgreementCoverage]]:
    """Yield design, statistic and what was measured."""
    for number, design in enumerate(designs):
        rng = np.random.default_rng((seed, number))
        for name, measured in score_agreement_coverage(design, replications, rounds, rng).items():
            yield design, name, measured
