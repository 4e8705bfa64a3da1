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
from annot_pipeline.stages.gold.metrics import ReleaseMetrics
from annot_pipeline.stages.gold.name_search import WORD, NameSearch, can_be_checked
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.queries import sql_text
from annot_pipeline.storage.tables import StoredTable, read_groups

CONTENT = frozenset({"text", "source", "reference", "truth"})
"""Columns of ``items``: what was judged may name anybody."""
LABELS = re.compile(r"(?:\w+_)?label")
SYSTEMS = re.compile(r"(?:\w+_)?system(?:_[ab])?")
"""Columns of labels and of names of systems, which the campaign maps: they are no secret."""
HASHED = frozenset({"judgment_id", "source_digest"})
"""Columns of digests, one a row."""


class PublishedNames:
    """Raw names of judges in a release that is about to be published; the names are not told.

    Tables are searched first, then the pages that are made of them. Item texts, labels and names of
    systems are published as the campaign maps them. A system's name may stand in any column, for
    names of items are often made of it; a label may stand in columns of labels alone.

    Parameters
    ----------
    judges
        All names that exports hold, raw.
    tables
        Gold tables, by name.
    manifest
        As it will be written.
    """

    def __init__(
        self,
        judges: Sequence[str],
        tables: Mapping[str, StoredTable],
        manifest: Mapping[str, Any],
    ) -> None:
        words = own_words()
        checked = [n for n in judges if can_be_checked(n) and n.lower() not in words]
        self.unchecked = len(judges) - len(checked)
        self.search = NameSearch.of_names(checked)
        self.exempt: set[str] = set()
        self.by_place: dict[str, set[str]] = defaultdict(set)
        systems: set[str] = set()
        in_columns: dict[str, set[str]] = defaultdict(set)
        for table, column, values in _text_columns(tables):
            names = self.search.in_column(values)
            if (table == "items" and column in CONTENT) or LABELS.fullmatch(column):
                self.exempt |= names
            elif SYSTEMS.fullmatch(column):
                systems |= names
            else:
                in_columns[f"{table}.{column}"] |= names
        self.exempt |= systems
        self.by_place = {place: names - systems for place, names in in_columns.items()}
        text = canonical_json(manifest).decode()
        self.by_place["manifest.json"] = self.search.in_text(text) - self.exempt

    def add_pages(self, pages: Sequence[Path]) -> None:
        """Search other files of the release, which show what the tables hold."""
        shown = self.search.without(self.exempt)
        for page in pages:
            text = page.read_text(encoding="utf-8")
            self.by_place[page.name] = shown.in_text(text) | shown.in_text(html.unescape(text))

    def metrics(self) -> ReleaseMetrics:
        """Return what the gate ``published_names`` looks at.

        Names that are too short, numbers, or words of the pages themselves are not checked: a text
        may hold them by chance.
        """
        return ReleaseMetrics(
            places=[
                f"{place} ({counted(len(names), 'name')})"
                for place, names in sorted(self.by_place.items())
                if names
            ],
            names=len(set().union(*self.by_place.values())),
            unchecked=self.unchecked,
        )


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
    return frozenset(word.lower() for text in texts for word in WORD.findall(text))
