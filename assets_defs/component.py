"""A campaign as a Dagster component: ``type: assets_defs.JudgmentCampaign`` in a defs.yaml."""

from __future__ import annotations

from typing import Annotated, Any

import dagster as dg
from pydantic import Field

from assets_defs.scaffold import CampaignScaffolder


@dg.scaffold_with(CampaignScaffolder)
class JudgmentCampaign(dg.Component, dg.Model, dg.Resolvable):
    """Turns raw judgment exports into versioned gold datasets.

    Makes the assets CAMPAIGN/gold/TABLE and CAMPAIGN/release with gates as asset checks, the job
    CAMPAIGN_nightly, its schedule, the sensor CAMPAIGN_exports for new exports, and
    CAMPAIGN_failed for builds that fail.
    """

    campaign: Annotated[
        str,
        dg.Resolver.default(
            description="Path of a campaign.yaml, or of the folder that contains one; relative "
            "to the folder of this defs.yaml.",
            examples=["."],
        ),
    ]
    overrides: Annotated[
        dict[str, Any],
        dg.Resolver.default(
            description="Top-level keys that override campaign.yaml, such as gold (folder of "
            "releases), store (working state) or schedule.",
            examples=[{"gold": "/data/gold/sentiment"}],
        ),
    ] = Field(default_factory=dict)
    on_failure: Annotated[
        str | None,
        dg.Resolver.default(
            description="package.module:function, called with an assets_defs.FailedBuild when a "
            "nightly build fails; without it, the message is logged.",
            examples=["my_project.alerts:tell_the_team"],
        ),
    ] = None

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return what `dg list components` says."""
        return dg.ComponentTypeSpec(
            description="Builds versioned gold datasets from raw judgment exports: judge control, "
            "labels, scores, rankings, gates, lineage.",
            tags=["annotation", "data quality"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return assets, checks, job, schedule and sensors of the campaign."""
        from annot_pipeline.config.campaign_file import load_campaign
        from annot_pipeline.errors import AnnotError
        from assets_defs.definitions import definitions_of

        try:
            campaign = load_campaign(context.path / self.campaign, overrides=self.overrides)
            return definitions_of(campaign, on_failure=self.on_failure)
        except AnnotError as error:  # its words say all, frames of ours would hide them
            raise error.with_traceback(None) from None
