"""Direct assessment from scores to systems, as our methods and as notebooks do it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from benchmarks.comparison import Comparison, Way, Work

ALPHA = 0.05
SYSTEMS = 12


@dataclass(frozen=True)
class Scores:
    """Judgments of one language pair in HITs of 100; ``(n_judgments,)`` each."""

    judge: Codes
    output: Codes  # a system's output in a HIT; its degraded copy has the same
    system: Codes
    segment: Codes
    score: Floats
    ordinary: Flags
    shown: Flags  # ordinary, or asked again: those that count
    degraded: Flags


@dataclass(frozen=True)
class Found:
    """Which judges passed, and the p-values of all pairs of systems; what both ways give."""

    passed: Flags
    p_values: Floats


def draw_scores(n_judgments: int) -> Scores:
    """Judgments of 12 systems."""
    from studies.simulators.scores import KINDS, ScoreSimulation, simulate_scores

    n_hits = n_judgments // 100
    simulated = simulate_scores(
        ScoreSimulation(
            language_pairs=("cs-en",), n_systems=SYSTEMS, n_hits=n_hits,
            n_segments=max(200, n_hits // 3), n_judges=max(10, n_hits // 20), repeat_share=0,
        )
    )  # fmt: skip
    rows = simulated.rows
    kinds = {kind: rows.kind == code for code, kind in enumerate(KINDS)}
    return Scores(
        judge=rows.judge,
        output=(rows.hit * 100 + rows.system) * 10**6 + rows.segment,
        system=rows.system,
        segment=rows.segment,
        score=rows.score.astype(np.float64),
        ordinary=kinds["ordinary"],
        shown=kinds["ordinary"] | kinds["ask_again"],
        degraded=kinds["bad_reference"],
    )


def ours(given: Scores) -> Work:
    """`Found`, by judge control, z-scores, segment means and all pairs of systems."""
    from annot_pipeline.methods.judges.grouped_tests import paired_t
    from annot_pipeline.methods.scores.cell_means import cell_means
    from annot_pipeline.methods.scores.system_comparisons import compare_systems
    from annot_pipeline.methods.scores.zscores import z_scores

    def work() -> Found:
        n_judges = int(given.judge.max()) + 1
        outputs, scores = given.output[given.ordinary], given.score[given.ordinary]
        order = np.argsort(outputs)
        positions = order[np.searchsorted(outputs, given.output[given.degraded], sorter=order)]
        differences = scores[positions] - given.score[given.degraded]
        test = paired_t(given.judge[given.degraded], differences, n_groups=n_judges)
        passed = test.p_value < ALPHA
        z = z_scores(given.judge, given.score, n_judges=n_judges).z
        kept = given.shown & passed[given.judge]
        width = int(given.segment.max()) + 1
        cells, codes = np.unique(
            given.system[kept] * width + given.segment[kept], return_inverse=True
        )
        means = cell_means(codes, z[kept], n_cells=cells.size).mean
        known = ~np.isnan(means)
        compared = compare_systems(cells[known] // width, means[known], n_systems=SYSTEMS)
        return Found(passed, compared.p_value)

    return work


def by_pandas(given: Scores) -> Work:
    """`Found`, with pandas and scipy.stats."""
    import pandas as pd
    import scipy.stats

    everything = pd.DataFrame(vars(given))

    def work() -> Found:
        table = everything.copy()
        pairs = table[table.ordinary].merge(table[table.degraded], on=["judge", "output"])
        p_of = {
            judge: scipy.stats.ttest_rel(of.score_x, of.score_y, alternative="greater").pvalue
            for judge, of in pairs.groupby("judge")
        }
        passed = [judge for judge, p in p_of.items() if p < ALPHA]
        by_judge = table.groupby("judge").score
        table["z"] = (table.score - by_judge.transform("mean")) / by_judge.transform("std")
        kept = table[table.shown & table.judge.isin(passed)]
        segments = kept.groupby(["system", "segment"]).z.mean().dropna()
        by_system = [of.to_numpy() for _, of in segments.groupby("system")]
        p_values = np.full((SYSTEMS, SYSTEMS), np.nan)
        for a, b in permutations(range(SYSTEMS), 2):
            p_values[a, b] = scipy.stats.mannwhitneyu(
                by_system[a], by_system[b], alternative="greater", method="asymptotic"
            ).pvalue
        judges = pd.RangeIndex(table.judge.max() + 1)
        return Found(judges.isin(passed), p_values)

    return work


COMPARISON = Comparison(
    f"Direct assessment: judge control, z-scores, segment means, all pairs of {SYSTEMS} systems",
    "judgments",
    sizes=(100_000, 1_000_000),
    quick=(100_000,),
    draw=draw_scores,
    ways=(Way("annot-pipeline", ours), Way("pandas and scipy", by_pandas)),
)
