"""Exports as records: each parsed once, several at a time, and kept by what went into it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import CANONICAL_FIELDS, Limits, Source
from annot_pipeline.config.signature import digest
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import Passing, counted
from annot_pipeline.exports import CODE_VERSION as READERS_VERSION
from annot_pipeline.exports import Piece
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.stages.ingest.item_versions import TEXT_DIGEST
from annot_pipeline.stages.ingest.opened_exports import check_columns, open_export, pieces_of
from annot_pipeline.stages.ingest.raw_names import CELLS
from annot_pipeline.stages.ingest.read_records import CODE_VERSION as RECORDS_VERSION
from annot_pipeline.stages.ingest.read_records import FIELD_TYPES, read_records
from annot_pipeline.stages.shared.account_records import RowCounts, row_hashes
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import atomic_write, file_sha256, read_json, write_json
from annot_pipeline.storage.shortages import reading_export
from annot_pipeline.storage.store import digest_of, digest_of_read
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_groups,
    verify_table,
    write_table,
)

CODE_VERSION = f"{READERS_VERSION}.{RECORDS_VERSION}"
"""Of reading: the readers', then that of making records."""

ANY_RECORD = pa.schema(
    [("record", INT), ("row", INT), ("cell", TEXT), ("early_fate", TEXT), ("reason", TEXT)]
    + [(name, FIELD_TYPES.get(name, TEXT)) for name in CANONICAL_FIELDS]
    + [(TEXT_DIGEST, TEXT), (CELLS, TEXT), ("filename", TEXT)]
)
"""A record with every canonical field; parsed files hold those that are mapped."""


COUNTS = ("rows", "records", "ignored", "lines", "rows_with_records", "row_hashes")


@dataclass(frozen=True)
class Parsed:
    """Records of an export, counted.

    Parameters
    ----------
    counts
        ``rows``, ``records``, what was ``ignored``, `TextLines` of delimited text as ``lines``;
        and of the records, the ``rows_with_records`` and ``row_hashes``, those of the rows'
        numbers added up over records.
    columns
        Those met, where the format has no header; else None.
    sha256
        Digest of the file that holds the records.
    """

    counts: dict[str, Any]
    columns: list[str] | None
    sha256: str


@dataclass(frozen=True)
class Parsing:
    """Represents one export to be parsed, or parsed already.

    Parameters
    ----------
    source, position
        The mapping, and its position among the sources.
    name
        The export relative to the campaign.
    archive_path
        Its archived bytes.
    target
        Where its records lie.
    limits
        What it may hold at most.
    """

    source: Source
    position: int
    name: str
    archive_path: Path
    target: Path
    limits: Limits

    @classmethod
    def for_export(cls, context: StageContext, export: dict[str, Any]) -> Parsing:
        """Return the parsing of a row of the table ``exports``."""
        settings = context.campaign.settings
        source, name = settings.sources[export["source_order"]], export["source_file"]
        key = digest(
            {
                "code": CODE_VERSION,
                "sha256": export["source_sha256"],
                "mapping": source.model_dump(mode="json", exclude={"path", "files", "exclude"}),
                "campaign": settings.campaign,
                "path": name if '"capture"' in source.model_dump_json() else None,
                "gzipped": name.lower().endswith(".gz"),
            }
        )[:32]
        archive_path = archived(context.store.archive, export["source_sha256"])
        target = context.store.records / f"{key}.parquet"
        return cls(source, export["source_order"], name, archive_path, target, settings.limits)

    @property
    def note(self) -> Path:
        """Return the path of the counts, which are written last."""
        return self.target.with_suffix(".json")

    def cached(self) -> Parsed | None:
        """Return what an earlier build parsed; None: not parsed, damaged, or of other code."""
        try:
            document = read_json(self.note)
            if document.pop("sha256") != digest_of_read(document):
                return None
            parsed = Parsed(document["counted"], document["columns"], document["records_sha256"])
            if set(COUNTS) == set(parsed.counts) and file_sha256(self.target) == parsed.sha256:
                return parsed
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return None

    def is_damaged(self) -> bool:
        """Return whether an earlier build parsed it, and what it wrote cannot be used any more."""
        return self.note.exists() and self.cached() is None

    def parse(self, campaign: str) -> Parsed:
        """Write the records, then the note.

        Raises
        ------
        AnnotError
            The export cannot be read, or lacks a column that its mapping names.
        """
        return self._noted(self.read(campaign, self.target))

    def read(self, campaign: str, target: Path, piece: Piece | None = None) -> Parsed:
        """Write the records of the export, or of a piece of it, somewhere; raises as `parse`."""
        with reading_export(self.name, self.target.parent):
            return self._read(campaign, target, piece)

    def _read(self, campaign: str, target: Path, piece: Piece | None) -> Parsed:
        export = open_export(self.source, self.archive_path, self.name, piece, limits=self.limits)
        if export.has_header:
            where = f"sources.{self.position}.fields"
            check_columns(self.source, export.columns, self.name, where)
        of_rows = RowCounts()
        tables = (
            of_rows.counted(read_records(chunk, self.source, path=self.name, campaign=campaign))
            for chunk in export.chunks
        )
        with atomic_write(target) as temporary:
            written = write_table(temporary, _numbered(tables))
        counts = {
            "rows": export.n_rows,
            "records": written.rows,
            "ignored": export.ignored,
            "lines": None if export.lines is None else asdict(export.lines),
            "rows_with_records": of_rows.n,
            "row_hashes": of_rows.hashes,
        }
        columns = None if export.has_header else export.columns
        return Parsed(counts, columns, written.sha256)

    def join(self, campaign: str, pieces: Sequence[tuple[Path, Parsed]]) -> Parsed:
        """Write the records of all pieces, the same as of `parse`, then the note."""
        with reading_export(self.name, self.target.parent):
            return self._join(campaign, pieces)

    def _join(self, campaign: str, pieces: Sequence[tuple[Path, Parsed]]) -> Parsed:
        columns = [parsed.columns for _, parsed in pieces]
        column_names = None if None in columns else [*dict.fromkeys(chain(*filter(None, columns)))]
        if column_names == []:  # no row can be read: the reader says so, who now sees all of them
            return self.parse(campaign)
        hashes = 0

        def tables() -> Iterator[pa.Table]:
            nonlocal hashes
            before = 0
            for path, parsed in pieces:
                piece = TableFile(path, parsed.sha256, parsed.counts["records"])
                for records in read_groups(verify_table(StoredTable((piece,))), plain=True):
                    if not records.num_rows:
                        continue
                    rows = pc.add(records["row"], before)
                    hashes += row_hashes(rows)
                    position = records.schema.get_field_index("row")
                    yield records.set_column(position, "row", rows).drop_columns("record")
                before += parsed.counts["rows"]

        with atomic_write(self.target) as temporary:
            written = write_table(temporary, _numbered(tables()))
        counts: dict[str, Any] = {
            name: sum(parsed.counts[name] for _, parsed in pieces)
            for name in ("rows", "records", "rows_with_records")
        }
        ignored: Counter[str] = Counter()
        for _, parsed in pieces:
            ignored.update(parsed.counts["ignored"])
        counts |= {"ignored": dict(ignored), "lines": None, "row_hashes": hashes}
        return self._noted(Parsed(counts, column_names, written.sha256))

    def _noted(self, parsed: Parsed) -> Parsed:
        document = {
            "counted": parsed.counts,
            "columns": parsed.columns,
            "records_sha256": parsed.sha256,
        }
        write_json(self.note, document | {"sha256": digest_of(document)})
        return parsed


