"""Whether a release that is about to be published names judges who have pseudonyms."""

from __future__ import annotations

import ast
import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
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
from annot_pipeline.storage.queries import sql_folder
from annot_pipeline.storage.tables import StoredTable, read_groups

SENTENCES = (
    "report/templates/*", "gates/**/*.py", "contracts/**/*.py", "report/**/*.py",
    "commands/**/*.py", "stages/**/*.py",
)  # fmt: skip
"""Files whose sentences are published: in pages, manifest, contracts, gates and reasons."""
OTHERS = ("config/**/*.py", "methods/**/*.py", "report/script.js", "report/style.css")
"""Files of names and values in a manifest, and what pages contain as it is."""
_PACKAGE = Path(str(files("annot_pipeline")))
PROSE = re.compile(r"(?<![^\s(])[^\W\d_A-Z]+(?![^\s.,:;)])")
"""A word in lower case that stands by itself: no surname, no part of an identifier."""


def own_words(names: Iterable[str]) -> set[str]:
    """Return those of the names, in lower case, that are words of our texts that are published.

    They are those of templates, descriptions of columns, string literals and the names of fields,
    which manifests hold; comments, other docstrings and names of functions, which cite authors, are
    never published.
    """
    return _words_among(names, SENTENCES + OTHERS, lambda text: WORD.findall(text.lower()))


def prose_words(names: Iterable[str]) -> set[str]:
    """Return those of the names, in lower case, that are common words of our published sentences.

    They name nobody where exports use them. Words that are only part of identifiers, or begin with
    a capital, as in "Bradley-Terry", may be surnames and are none of these.
    """
    return _words_among(names, SENTENCES, lambda t: PROSE.findall(t) if " " in t.strip() else [])


def _words_among(
    names: Iterable[str], files: Sequence[str], words_in: Callable[[str], list[str]]
) -> set[str]:
    """Return names that are words of files; only files that hold one anywhere are parsed."""
    described = (column.description for table in GOLD.values() for column in table.columns)
    sought = {name.lower() for name in names}
    not_ours = sought.difference(*map(words_in, described))
    for path in chain(sql_folder().rglob("*.sql"), *map(_PACKAGE.glob, files)):
        if not_ours and not not_ours.isdisjoint(_all_words(path)):
            not_ours = not_ours.difference(*map(words_in, _published_texts(path)))
    return sought - not_ours


@cache
def _all_words(path: Path) -> frozenset[str]:
    """Return the words of a file, in lower case, whether they are published or not."""
    return frozenset(WORD.findall(path.read_text("utf-8").lower()))


@cache
def _published_texts(path: Path) -> list[str]:
    """Return the literals of a module, those of a query as one text, or the text of a file."""
    if path.suffix == ".py":
        return [*_literals(path)]
    text = path.read_text("utf-8")
    if path.suffix == ".sql":
        text = " ".join(re.findall(r"'([^'\n]*)'", re.sub(r"--.*", "", text)))
    return [text]


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
        distinctive = [name for name in judges if is_distinctive(name)]
        common = prose_words(name for name in distinctive if PROSE.fullmatch(name.lower()))
        checked = [name for name in distinctive if name.lower() not in common]
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
    groups = [[*map(distinct_values, group.itercolumns())] for group in read_groups(table, columns)]
    parts = zip(columns, zip(*groups, strict=True), strict=True)
    return {column: pc.unique(pa.chunked_array(values)) for column, values in parts}


def _without_our_words(names: set[str]) -> set[str]:
    ours = own_words(names)
    return {name for name in names if name.lower() not in ours}


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
