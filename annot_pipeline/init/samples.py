"""The first rows of an export, as the reader of its format gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.hits import COLUMNS as HITS_COLUMNS
from annot_pipeline.init.table import Sheet

ROWS_READ = 200_000
"""Rows of a file that statistics come from."""

BYTES_READ = 256 << 20
"""The same, in memory: rows can be long."""


@dataclass(frozen=True)
class Sample:
    """The first rows of an export, as its reader gives them.

    Parameters
    ----------
    path
        The export.
    format, options
        As campaign.yaml says them.
    table
        The rows that can be read, all columns strings.
    unreadable
        Why other rows cannot be read, with their number.
    is_whole
        Whether these are all rows of the file.
    records
        Of a JSON document, the path of its records; None: the document is their list.
    """

    path: Path
    format: str
    options: dict[str, Any] = field(default_factory=dict)
    table: pa.Table = None
    unreadable: Counter[str] = field(default_factory=Counter)
    is_whole: bool = True
    records: str | None = None


def opening_of(sample: Sample) -> Opening:
    """Return what its reader is called with."""
    options = {n: v for n, v in sample.options.items() if n != "skip_rows"}
    header = options.pop("columns", None)
    # not the texts, too
    used_columns = frozenset(HITS_COLUMNS) if sample.format == "hits" else None
    options |= {"header": tuple(header) if header else None, "records": sample.records}
    return Opening(sample.path, sample.path.name, used_columns, **options)


def read_rows(sample: Sample, limit: int) -> Sample:
    """Return the first rows, as the reader of the format gives them with these options."""
    export = READERS[sample.format](opening_of(sample))
    tables: list[pa.Table] = []
    unreadable: Counter[str] = Counter()
    n_rows = n_bytes = 0
    is_whole = True
    for chunk in export.chunks:
        if n_rows >= limit or n_bytes >= BYTES_READ:
            is_whole = False
            break
        unreadable.update(r.partition(":")[0] for r in chunk.problem.to_pylist() if r)
        is_whole = is_whole and n_rows + len(chunk) <= limit
        if chunk.columns:
            cells = {name: pc.utf8_trim_whitespace(c) for name, c in chunk.columns.items()}
            table = pa.table(cells).filter(pc.is_null(chunk.problem))
            tables.append(table.slice(0, limit - n_rows))
            n_bytes += table.nbytes
        n_rows += len(chunk)
    whole = pa.concat_tables(tables, promote_options="default") if tables else pa.table({})
    return replace(sample, table=whole, unreadable=unreadable, is_whole=is_whole)


def sheet_of(samples: Sequence[Sample]) -> Sheet:
    """Return the rows of several samples with the same columns."""
    return Sheet([sample.table for sample in samples])
