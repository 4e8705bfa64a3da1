"""Tables of tasks and of items to ask about: what a campaign says of them; no gold tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts.table import REAL, TEXT

CRITERION = pa.struct([("criterion", TEXT), ("reverse", pa.bool_()), ("quality", pa.bool_())])


TASKS = pa.schema(
    [
        ("task", TEXT),
        ("kind", TEXT),
        ("guessed", pa.bool_()),
        ("by_votes", pa.bool_()),
        ("labels", pa.list_(TEXT)),
        ("ordinal", pa.bool_()),
        ("scale_low", REAL),
        ("scale_high", REAL),
        ("assumed_low", REAL),
        ("assumed_high", REAL),
        ("criteria", pa.list_(CRITERION)),
        ("references", pa.list_(TEXT)),
        ("adequacy_task", TEXT),
        ("adequate", pa.list_(TEXT)),
        ("repeats", TEXT),
        ("reconcile", TEXT),
        ("used_judges", TEXT),
    ]
)

ITEM_PROBABILITIES = pa.schema([("task", TEXT), ("item", TEXT), ("selection_probability", REAL)])
"""With which an item was drawn for people to judge, by item tables."""


def scale_of(task: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the scale of a row of `TASKS`: the declared one, else the one assumed."""
    for kind in ("scale", "assumed"):
        low, high = task[f"{kind}_low"], task[f"{kind}_high"]
        if low is not None and high is not None:
            return low, high
    return None
