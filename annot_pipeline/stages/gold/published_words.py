"""Words of our own texts: a judge called ``expert`` is not named by "an expert".

What does not belong here: how names are found in texts (name_search), the search of a release
(published_names).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from annot_pipeline.contracts.name_key import WORD
from annot_pipeline.storage.queries import sql_text

WRITERS = ("commands", "contracts", "gates", "report", "stages")
"""Packages whose sentences are published: in pages, manifest, contracts, gates and reasons."""
NAMING = ("config", "methods")
"""Packages of which settings and metrics of a manifest have their names and values."""
TEMPLATES = ("report/script.js", "report/style.css")
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

    They are those of string literals and of the names of fields, which manifests hold; comments,
    docstrings and names of functions, which cite authors, are never published.
    """
    texts = [*_sentences(), *(text for name in NAMING for text in _texts_in_package(name))]
    texts += [(_PACKAGE / name).read_text(encoding="utf-8") for name in TEMPLATES]
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
    return [*texts, *(map(_reasons, SQL_REASONS))]


@cache
def _texts_in_package(name: str) -> tuple[str, ...]:
    modules = sorted((_PACKAGE / name).rglob("*.py"))
    return tuple(text for path in modules for text in _literals(path))


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
