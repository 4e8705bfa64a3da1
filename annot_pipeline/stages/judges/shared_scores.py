"""The ordinary scores of judges, coded for comparing each judge with the others.

What does not belong here: the comparison (compare_judges), screening (screen_judges).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.judges.leave_one_out import SharedScores
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.stages.judges.control_samples import Units
from annot_pipeline.stages.scores.judge_sums import Judges
from annot_pipeline.stages.scores.orient_scores import orient_scores


@dataclass(frozen=True)
class SeriesNames:
    """Names of the series of all blocks; series ``criterion * n_judges + judge``.

    Parameters
    ----------
    judges
        Judges of tasks who gave ordinary scores.
    criteria
        Names of criteria, in order; "" stands for none.
    """

    judges: Judges
    criteria: Sequence[str]

    @classmethod
    def from_rows(cls, rows: pa.Table) -> SeriesNames:
        """Return the names of the judgments of a block that take part."""
        return cls(Judges.from_rows(rows), index(rows["criterion"], null="").names)

    @classmethod
    def joined(cls, parts: Sequence[SeriesNames]) -> SeriesNames:
        """Return the names of several blocks, each once."""
        criteria = sorted({name for part in parts for name in part.criteria})
        return cls(Judges.joined([part.judges for part in parts]), criteria)

    def block(self, rows: pa.Table, tasks: pa.Table) -> SharedScores:
        """Return the scores of a block; parameters as `ordinary_scores` has them."""
        task, item = index(rows["task"]), index(rows["item"])
        items = index_pairs(task.codes, item.codes)
        criterion = index(rows["criterion"], null="")
        codes = {name: n for n, name in enumerate(self.criteria)}
        criteria = np.array([codes[name] for name in criterion.names], np.int64)
        return SharedScores.from_scores(
            items.codes, self.judges.codes(rows), orient_scores(rows, tasks).score,
            criteria[criterion.codes],
            n_items=items.first.size, n_judges=len(self.judges.judges),
            n_criteria=len(self.criteria),
        )  # fmt: skip


@dataclass(frozen=True)
class ScoredJudges:
    """Holds the scores of all scalar tasks in blocks of items, and the names of their series."""

    names: SeriesNames
    blocks: Blocks[SharedScores]

    @classmethod
    def from_rows(cls, rows: pa.Table, tasks: pa.Table) -> ScoredJudges:
        """Return the scores of judgments as one block; parameters as `ordinary_scores` has."""
        rows = ordinary_scores(rows, tasks)
        names = SeriesNames.from_rows(rows)
        return cls(names, InMemoryBlocks([names.block(rows, tasks)]))


@dataclass(frozen=True)
class SeriesCodes:
    """What each series belongs to, ``(n_series,)``.

    Parameters
    ----------
    pair, unit, task
        Codes of task and judge, of the unit of testing, of the task.
    names
        ``n_units`` raw names of the units, which permutations follow from; "" for a unit
        without scores.
    has_scores
        ``(n_units,)`` whether a unit has ordinary scores.
    """

    pair: Codes
    unit: Codes
    task: Codes
    names: Sequence[str]
    has_scores: Flags

    @classmethod
    def from_names(cls, series: SeriesNames, units: Units, *, by_task: bool) -> SeriesCodes:
        """Return the codes of series; ``by_task``: whether judges are tested in each task."""
        judges = series.judges
        pair = units.pair_of_rows(
            pa.table({
                "task": pa.chunked_array([pa.array(judges.tasks, TEXT)]),
                "judge_id": pa.chunked_array([pa.array(judges.public, TEXT)]),
            })
        )  # fmt: skip
        unit = units.of_pair[pair]
        names = [""] * units.size
        for code, task, judge in zip(unit.tolist(), judges.tasks, judges.judges, strict=True):
            names[code] = f"{task}\x1f{judge}" if by_task else judge
        has_scores = np.bincount(unit, minlength=units.size) > 0
        n_criteria = len(series.criteria)
        return cls(
            np.tile(pair, n_criteria),
            np.tile(unit, n_criteria),
            np.tile(units.pairs.first[pair], n_criteria),
            names,
            has_scores,
        )


def ordinary_scores(rows: pa.Table, tasks: pa.Table) -> pa.Table:
    """Return the first showings of items in scalar tasks, of criteria that take part.

    Parameters
    ----------
    rows
        ``task``, ``judge``, ``judge_id``, ``control``, ``criterion``, ``item``, ``score``, of
        judgments that count.
    tasks
        ``task``, ``kind``, ``scale_low``, ``scale_high``, ``criteria``.
    """
    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].to_pylist()
    takes_part = pc.and_(is_in(rows["task"], scalar), is_in(rows["control"], ("none",)))
    rows = rows.filter(takes_part)
    return rows.filter(pa.array(orient_scores(rows, tasks).in_control))
