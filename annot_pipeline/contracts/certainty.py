"""How sure a label is, whatever the schema of its release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CALIBRATED = "calibrated_probability"
"""Column of ``labels`` and ``label_distributions`` that releases have since schema 3."""


def certainty(label: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Probability of a row of ``labels`` and whether it is certain: calibrated since schema 3."""
    if label.get("calibrated_certain") is None:
        return label.get("probability"), bool(label.get("certain"))
    return label.get("calibrated_probability"), bool(label["calibrated_certain"])
