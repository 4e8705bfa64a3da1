"""How a campaign has the probabilities of its labels calibrated, as report and card tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal


def how_calibrated(settings: Mapping[str, Any]) -> Literal["held_out", "partly", "given", "off"]:
    """Whether held-out labels choose, partly, the campaign gives numbers, or has switched it off.

    Parameters
    ----------
    settings
        The section ``dawid_skene``.
    """
    pooling, temper = settings.get("pooling", "none"), settings.get("temper", 1)
    if pooling in ("none", 0) and temper == 1:
        return "off"
    chosen = (pooling == "held_out") + (temper == "held_out")
    return ("given", "partly", "held_out")[chosen]
