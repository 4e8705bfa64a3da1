"""What jobs ask of the scores of a block of a large task, to measure agreement.

Each function here is a job, or is called by one; what it is given is small, or lies in a file. What
does not belong here: what comes of all blocks (score_agreement_blocks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.agreement.rating_counts import shared_items
from annot_pipeline.methods.agreement.scale_agreement import (
    PairKinds,
)
from annot_pipeline.methods.agreement.score_alphas import MOST_VALUES, Scale, ScoreUnits
from annot_pipeline.methods.agreement.score_differences import ItemDifferences
from annot_pipeline.methods.judges.paired_scores import CorrelationSums, JudgedItems, PairedScores
from annot_pipeline.methods.numerics.bootstrap import (
    ItemResamples,
    all_rounds,
    replicate,
    replicate_counts,
)
from annot_pipeline.methods.numerics.order_statistics import (
    cell_counts,
    values_of_cells,
)
from annot_pipeline.runtime.blocks import dump, load
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.agreement.scale_cuts import ScaleCuts
from annot_pipeline.stages.scores.coded_scores import CodedScores, coded_scores
from annot_pipeline.storage.tables import StoredTable, read_verified

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]

COLUMNS = ("item", "criterion", "judge", "control", "kept", "score", "z")
"""What ratings are made of."""


@dataclass(frozen=True)
class ScoreDomain:
    """Holds judges, criteria and range of the scores of one block or of all.

    Parameters
    ----------
    judges, criteria
        By name, in order.
    values
        Distinct scores of first showings, of outputs with two or more; None: more than are counted.
    n, total
        Number and sum of these scores.
    low, high
        The least and the greatest.
    is_whole, some_left_out
        Of all judges: whether all scores are whole; whether some judges are left out.
    """

    judges: Sequence[str]
    criteria: Sequence[str]
    values: Floats | None
    n: int
    total: float
    low: float
    high: float
    is_whole: bool
    some_left_out: bool

    @classmethod
    def from_blocks(cls, blocks: Sequence[ScoreDomain]) -> ScoreDomain:
        """Return the domain of all blocks."""
        values = None
        block_values = [block.values for block in blocks if block.values is not None]
        if len(block_values) == len(blocks):
            values = np.unique(np.concatenate(block_values))
        judges, criteria = (
            sorted({name for block in blocks for name in getattr(block, what)})
            for what in ("judges", "criteria")
        )
        return cls(
            judges=judges,
            criteria=criteria,
            values=values if values is not None and values.size <= MOST_VALUES else None,
            n=sum(block.n for block in blocks),
            total=sum(block.total for block in blocks),
            low=min(block.low for block in blocks),
            high=max(block.high for block in blocks),
            is_whole=all(block.is_whole for block in blocks),
            some_left_out=any(block.some_left_out for block in blocks),
        )

    @property
    def scale(self) -> Scale:
        """Return the scale that sums over blocks use."""
        centre = float(np.rint(self.total / self.n)) if self.n else 0.0  # whole scores stay whole
        furthest = max(self.high - centre, centre - self.low, 0.0) if self.n else 0.0
        domain = np.empty(0) if self.values is None else self.values
        return Scale(domain, centre, furthest, is_constant=not self.low < self.high)


def scan(table: StoredTable, suffix: str) -> ScoreDomain:
    """Look at a block before it is coded; behind names of statistics stands the suffix."""
    everybody = read_verified(table, COLUMNS)
    all_scores = everybody["score"].to_numpy()
    rows = _counted(everybody, suffix)
    judges, criteria = index(rows["judge"]).names, index(rows["criterion"], null="").names
    scores = coded_scores(rows, judges, criteria)
    first = scores.scores[np.bincount(scores.units, minlength=scores.n_units)[scores.units] >= 2]
    values = np.unique(first)
    return ScoreDomain(
        judges,
        criteria,
        values if values.size <= MOST_VALUES else None,
        first.size,
        float(first.sum()),
        float(first.min(initial=np.inf)),
        float(first.max(initial=-np.inf)),
        bool((all_scores == np.round(all_scores)).all()),
        pc.any(pc.invert(everybody["kept"])).as_py() or False,
    )


@dataclass(frozen=True)
class Coded:
    """Holds the counts of a block whose scores are coded.

    Parameters
    ----------
    n_items, n_units, n_differing
        Items; units with two or more scores; units with scores by two or more judges.
    judges, shared_judges
        ``(n_judges,)`` whether they are among the judges of these units.
    z
        Cells of all z-scores, counted.
    pairs
        ``(n_criteria * n_judges,)`` pairs of scores, by the first of their judges.
    squares, n_pairs
        Of differences between judges: sum of their squares, and number.
    is_repeated, largest
        As `JudgedItems` has them.
    """

    n_items: int
    n_units: int
    n_differing: int
    judges: Flags
    shared_judges: Flags
    z: Codes
    pairs: Codes
    squares: float
    n_pairs: int
    is_repeated: bool
    largest: float


@dataclass(frozen=True)
class ScoresOfBlock:
    """Holds the paths of a block's intermediate files, and the block's number."""

    folder: Path
    n: int

    @property
    def scores(self) -> Path:
        """Return the path of the block's `CodedScores`."""
        return self.folder / f"scores-{self.n}"

    @property
    def units(self) -> Path:
        """Return the path of the block's `ScoreUnits`."""
        return self.folder / f"units-{self.n}"

    @property
    def differences(self) -> Path:
        """Return the path of the block's `ItemDifferences`."""
        return self.folder / f"differences-{self.n}"

    @property
    def judged_items(self) -> Path:
        """Return the path of the block's `JudgedItems`."""
        return self.folder / f"met-{self.n}"


