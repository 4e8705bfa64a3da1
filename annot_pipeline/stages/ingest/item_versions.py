"""Items whose text changed under their id: each text is a version, and each version an item.

The version of the latest judgment has the item's plain name, the others the name with the digest of
their text. `sql/ingest/item_versions.sql` says which is which, once for all records, and
`sql/ingest/record_versions.sql` which record is of which, for some tasks or items at a time.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FLAG, TEXT
from annot_pipeline.errors import counted
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import StoredTable, TableFile, write_table

TEXT_DIGEST = "text_digest"
"""Column of parsed records: SHA-256 of the item's text; null where there is none."""
OTHER_TEXT = ("bad_reference", "good_reference")
"""Controls that show another text than their item's on purpose: it makes no version."""
VERSIONS = pa.schema(
    [(name, TEXT) for name in ("task", "item", TEXT_DIGEST, "name")] + [("is_current", FLAG)]
)
"""A row is a text of an item of a task that has several, as `sql/ingest/item_versions.sql` says."""
TEXTS = pa.schema([(name, TEXT) for name in ("task", "item", "item_version", "text")])
"""A row is an item of a task, by its published name, whose judgments carry a text."""


def text_digest(text: str | None) -> str | None:
    """Return the digest of a text, None if it is blank; white space and composition are no part."""
    words = unicodedata.normalize("NFC", text or "").split()
    return hashlib.sha256(" ".join(words).encode()).hexdigest() if words else None


def add_text_digests(fields: dict[str, pa.Array]) -> None:
    """Add the digests of mapped texts to the fields of records."""
    if "text" not in fields:
        return
    encoded = fields["text"].dictionary_encode()
    digests = pa.array(map(text_digest, encoded.dictionary.to_pylist()), TEXT).take(encoded.indices)
    if "control" in fields:
        is_other = pc.fill_null(pc.is_in(fields["control"], pa.array(OTHER_TEXT)), False)
        digests = pc.if_else(is_other, pa.scalar(None, TEXT), digests)
    fields[TEXT_DIGEST] = digests


def item_versions(
    context: StageContext, inputs: Mapping[str, Any], record_files: pa.Table
) -> tuple[pa.Table, StoredTable | pa.Table]:
    """Return `VERSIONS` of the items with several texts, and `TEXTS` of all items.

    Parameters
    ----------
    inputs
        ``records`` and ``any_record``, as the queries of records have them.
    record_files
        The exports in their order of precedence.
    """
    settings = context.campaign.settings
    if not any("text" in source.fields for source in settings.sources):
        return VERSIONS.empty_table(), TEXTS.empty_table()
    is_dropped = settings.quality.rejected_assignments == "drop"
    with context.queries.run(
        "ingest/item_versions",
        {**inputs, "record_files": record_files},
        {"drop_rejected": is_dropped},
        temp_tables={
            "several_texts": "ingest/several_texts",
            "texts_of_records": "ingest/texts_of_records",
        },
    ) as rows:
        versions = rows.read_all().cast(VERSIONS)
    path = context.folder / "item_texts.parquet"
    texts = partial(_write_texts, context.partition_queries, {**inputs, "versions": versions}, path)
    if n := len(changed_items(versions)):
        what = f"{counted(n, 'item')} changed {'its' if n == 1 else 'their'} text"
        context.progress(f"{what}: the answers to an earlier text stand under NAME#DIGEST")
    return versions, StoredTable((*context.run([texts]),))


def _write_texts(queries: Queries, inputs: Mapping[str, Any], path: Path) -> TableFile:
    with queries.run("ingest/item_texts", inputs) as rows:
        return write_table(path, rows)


def versions_of(versions: pa.Table, tasks: pa.Table) -> pa.Table:
    """Return the versions of the items of some tasks."""
    return versions.filter(is_in(versions["task"], tasks["task"].to_pylist()))


def changed_items(versions: pa.Table) -> list[str]:
    """Return the items that have several texts, with their tasks."""
    earlier = versions.filter(pc.invert(versions["is_current"]))
    names = zip(earlier["task"].to_pylist(), earlier["item"].to_pylist(), strict=True)
    return [f"{task}/{item}" for task, item in dict.fromkeys(names)]


def without_split_versions(ends: Sequence[str], versions: pa.Table) -> list[str]:
    """Return the ends of slices of a task that lie between no name of an item and its versions.

    Parameters
    ----------
    ends
        Names of items, sorted.
    versions
        `VERSIONS` of the task.
    """
    spans = [
        (item, name)
        for item, name in zip(*(versions[n].to_pylist() for n in ("item", "name")), strict=True)
        if item != name
    ]
    return [end for end in ends if not any(item <= end < name for item, name in spans)]
