"""When builds run: the nightly job and schedule, and the sensor for new exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError, ConfigError, Problem
from annot_pipeline.pipeline import MAKER
from annot_pipeline.signature import digest
from annot_pipeline.stages.exports import export_stats, present_exports
from assets_defs.keys import release_key, table_key

if TYPE_CHECKING:  # what define_asset_job returns; dagster does not export its name
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

    NightlyJob: TypeAlias = UnresolvedAssetJobDefinition

CAMPAIGN_TAG, EXPORTS_TAG, ATTENDED_TAG = "annot/campaign", "annot/exports", "annot/attended"
"""Tags of runs: whose they are, which exports the sensor saw, that a person waits for the run."""


def nightly_job(campaign: LoadedCampaign) -> NightlyJob:
    """The job that builds everything of a campaign; `annot build` runs it too."""
    name = campaign.settings.campaign
    return dg.define_asset_job(
        f"{name}_nightly",
        selection=dg.AssetSelection.assets(
            release_key(campaign), *(table_key(campaign, table) for table in MAKER)
        ),
        description=f"Builds the campaign {name} and publishes a release.",
        executor_def=dg.in_process_executor,  # stages are short; a process each would cost more
        tags={CAMPAIGN_TAG: name},
    )


def nightly_schedule(campaign: LoadedCampaign, job: NightlyJob) -> dg.ScheduleDefinition:
    """The nightly schedule.

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
            "mend it, or leave it out for 0 2 * * *",
        )
        raise ConfigError(f"{campaign.file}: no such time", [problem]) from None


def exports_sensor(campaign: LoadedCampaign, job: NightlyJob) -> dg.SensorDefinition:
    """Asks for a build when exports are new or changed, by content, and have settled.

    Each look asks the file system for sizes and times, which is cheap. When two looks in a row
    find the same, nobody writes any more, and the bytes are read, once, and compared with those
    of the last build that was asked for. The cursor holds digests: it stays small.
    """
    sensor = campaign.settings.schedule.sensor

    @dg.sensor(
        name=f"{campaign.settings.campaign}_exports",
        job=job,
        minimum_interval_seconds=sensor.interval_seconds,
        description="Starts a build when exports are new or changed (by content).",
        default_status=(
            dg.DefaultSensorStatus.RUNNING if sensor.active else dg.DefaultSensorStatus.STOPPED
        ),
    )
    def exports(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = _read_cursor(context.cursor)
        try:
            stat = digest(export_stats(campaign))
            settled = stat == cursor.get("stat")
            if settled and cursor.get("looked") == stat:
                return dg.SkipReason("the exports are as they were")
            seen = digest(present_exports(campaign)) if settled else None
        except AnnotError as error:
            return dg.SkipReason(str(error))
        cursor["stat"] = stat
        if seen is None:
            context.update_cursor(json.dumps(cursor))
            return dg.SkipReason("exports may be new; waiting for a second look to be the same")
        cursor["looked"] = stat
        if seen == cursor.get("built"):
            context.update_cursor(json.dumps(cursor))
            return dg.SkipReason("the exports hold what they held")
        cursor["built"] = seen
        # no run key: exports that come back to what they were are built again
        request = dg.RunRequest(tags={EXPORTS_TAG: seen[:16]})
        return dg.SensorResult(run_requests=[request], cursor=json.dumps(cursor))

    return exports


def _read_cursor(text: str | None) -> dict[str, Any]:
    """What the last look noted; what is not ours, or of an older form, is forgotten."""
    try:
        noted = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(noted, dict):
        return {}
    return {name: noted[name] for name in ("stat", "looked", "built") if name in noted}
