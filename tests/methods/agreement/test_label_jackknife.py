"""Intervals of agreement against the jackknife over judges and items (Gwet 2014, chapter 5)."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.agreement.label_agreement import Influence, nominal_agreement, variance
from studies.agreement_coverage import (
    JUDGE_SD,
    POPULATION,
    LabelDesign,
    SimulatedJudges,
    draw_labels,
    true_agreement,
)

NAMES = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1")


def test_the_variance_of_five_judges_by_hand():
    """Shares of 1/5: leaving one out takes 2/5 of all pairs, so influences grow by 5/3."""
    judges = np.array([0.03, -0.03, 0.06, -0.06, 0.0])
    by_judge = (judges**2).sum() * (5 / 3) ** 2 * 4 / 5
    for cells, added in ((0.0009, by_judge - 0.0009 * (5 / 3) ** 2), (0.01, by_judge / 4)):
        influence = Influence(0.002, 1e-7, cells, judges, np.full(5, 0.2))
        total, freedom, are_drawn = variance(influence, 51)
        by_item = 0.002 * 51 / 50
        assert are_drawn
        assert total == pytest.approx(by_item + added)
        # as many as carry: 1.5 (.002^2 / 1e-7) = 60 of 51 items, 3 (.009^2 / 2.754e-5) of 5 judges
        spread = by_item**2 / 50 + min(by_judge, total) ** 2 / 4
        assert freedom == pytest.approx(total**2 / spread)


def agreement(items, judges, labels):
    codes = [np.unique(array, return_inverse=True)[1] for array in (items, judges)]
    sizes = {"n_items": int(codes[0].max()) + 1, "n_judges": int(codes[1].max()) + 1}
    measured = nominal_agreement(*codes, labels, **sizes, n_labels=2, ordinal=False)
    return [getattr(measured, name) for name in NAMES]


def jackknife_width(items, judges, labels):
    """Twice 1.96 standard errors by leaving out each judge and each item, ``(n_statistics,)``."""
    total = np.zeros(len(NAMES))
    for clusters in (items, judges):
        without = [clusters != name for name in np.unique(clusters)]
        values = np.array([
            [one.value for one in agreement(items[rows], judges[rows], labels[rows])]
            for rows in without
        ])  # fmt: skip
        total += values.var(axis=0) * (len(without) - 1)
    return 2 * 1.96 * np.sqrt(total)


def measure(design, replications, seed):
    """Share of intervals with the truth, and mean width in those of the jackknife, by statistic."""
    everyone = SimulatedJudges.draw(POPULATION, JUDGE_SD, np.random.default_rng(0))
    centre, truth = true_agreement(everyone, design.prevalence)
    rng, covered, widths, jackknife = np.random.default_rng(seed), [], [], []
    for _ in range(replications):
        judges = SimulatedJudges.draw(design.n_judges, JUDGE_SD, rng)
        rows = draw_labels(design, judges, centre, rng)
        ours = agreement(*rows)
        covered.append([one.ci_low <= truth[name] <= one.ci_high
                        for name, one in zip(NAMES, ours, strict=True)])  # fmt: skip
        widths.append([one.ci_high - one.ci_low for one in ours])
        jackknife.append(jackknife_width(*rows))
    has_interval = ~np.isnan(widths)
    ratio = np.nansum(widths, axis=0) / np.where(has_interval, jackknife, 0.0).sum(axis=0)
    return np.sum(covered, axis=0) / has_interval.sum(axis=0), ratio


@pytest.mark.slow
def test_intervals_of_five_judges_are_about_as_wide_as_the_jackknifes():
    coverage, ratio = measure(LabelDesign(40, 5, 5, 0.5), 25, 1)
    assert (coverage > 0.85).all()
    assert (ratio > 0.8).all()
    assert (ratio < 1.2).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        LabelDesign(60, 4, 4, 0.5),
        LabelDesign(60, 5, 5, 0.5),
        LabelDesign(60, 6, 6, 0.7),
        LabelDesign(60, 12, 12, 0.5),
        LabelDesign(60, 6, 3, 0.5),
        LabelDesign(100, 20, 5, 0.5),
    ],
    ids=str,
)
def test_intervals_hold_the_truth_and_are_no_wider_than_a_fifth_more(design):
    coverage, ratio = measure(design, 300, 2)
    assert (coverage > 0.95 - 0.03).all()
    assert (ratio < 1.2).all()
