"""What item tables say of the items that judgments name, read where the judgments are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from annot_pipeline.storage.tables import StoredTable, read_verified_groups

if TYPE_CHECKING:
    from annot_pipeline.stages.ingest.listed_items import ListedItems


def listed_of(items: StoredTable, judgments: Iterable[pa.Table]) -> ListedItems:
    """Return what item tables say of the items that judgments name."""
    from annot_pipeline.stages.ingest.listed_items import COLUMNS, ListedItems

    return ListedItems.named(read_verified_groups(items, COLUMNS), judgments if items.rows else ())
