"""Whether a release that is about to be published names judges who have pseudonyms."""

from __future__ import annotations

import ast
import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.name_key import WORD
from annot_pipeline.errors import counted
from annot_pipeline.stages.gold.metrics import ReleaseMetrics
from annot_pipeline.stages.shared.name_search import NameSearch, distinct_values, is_distinctive
from annot_pipeline.storage.queries import sql_text
from annot_pipeline.storage.tables import StoredTable, read_groups

WRITERS = ("commands", "contracts", "gates", "report", "stages")
"""Packages whose sentences are published: in pages, manifest, contracts, gates and reasons."""
NAMING = ("config", "methods")
"""Packages of which settings and metrics of a manifest have their names and values."""
TEMPLATES = "report/templates"
"""Files of the sentences of pages and data cards."""
STATIC = ("report/script.js", "report/style.css")
"""Files that pages contain as they are."""
SQL_REASONS = (
    "control/known_answers", "control/pairs", "gold/set_aside",
    "ingest/key_records", "ingest/settle_judgments",
)  # fmt: skip
"""Queries that write reasons."""
_PACKAGE = Path(str(files("annot_pipeline")))
PROSE = re.compile(r"(?<![^\s(])[^\W\d_A-Z]+(?![^\s.,:;)])")
"""A word in lower case that stands by itself: no surname, no part of an identifier."""


@cache
def own_words() -> frozenset[str]:
    """Return words of our texts that are published, in lower case.

    They are those of templates, descriptions of columns, string literals and the names of fields,
    which manifests hold; comments, other docstrings and names of functions, which cite authors, are
    never published.
    """
    texts = [*_sentences(), *(text for name in NAMING for text in _texts_in_package(name))]
    texts += [(_PACKAGE / name).read_text("utf-8") for name in STATIC]
    return frozenset(word.lower() for text in texts for word in WORD.findall(text))


def is_prose(name: str) -> bool:
    """Return whether a name is one of our `prose_words`; most names have digits and are none."""
    return bool(PROSE.fullmatch(name.lower())) and name.lower() in prose_words()


@cache
def prose_words() -> frozenset[str]:
    """Return common words of our published sentences: they name nobody where exports use them.

    Words that are only part of identifiers, or begin with a capital, as in "Bradley-Terry", may be
    surnames and are none of these.
    """
    sentences = (text for text in _sentences() if " " in text.strip())
    return frozenset(word for text in sentences for word in PROSE.findall(text))


def _sentences() -> list[str]:
    texts = [text for name in WRITERS for text in _texts_in_package(name)]
    texts += [column.description for table in GOLD.values() for column in table.columns]
    templates = (path.read_text("utf-8") for path in (_PACKAGE / TEMPLATES).iterdir())
    return [*texts, *templates, *map(_reasons, SQL_REASONS)]


@cache
def _texts_in_package(name: str) -> tuple[str, ...]:
    return tuple(text for path in (_PACKAGE / name).rglob("*.py") for text in _literals(path))


def _reasons(query: str) -> str:
    """Return the texts that a query holds, without its comments."""
    return " ".join(re.findall(r"'([^'\n]*)'", re.sub(r"--.*", "", sql_text(query))))


