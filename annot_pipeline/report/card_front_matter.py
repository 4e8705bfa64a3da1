"""The YAML at the head of a data card: what Hugging Face reads of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from annot_pipeline.errors import printable
from annot_pipeline.report.citation import title

MAIN = ("labels", "scores", "system_rankings", "segment_ranks", "lineage")
"""The table that is read where none is named: the first of these with rows."""

SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"),
         (10**7, "1M<n<10M"))  # fmt: skip
LARGEST = "10M<n<100M"
LICENSE_ID = re.compile(r"[A-Za-z0-9]+([.+-][A-Za-z0-9.]++)*+\+?")


def main_table(manifest: Mapping[str, Any]) -> str:
    """Return the name of the table that most readers want."""
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    return next((name for name in MAIN if rows[name]), "lineage")


def front_matter(manifest: Mapping[str, Any]) -> list[str]:
    """Return its lines, with the fences; values are quoted as JSON, which is YAML too."""
    about = manifest["settings"]["about"]
    main = main_table(manifest)
    filled = [table for table in manifest["tables"] if table["rows"]]
    fields = {
        "pretty_name": f"{title(manifest)} {manifest['version']}",
        **_license(about["license"]),
        "language": about["languages"],
        "tags": ["human-annotation", "croissant", *about["keywords"]],
        "size_categories": [_size(t["rows"]) for t in filled if t["name"] == main],
    }
    lines = ["---", *(f"{key}: {_quoted(value)}" for key, value in fields.items() if value)]
    lines.append("configs:")
    for table in sorted(filled, key=lambda table: table["name"] != main):
        lines += [f"- config_name: {table['name']}", f"  data_files: {_data_files(table)}"]
        if table["name"] == main:
            lines.append("  default: true")
    return [*lines, "---", ""]


def _quoted(value: str | list[str]) -> str:
    if isinstance(value, str):
        return json.dumps(printable(value), ensure_ascii=False)
    return json.dumps([printable(v) for v in value], ensure_ascii=False)


def _license(license_: str | None) -> dict[str, str]:
    """Return ids as the hub writes them; any other licence is ``other`` with a name or a link."""
    if license_ is None:
        return {}
    if LICENSE_ID.fullmatch(license_):
        return {"license": license_.lower()}
    kind = "license_link" if re.match(r"https?://", license_) else "license_name"
    return {"license": "other", kind: license_}


def _size(rows: int) -> str:
    return next((name for limit, name in SIZES if rows < limit), LARGEST)


def _data_files(table: Mapping[str, Any]) -> str:
    """Return the files of a table, as Hugging Face takes them."""
    return f"{table['file']}/*.parquet" if "files" in table else str(table["file"])
