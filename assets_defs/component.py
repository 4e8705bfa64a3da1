"""A campaign as a Dagster component: ``type: assets_defs.JudgmentCampaign`` in a defs.yaml."""

from __future__ import annotations

from typing import Any

import dagster as dg
from pydantic import Field


class JudgmentCampaign(dg.Component, dg.Model, dg.Resolvable):
    """Turns raw judgment exports into versioned gold datasets."""

    campaign: str = Field(description="Path of campaign.yaml, or its folder, from this defs.yaml")
    overrides: dict[str, Any] = Field(
        default_factory=dict, description="Top-level keys of campaign.yaml that replace the file's"
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets, checks, job, schedule and sensor of the campaign."""
        from assets_defs.definitions import build_definitions

        return build_definitions(context.path / self.campaign, **self.overrides)
