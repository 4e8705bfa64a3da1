"""The ordinary scores of judges, coded for comparing each judge with the others.

What does not belong here: the comparison (compare_judges), screening (screen_judges).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.judges.leave_one_out import SharedScores
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import PairIndex, index_pairs, is_in
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.shared.orient_scores import orient_scores


@dataclass(frozen=True)
class SeriesNames:
    """Names of the series of all blocks; series ``criterion * n_judges + judge``.

    Parameters
    ----------
    judges
        Public names by task and judge, of those who gave ordinary scores, in order.
    criteria
        Names of criteria, in order; "" stands for none.
    """

    judges: Mapping[tuple[str, str], str]
    criteria: Sequence[str]

    @classmethod
    def from_rows(cls, rows: pa.Table) -> SeriesNames:
        """Return the names of the judgments of a block that take part."""
        coded = CodedTask("", rows)
        pairs, names = _judges(coded)
        first = np.unique(pairs.codes, return_index=True)[1]
        public = rows["judge_id"].cast(TEXT).take(pa.array(first)).to_pylist()
        return cls(dict(zip(names, public, strict=True)), coded.names_or_none("criterion"))

    @classmethod
    def joined(cls, parts: Sequence[SeriesNames]) -> SeriesNames:
        """Return the names of several blocks, each once."""
        judges = {name: public for part in parts for name, public in part.judges.items()}
        criteria = sorted({name for part in parts for name in part.criteria})
        return cls(dict(sorted(judges.items())), criteria)

    def block(self, rows: pa.Table, tasks: pa.Table) -> SharedScores:
        """Return the scores of a block; parameters as `ordinary_scores` has them."""
        coded = CodedTask("", rows)
        pairs, names = _judges(coded)
        position = {name: n for n, name in enumerate(self.judges)}
        judge_of_pair = np.array([position[name] for name in names], np.int64)
        items = coded.groups("task", "item")
        return SharedScores.from_scores(
            items, judge_of_pair[pairs.codes], orient_scores(rows, tasks).score,
            coded.codes_among("criterion", self.criteria),
            n_items=int(items.max(initial=-1)) + 1, n_judges=len(self.judges),
            n_criteria=len(self.criteria),
        )  # fmt: skip


def _judges(rows: CodedTask) -> tuple[PairIndex, list[tuple[str, str]]]:
    """Return the codes of task and judge of each row, and the names of these pairs."""
    task, judge = rows["task"], rows["judge"]
    pairs = index_pairs(task.codes, judge.codes)
    codes = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return pairs, [(task.names[t], judge.names[j]) for t, j in codes]


@dataclass(frozen=True)
class ScoredJudges:
    """Holds the scores of all scalar tasks in blocks of items, and the names of their series."""

    names: SeriesNames
    blocks: Blocks[SharedScores]


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
                "task": pa.array([task for task, _ in judges], TEXT),
                "judge_id": pa.array([*judges.values()], TEXT),
            })
        )  # fmt: skip
        unit = units.of_pair[pair]
        names = [""] * units.size
        for code, (task, judge) in zip(unit.tolist(), judges, strict=True):
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
