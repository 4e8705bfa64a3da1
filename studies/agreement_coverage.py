"""How far intervals of agreement on labels hold: simulated labels of two classes.

An item is more or less of the second class; judges differ in how readily they give it and in how
well they see it. So labels of one item err together, and labels of one judge. With few judges the
truth is that of these judges on all items, with more that of all judges (methods.agreement).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.label_agreement import FEW_JUDGES, nominal_agreement

STATISTICS = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "alpha_nominal", "gwet_ac1")
ITEM_SD, JUDGE_SD, SPREAD_SD = 1.5, 0.5, 0.3
"""Standard deviations of items, of judges' levels, and of the logarithm of judges' slopes, probits:
kappa is near .45 at a prevalence of one half."""
GRID, POPULATION = 400, 1_500
"""Items, and judges, that stand for all."""


@dataclass(frozen=True)
class LabelDesign:
    """Who labels what.

    Parameters
    ----------
    n_items, n_judges
        Sizes.
    per_item
        Judges of an item, drawn for each; all of them where it is ``n_judges``.
    prevalence
        Share of the first class.
    """

    n_items: int
    n_judges: int
    per_item: int
    prevalence: float


DESIGNS = (
    *(
        LabelDesign(n_items, n_judges, n_judges, prevalence)
        for prevalence in (0.5, 0.95)
        for n_judges in (3, 5, 20)
        for n_items in (10, 30, 200)
    ),
    *(
        LabelDesign(n_items, n_judges, per_item, prevalence)
        for prevalence in (0.5, 0.95)
        for n_judges, per_item in ((20, 5), (100, 3))
        for n_items in (200, 1000)
    ),
)


@dataclass(frozen=True)
class AgreementCoverage:
    """What was measured of one statistic; shares of replications.

    Parameters
    ----------
    coverage
        Of 95% intervals, by the truth, where there is one; NaN without any.
    has_interval
        Replications with an interval.
    bias
        Mean of the statistic less the truth, where it has a value.
    """

    coverage: float
    has_interval: float
    bias: float

    @classmethod
    def from_replications(cls, rows: Floats) -> AgreementCoverage:
        """Summarise ``(replications, 4)`` values, ends of intervals, and truths."""
        value, low, high, truth = rows.T
        has_interval, has_value = ~np.isnan(low), ~np.isnan(value)
        covered = ((low <= truth) & (truth <= high))[has_interval]
        return cls(
            float(covered.mean()) if covered.size else np.nan,
            float(has_interval.mean()),
            float((value - truth)[has_value].mean()) if has_value.any() else np.nan,
        )


@dataclass(frozen=True)
class SimulatedJudges:
    """Judges' levels and slopes, ``(n_judges,)``."""

    levels: Floats
    slopes: Floats

    @classmethod
    def draw(cls, n: int, level_sd: float, rng: np.random.Generator) -> SimulatedJudges:
        """Draw judges; ``level_sd``: standard deviation of their levels."""
        return cls(rng.normal(0, level_sd, n), np.exp(rng.normal(0, SPREAD_SD, n)))

    def chances(self, items: Floats) -> Floats:
        """Return chances of the first class, ``(n_judges, n_items)``."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.slopes[:, None] * items + self.levels[:, None]))


def agreement_coverage(
    design: LabelDesign, replications: int, seed: int
) -> Mapping[str, AgreementCoverage]:
    """Measure intervals of `STATISTICS` in a design."""
    rng = np.random.default_rng(seed)
    everyone = SimulatedJudges.draw(POPULATION, JUDGE_SD, np.random.default_rng(0))
    centre, truth_of_all = true_agreement(everyone, design.prevalence)
    rows: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in STATISTICS}
    for _ in range(replications):
        judges = SimulatedJudges.draw(design.n_judges, JUDGE_SD, rng)
        truth = truth_of_all
        if design.n_judges < FEW_JUDGES:
            truth = _truth_of_these(judges.chances(centre + _grid()))
        items, chosen, labels = draw_labels(design, judges, centre, rng)
        agreement = nominal_agreement(
            items, chosen, labels, n_items=design.n_items, n_judges=design.n_judges, n_labels=2,
            ordinal=False,
        )  # fmt: skip
        for name in STATISTICS:
            one = getattr(agreement, name)
            rows[name].append((one.value, one.ci_low, one.ci_high, truth[name]))
    return {
        name: AgreementCoverage.from_replications(np.array(numbers))
        for name, numbers in rows.items()
    }


def true_agreement(
    everyone: SimulatedJudges, prevalence: float
) -> tuple[float, Mapping[str, float]]:
    """Return where items lie for this prevalence, and statistics of all judges on all items."""
    centre = _centre(everyone, _grid(), prevalence)
    return centre, _truth_of_all(everyone.chances(centre + _grid()))


def draw_labels(
    design: LabelDesign, judges: SimulatedJudges, centre: float, rng: np.random.Generator
) -> tuple[Codes, Codes, Codes]:
    """Draw items, judges and labels in long form."""
    n_items, n_judges, per_item = design.n_items, design.n_judges, design.per_item
    chances = judges.chances(centre + rng.normal(0, ITEM_SD, n_items))
    chosen = np.argsort(rng.random((n_items, n_judges)), axis=1)[:, :per_item].reshape(-1)
    items = np.repeat(np.arange(n_items), per_item)
    labels = (rng.random(items.size) >= chances[chosen, items]).astype(np.int64)
    return items, chosen, labels


def _grid() -> Floats:
    """Return deviations of items, as likely as each other."""
    from scipy.special import ndtri

    return np.asarray(ITEM_SD * ndtri((np.arange(GRID) + 0.5) / GRID))


def _centre(judges: SimulatedJudges, grid: Floats, prevalence: float) -> float:
    """Return where items lie so that the first class has this prevalence, by bisection."""
    low, high = -10.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        if judges.chances(middle + grid).mean() < prevalence:
            low = middle
        else:
            high = middle
    return low


def _truth_of_all(chances: Floats) -> Mapping[str, float]:
    """Return the statistics of two judges drawn from many, on items drawn from many."""
    p = chances.mean(axis=0)
    share = float(p.mean())
    same = share**2 + (1 - share) ** 2
    return _statistics(float((p**2 + (1 - p) ** 2).mean()), same, same)


def _truth_of_these(chances: Floats) -> Mapping[str, float]:
    """Return the statistics of these judges, on items drawn from many."""
    share = chances.mean(axis=1)
    is_other = ~np.eye(share.size, dtype=np.bool_)
    agreeing = (chances @ chances.T + (1 - chances) @ (1 - chances).T) / chances.shape[1]
    own = np.outer(share, share) + np.outer(1 - share, 1 - share)
    pooled = float(share.mean())
    same = pooled**2 + (1 - pooled) ** 2
    return _statistics(float(agreeing[is_other].mean()), float(own[is_other].mean()), same)


def _statistics(agreeing: float, own: float, pooled: float) -> Mapping[str, float]:
    """Return statistics by chance of judges' own shares, and of pooled ones, of two classes."""
    kappa = (agreeing - pooled) / (1 - pooled)
    return {
        "percent_agreement": agreeing,
        "cohen_kappa": (agreeing - own) / (1 - own),
        "fleiss_kappa": kappa,
        "alpha_nominal": kappa,
        "gwet_ac1": (agreeing - (1 - pooled)) / pooled,
    }


def coverage_rows(
    replications: int, seed: int, designs: Sequence[LabelDesign] = DESIGNS
) -> Iterator[tuple[LabelDesign, str, AgreementCoverage]]:
    """Yield design, statistic and what was measured."""
    for number, design in enumerate(designs):
        for name, measured in agreement_coverage(design, replications, seed + number).items():
            yield design, name, measured
