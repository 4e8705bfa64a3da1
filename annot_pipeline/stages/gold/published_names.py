"""Whether a release that is about to be published names judges who have pseudonyms.

What does not belong here: how names are found in texts (stages.gold.name_search), what reasons
quote (stages.ingest.judgments).
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import counted
from annot_pipeline.stages.gold.name_search import WORD, NameSearch, can_be_checked
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.queries import sql_text
from annot_pipeline.storage.tables import StoredTable, read_groups

CONTENT = frozenset({"text", "source", "reference", "truth"})
"""Columns of ``items``: what was judged may name anybody."""
MAPPED = re.compile(r"(?:\w+_)?(?:label|system)(?:_[ab])?")
"""Columns of labels and system names, which the campaign maps: what they hold is no secret."""
HASHED = frozenset({"judgment_id", "source_digest"})
"""Columns of digests, one a row."""


def published_names(
    judges: Sequence[str],
    tables: Mapping[str, StoredTable],
    pages: Sequence[Path],
    manifest: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the places of a release that hold raw names of judges; the names are not told.

    Parameters
    ----------
    judges
        All names that exports hold, raw.
    tables
        Gold tables, by name.
    pages
        Other files of the release: texts.
    manifest
        As it will be written.

    Returns
    -------
    dict
        ``places``: where, with how many names; ``names``: how many in all; ``unchecked``: how many
        are too short, numbers, or words of the pages themselves, so that a text may hold them by
        chance.
    """
    checked = [name for name in judges if can_be_checked(name) and name not in own_words()]
    search = NameSearch.of_names(checked)
    by_place: dict[str, set[str]] = defaultdict(set)
    content: set[str] = set()
    mapped: set[str] = set()
    for table, column, values in _text_columns(tables):
        names = search.in_column(values)
        if table == "items" and column in CONTENT:
            content |= names
        elif MAPPED.fullmatch(column):
            mapped |= names
        else:
            by_place[f"{table}.{column}"] |= names
    by_place["manifest.json"] = search.in_text(canonical_json(manifest).decode())
    shown = search.without(content)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        by_place[page.name] = shown.in_text(text) | shown.in_text(html.unescape(text))
    counts = {place: len(names - mapped) for place, names in by_place.items() if names - mapped}
    return {
        "places": [f"{place} ({counted(n, 'name')})" for place, n in sorted(counts.items())],
        "names": len(set().union(*by_place.values()) - mapped),
        "unchecked": len(judges) - len(checked),
    }


def _text_columns(
    tables: Mapping[str, StoredTable],
) -> Iterator[tuple[str, str, pa.ChunkedArray]]:
    """Yield table, column and values of all columns of texts, a row group at a time."""
    for name, table in tables.items():
        columns = [
            field.name
            for field in GOLD[name].schema
            if pa.types.is_string(field.type) and field.name not in HASHED
        ]
        for rows in read_groups(table, columns) if columns else ():
            for column in columns:
                yield name, column, rows[column]


SQL_REASONS = ("ingest/key_records", "ingest/settle_judgments")
"""Queries that write reasons."""


@cache
def own_words() -> frozenset[str]:
    """Return words of our own texts: a judge called ``expert`` is not named by "an expert"."""
    package = Path(str(files("annot_pipeline")))
    pages = (path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py")))
    texts = chain(pages, map(sql_text, SQL_REASONS))
    return frozenset(word for text in texts for word in WORD.findall(text))
