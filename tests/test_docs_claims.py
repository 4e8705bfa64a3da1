"""What pages say of tables and commands is so."""

from __future__ import annotations

from pathlib import Path

from annot_pipeline.cli.score import ON_GOLD
from annot_pipeline.contracts import GOLD, ITEMS

ROOT = Path(__file__).parents[1]
JOIN = "`items`, which has no task, by `item` alone"


def test_items_are_joined_by_what_they_have(full_release):
    """The page and the data card say how; the contract has the columns."""
    assert "task" not in ITEMS.schema.names
    assert all("item" in t.schema.names for t in GOLD.values() if t.name in ("labels", "scores"))
    page = (ROOT / "docs" / "gold.md").read_text()
    assert "`items` has no task and joins by `item` alone" in page
    assert JOIN in (full_release.folder / "README.md").read_text()


def test_the_majority_that_made_gold_does_not_compete_with_it():
    assert "gold was made of it" in ON_GOLD
    assert "gold was made of it" in (ROOT / "docs" / "score.md").read_text()
