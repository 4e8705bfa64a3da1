"""The sums that one block of scores adds to statistics of agreement, and cuts of their scale.

Scores of outputs that a judge saw twice give the agreement of judges with themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.agreement.krippendorff import (
    MOST_VALUES,
    Metric,
    Scale,
    ScoreUnits,
    krippendorff_alpha,
    means_by_judge,
    pairable,
)
from annot_pipeline.methods.agreement.rating_counts import shared_items
from annot_pipeline.methods.agreement.scale_agreement import (
    PairKinds,
    bins_of_edges,
    equal_bins,
)
from annot_pipeline.methods.agreement.score_differences import ItemDifferences
from annot_pipeline.methods.judges.judge_correlations import (
    CorrelationSums,
    JudgeCorrelation,
    JudgedItems,
    PairedScores,
    mean_spearman,
)
from annot_pipeline.methods.numerics.bootstrap import (
    Estimate,
    ItemResamples,
    all_rounds,
    replicate,
    replicate_counts,
)
from annot_pipeline.methods.numerics.moments import Additive, SumsByName
from annot_pipeline.methods.numerics.ranks import cell_counts, values_of_cells
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.agreement.ratings import Row


@dataclass(frozen=True)
class CodedScores:
    """Holds scores with their codes; arrays are ``(n_scores,)``.

    Parameters
    ----------
    items, units
        Codes of items, and of items and criteria, of the block.
    judges, criteria
        Codes of those of all blocks.
    scores, z
        Points of the scale, more is better; z-scores, NaN where there is none.
    n_items, n_units, n_judges
        Sizes of the code ranges.
    """

    items: Codes
    units: Codes
    judges: Codes
    criteria: Codes
    scores: Floats
    z: Floats
    n_items: int
    n_units: int
    n_judges: int

    @cached_property
    def by_judge(self) -> tuple[Codes, Floats]:
        """Return units and scores for alpha, one by each judge."""
        return means_by_judge(self.units, self.judges, self.scores, n_judges=self.n_judges)


def coded_scores(
    standardized: pa.Table, judges: Sequence[str], criteria: Sequence[str]
) -> CodedScores:
    """Code the first showings of a block.

    Parameters
    ----------
    standardized
        ``item``, ``criterion``, ``judge``, ``control``, ``score``, ``z``.
    judges, criteria
        Names of all blocks, in order.
    """
    rows = CodedTask("", standardized.filter(is_in(standardized["control"], ("none",))))
    units = rows.groups("item", "criterion")
    return CodedScores(
        rows["item"].codes,
        units,
        rows.codes_among("judge", judges),
        rows.codes_among("criterion", criteria),
        rows.numbers("score"),
        rows.numbers("z"),
        rows.n("item"),
        int(units.max(initial=-1)) + 1,
        len(judges),
    )


CUTS = (5, 4, 2)
MOST_POINTS = 10
"""A scale of at most so many whole points is one of radio buttons: it is not cut."""


@dataclass(frozen=True)
class ScaleCuts:
    """How scores of a task are cut into categories: a declared scale, and z-scores.

    Parameters
    ----------
    low, high, points
        Ends of the scale; its points, if it is one of radio buttons. None: none is declared.
    edges
        By number of bins, the z-scores that bins end with; none if there is no z-score.
    """

    low: float | None
    high: float | None
    points: int | None
    edges: Mapping[int, Floats]

    @property
    def named(self) -> list[tuple[str, int]]:
        """Return the kinds, raw or z, with numbers of bins."""
        raw = (self.points,) if self.points else CUTS
        return [("raw", k) for k in raw if self.low is not None] + [("z", k) for k in CUTS]

    def bins(self, kind: str, k: int, scores: Floats, z: Floats) -> Codes:
        """Return bins ``(n_scores,)``; -1 for a judgment without z."""
        if kind == "raw" and self.low is not None and self.high is not None:
            return equal_bins(scores, self.low, self.high, k)
        codes, has_z = np.full(z.size, -1, np.int64), ~np.isnan(z)
        if k in self.edges:
            codes[has_z] = bins_of_edges(z[has_z], self.edges[k])
        return codes


def n_points(task: Row, *, is_whole: bool) -> int | None:
    """Return the points of a scale of radio buttons; None for a continuous or unknown scale.

    ``is_whole``: whether all scores are whole numbers.
    """
    low, high = task["scale_low"], task["scale_high"]
    if low is None or high - low >= MOST_POINTS or low != int(low) or high != int(high):
        return None
    return int(high - low) + 1 if is_whole else None


Bits = npt.NDArray[np.uint8]

COLUMNS = ("item", "criterion", "judge", "control", "kept", "score", "z")
"""Columns that agreement on scores reads."""


@dataclass(frozen=True)
class ScoreDomain:
    """Holds judges, criteria and range of the scores of one block or of all.

    Parameters
    ----------
    judges, criteria
        By name, in order.
    values
        Distinct scores of first showings, of outputs with two or more; None if there are more than
        `MOST_VALUES`.
    n, total
        Number and sum of these scores.
    low, high
        The least and the greatest.
    medians
        Of all scores of first showings, one for each block that has any.
    is_whole, has_dropped_judges
        Whether all scores, of all judges, are whole; whether some judges are not kept.
    """

    judges: Sequence[str]
    criteria: Sequence[str]
    values: Floats | None
    n: int
    total: float
    low: float
    high: float
    medians: Sequence[float]
    is_whole: bool
    has_dropped_judges: bool

    @classmethod
    def from_blocks(cls, blocks: Sequence[ScoreDomain]) -> ScoreDomain:
        """Return the domain of all blocks."""
        values = None
        block_values = [block.values for block in blocks if block.values is not None]
        if len(block_values) == len(blocks):
            values = np.unique(np.concatenate(block_values))
        judges, criteria = (
            sorted({name for block in blocks for name in getattr(block, field)})
            for field in ("judges", "criteria")
        )
        return cls(
            judges=judges,
            criteria=criteria,
            values=values if values is not None and values.size <= MOST_VALUES else None,
            n=sum(block.n for block in blocks),
            total=sum(block.total for block in blocks),
            low=min(block.low for block in blocks),
            high=max(block.high for block in blocks),
            medians=[median for block in blocks for median in block.medians],
            is_whole=all(block.is_whole for block in blocks),
            has_dropped_judges=any(block.has_dropped_judges for block in blocks),
        )

    @property
    def centre(self) -> float:
        """Return a score in the middle, about which differences lose the fewest digits."""
        return float(np.median(self.medians)) if self.medians else 0.0

    @property
    def scale(self) -> Scale:
        """Return the scale that sums over blocks use."""
        centre = float(np.rint(self.total / self.n)) if self.n else 0.0  # whole scores stay whole
        furthest = max(self.high - centre, centre - self.low, 0.0) if self.n else 0.0
        domain = np.empty(0) if self.values is None else self.values
        return Scale(domain, centre, furthest, is_constant=not self.low < self.high)


def scan(rows: pa.Table, suffix: str) -> ScoreDomain:
    """Return the domain of a block; ``suffix``: empty for kept judges, `UNFILTERED` for all."""
    counted = _counted(rows, suffix)
    coded = CodedTask("", counted)
    judges, criteria = coded["judge"].names, coded.names_or_none("criterion")
    scores = coded_scores(counted, judges, criteria)
    units, rated = scores.by_judge
    rated = rated[pairable(units, n_units=scores.n_units)[0]]
    values = np.unique(rated)
    all_scores = rows["score"].to_numpy()
    return ScoreDomain(
        judges,
        criteria,
        values if values.size <= MOST_VALUES else None,
        rated.size,
        float(rated.sum()),
        float(rated.min(initial=np.inf)),
        float(rated.max(initial=-np.inf)),
        [float(np.median(scores.scores))] if scores.scores.size else [],
        bool((all_scores == np.round(all_scores)).all()),
        pc.any(pc.invert(rows["kept"])).as_py() or False,
    )


def _counted(rows: pa.Table, suffix: str) -> pa.Table:
    """Return the judgments of kept judges, or with a suffix of all judges."""
    return rows if suffix else rows.filter(rows["kept"])


def code_scores(rows: pa.Table, domain: ScoreDomain, suffix: str) -> CodedScores:
    """Return the scores of a block with the codes of the whole task."""
    return coded_scores(_counted(rows, suffix), domain.judges, domain.criteria)


def z_counts(rows: pa.Table, suffix: str) -> Codes:
    """Return the cells of all z-scores of a block, controls included, counted."""
    return cell_counts(_all_z(rows, suffix))


def z_values(rows: pa.Table, suffix: str, cells: Codes) -> tuple[Floats, Codes]:
    """Return distinct z-scores of a block in some cells, and how often each occurs."""
    return values_of_cells(_all_z(rows, suffix), cells)


def _all_z(rows: pa.Table, suffix: str) -> Floats:
    z: Floats = _counted(rows, suffix)["z"].drop_null().to_numpy()
    return z


@dataclass(frozen=True)
class RatedUnits(Additive):
    """Counts units with scores by two judges; their judges ``(n_judges,)`` are joined by ``+``."""

    n_units: int
    judges: Flags


def rated_units(scores: CodedScores) -> RatedUnits:
    """Count the units of a block with scores by two judges, and their judges."""
    units, judges = shared_items(
        scores.units, scores.judges, n_items=scores.n_units, n_judges=scores.n_judges
    )
    return RatedUnits(int(units.sum()), judges)


@dataclass(frozen=True)
class CutSums(Additive):
    """Pairs of scores of an item in one cut, and the judges ``(n_judges,)`` of such pairs."""

    kinds: PairKinds
    judges: Flags


def cut_sums(scores: CodedScores, cuts: ScaleCuts) -> SumsByName[CutSums]:
    """Return the pairs of scores of a block by cut; its name is its kind and number of bins."""
    sums = SumsByName[CutSums]()
    for kind, k in cuts.named:
        bins = cuts.bins(kind, k, scores.scores, scores.z)
        has_bin = bins >= 0
        units, judges = scores.units[has_bin], scores.judges[has_bin]
        sizes = {"n_items": scores.n_units, "n_judges": scores.n_judges}
        kinds = PairKinds.between_judges(units, judges, bins[has_bin], **sizes, n_categories=k)
        sums[f"{kind}_{k}"] = CutSums(kinds, shared_items(units, judges, **sizes)[1])
    return sums


def item_differences(scores: CodedScores, centre: float) -> ItemDifferences:
    """Return the differences between judges in a block."""
    return ItemDifferences.between_judges(
        scores.units, scores.judges, scores.scores, n_items=scores.n_units, centre=centre
    )


def difference_totals(differences: ItemDifferences) -> tuple[int, int, float]:
    """Return items with pairs, their pairs, and the sum of squared differences."""
    return differences.pairs.size, int(differences.pairs.sum()), differences.squares


def difference_sums(differences: ItemDifferences, resamples: ItemResamples) -> Floats:
    """Return sums of differences and of pairs, of the data and of resamples."""
    resamples = replace(resamples)  # a copy: its cached draws go when the job ends
    n = max(differences.pairs.size, 1)
    return all_rounds(replicate(differences.sums, resamples, floats_per_round=n), resamples)


def alphas_of_block(scores: CodedScores, rounds: Mapping[Metric, Any]) -> Mapping[Metric, Estimate]:
    """Return alphas of a block that is the whole task; ``rounds`` are arguments by metric.

    The ratio is undefined where a score is below 0.
    """
    alphas: dict[Metric, Any] = {
        metric: krippendorff_alpha(
            *scores.by_judge, n_units=scores.n_units, metric=metric, **arguments
        )
        for metric, arguments in rounds.items()
    }
    if (scores.scores < 0).any():
        alphas["ratio"] = Estimate(np.nan, np.nan, np.nan)
    return alphas


def score_units(scores: CodedScores, scale: Scale) -> ScoreUnits:
    """Return the units of a block with scores by two judges."""
    return ScoreUnits.from_scores(*scores.by_judge, n_units=scores.n_units, scale=scale)


def alpha_sums(units: ScoreUnits, resamples: ItemResamples) -> Floats:
    """Return the sums of a block that alphas are computed from."""
    resamples = replace(resamples)  # a copy: its cached draws go when the job ends
    n = units.floats_per_round
    return all_rounds(replicate_counts(units.sums, resamples, floats_per_round=n), resamples)


def ordinal_sums(units: ScoreUnits, resamples: ItemResamples, sums: Floats) -> Floats:
    """Return the sum of a block for ordinal alpha, which needs the ``sums`` of all blocks."""
    resamples = replace(resamples)  # a copy: its cached draws go when the job ends
    replicates = replicate_counts(
        lambda times, of_all: units.ordinal_sum(times, of_all)[None, :],
        resamples,
        floats_per_round=units.floats_per_round,
        round_values=sums,
    )
    return all_rounds(replicates, resamples)


def spearman_of_block(scores: CodedScores, rounds: Mapping[str, Any]) -> JudgeCorrelation:
    """Return the mean rank correlation of judges in a block that is the whole task."""
    return mean_spearman(
        scores.items, scores.judges, scores.scores, criteria=scores.criteria,
        n_items=scores.n_items, n_judges=scores.n_judges, **rounds,
    )  # fmt: skip


def judged_items(scores: CodedScores, n_criteria: int) -> JudgedItems:
    """Return what each judge gave to each item of a block."""
    return JudgedItems.from_scores(
        scores.items, scores.judges, scores.scores, scores.criteria,
        n_items=scores.n_items, n_judges=scores.n_judges, n_criteria=n_criteria,
    )  # fmt: skip


@dataclass(frozen=True)
class JudgedSizes:
    """Items, pairs of scores by first judge ``(n_judges,)``, and values of a block of items."""

    n_items: int
    pairs: Codes
    is_repeated: bool
    largest: float


def judged_sizes(judged: JudgedItems) -> JudgedSizes:
    """Return how much there is to correlate in a block."""
    pairs = np.bincount(judged.judges, judged.partners().counts, judged.n_judges)
    n_items = int(judged.items.max(initial=-1)) + 1
    return JudgedSizes(n_items, pairs.astype(np.int64), judged.is_repeated, judged.largest)


def correlate(
    blocks: Iterator[JudgedItems],
    span: tuple[int, int],
    starts: Sequence[int],
    n_judges: int,
    largest: float | None,
) -> tuple[CorrelationSums, Bits]:
    """Correlate pairs of judges whose first one lies in a span of codes.

    The items used are returned as packed bits over the items of all blocks. ``starts`` are the
    first items of blocks, and the number of all items.
    """
    paired = []
    for block, start in zip(blocks, starts[:-1], strict=True):
        pairs = PairedScores.from_judged_items(block, *span)
        paired.append(PairedScores(pairs.pairs, pairs.items + start, pairs.first, pairs.second))
    correlation = CorrelationSums.from_blocks(paired, n_judges=n_judges, largest=largest)
    flags = np.zeros(starts[-1], np.bool_)
    flags[correlation.items] = True
    return replace(correlation, items=np.empty(0, np.int64)), np.packbits(flags)


@dataclass(frozen=True)
class RepeatedScores:
    """Scores of outputs that a judge saw twice, with their z-scores; arrays are ``(n_pairs,)``."""

    items: Codes
    judges: Codes
    first: Floats
    second: Floats
    first_z: Floats
    second_z: Floats
    dropped: Flags

    @classmethod
    def from_tables(
        cls,
        pairs: pa.Table,
        judge_tests: pa.Table,
        judge_scores: pa.Table,
        arithmetic: Arithmetic,
    ) -> RepeatedScores:
        """Return the repeats of one task; for the parameters see `measure_agreement`."""
        is_repeat = pc.and_(is_in(pairs["control"], ("ask_again",)), pc.is_null(pairs["reason"]))
        rows = CodedTask("", pairs.filter(is_repeat))
        first, second = rows.numbers("ordinary_score"), rows.numbers("score")
        judge = rows["judge_id"]
        mean, sd = (_by_judge(judge_scores, judge.names, name) for name in ("mean", "sd"))
        dropped = _by_judge(judge_tests, judge.names, "dropped")
        first_z, second_z = (
            z_of(judge.codes, score, mean, sd, arithmetic=arithmetic) for score in (first, second)
        )
        items = rows.groups("item", "criterion")
        return cls(items, judge.codes, first, second, first_z, second_z, dropped[judge.codes] > 0)

    @property
    def n_items(self) -> int:
        """Return the size of the code range of items."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def showings(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return scores and z-scores of the first showing, and of the second."""
        return (self.first, self.first_z), (self.second, self.second_z)

    def only(self, rows: Flags) -> RepeatedScores:
        """Return the repeats that ``rows`` selects."""
        return RepeatedScores(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _by_judge(table: pa.Table, judges: list[str], column: str) -> Floats:
    rows = CodedTask("", table)
    values = np.full(len(judges) + 1, np.nan)  # the last is of judges who are not asked for
    values[rows.codes_among("judge", judges)] = rows.numbers(column)
    return values[:-1]
