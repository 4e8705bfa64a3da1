"""Jobs for what people decide, by run config: `annot publish` of a candidate, `annot rollback`."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from annot_pipeline.commands.publish import Publication
from annot_pipeline.gates import GateResult
from annot_pipeline.stages.build import Build
from assets_defs.automation import CAMPAIGN_TAG
from assets_defs.campaign_assets import CampaignAssets
from assets_defs.checks import log_check
from assets_defs.expectations import expectation_result
from assets_defs.release import release_check, release_events
from assets_defs.stage_assets import in_dagster, log_levels

RUN = dg.Field(str, description="run of the candidate, its first characters, or latest")
ACCEPT = dg.Field([str], default_value=[], description="gates that failed and are accepted")
VERSION = dg.Field(str, description="the older release, as v0002")
DECIDED = {
    "because": dg.Field(str, default_value="", description="why"),
    "by": dg.Field(str, description="who decided"),
}

Published = tuple[Publication, Build | None]


def decision_jobs(assets: CampaignAssets) -> list[dg.JobDefinition]:
    """Return the jobs that publish a candidate, and an older release again."""
    from annot_pipeline.commands.decisions import publish_candidate, roll_back

    def publish(candidate: str, accept: list[str], **decided: Any) -> Published:
        return publish_candidate(assets.campaign, candidate, accept, **decided)

    def publish_again(version: str, **decided: Any) -> Published:
        release = roll_back(assets.campaign, version, **decided)
        return Publication(release, published=True, checks=tuple(release.manifest["checks"])), None

    candidate, older = {"candidate": RUN, "accept": ACCEPT}, {"version": VERSION}
    return [
        _job(assets, "publish_candidate", candidate, publish, "Publishes what gates stopped."),
        _job(assets, "rollback", older, publish_again, "Publishes an older release again."),
    ]


def _job(
    assets: CampaignAssets,
    name: str,
    config: dict[str, dg.Field],
    publish: Callable[..., Published],
    about: str,
) -> dg.JobDefinition:
    """Return the job; release and gold assets get the events of what it publishes."""

    @dg.op(name=f"{assets.name}__{name}", config_schema=config | DECIDED)
    def decide(context: dg.OpExecutionContext) -> None:
        decided = {**context.op_config, "progress": log_levels(context)}
        publication, build = in_dagster("publish", lambda: publish(**decided))
        for gate in [GateResult(**c) for c in publication.checks if c["level"] != "pass"]:
            decided["progress"](f"{gate.level}: {gate.short}")
        for name in () if build else publication.release.manifest["dropped"].values():
            context.log.warning(f"builds fail that read {name} again: annot status has the line")
        for event in release_events(assets, build, publication, context.instance):
            version, key = event.data_version, event.asset_key or assets.release_key
            tags = {"dagster/data_version": version.value} if version else None
            context.log_event(dg.AssetMaterialization(key, metadata=event.metadata, tags=tags))
        log_check(context, assets.release_key, release_check(assets, publication.checks))
        log_check(context, assets.release_key, expectation_result(assets))

    return dg.GraphDefinition(f"{assets.name}_{name}", node_defs=[decide]).to_job(
        description=about, executor_def=dg.in_process_executor, tags={CAMPAIGN_TAG: assets.name}
    )