def parse_all(
    context: StageContext, exports: list[dict[str, Any]]
) -> tuple[list[tuple[Parsing, Parsed]], int]:
    """Parse the exports that were not parsed before with the same mapping; how many were not.

    Those whose records were damaged in the store are parsed again, and are not among these.

    Raises
    ------
    AnnotError
        Of the first export that cannot be read.
    """
    context.store.records.mkdir(parents=True, exist_ok=True)
    parsings = [Parsing.for_export(context, export) for export in exports]
    results = {parsing.target: parsing.cached() for parsing in parsings}
    new: dict[Path, Parsing] = {}  # equal exports are parsed once
    for parsing in parsings:
        if results[parsing.target] is None:
            new.setdefault(parsing.target, parsing)
    n_damaged = sum(parsing.is_damaged() for parsing in new.values())
    if new:
        results |= _parsed(context, new)
    if n_damaged:  # said now: names are masked by the records, which are whole again
        was, is_ = ("was", "is") if n_damaged == 1 else ("were", "are")
        exports_ = counted(n_damaged, "parsed export")
        context.progress(f"{exports_} {was} damaged in the store and {is_} read again")
    return [(p, parsed) for p in parsings if (parsed := results[p.target])], len(new) - n_damaged


def _parsed(context: StageContext, new: Mapping[Path, Parsing]) -> dict[Path, Parsed]:
    """Parse exports, large ones in pieces, and return the results by target path."""
    campaign, folder = context.campaign.settings.campaign, context.folder / "pieces"
    n_bytes = context.sizes.export_bytes
    pieces = {
        target: [(folder / f"{target.stem}-{n}.parquet", piece) for n, piece in enumerate(split)]
        for target, parsing in new.items()
        if (split := pieces_of(parsing.source, parsing.archive_path, parsing.name, n_bytes))
    }
    if pieces:
        folder.mkdir()
    jobs: dict[Path, list[Callable[[], Parsed]]] = {
        target: [partial(parsing.read, campaign, at, piece) for at, piece in pieces.get(target, ())]
        or [partial(parsing.parse, campaign)]
        for target, parsing in new.items()
    }
    n_jobs, total = sum(map(len, jobs.values())), counted(len(new), "export")
    if pieces:
        total = f"{counted(n_jobs, 'piece')} of {total}"
    every = [*chain(*jobs.values())]
    tell = context.progress
    results = iter(
        context.engine.run(every, done=lambda n: tell(Passing(f"read {n:,} of {total}")))
    )
    read = {target: [next(results) for _ in jobs[target]] for target in jobs}
    joins = [
        partial(
            new[target].join, campaign, [*zip([at for at, _ in places], read[target], strict=True)]
        )
        for target, places in pieces.items()
    ]
    joined = dict(zip(pieces, context.engine.run(joins), strict=True))
    shutil.rmtree(folder, ignore_errors=True)
    return {target: parts[0] for target, parts in read.items()} | joined


def _numbered(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    """Yield the records of one export, numbered from 0, with the columns of its mapping."""
    first = next(tables, None)
    names = ANY_RECORD.names[:-1] if first is None else ["record", *first.column_names]
    schema = pa.schema([ANY_RECORD.field(name) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        n = 0
        for table in chain([] if first is None else [first], tables):
            numbers = pa.array(np.arange(n, n + table.num_rows))
            n += table.num_rows
            yield from table.add_column(0, "record", numbers).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
