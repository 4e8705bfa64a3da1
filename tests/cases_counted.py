"""Rows of exports counted without the project's readers, held against what builds say."""

import csv
import gzip
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from annot_pipeline import load_gold
from annot_pipeline.config import Source
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.releases import Releases
from tests.exports.python_rows import rows_by_python


def check_rows(folder: Path, document: dict[str, Any]) -> None:
    """Validation meets every raw row, as counted here, also where a gate will fail."""
    if "error" in document:
        assert document["exit_status"] in (1, 2)
        assert document["error"]["title"]
    else:
        for source, told in zip(
            load_campaign(folder).settings.sources, document["sources"], strict=True
        ):
            paths = [path for path in folder.glob(source.path) if path.is_file()]
            assert told["rows"] == sum(count_rows(path, source) for path in paths), source.path
        assert document["records"] == sum(source["records"] for source in document["sources"])


def check_accounting(folder: Path) -> None:
    """Every raw row, as counted here, has its records in lineage."""
    campaign = load_campaign(folder)
    manifest = Releases(campaign.gold).get().manifest
    lineage = load_gold(campaign.gold, "lineage").to_pylist()
    records = Counter(row["source_file"] for row in lineage)
    exports = [source for source in manifest["sources"] if source["kind"] == "judgments"]
    assert sorted(records) == sorted(e["name"] for e in exports if e["rows"])
    for source in campaign.settings.sources:
        for path in sorted(p for p in folder.glob(source.path) if p.is_file()):
            name = path.relative_to(folder).as_posix()
            export = next(e for e in exports if e["name"] == name)
            n_rows = count_rows(path, source)
            assert export["rows"] == n_rows, name
            assert sum(export["records"].values()) == records[name], name
            met = {row["source_row"] for row in lineage if row["source_file"] == name}
            assert met == set(range(1, n_rows + 1)), name


def count_rows(path: Path, source: Source) -> int:
    """Raw rows of an export, counted without the project's readers."""
    if source.format == "parquet":
        return int(pq.read_metadata(path).num_rows)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode(source.options.encoding, errors="replace")
    if source.format == "jsonl":
        return sum(bool(line.strip()) for line in text.split("\n"))
    if source.format == "label_studio":
        return sum(len(task["annotations"]) for task in json.loads(text))
    if source.format == "wmt_ranking":
        return len(re.findall(r"<ranking-result\b", text))
    csv.field_size_limit(sys.maxsize)
    lines, delimiter = io.StringIO(text, newline=""), source.options.delimiter or ","
    if source.options.quote:
        header = [
            *(
                source.options.columns
                or next(filter(None, csv.reader(lines, delimiter=delimiter)), ())
            )
        ]
        return len(rows_by_python(lines.read(), header, delimiter=delimiter))
    rows = list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
    return sum(map(bool, rows)) - bool(text and not source.options.columns)
