"""Every recipe of docs/recipes.md is built; the rows that it shows are those of the tables.

``UPDATE_RECIPES=1 pytest tests/test_recipes.py`` writes the rows; read them before a commit.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import stage_file

PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"
UPDATE = os.environ.get("UPDATE_RECIPES") == "1" and "CI" not in os.environ
BLOCK = re.compile(r"`([^`\n]+)`\n\n```\w+\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    title: str
    export: str
    text: str
    campaign: str
    table: str
    rows: str


def recipes() -> list[Recipe]:
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    actual = []
    for section in sections:
        (export, text), (_, campaign), (table, rows) = BLOCK.findall(section)
        actual.append(Recipe(section.splitlines()[0], export, text, campaign, table, rows))
    return actual


RECIPES = recipes()


def shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def table_text(rows: list[dict[str, Any]], names: list[str]) -> str:
    cells = [names, *([shown(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(names))]
    return "".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in cells
    )


def test_there_are_recipes():
    assert len(RECIPES) >= 12


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_gives_the_rows_that_it_shows(recipe, tmp_path):
    export = tmp_path / recipe.export
    export.parent.mkdir()
    export.write_text(recipe.text, encoding="utf-8")
    (tmp_path / "campaign.yaml").write_text(recipe.campaign, encoding="utf-8")
    built = stage_file(tmp_path / "campaign.yaml")
    names = recipe.rows.splitlines()[0].split()
    rows = built.rows(recipe.table)
    text = table_text(sorted(rows, key=lambda row: [shown(row[name]) for name in names]), names)
    if UPDATE:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(f"## {recipe.title}\n", 1)
        block = f"`{recipe.table}`\n\n```text\n"
        PAGE.write_text(
            f"{before}## {recipe.title}\n" + after.replace(block + recipe.rows, block + text, 1),
            encoding="utf-8",
        )
    else:
        assert text == recipe.rows
    assert built.metrics("control_judges")["fates"]["rejected"] == 0
