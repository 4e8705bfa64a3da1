"""docs/threat_model.md: each statement names a test that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "threat_model.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_test_that_is_named_is_there():
    named = NAMED.findall(PAGE)
    assert len(named) > 25
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"


def test_every_statement_of_a_table_names_a_test():
    tables = re.findall(r"\| statement \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
    assert len(tables) == 4
    for row in "".join(tables).splitlines():
        statement, tests = row.strip("|").rsplit("|", 1)
        assert statement.strip()
        assert NAMED.search(tests), row
