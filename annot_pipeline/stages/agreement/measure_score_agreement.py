"""Agreement of judges on scores, their categories and their ranks.

Sources: Graham et al. 2013, section 4 and Tables 1 to 3; Sakaguchi & Van Durme 2018, footnotes 17
and 20.

Written once over blocks of judgments: one table in memory, or files of one large task. Percentiles
of z-scores take two passes over the blocks; resamples of items are drawn block by block.
Only a task in one block has intervals of rank correlations, and its alphas are computed from all
values at once, each with draws of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Floats
from annot_pipeline.errors import shorten
from annot_pipeline.methods.agreement.krippendorff import Metric, alphas_of_sums
from annot_pipeline.methods.agreement.scale_agreement import (
    BinnedAgreement,
    binned_agreement,
    binned_agreement_of,
    percentile_places,
)
from annot_pipeline.methods.agreement.score_differences import (
    ScoreDifferences,
    differences_of,
    score_differences,
)
from annot_pipeline.methods.numerics.blocks import Blocks, spans_by_size
from annot_pipeline.methods.numerics.bootstrap import BootstrapRounds, Estimate, ItemResamples
from annot_pipeline.methods.numerics.ranks import cells_of_places, values_at
from annot_pipeline.stages.agreement import score_sums
from annot_pipeline.stages.agreement.ratings import (
    FEW_DRAWN,
    UNFILTERED,
    Row,
    agreement_row,
    bootstrap_interval,
)
from annot_pipeline.stages.agreement.score_sums import (
    CUTS,
    CodedScores,
    RatedUnits,
    RepeatedScores,
    ScaleCuts,
    ScoreDomain,
    n_points,
)

NO_BLOCK_INTERVAL = "no interval: the task has too many scores to draw pairs of judges again"
FEW_COMMON = f"no interval: pairs of judges share fewer than {FEW_DRAWN} items on average"
NO_RANKS = "no two judges scored three common items, each with different scores"
NO_VALUES = "no item has scores by two judges"
EQUAL_SCORES = "all scores are equal, or too many differ"
NO_RATIO = "all scores are equal, some are below 0, or too many differ"
NO_SD_INTERVAL = "no interval: none is computed for a standard deviation"


def alpha_row(task: Row, name: str, estimate: Any, n_items: int, n_judges: int, rounds: int) -> Row:
    """Return the row of an alpha."""
    undefined = NO_RATIO if name.startswith("alpha_ratio") else EQUAL_SCORES
    undefined = undefined if n_items else NO_VALUES
    return interval_row(task, name, estimate, n_items, n_judges, rounds, undefined)


def cut_rows(
    task: Row, name: str, agreement: BinnedAgreement, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of agreement on a scale that is cut."""
    undefined = f"no item has scores by {_pairs_of(name)}" if not agreement.n_items else "one bin"
    share = name.replace("_kappa_", "_percent_agreement_")
    for row_name, estimate in ((name, agreement.kappa), (share, agreement.percent_agreement)):
        yield interval_row(task, row_name, estimate, agreement.n_items, n_judges, rounds, undefined)


