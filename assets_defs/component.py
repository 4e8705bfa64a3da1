"""A campaign as a Dagster component: ``type: assets_defs.JudgmentCampaign`` in a defs.yaml."""

from __future__ import annotations

from typing import Any

import dagster as dg
from pydantic import Field

from assets_defs.scaffold import CampaignScaffolder


@dg.scaffold_with(CampaignScaffolder)
class JudgmentCampaign(dg.Component, dg.Model, dg.Resolvable):
    """Turns raw judgment exports into versioned gold datasets.

    Makes the assets `[campaign, "gold", TABLE]` and `[campaign, "release"]` with gates as asset
    checks, the job `<campaign>_nightly`, its schedule, the sensor `<campaign>_exports` for new
    exports and `<campaign>_failed` for builds that fail.
    """

    campaign: str = Field(
        description="Path of a campaign.yaml, or of the folder that holds one; relative to the "
        "folder of this defs.yaml.",
        examples=["."],
    )
    overrides: dict[str, Any] = Field(
        default_factory=dict,
        description="Top-level keys of campaign.yaml that replace the file's, as `gold` (where "
        "releases go), `store` (working state) or `schedule`.",
        examples=[{"gold": "/data/gold/sentiment"}],
    )
    on_failure: str | None = Field(
        default=None,
        description='"package.module:function", called with an assets_defs.FailedBuild when a '
        "nightly build failed; without it, the message is logged.",
        examples=["my_project.alerts:tell_the_team"],
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What `dg list components` says."""
        return dg.ComponentTypeSpec(
            description="Raw judgment exports become versioned gold datasets: judge control, "
            "labels, scores, rankings, gates, lineage.",
            tags=["annotation", "data quality"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets, checks, job, schedule and sensors of the campaign."""
        from assets_defs.definitions import build_definitions

        return build_definitions(
            context.path / self.campaign, on_failure=self.on_failure, **self.overrides
        )
