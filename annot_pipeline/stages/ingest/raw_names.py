"""Raw names of judges: what an export calls them, also where the mapping calls them otherwise.

A mapping may join the name with a prefix, map it, or cut it out of a cell; parsed exports keep the
cells that it reads (`CELLS`), for published texts must hold neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.config.expressions import ColumnExpression, Expression, JoinExpression
from annot_pipeline.config.judges import JudgeSettings, is_model
from annot_pipeline.config.sources import Source
from annot_pipeline.stages.ingest.expressions import evaluate
from annot_pipeline.stages.ingest.record_cells import RecordCells
from annot_pipeline.storage.files import regular

CELLS = "judge_cells"
"""The column of parsed exports that holds the cells, `BETWEEN` them; null: of plain columns."""
BETWEEN = "\x1f"


def judge_cells(record_cells: RecordCells, source: Source, path: str) -> pa.Array | None:
    """Return what the mapping of ``judge`` reads in each row, before it is mapped or joined.

    None where it takes one column as it is, or where votes name no judge.
    """
    expression = source.fields.get("judge")
    if expression is None or (isinstance(expression, ColumnExpression) and expression.is_plain):
        return None
    cells = [
        evaluate(part, record_cells, path=path, field="judge").array.fill_null("")
        for part in dict.fromkeys(_columns_read(expression))
    ]
    return pc.binary_join_element_wise(*cells, BETWEEN) if cells else None


def _columns_read(expression: Expression) -> Iterator[ColumnExpression]:
    """Yield the columns that an expression reads: as they are, and what ``match`` takes of them."""
    if isinstance(expression, JoinExpression):
        for part in expression.join:
            yield from _columns_read(part)
    elif isinstance(expression, ColumnExpression):
        of_column = {
            "column": expression.column, "split": expression.split, "json": expression.json_path,
        }  # fmt: skip
        yield ColumnExpression.model_validate(of_column)
        if expression.match is not None:
            yield ColumnExpression.model_validate(of_column | {"match": expression.match})


def raw_names(records: Iterable[Path], declared: Sequence[JudgeSettings] = ()) -> set[str]:
    """Return the names of people in parsed exports, as judgments and as exports call them.

    Names of judges who are declared to be models are published. A cell that stands for several
    judges of an export, as a team does, names none.
    """
    names: set[str] = set()
    for path in records:
        judge_of: dict[str, str | None] = {}
        for judge, cells in _judges(path):
            if judge is not None and is_model(judge, declared):
                continue
            if judge is not None:
                names.add(judge)
            for cell in (cells or "").split(BETWEEN):
                same = judge_of.setdefault(cell, judge) == judge
                judge_of[cell] = judge if same else None
        names |= {cell for cell, judge in judge_of.items() if cell and judge is not None}
    return names


def judge_names(records: Iterable[Path]) -> set[str]:
    """Return the names of all judges in parsed exports, as judgments call them."""
    return {judge for path in records for judge, _ in _judges(path) if judge is not None}


def system_names(records: Iterable[Path]) -> set[str]:
    """Return the names of all systems in parsed exports."""
    names: set[str] = set()
    for path in records:
        with pq.ParquetFile(regular(path)) as file:
            system_columns = {"system", "system_a", "system_b"} & set(file.schema_arrow.names)
            for group in range(file.num_row_groups if system_columns else 0):
                rows = file.read_row_group(group, sorted(system_columns))
                for column in rows.itercolumns():
                    names.update(name for name in column.unique().to_pylist() if name is not None)
    return names


def _judges(path: Path) -> Iterator[tuple[str | None, str | None]]:
    """Yield each pair of judge and cells of a parsed export, those of a row group once."""
    with pq.ParquetFile(regular(path)) as file:
        columns = [name for name in ("judge", CELLS) if name in file.schema_arrow.names]
        if "judge" not in columns:  # votes name no judge
            return
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns)
            rows = rows.group_by(columns, use_threads=False).aggregate([])
            cells = rows[CELLS].to_pylist() if CELLS in columns else [None] * rows.num_rows
            yield from zip(rows["judge"].to_pylist(), cells, strict=True)