def difference_rows(
    task: Row, name: str, differences: ScoreDifferences, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of differences: mean and sd."""
    sd = Estimate(differences.sd, np.nan, np.nan)
    undefined = f"{{}} of scores by {_pairs_of(name)}"
    sizes = (differences.n_items, n_judges, rounds)
    yield interval_row(task, name, differences.mean, *sizes, undefined.format("no pair"))
    name = name.replace("_mean", "_sd")
    too_few = undefined.format("fewer than 2 pairs")
    yield interval_row(task, name, sd, *sizes, too_few, NO_SD_INTERVAL)


def interval_row(
    task: Row,
    name: str,
    estimate: Any,
    n_items: int,
    n_judges: int,
    rounds: int,
    undefined: str,
    unbounded: str | None = None,
) -> Row:
    """Return a row with a bootstrap interval over items; parameters as `bootstrap_interval`."""
    low, high, reason = bootstrap_interval(
        estimate, n_items, rounds, undefined, unbounded=unbounded
    )
    published = Estimate(estimate.value, low, high)
    return agreement_row(task, name, published, n_items, n_judges, reason)


def _pairs_of(name: str) -> str:
    return "two judges" if name.startswith("inter") else "one judge twice"


METRICS: tuple[Metric, ...] = ("ordinal", "interval", "ratio")
PAIRS_AT_ONCE = 1_000_000
"""Pairs of scores that one job correlates, some 150 bytes each; one judge's are never split."""


def score_rows(
    standardized: Blocks[pa.Table],
    repeats: Blocks[RepeatedScores],
    task: Row,
    bootstrap: BootstrapRounds,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Row]:
    """Yield the rows of a scalar task.

    Parameters
    ----------
    standardized
        Tables with `score_sums.COLUMNS`; the judgments of an item lie in one block.
    repeats
        One block: outputs that judges saw twice.
    task
        ``task``, ``scale_low``, ``scale_high``.
    bootstrap
        Rounds over items.
    progress
        Called with a message before each set of statistics.
    """
    cuts_by_suffix: dict[str, ScaleCuts] = {}
    for suffix in ("", UNFILTERED):
        domain = ScoreDomain.from_blocks(standardized.map(score_sums.scan, suffix))
        if suffix and not domain.has_dropped_judges:
            break
        progress(f"agreement of {shorten(task['task'])}{suffix and ', all judges'}")
        cuts_by_suffix[suffix] = _scale_cuts(standardized, domain, task, suffix)
        scores = standardized.keep(score_sums.code_scores, domain, suffix)
        measures = _Measures(scores, domain, task, suffix, bootstrap)
        rated = scores.sum(score_sums.rated_units)
        yield from measures.alpha_rows(rated)
        yield measures.correlation_row()
        yield from measures.kappa_rows(cuts_by_suffix[suffix])
        yield from measures.difference_rows(rated)
    for rows in repeats.map(_intra_rows, cuts_by_suffix, task, bootstrap):
        yield from rows


def _scale_cuts(
    standardized: Blocks[pa.Table], domain: ScoreDomain, task: Row, suffix: str
) -> ScaleCuts:
    """Return how scores are cut: z-scores by percentiles of all of them."""
    counts = standardized.sum(score_sums.z_counts, suffix)
    n = int(counts.sum())
    edges: dict[int, Floats] = {}
    if n:
        places = {k: percentile_places(n, k) for k in CUTS}
        cells = cells_of_places(counts, np.concatenate([*places.values()]))
        values = standardized.map(score_sums.z_values, suffix, cells)
        edges = {k: values_at(counts, cells, values, ranks) for k, ranks in places.items()}
    points = n_points(task, is_whole=domain.is_whole)
    return ScaleCuts(task["scale_low"], task["scale_high"], points, edges)


@dataclass(frozen=True)
class _Measures:
    """Measures agreement on the scores of one task, of kept judges or of all judges.

    Where the task is one block, statistics that are not sums are computed from all of its scores;
    else from the sums of blocks, or without an interval.
    """

    scores: Blocks[CodedScores]
    domain: ScoreDomain
    task: Row
    suffix: str
    bootstrap: BootstrapRounds

    def alpha_rows(self, rated: RatedUnits) -> Iterator[Row]:
        """Yield the rows of Krippendorff's alphas."""
        names = {metric: f"alpha_{metric}{self.suffix}" for metric in METRICS}
        if len(self.scores) == 1:
            rounds = {metric: self.bootstrap.arguments(name) for metric, name in names.items()}
            [alphas] = self.scores.map(score_sums.alphas_of_block, rounds)
        else:
            alphas = self._alphas_of_blocks()
        sizes = rated.n_units, int(rated.judges.sum()), self.bootstrap.rounds
        for metric, name in names.items():
            yield alpha_row(self.task, name, alphas[metric], *sizes)

    def _alphas_of_blocks(self) -> Mapping[Metric, Estimate]:
        scale, n_rounds = self.domain.scale, 1 + self.bootstrap.rounds
        units = self.scores.keep(score_sums.score_units, scale)
        resamples = self._resamples(f"alphas{self.suffix}", units.map(attrgetter("n_units")))
        n_bytes = (scale.domain.size + 10) * n_rounds * 8
        sums = units.sum(score_sums.alpha_sums, each=resamples, n_bytes=n_bytes)
        [ordinal] = units.sum(score_sums.ordinal_sums, sums, each=resamples, n_bytes=n_rounds * 8)
        alphas = alphas_of_sums(sums, ordinal, scale)
        return {metric: Estimate.from_replicates(alphas[metric]) for metric in METRICS}

    def correlation_row(self) -> Row:
        """Return the row of the mean rank correlation of pairs of judges."""
        name = f"inter_spearman{self.suffix}"
        if len(self.scores) > 1:
            return self._correlation_of_blocks(name)
        [rho] = self.scores.map(score_sums.spearman_of_block, self.bootstrap.arguments(name))
        few = FEW_COMMON if rho.mean_common < FEW_DRAWN else None
        sizes = rho.n_items, rho.n_judges, self.bootstrap.rounds
        row = interval_row(self.task, name, rho, *sizes, NO_RANKS, few)
        return row | {"judge_pairs_left_out": rho.n_undefined_pairs}

    def _correlation_of_blocks(self, name: str) -> Row:
        """Return the row without an interval, which would resample all pairs in every round."""
        n_judges, n_criteria = len(self.domain.judges), len(self.domain.criteria)
        judged = self.scores.keep(score_sums.judged_items, n_criteria)
        sizes = judged.map(score_sums.judged_sizes)
        largest = None
        if any(block.is_repeated for block in sizes):
            largest = max(block.largest for block in sizes)
        pairs = reduce(add, (block.pairs for block in sizes))
        starts = np.cumsum([0, *(block.n_items for block in sizes)]).tolist()
        correlated = judged.gather(
            score_sums.correlate, starts, pairs.size, largest,
            each=spans_by_size(pairs.tolist(), PAIRS_AT_ONCE),
        )  # fmt: skip
        sums = [correlation for correlation, _ in correlated]
        weight = sum(correlation.weight for correlation in sums)
        value = sum(correlation.weighed for correlation in sums) / weight if weight else np.nan
        items = reduce(np.bitwise_or, (bits for _, bits in correlated))
        judges = {code % n_judges for correlation in sums for code in correlation.judges.tolist()}
        reason = NO_RANKS if np.isnan(value) else NO_BLOCK_INTERVAL
        row = agreement_row(
            self.task, name, Estimate(float(value), np.nan, np.nan),
            int(np.bitwise_count(items).sum()), len(judges), reason,
        )  # fmt: skip
        return row | {"judge_pairs_left_out": sum(pair.n_pairs - pair.n_defined for pair in sums)}

    def kappa_rows(self, cuts: ScaleCuts) -> Iterator[Row]:
        """Yield the rows of agreement on scores in categories."""
        sums = self.scores.sum(score_sums.cut_sums, cuts)
        for kind, k in cuts.named:
            name, of_cut = f"inter_kappa_{kind}_{k}{self.suffix}", sums[f"{kind}_{k}"]
            agreement = binned_agreement_of(
                of_cut.kinds, n_categories=k, **self.bootstrap.arguments(name)
            )
            n_judges = int(of_cut.judges.sum())
            yield from cut_rows(self.task, name, agreement, n_judges, self.bootstrap.rounds)

    def difference_rows(self, rated: RatedUnits) -> Iterator[Row]:
        """Yield the rows of differences between judges."""
        name = f"inter_difference_mean{self.suffix}"
        blocks = self.scores.keep(score_sums.item_differences, self.domain.centre)
        totals = blocks.map(score_sums.difference_totals)
        n_items, n_pairs, squares = (list(values) for values in zip(*totals, strict=True))
        replicates = blocks.sum(score_sums.difference_sums, each=self._resamples(name, n_items))
        inter = differences_of(replicates, sum(squares), n_items=sum(n_items), n_pairs=sum(n_pairs))
        n_judges = int(rated.judges.sum())
        yield from difference_rows(self.task, name, inter, n_judges, self.bootstrap.rounds)

    def _resamples(self, name: str, n_items: Sequence[int]) -> list[ItemResamples]:
        """Return the resamples of items of a statistic by block of ``n_items``."""
        resamples = ItemResamples.draw(sum(n_items), **self.bootstrap.arguments(name))
        return [resamples] if len(n_items) == 1 else resamples.split(n_items)


def _intra_rows(
    repeats: RepeatedScores,
    cuts_by_suffix: Mapping[str, ScaleCuts],
    task: Row,
    bootstrap: BootstrapRounds,
) -> list[Row]:
    """Return the agreement of judges with themselves, for the cuts of each suffix."""
    rows: list[Row] = []
    for suffix, cuts in cuts_by_suffix.items():
        counted = repeats if suffix else repeats.only(~repeats.dropped)
        rows += _rows_of_repeats(counted, cuts, task, suffix, bootstrap)
    return rows


def _rows_of_repeats(
    repeats: RepeatedScores, cuts: ScaleCuts, task: Row, suffix: str, bootstrap: BootstrapRounds
) -> Iterator[Row]:
    for kind, k in cuts.named:
        bins = [cuts.bins(kind, k, *showing) for showing in repeats.showings]
        has_bins = (bins[0] >= 0) & (bins[1] >= 0)
        subset = repeats.only(has_bins)
        name = f"intra_kappa_{kind}_{k}{suffix}"
        agreement = binned_agreement(
            bins[0][has_bins], bins[1][has_bins], subset.items, n_items=subset.n_items,
            n_categories=k, **bootstrap.arguments(name),
        )  # fmt: skip
        n_judges = np.unique(subset.judges).size
        yield from cut_rows(task, name, agreement, n_judges, bootstrap.rounds)
    name = f"intra_difference_mean{suffix}"
    intra = score_differences(
        repeats.first,
        repeats.second,
        repeats.items,
        n_items=repeats.n_items,
        **bootstrap.arguments(name),
    )
    n_judges = np.unique(repeats.judges).size
    yield from difference_rows(task, name, intra, n_judges, bootstrap.rounds)
