"""Agreement on scores of a task that is too large for one job: its items come in blocks.

What items add to statistics, of the data and of resamples, is asked of all blocks and added in
their order; resamples of items are drawn block by block. Percentiles of z-scores are found in two
looks at each block. Pairs of judges are correlated some judges at a time, over all blocks; their
mean has no interval, as there would be a resample of all pairs in each round.

What does not belong here: the statistics (methods.agreement.score_alphas, scale_agreement,
paired_scores).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.errors import shorten
from annot_pipeline.methods.agreement.scale_agreement import (
    binned_agreement_of,
    percentile_places,
)
from annot_pipeline.methods.agreement.score_alphas import alphas_of_sums
from annot_pipeline.methods.agreement.score_differences import differences_of
from annot_pipeline.methods.numerics.bootstrap import (
    Estimate,
    ItemResamples,
)
from annot_pipeline.methods.numerics.order_statistics import (
    cells_of_places,
    values_at,
)
from annot_pipeline.runtime.blocks import dump
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.large_tasks import spans_by_size, sum_in_batches
from annot_pipeline.runtime.partitions import InputPartition
from annot_pipeline.stages.agreement.measure_agreement import agreement_table
from annot_pipeline.stages.agreement.measure_score_agreement import (
    NO_RANKS,
    alpha_row,
    cut_rows,
    difference_rows,
    intra_rows,
    repeats_of,
)
from annot_pipeline.stages.agreement.ratings import UNFILTERED, Row, agreement_row
from annot_pipeline.stages.agreement.scale_cuts import CUTS, ScaleCuts, n_points
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds
from annot_pipeline.stages.scores.score_block_sums import (
    Coded,
    ScoreDomain,
    ScoresOfBlock,
    code,
    correlate,
    ordinal_sum_of,
    scan,
    sum_up,
    z_values,
)
from annot_pipeline.storage.tables import StoredTable, read_verified

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]

NO_BLOCK_INTERVAL = "no interval: the task has too many scores to draw pairs of judges again"
PAIRS_AT_ONCE = 1_000_000
"""Pairs of scores that one job correlates, some 150 bytes each, unless they are of one judge."""


def score_agreement_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, small: Mapping[str, pa.Table]
) -> tuple[pa.Table, dict[str, int]]:
    """Return the rows of ``agreement`` of one task, and left-out pairs by statistic.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    inputs
        Its judgments, ``standardized``, and ``judge_scores``, ``control_pairs``.
    small
        ``tasks``, ``judge_tests`` of this task.
    """
    folder.mkdir(parents=True)
    [task] = small["tasks"].to_pylist()
    tables = [block.files["standardized"] for block in inputs.slices("standardized")]
    rows: list[Row] = []
    left_out: dict[str, int] = {}
    cut_pairs: list[tuple[str, ScaleCuts]] = []
    for suffix in ("", UNFILTERED):
        domain = ScoreDomain.from_blocks(
            context.run([partial(scan, table, suffix) for table in tables])
        )
        if suffix and not domain.some_left_out:
            break
        context.progress(f"agreement of {shorten(task['task'])}{suffix and ', all judges'}")
        work = _Work(context, folder, tables, domain, task, suffix)
        more, undefined, cuts = work.measured()
        rows += more
        cut_pairs.append((suffix, cuts))
        if undefined:
            left_out[f"inter_spearman{suffix}"] = undefined
    stored = {name: inputs.files[name] for name in ("control_pairs", "judge_scores")}
    [intra] = context.run(
        [partial(_intra, stored, small["judge_tests"], task, cut_pairs, context.campaign.settings)]
    )
    return agreement_table(rows + intra), left_out


@dataclass(frozen=True)
class _Work:
    """Agreement on the scores of one task, of judges kept or of all."""

    context: StageContext
    folder: Path
    tables: Sequence[StoredTable]
    domain: ScoreDomain
    task: Row
    suffix: str

    def measured(self) -> tuple[list[Row], int, ScaleCuts]:
        """Return the rows of agreement between judges, undefined judge pairs, and the cuts."""
        folder, scale = self.folder / f"of{self.suffix}", self.domain.scale
        folder.mkdir()
        blocks = [ScoresOfBlock(folder, n) for n in range(len(self.tables))]
        coded = self.context.run([
            partial(code, table, block, self.domain, self.suffix)
            for table, block in zip(self.tables, blocks, strict=True)
        ])  # fmt: skip
        cuts = self._cuts(coded)
        alphas, differences = (
            ItemResamples.draw(sum(sizes), **self._rounds(name)).split(sizes)
            for name, sizes in (
                (f"alphas{self.suffix}", [block.n_units for block in coded]),
                (f"inter_difference_mean{self.suffix}", [block.n_differing for block in coded]),
            )
        )
        pieces = [*zip(blocks, alphas, strict=True)]
        jobs = [
            partial(sum_up, block, of_units, of_pairs, cuts)
            for (block, of_units), of_pairs in zip(pieces, differences, strict=True)
        ]
        n_rounds = 1 + self.context.campaign.settings.agreement.bootstrap
        sums = sum_in_batches(self.context, jobs, (scale.domain.size + 10) * n_rounds * 8)
        dump(folder / "sums", sums.alphas)
        more = [partial(ordinal_sum_of, *arguments, folder / "sums") for arguments in pieces]
        ordinal = sum_in_batches(self.context, more, n_rounds * 8)[0]
        rows = [*self._alpha_rows(alphas_of_sums(sums.alphas, ordinal, scale), coded)]
        for (kind, k), of_cut in sums.kinds.items():
            name = f"inter_kappa_{kind}_{k}{self.suffix}"
            agreement = binned_agreement_of(of_cut, n_categories=k, **self._rounds(name))
            n_judges = int(sums.judges[kind, k].sum())
            rows += cut_rows(self.task, name, agreement, n_judges, n_rounds - 1)
        name = f"inter_difference_mean{self.suffix}"
        inter = differences_of(
            sums.differences,
            sum(block.squares for block in coded),
            n_items=sum(block.n_differing for block in coded),
            n_pairs=sum(block.n_pairs for block in coded),
        )
        n_shared = int(np.logical_or.reduce([block.shared_judges for block in coded]).sum())
        rows += difference_rows(self.task, name, inter, n_shared, n_rounds - 1)
        correlation, undefined = self._correlation_row(blocks, coded)
        return [*rows, correlation], undefined, cuts

    def _rounds(self, statistic: str) -> dict[str, Any]:
        settings = self.context.campaign.settings
        bootstrap = BootstrapRounds(self.task["task"], settings.agreement.bootstrap, settings.seed)
        return bootstrap.arguments(statistic)

    def _cuts(self, coded: Sequence[Coded]) -> ScaleCuts:
        """Return how scores are cut: z-scores by percentiles of all of them."""
        counts = reduce(add, (block.z for block in coded))
        n = int(counts.sum())
        points = n_points(self.task, is_whole=self.domain.is_whole)
        edges: dict[int, Floats] = {}
        if n:
            places = {k: percentile_places(n, k) for k in CUTS}
            cells = cells_of_places(counts, np.concatenate([*places.values()]))
            jobs = [partial(z_values, table, self.suffix, cells) for table in self.tables]
            values = self.context.run(jobs)
            edges = {k: values_at(counts, cells, values, ranks) for k, ranks in places.items()}
        return ScaleCuts(self.task["scale_low"], self.task["scale_high"], points, edges)

    def _alpha_rows(self, alphas: Mapping[str, Floats], coded: Sequence[Coded]) -> Iterator[Row]:
        n_units = sum(block.n_units for block in coded)
        n_judges = int(np.logical_or.reduce([block.judges for block in coded]).sum())
        for metric, replicates in alphas.items():
            name = f"alpha_{metric}{self.suffix}"
            estimate = Estimate.from_replicates(replicates)
            yield alpha_row(self.task, name, estimate, n_units, n_judges, replicates.size - 1)

    def _correlation_row(
        self, blocks: Sequence[ScoresOfBlock], coded: Sequence[Coded]
    ) -> tuple[Row, int]:
        """Return the mean rank correlation of pairs of judges, and pairs without one."""
        repeated = any(block.is_repeated for block in coded)
        largest = max(block.largest for block in coded) if repeated else None
        n_judges, pairs = len(self.domain.judges), reduce(add, (block.pairs for block in coded))
        starts = np.cumsum([0, *(block.n_items for block in coded)]).tolist()
        correlated = self.context.run([
            partial(correlate, blocks, starts, pairs.size, first, end, largest)
            for first, end in spans_by_size(pairs.tolist(), PAIRS_AT_ONCE)
        ])  # fmt: skip
        sums = [correlation for correlation, _ in correlated]
        weight = sum(correlation.weight for correlation in sums)
        value = sum(correlation.weighed for correlation in sums) / weight if weight else np.nan
        items = reduce(np.bitwise_or, (bits for _, bits in correlated))
        judges = {code % n_judges for correlation in sums for code in correlation.judges.tolist()}
        n_pairs, n_defined = (
            sum(getattr(pair, n) for pair in sums) for n in ("n_pairs", "n_defined")
        )
        estimate = Estimate(float(value), np.nan, np.nan)
        n_items = int(np.bitwise_count(items).sum())
        name = f"inter_spearman{self.suffix}"
        reason = NO_RANKS if np.isnan(value) else NO_BLOCK_INTERVAL
        row = agreement_row(self.task, name, estimate, n_items, len(judges), reason)
        return row, n_pairs - n_defined


def _intra(
    stored: Mapping[str, StoredTable],
    judge_tests: pa.Table,
    task: Row,
    cuts: Sequence[tuple[str, ScaleCuts]],
    settings: Campaign,
) -> list[Row]:
    """Return the agreement of judges with themselves, from pairs of controls."""
    read = {name: read_verified(table) for name, table in stored.items()}
    repeats = repeats_of(
        read["control_pairs"], judge_tests, read["judge_scores"],
        arithmetic=settings.standardize.arithmetic,
    )  # fmt: skip
    bootstrap = BootstrapRounds(task["task"], settings.agreement.bootstrap, settings.seed)
    return [
        row
        for suffix, cut in cuts
        for row in intra_rows(
            repeats if suffix else repeats.only(~repeats.dropped), cut, task, suffix, bootstrap
        )
    ]