@dataclass(frozen=True)
class BlockSums:
    """What a block adds: to alphas, differences, and by kind of cut; its judges in each cut."""

    alphas: Floats
    differences: Floats
    kinds: Mapping[tuple[str, int], PairKinds]
    judges: Mapping[tuple[str, int], Flags]

    def __add__(self, other: BlockSums) -> BlockSums:
        return BlockSums(
            self.alphas + other.alphas,
            self.differences + other.differences,
            {cut: kinds + other.kinds[cut] for cut, kinds in self.kinds.items()},
            {cut: judges | other.judges[cut] for cut, judges in self.judges.items()},
        )


def _rows(table: StoredTable, suffix: str) -> pa.Table:
    return _counted(read_verified(table, COLUMNS), suffix)


def _counted(rows: pa.Table, suffix: str) -> pa.Table:
    """Return the judgments of all judges, or of judges kept, by the suffix."""
    return rows if suffix else rows.filter(rows["kept"])


def code(table: StoredTable, block: ScoresOfBlock, domain: ScoreDomain, suffix: str) -> Coded:
    """Put the codes of a block, and what it adds to statistics, where its jobs find them."""
    rows = _rows(table, suffix)
    scores = coded_scores(rows, domain.judges, domain.criteria)
    n_judges, n_criteria = len(domain.judges), len(domain.criteria)
    units = ScoreUnits.from_scores(
        scores.units, scores.scores, n_units=scores.n_units, scale=domain.scale
    )
    differences = ItemDifferences.between_judges(
        scores.units,
        scores.judges,
        scores.scores,
        n_items=scores.n_units,
        centre=domain.scale.centre,
    )
    judged_items = JudgedItems.from_scores(
        scores.items, scores.judges, scores.scores, scores.criteria,
        n_items=scores.n_items, n_judges=n_judges, n_criteria=n_criteria,
    )  # fmt: skip
    for path, what in (
        (block.scores, scores), (block.units, units), (block.differences, differences),
        (block.judged_items, judged_items),
    ):  # fmt: skip
        dump(path, what)
    several = np.bincount(scores.units, minlength=scores.n_units)[scores.units] >= 2
    judges = np.zeros(n_judges, np.bool_)
    judges[scores.judges[several]] = True
    _, shared = shared_items(scores.units, scores.judges, n_items=scores.n_units, n_judges=n_judges)
    partners = judged_items.partners()
    return Coded(
        n_items=scores.n_items,
        n_units=units.n_units,
        n_differing=differences.pairs.size,
        judges=judges,
        shared_judges=shared,
        z=cell_counts(_all_z(rows)),
        pairs=np.bincount(judged_items.judges, partners.counts, n_judges * n_criteria).astype(
            np.int64
        ),
        squares=differences.squares,
        n_pairs=int(differences.pairs.sum()),
        is_repeated=judged_items.is_repeated,
        largest=judged_items.largest,
    )


