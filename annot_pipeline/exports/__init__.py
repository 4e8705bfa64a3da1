"""Readers of export formats: bytes in, `RawRows` out.

A new format is one module here, one line in `READERS`, and its name in `config.sources.Format`
(`annot init` learns it in annot_pipeline.init). A table that is csv, one judgment or many a row,
needs none: the mapping of the campaign does that. What does not belong here: what columns mean
(stages.ingest.read_records) and where files lie (storage).
"""

from __future__ import annotations

from collections.abc import Callable

from annot_pipeline.exports.appraise import read_appraise
from annot_pipeline.exports.hits import read_hits
from annot_pipeline.exports.json_document import read_json
from annot_pipeline.exports.json_lines import jsonl_pieces, read_jsonl
from annot_pipeline.exports.label_studio import read_label_studio
from annot_pipeline.exports.parquet import parquet_pieces, read_parquet
from annot_pipeline.exports.raw_rows import (
    Export,
    Opening,
    Piece,
    RawRows,
    Reader,
)
from annot_pipeline.exports.tabular import read_csv, read_mturk
from annot_pipeline.exports.wmt_ranking import read_wmt_ranking

CODE_VERSION = "4"
"""Raised whenever a reader would read the same bytes otherwise: exports are then read again."""

READERS: dict[str, Reader] = {
    "csv": read_csv,
    "mturk": read_mturk,
    "json": read_json,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "label_studio": read_label_studio,
    "appraise": read_appraise,
    "hits": read_hits,
    "wmt_ranking": read_wmt_ranking,
}

PIECES: dict[str, Callable[[Opening, int], list[Piece]]] = {
    "jsonl": jsonl_pieces,
    "parquet": parquet_pieces,
}
"""Formats of which a large export can be read in pieces, and what cuts it into pieces of some
bytes; their readers take one.

Not csv: where a row ends is known only to who has read all quotes before it.
"""
