"""Columns of probabilities of labels, whatever the schema of their release.

Since schema 5 ``probability`` is the published one. Schemas 3 and 4 have Dawid-Skene's there, and
the one to rely on in ``calibrated_probability``; earlier ones have Dawid-Skene's alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def probability_column(columns: Collection[str], *, dawid_skene: bool = False) -> str:
    """Return which column of ``label_distributions`` holds the published probabilities.

    ``dawid_skene``: Dawid-Skene's own instead.
    """
    own = "dawid_skene_probability" if "dawid_skene_probability" in columns else "probability"
    if dawid_skene:
        return own
    return "calibrated_probability" if "calibrated_probability" in columns else "probability"


def certainty(label: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Return the published probability of a row of ``labels``, and whether it is certain."""
    if label.get("calibrated_certain") is None:
        return label.get("probability"), bool(label.get("certain"))
    return label.get("calibrated_probability"), bool(label["calibrated_certain"])