def _all_z(rows: pa.Table) -> Floats:
    """Return all z-scores of a block, controls included."""
    z: Floats = rows["z"].drop_null().to_numpy()
    return z


def z_values(table: StoredTable, suffix: str, cells: Codes) -> tuple[Floats, Codes]:
    """Return distinct z-scores of a block in some cells, and how often each occurs."""
    return values_of_cells(_all_z(_rows(table, suffix)), cells)


def sum_up(
    block: ScoresOfBlock, of_units: ItemResamples, of_pairs: ItemResamples, cuts: ScaleCuts
) -> BlockSums:
    """Return sums over the items of a block."""
    of_units, of_pairs = replace(of_units), replace(of_pairs)  # what is drawn goes with the job
    scores: CodedScores = load(block.scores)
    units: ScoreUnits = load(block.units)
    differences: ItemDifferences = load(block.differences)
    alphas = replicate_counts(units.sums, of_units, floats_per_round=units.floats_per_round)
    differing = replicate(
        differences.sums, of_pairs, floats_per_round=max(differences.pairs.size, 1)
    )
    kinds, judges = {}, {}
    n_items, n_judges = scores.n_units, scores.n_judges
    for kind, k in cuts.named:
        bins = cuts.bins(kind, k, scores.scores, scores.z)
        some = bins >= 0
        rated = scores.units[some], scores.judges[some]
        kinds[kind, k] = PairKinds.between_judges(
            *rated, bins[some], n_items=n_items, n_judges=n_judges, n_categories=k
        )
        _, judges[kind, k] = shared_items(*rated, n_items=n_items, n_judges=n_judges)
    return BlockSums(all_rounds(alphas, of_units), all_rounds(differing, of_pairs), kinds, judges)


def ordinal_sum_of(block: ScoresOfBlock, of_units: ItemResamples, sums: Path) -> Floats:
    """Return a block's sums for ordinal alpha, which needs the ``sums`` of all blocks."""
    of_units = replace(of_units)  # what is drawn goes with the job
    units: ScoreUnits = load(block.units)
    replicates = replicate_counts(
        lambda times, of_all: units.ordinal_sum(times, of_all)[None, :],
        of_units,
        floats_per_round=units.floats_per_round,
        round_values=load(sums),
    )
    return all_rounds(replicates, of_units)


def correlate(
    blocks: Sequence[ScoresOfBlock],
    starts: Sequence[int],
    n_judges: int,
    first: int,
    end: int,
    largest: float | None,
) -> tuple[CorrelationSums, Bits]:
    """Correlate pairs of judges whose first one is from ``first`` to before ``end``.

    Items are told as bits, of those of all blocks.
    """
    paired = []
    for block, start in zip(blocks, starts, strict=False):
        pairs = PairedScores.from_judged_items(load(block.judged_items), first, end)
        paired.append(PairedScores(pairs.pairs, pairs.items + start, pairs.first, pairs.second))
    correlation = CorrelationSums.from_blocks(paired, n_judges=n_judges, largest=largest)
    flags = np.zeros(starts[-1], np.bool_)
    flags[correlation.items] = True
    return replace(correlation, items=np.empty(0, np.int64)), np.packbits(flags)
