"""Dagster: the stages as assets, gates as checks, schedule, sensor, component.

One Dagster concept a file. What does not belong here: arithmetic, SQL, paths, and what a
stage does (annot_pipeline.pipeline declares that).
"""

from assets_defs.component import JudgmentCampaign
from assets_defs.definitions import build_definitions

__all__ = ["JudgmentCampaign", "build_definitions"]
