"""Tables join by the columns that the data card names."""

from __future__ import annotations

from annot_pipeline.contracts import GOLD, ITEMS

JOIN = "`items`, which has no task, by `item` alone"


def test_items_are_joined_by_what_they_have(full_release):
    """The data card says how; the contract has the columns."""
    assert "task" not in ITEMS.schema.names
    assert all("item" in GOLD[name].schema.names for name in ("labels", "scores"))
    assert JOIN in (full_release.folder / "README.md").read_text()
