"""Dagster: the stages as assets, gates as checks, schedule, sensors, component.

One Dagster concept a file. What does not belong here: arithmetic, SQL, paths, and what a
stage does (annot_pipeline.stages.build declares that).

Every `dg` command of a project in whose environment this is installed imports this module, so
that it loads dagster alone, and the rest when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assets_defs.component import JudgmentCampaign

if TYPE_CHECKING:
    from assets_defs.alerts import FailedBuild, RecoveredBuild
    from assets_defs.definitions import build_definitions

__all__ = ["FailedBuild", "JudgmentCampaign", "RecoveredBuild", "build_definitions"]

LAZY = {
    "FailedBuild": "assets_defs.alerts",
    "RecoveredBuild": "assets_defs.alerts",
    "build_definitions": "assets_defs.definitions",
}


def __getattr__(name: str) -> Any:
    """Return a name that is not loaded yet."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(LAZY[name]), name)
