"""When builds run: the nightly job and its schedule; the sensor is in `sensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.stages.build_state import build_state
from annot_pipeline.storage.store import Store
from assets_defs.campaign_assets import CampaignAssets
from assets_defs.expectations import CHECK

if TYPE_CHECKING:  # what define_asset_job returns; dagster does not export its name
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

    NightlyJob: TypeAlias = UnresolvedAssetJobDefinition

CAMPAIGN_TAG, EXPORTS_TAG, ATTENDED_TAG = "annot/campaign", "annot/exports", "annot/attended"
"""Tags of runs: whose they are, which exports the sensor saw, that a person waits for the run."""


def nightly_job(assets: CampaignAssets) -> NightlyJob:
    """Return the job that builds everything of a campaign; `annot build --dagster` runs it too."""
    return dg.define_asset_job(
        f"{assets.name}_nightly",
        selection=dg.AssetSelection.assets(*(spec.key for spec in assets.specs.values()))
        - dg.AssetSelection.checks(dg.AssetCheckKey(assets.release_key, CHECK)),
        description=f"Builds the campaign {assets.name} and publishes a release.",
        executor_def=dg.in_process_executor,  # stages are short; a process each would cost more
        tags={CAMPAIGN_TAG: assets.name},
    )


def fails_again(campaign: LoadedCampaign) -> str:
    """Return why a build would fail as the last one did; empty where something has changed."""
    store = Store(campaign.store)
    failure = store.last_failure()
    if failure is None or failure.may_pass or failure.state != build_state(campaign):
        return ""
    outcome = (store.last_outcome() or {}).get("outcome", "").partition("\n")[0]
    return f"exports and settings are as they were when a build failed: {outcome}"


def nightly_schedule(campaign: LoadedCampaign, job: NightlyJob) -> dg.ScheduleDefinition:
    """Return the nightly schedule; a tick is skipped where the build would fail again.

    Raises
    ------
    ConfigError
        Dagster knows no moment that the cron means.
    """
    schedule = campaign.settings.schedule

    def tick(_: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        reason = fails_again(campaign)
        return dg.SkipReason(reason) if reason else dg.RunRequest()

    try:
        return dg.ScheduleDefinition(
            name=f"{campaign.settings.campaign}_nightly_schedule",
            job=job,
            cron_schedule=schedule.cron,
            execution_timezone=schedule.timezone,
            execution_fn=tick,
            default_status=dg.DefaultScheduleStatus["RUNNING" if schedule.active else "STOPPED"],
        )
    except dg.DagsterInvalidDefinitionError:
        what, rule = f"{schedule.cron!r} is never", "minute hour day month weekday, as 0 2 * * *"
        do = "correct it, or leave it out for 0 2 * * *"
        problem = Problem("schedule.cron", what, rule, do)
        raise ConfigError(f"{campaign.file}: no such time", [problem]) from None
