"""When builds run: the nightly job and its schedule; the sensor is in `sensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.stages.build import MAKER
from assets_defs.keys import gold_key, release_key, work_key

if TYPE_CHECKING:  # what define_asset_job returns; dagster does not export its name
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

    NightlyJob: TypeAlias = UnresolvedAssetJobDefinition

CAMPAIGN_TAG, EXPORTS_TAG, ATTENDED_TAG = "annot/campaign", "annot/exports", "annot/attended"
"""Tags of runs: whose they are, which exports the sensor saw, that a person waits for the run."""


def nightly_job(campaign: LoadedCampaign) -> NightlyJob:
    """Return the job that builds everything of a campaign; `annot build` runs it too."""
    name = campaign.settings.campaign
    return dg.define_asset_job(
        f"{name}_nightly",
        selection=dg.AssetSelection.assets(
            release_key(campaign),
            *(gold_key(campaign, table) for table in GOLD),
            *(work_key(campaign, table) for table in MAKER),
        ),
        description=f"Builds the campaign {name} and publishes a release.",
        executor_def=dg.in_process_executor,  # stages are short; a process each would cost more
        tags={CAMPAIGN_TAG: name},
    )


def nightly_schedule(campaign: LoadedCampaign, job: NightlyJob) -> dg.ScheduleDefinition:
    """Return the nightly schedule.

    Raises
    ------
    ConfigError
        Dagster knows no moment that the cron means.
    """
    schedule = campaign.settings.schedule
    try:
        return dg.ScheduleDefinition(
            name=f"{campaign.settings.campaign}_nightly_schedule",
            job=job,
            cron_schedule=schedule.cron,
            execution_timezone=schedule.timezone,
            default_status=(
                dg.DefaultScheduleStatus.RUNNING
                if schedule.active
                else dg.DefaultScheduleStatus.STOPPED
            ),
        )
    except dg.DagsterInvalidDefinitionError:
        problem = Problem(
            "schedule.cron",
            f"{schedule.cron!r} is never",
            "minute hour day month weekday, as 0 2 * * *",
            "correct it, or leave it out for 0 2 * * *",
        )
        raise ConfigError(f"{campaign.file}: no such time", [problem]) from None
