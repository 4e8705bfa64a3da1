"""The job that publishes a candidate: what `annot publish` does, by run config."""

import dagster as dg
from pydantic import Field

from assets_defs.automation import CAMPAIGN_TAG
from assets_defs.campaign_assets import CampaignAssets
from assets_defs.checks import log_check
from assets_defs.expectations import expectation_result
from assets_defs.stage_assets import in_dagster


class CandidateConfig(dg.Config):
    """Which candidate is published, which gates are accepted, by whom and why."""

    candidate: str = Field(description="run of the candidate, its first characters, or latest")
    accept: list[str] = Field(default=[], description="gates that failed and are accepted")
    because: str = Field(default="", description="why")
    by: str = Field(description="who decided")


def publish_candidate_job(assets: CampaignAssets) -> dg.JobDefinition:
    """Return the job; release and gold assets get the events of what it publishes."""
    from assets_defs.release import release_check, release_events

    @dg.op(name=f"{assets.name}__publish_candidate")
    def publish_candidate(context: dg.OpExecutionContext, config: CandidateConfig) -> None:
        from annot_pipeline.commands.decisions import publish_candidate as publish

        publication, build = in_dagster(
            "publish",
            lambda: publish(
                assets.campaign, config.candidate, config.accept, because=config.because,
                by=config.by, progress=context.log.info,
            ),
        )  # fmt: skip
        for event in release_events(assets, build, publication, context.instance):
            version, key = event.data_version, event.asset_key or assets.release_key
            tags = {"dagster/data_version": version.value} if version else None
            context.log_event(dg.AssetMaterialization(key, metadata=event.metadata, tags=tags))
        log_check(context, assets.release_key, release_check(assets, publication.checks))
        log_check(context, assets.release_key, expectation_result(assets))

    @dg.job(
        name=f"{assets.name}_publish_candidate",
        description="Publishes a candidate, in spite of gates that somebody accepts.",
        executor_def=dg.in_process_executor,
        tags={CAMPAIGN_TAG: assets.name},
    )
    def job() -> None:
        publish_candidate()

    return job
