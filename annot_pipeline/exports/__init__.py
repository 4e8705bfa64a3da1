"""Readers of export formats: bytes in, `RawRows` out.

A new format is one module here and one line in `READERS`, and its name in `config.Format`.
What does not belong here: what columns mean (steps.read_records) and where files lie (storage).
"""

from __future__ import annotations

from annot_pipeline.exports.json_lines import read_jsonl
from annot_pipeline.exports.label_studio import read_label_studio
from annot_pipeline.exports.mturk import read_mturk
from annot_pipeline.exports.parquet import read_parquet
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows, Reader
from annot_pipeline.exports.tabular import read_csv

READERS: dict[str, Reader] = {
    "csv": read_csv,
    "mturk": read_mturk,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "label_studio": read_label_studio,
}

__all__ = ["READERS", "Export", "Opening", "RawRows", "Reader"]
