"""Docstrings say in a sentence what a function returns or does; classes have one as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NO_VERBS = frozenset({
    "a", "all", "an", "any", "as", "at", "both", "by", "each", "every", "for", "from", "how", "in",
    "its", "no", "of", "on", "one", "other", "some", "such", "that", "the", "their", "these",
    "they", "this", "those", "three", "twice", "two", "what", "when", "where", "whether", "which",
    "who", "whose", "why", "with", "without",
})  # fmt: skip
"""First words of what is no sentence."""


def phrases(text: str) -> Iterator[str]:
    """Yield first lines of docstrings of functions that begin with no verb."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "Return").splitlines()[0]
            word = first.split()[0].strip(",.:;")
            if word.lower() in NO_VERBS or not word[0].isalpha():
                yield f"{node.name}: {first}"


def test_docstrings_of_functions_are_sentences():
    modules = [
        path
        for name in ("annot_pipeline", "assets_defs", "studies")
        for path in (ROOT / name).rglob("*.py")
    ]
    assert len(modules) > 400
    actual = [
        f"{path.relative_to(ROOT).as_posix()}: {phrase}"
        for path in sorted(modules)
        for phrase in phrases(path.read_text(encoding="utf-8"))
    ]
    assert actual == []


def test_what_is_no_sentence():
    text = '''
def rate():
    """The share."""
async def codes():
    """``(n,)`` codes."""
class Item:
    """One item."""
    def size(self):
        """Return the size."""
    def __len__(self):
        return 1
'''
    assert list(phrases(text)) == [
        "rate: The share.",
        "codes: ``(n,)`` codes.",
    ]