def _literals(path: Path) -> Iterator[str]:
    """Yield string literals of a module, but docstrings, and names of fields of its classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


CONTENT = frozenset({"text", "source", "reference", "truth"})
"""Columns of ``items``: what was judged may name anybody."""
LABELS = re.compile(r"(?:\w+_)?label")
SYSTEMS = re.compile(r"(?:\w+_)?system(?:_[ab])?")
"""Columns of labels and of names of systems, which the campaign maps: they are no secret."""
EXPORTED = frozenset({
    "adjudication_reason", "cell", "criterion", "document", "hit", "item", "item_a", "item_b",
    "position", "ranking", "segment", "source_file", "task",
})  # fmt: skip
"""Columns of which exports give the words; others hold our own words too, as reasons do."""
HASHED = frozenset({"judgment_id", "source_digest"})
"""Columns of digests, one a row."""


class PublishedNames:
    """Raw names of judges in a release that is about to be published; the names are not told.

    Tables are searched first, then the pages that are made of them. Item texts, labels and names of
    systems are published as the campaign maps them. A system's name may stand in any column, for
    names of items are often made of it; a label may stand in columns of labels alone. Our own words
    are no names where we write them; common words are none anywhere.

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
        checked = [name for name in judges if is_distinctive(name) and not is_prose(name)]
        self.unchecked = len(judges) - len(checked)
        self.search = NameSearch.from_names(checked)
        self.exempt: set[str] = set()
        systems: set[str] = set()
        in_columns: dict[str, set[str]] = defaultdict(set)
        for table, column, names in _names_by_column(self.search, tables):
            if (table == "items" and column in CONTENT) or LABELS.fullmatch(column):
                self.exempt |= names
            elif SYSTEMS.fullmatch(column):
                systems |= names
            else:
                in_columns[f"{table}.{column}"] |= (
                    names if column in EXPORTED else _without_our_words(names)
                )
        self.exempt |= systems
        self.by_place = {location: names - systems for location, names in in_columns.items()}
        by_text = (self.search.in_text(text) for text in {*_texts_in(manifest)})
        names = _without_our_words(set().union(*by_text))
        for part in ("sources", "settings"):  # sentences that the campaign writes
            texts = (text for text in _texts_in(manifest.get(part)) if " " in text)
            names |= {name for text in texts for name in self.search.in_text(text)}
        self.by_place["manifest.json"] = names - self.exempt

    def add_pages(self, pages: Sequence[Path]) -> None:
        """Search other files of the release, which show what the tables hold."""
        search = self.search.without(self.exempt)
        for page in pages:
            text = page.read_text(encoding="utf-8")
            lines = {*text.split("\n")}
            names = search.in_text(text)
            for read in (html.unescape(text), unquote(text, errors="replace")):
                lines_read = dict.fromkeys(line for line in read.split("\n") if line not in lines)
                names |= search.in_text("\n|\n".join(lines_read))
            self.by_place[page.name] = _without_our_words(names)

    def metrics(self) -> ReleaseMetrics:
        """Return what the gate ``published_names`` looks at.

        Names that are too short, numbers, or words of the pages themselves are not checked: a text
        may hold them by chance.
        """
        return ReleaseMetrics(
            places=[
                f"{location} ({counted(len(names), 'name')})"
                for location, names in sorted(self.by_place.items())
                if names
            ],
            names=len(set().union(*self.by_place.values())),
            unchecked=self.unchecked,
        )


def _names_by_column(
    search: NameSearch, tables: Mapping[str, StoredTable]
) -> Iterator[tuple[str, str, set[str]]]:
    """Yield table, column and names of each column of texts that has names.

    Columns of one name have mostly the same values in all tables: they are searched together, and
    table by table only where there is a name.
    """
    named: dict[str, list[tuple[str, pa.Array]]] = defaultdict(list)
    for name, table in tables.items():
        fields = (f for f in GOLD[name].schema if pa.types.is_string(f.type))
        texts = [f.name for f in fields if f.name not in HASHED]
        for column, values in _distinct_values(table, texts).items():
            named[column].append((name, values))
    for column, parts in named.items():
        if search.in_column(pa.chunked_array([values for _, values in parts])):
            for name, values in parts:
                yield name, column, search.in_column(pa.chunked_array([values]))


def _distinct_values(table: StoredTable, columns: Sequence[str]) -> dict[str, pa.Array]:
    """Return the values of columns of texts, each once."""
    groups = (map(distinct_values, rows.itercolumns()) for rows in read_groups(table, columns))
    parts = zip(columns, zip(*groups, strict=True), strict=True)
    return {column: pc.unique(pa.chunked_array(values)) for column, values in parts}


def _without_our_words(names: set[str]) -> set[str]:
    return {name for name in names if name.lower() not in own_words()} if names else names


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a document, keys too, as they are before JSON escapes them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts_in(inner)
