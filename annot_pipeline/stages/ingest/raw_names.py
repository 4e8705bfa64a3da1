"""Raw names of judges, and names that a person would take for the same.

A mapping may join the name with a prefix, map it, or cut it out of a cell; parsed exports keep the
cells that it reads (`CELLS`), for published texts must hold neither.

They are kept apart, for nobody knows which was meant, and reported.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.config.expressions import ColumnExpression, Expression, JoinExpression
from annot_pipeline.config.judges import JudgeSettings, is_model
from annot_pipeline.config.sources import Source
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.contracts.answer_text import answer_text, number_text
from annot_pipeline.errors import shorten
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


GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
LATIN_TWINS = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсухԁһԛԝ"  # Cyrillic  # noqa: RUF001
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανικρτυχγ",  # Greek
    "ABESIJKMHOPCTXYaesijopcyxdhqwABEZHIKMNOPTYXoavikptuxy",
)
"""Letters of other scripts that look like Latin ones."""


NAME_COLUMNS = ("task", "label", "item", "judge", "system", "system_a", "system_b")
"""Columns of records that hold names."""
NAMES = pa.schema([("what", TEXT), ("name", TEXT), ("name_hash", INT), ("appearance_hash", INT)])
"""Names of tasks, labels, items, judges and systems (`what`), once a column."""


def names_of(rows: pa.Table) -> pa.Table:
    """Return the names that records hold, as `NAMES`.

    Parameters
    ----------
    rows
        `NAME_COLUMNS` of records that are not rejected.
    """
    tables = []
    for column in NAME_COLUMNS:
        names = sorted(name for name in pc.unique(rows[column]).to_pylist() if name is not None)
        tables.append(pa.table({
            "what": pa.repeat(column.partition("_")[0], len(names)), "name": pa.array(names, TEXT),
            "name_hash": [_hash(name) for name in names],
            "appearance_hash": [_hash(appearance(name)) for name in names],
        }, schema=NAMES))  # fmt: skip
    return pa.concat_tables(tables)


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True
    )


def may_be_alike(hashes: Iterable[pa.Table]) -> pa.Array:
    """Return hashes of appearances that names of one kind share, rarely others too.

    Parameters
    ----------
    hashes
        Tables of ``what``, ``name_hash``, ``appearance_hash``.
    """
    keys = ["what", "appearance_hash", "name_hash"]
    whole = pa.concat_tables(part.group_by(keys).aggregate([]) for part in hashes)
    names = whole.unify_dictionaries().group_by(keys).aggregate([])
    n = names.group_by(["what", "appearance_hash"]).aggregate([("name_hash", "count")])
    return pc.unique(n.filter(pc.greater(n["name_hash_count"], 1))["appearance_hash"])


def look_alikes(names: Iterable[str]) -> list[str]:
    """Return groups of different names with one appearance, as ``'yes' / 'Yes '``; sorted."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(name for name in set(names) if name.strip()):
        groups[appearance(name)].append(name)
    return [" / ".join(map(shorten, group)) for group in groups.values() if len(group) > 1]


def appearance(name: str) -> str:
    """Return a name without the differences that the eye may miss."""
    text = name
    if not (name.isascii() and name.isprintable()):  # in others there is nothing to normalize
        text = unicodedata.normalize("NFKC", name)
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
        text = text.translate(LATIN_TWINS)
    text = " ".join(text.split()).casefold()
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return number_text(answer_text(text))
