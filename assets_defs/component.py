"""A campaign as a Dagster component: ``type: assets_defs.JudgmentCampaign`` in a defs.yaml."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import dagster as dg
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import Field

from assets_defs.scaffold import CampaignScaffolder


@dg.scaffold_with(CampaignScaffolder)
class JudgmentCampaign(dg.Component, dg.Model, dg.Resolvable):
    """Turns raw judgment exports into versioned gold datasets.

    Makes the assets CAMPAIGN/gold/TABLE and CAMPAIGN/release with gates as asset checks, the jobs
    CAMPAIGN_nightly, CAMPAIGN_publish_candidate and CAMPAIGN_rollback, the schedule, the sensor
    CAMPAIGN_exports for new exports, CAMPAIGN_failed and CAMPAIGN_recovered for builds that fail
    and succeed again.
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

    on_recovery: Annotated[
        str | None,
        dg.Resolver.default(
            description="package.module:function, called with an assets_defs.RecoveredBuild when "
            "builds succeed again after a failure.",
            examples=["my_project.alerts:tell_the_team"],
        ),
    ] = None
    key_prefix: Annotated[
        str | list[str],
        dg.Resolver.default(description="Put before the keys of all assets.", examples=["human"]),
    ] = Field(default_factory=list)
    group_name: Annotated[
        str | None,
        dg.Resolver.default(
            description="Group of gold and release (default: the campaign's name); internal "
            "tables are in GROUP_work.",
            examples=["evaluation"],
        ),
    ] = None
    tags: Annotated[
        dict[str, str],
        dg.Resolver.default(description="Tags of all assets, by key.", examples=[{"team": "data"}]),
    ] = Field(default_factory=dict)
    owners: Annotated[
        list[str] | None,
        dg.Resolver.default(
            description="Owners of all assets (default: those of campaign.yaml).",
            examples=[["team:annotation"]],
        ),
    ] = None
    translation: Annotated[
        TranslationFn[dg.AssetSpec] | None,
        TranslationFnResolver(template_vars_for_translation_fn=lambda spec: {"spec": spec}),
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
        from assets_defs.campaign_assets import Layout, Translate
        from assets_defs.definitions import definitions_of

        try:
            overrides = self.overrides | ({"owners": self.owners} if self.owners else {})
            load = partial(load_campaign, context.path / self.campaign, overrides=overrides)
            translate = self.translation
            by_spec: Translate | None = translate and (lambda spec: translate(spec, spec))
            layout = Layout(self.key_prefix, self.group_name, self.tags, by_spec)
            hooks: dict[str, Any] = {"on_failure": self.on_failure, "on_recovery": self.on_recovery}
            return definitions_of(load(), layout, reload=load, **hooks)
        except AnnotError as error:  # its words say all, frames of ours would hide them
            raise error.with_traceback(None) from None
