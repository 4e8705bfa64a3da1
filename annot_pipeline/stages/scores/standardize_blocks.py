"""z-scores of a task that is too large for one job: its items come in blocks.

A block is a file of judgments of whole items (runtime.partitions). What judges' means and standard
deviations are made of is asked of all blocks and added up in their order
(stages.scores.judge_sums); then each block is standardised. Runs of equal scores follow a judge
through all blocks: they are looked for some judges at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import INT
from annot_pipeline.methods.numerics.moments import Extent, FirstSums, GridSums
from annot_pipeline.runtime.blocks import dump, load
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import is_any
from annot_pipeline.runtime.large_tasks import some_judges
from annot_pipeline.runtime.partitions import Facts, InputPart, Make, write_part
from annot_pipeline.stages.comparisons.runs_of_work import longest_runs, order_is_told
from annot_pipeline.stages.gold.described_items import listed_of
from annot_pipeline.stages.scores.judge_sums import JudgeMoments, Judges, ScoreBlock
from annot_pipeline.stages.scores.standardize_scores import (
    JUDGE_SCORES,
    facts_of_judges,
    facts_of_rows,
    judge_rows,
    standardized_rows,
    takes_part,
)
from annot_pipeline.storage.tables import StoredTable, TableFile, read_unharmed

T = TypeVar("T")
Codes = npt.NDArray[np.int64]

SUMMED = ("task", "judge", "judge_id", "control", "criterion", "score", "fate")
"""What sums over judges are made of."""
TELLING = ("position", "submitted_at")
"""What tells the order in which a judge worked."""
RUN = ("task", "judge", "fate", "hit", "native_id", "criterion", "score", *TELLING)
"""What runs of equal scores are found by."""


@dataclass(frozen=True)
class _Given:
    """What all blocks of a task are read with.

    Parameters
    ----------
    tasks
        Its row of tasks.
    settings
        Of standardisation.
    folder
        Where what its jobs share lies while the stage runs.
    """

    tasks: pa.Table
    settings: Standardize
    folder: Path

    @property
    def judges(self) -> Path:
        """`Judges` of all blocks."""
        return self.folder / "judges"

    @property
    def extents(self) -> Path:
        """`Extent` by what is measured, of all blocks."""
        return self.folder / "extents"

    @property
    def firsts(self) -> Path:
        """`FirstSums` by what is measured, of all blocks."""
        return self.folder / "firsts"

    @property
    def moments(self) -> Path:
        """`JudgeMoments`."""
        return self.folder / "moments"


def standardized_in_blocks(
    context: StageContext, folder: Path, of: InputPart, tasks: pa.Table, items: StoredTable
) -> list[Make]:
    """Work out what all blocks of a task share; what makes ``standardized`` of each.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    of
        Its judgments, ``controlled``.
    tasks
        As `standardize_scores` takes them, of this task.
    items
        What item tables say of items.
    """
    folder.mkdir(parents=True)
    given = _Given(tasks, context.campaign.settings.standardize, folder)
    tables = [block.files["controlled"] for block in of.slices("controlled")]
    scanned = context.run([partial(_scan, table, tasks) for table in tables])
    judges = Judges.joined([block.judges for block in scanned])
    dump(given.judges, judges)
    extents = _added(context.run([partial(_extents, table, given) for table in tables]))
    dump(given.extents, extents)
    firsts = _added(context.run([partial(_first_sums, table, given) for table in tables]))
    dump(given.firsts, firsts)
    squares = reduce(add, context.run([partial(_squares, table, given) for table in tables]))
    moments = JudgeMoments(extents, firsts, squares)
    dump(given.moments, moments)
    runs = _runs(context, tables, tasks, scanned, judges)
    rows = judge_rows(judges, moments, tasks, runs, given.settings)
    kept = np.array([sum(of) for of in zip(*(_kept(b, judges) for b in scanned), strict=True)])
    facts = facts_of_judges(rows, kept)
    none: tuple[pa.Table, Facts] = JUDGE_SCORES.empty_table(), {name: [] for name in facts}
    return [
        partial(
            _standardize, table, context.columns["controlled"], given, items,
            *((rows, facts) if n == 0 else none),
        )
        for n, table in enumerate(tables)
    ]  # fmt: skip


@dataclass(frozen=True)
class _Scanned:
    """Of a block: its judges, how many judgments each has and has kept; whether it tells order."""

    judges: Judges
    n: Sequence[int]
    kept: Sequence[int]
    tells_order: bool


def _rows(table: StoredTable, columns: Sequence[str], tasks: pa.Table) -> pa.Table:
    read = read_unharmed(table, columns)
    return read.filter(takes_part(read, tasks))


def _scan(table: StoredTable, tasks: pa.Table) -> _Scanned:
    rows = _rows(table, ("task", "judge", "judge_id", "fate", *TELLING), tasks)
    judges = Judges.of(rows)
    codes = judges.codes(rows)
    kept = pc.invert(is_any(rows["fate"], ("judge_failed",))).to_numpy()
    n, n_kept = (
        np.bincount(of, minlength=len(judges.judges)).tolist() for of in (codes, codes[kept])
    )
    return _Scanned(judges, n, n_kept, bool(pc.any(order_is_told(rows)).as_py()))


def _kept(block: _Scanned, judges: Judges) -> list[int]:
    """Judgments kept of each judge of all blocks."""
    kept = dict(zip(block.judges.judges, block.kept, strict=True))
    return [kept.get(judge, 0) for judge in judges.judges]


def _block(table: StoredTable, given: _Given) -> ScoreBlock:
    return ScoreBlock.of(_rows(table, SUMMED, given.tasks), given.tasks, load(given.judges))


def _extents(table: StoredTable, given: _Given) -> dict[str, Extent]:
    return _block(table, given).extents(given.settings)


def _first_sums(table: StoredTable, given: _Given) -> dict[str, FirstSums]:
    return _block(table, given).first_sums(given.settings, load(given.extents))


def _squares(table: StoredTable, given: _Given) -> GridSums:
    block, (extents, firsts) = _block(table, given), map(load, (given.extents, given.firsts))
    return block.squares(given.settings, extents, firsts)


def _added(blocks: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """Sums by what is measured, in the order of blocks."""
    return {name: reduce(add, (of[name] for of in blocks)) for name in blocks[0]}


def _runs(
    context: StageContext,
    tables: Sequence[StoredTable],
    tasks: pa.Table,
    scanned: Sequence[_Scanned],
    judges: Judges,
) -> pa.Array:
    """Longest runs of equal scores, as `runs_of_work` gives them."""
    if not any(block.tells_order for block in scanned):
        return pa.nulls(len(judges.judges), INT)
    n: Counter[str] = Counter()
    for block in scanned:
        n.update(dict(zip(block.judges.judges, block.n, strict=True)))
    jobs = [partial(_runs_of_some, tables, tasks, names) for names in some_judges(n)]
    found = context.run(jobs)
    runs = np.concatenate(found)
    return pa.array(runs, INT, mask=runs < 0)


def _runs_of_some(tables: Sequence[StoredTable], tasks: pa.Table, judges: Sequence[str]) -> Codes:
    """Of some judges, in their order."""
    blocks = (_rows(table, RUN, tasks) for table in tables)
    rows = pa.concat_tables([of.filter(is_any(of["judge"], judges)) for of in blocks])
    place = pc.index_in(rows["judge"].cast(pa.string()), pa.array(judges, pa.string()))
    codes = place.to_numpy().astype(np.int64)
    return longest_runs(rows.unify_dictionaries(), codes, n_judges=len(judges))


def _standardize(
    table: StoredTable,
    columns: Sequence[str],
    given: _Given,
    items: StoredTable,
    judge_scores: pa.Table,
    facts: Facts,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Standardise a block; with the first one comes what is told of judges."""
    block = ScoreBlock.of(_rows(table, columns, given.tasks), given.tasks, load(given.judges))
    standardized = standardized_rows(
        block, load(given.moments), listed_of(items, [block.rows]), given.settings
    )
    made = {
        name: write_part(folder, name, key, partial(iter, [rows]))
        for name, rows in (("standardized", standardized), ("judge_scores", judge_scores))
    }
    return made, facts_of_rows(standardized) | facts
