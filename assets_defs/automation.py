"""When builds run: the nightly job and schedule, and the sensor for new exports."""

import json
from typing import TYPE_CHECKING

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.pipeline import MAKER
from annot_pipeline.signature import digest
from annot_pipeline.stages.exports import present_exports
from assets_defs.keys import release_key, table_key

if TYPE_CHECKING:  # what define_asset_job returns; dagster does not export its name
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition as NightlyJob,
    )

SENSOR_SECONDS = 60
"""Between two looks at the exports."""


def nightly_job(campaign: LoadedCampaign) -> "NightlyJob":
    """The job that builds everything of a campaign; `annot build` runs it too."""
    return dg.define_asset_job(
        f"{campaign.settings.campaign}_nightly",
        selection=dg.AssetSelection.assets(
            release_key(campaign), *(table_key(campaign, table) for table in MAKER)
        ),
        description=f"Builds the campaign {campaign.settings.campaign} and publishes a release.",
        executor_def=dg.in_process_executor,  # stages are short; a process each would cost more
    )


def nightly_schedule(campaign: LoadedCampaign, job: "NightlyJob") -> dg.ScheduleDefinition:
    """The nightly schedule."""
    schedule = campaign.settings.schedule
    return dg.ScheduleDefinition(
        name=f"{campaign.settings.campaign}_nightly_schedule",
        job=job,
        cron_schedule=schedule.cron,
        execution_timezone=schedule.timezone,
    )


def exports_sensor(campaign: LoadedCampaign, job: "NightlyJob") -> dg.SensorDefinition:
    """Asks for a build when exports are new or changed, by content, and have settled.

    A file that is still being written differs between two looks; only what is the same in
    two looks in a row is built.
    """

    @dg.sensor(
        name=f"{campaign.settings.campaign}_exports",
        job=job,
        minimum_interval_seconds=SENSOR_SECONDS,
        description="Starts a build when exports are new or changed (by content).",
    )
    def exports(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = json.loads(context.cursor or "{}")
        try:
            seen = digest(present_exports(campaign))
        except AnnotError as error:
            return dg.SkipReason(str(error))
        if seen == cursor.get("built"):
            return dg.SkipReason("the exports are as they were")
        settled = seen == cursor.get("seen")
        count = cursor.get("count", 0) + settled  # earlier exports that come back are built too
        cursor |= {"seen": seen, "count": count} | ({"built": seen} if settled else {})
        if not settled:
            context.update_cursor(json.dumps(cursor))
            return dg.SkipReason("new exports; waiting for a second look to be the same")
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=f"{count}-{seen}")], cursor=json.dumps(cursor)
        )

    return exports
