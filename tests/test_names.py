"""Names say what things hold: no preposition, participle or pronoun is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BANNED = frozenset({
    "again", "alone", "apart", "asked", "beside", "drawn", "found", "given", "held", "kept",
    "known", "left", "made", "met", "of", "others", "place", "said", "says", "seen", "settled",
    "shown", "there", "together", "told", "wanted",
})  # fmt: skip


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Return every name that code binds: functions, classes, parameters, variables, fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def count_banned(text: str) -> int:
    return sum(name in BANNED for name in bound_names(ast.parse(text)))


def counts() -> dict[str, int]:
    modules = [
        path
        for package in ("annot_pipeline", "assets_defs", "studies")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    assert len(modules) > 400
    numbers = {
        path.relative_to(ROOT).as_posix(): count_banned(path.read_text(encoding="utf-8"))
        for path in modules
    }
    return {path: n for path, n in numbers.items() if n}


def test_names_are_nouns_and_verbs():
    assert counts() == {}, f"rename what {sorted(BANNED)} is bound to"


def test_every_kind_of_binding_is_seen():
    text = """
import json as told
class kept: made: int
def of(given, *found, **known): pass
left = [apart for apart in ()]
for beside in (): pass
with open("x") as settled: place = 1
asked = seen = wanted = said = says = met = held = there = again = together = alone = 1
shown = drawn = others = 1
"""
    assert count_banned(text) == len(BANNED)
