"""The sensor: asks for a build when exports or settings are new, or the last build failed."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import dagster as dg

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import AnnotError
from annot_pipeline.stages.ingest.present_exports import export_stats, present_exports
from annot_pipeline.storage.archive import known_digests
from annot_pipeline.storage.keys import judge_key, present_key, published_digest
from annot_pipeline.storage.store import Store
from assets_defs.automation import EXPORTS_TAG, fails_again

if TYPE_CHECKING:
    from assets_defs.automation import NightlyJob

SECONDS = 20.0
"""After which a look begins to read no further export: Dagster gives up a look after 60."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=15), timedelta(days=1)
MANY_FAILURES = 10


def exports_sensor(campaign: LoadedCampaign, job: NightlyJob) -> dg.SensorDefinition:
    """Return a sensor that requests a build when exports or settings are new and have settled.

    Each look asks the file system for sizes and times, which is cheap. When two looks in a row
    find the same, nobody writes any more; the bytes of what changed are read, once, and all is
    compared with what was asked for last. If that build failed by what may pass, the same is asked
    for again, after longer and longer pauses. The cursor holds digests: it stays small.
    """
    sensor = campaign.settings.schedule.sensor

    @dg.sensor(
        name=f"{campaign.settings.campaign}_exports",
        job=job,
        minimum_interval_seconds=sensor.interval_seconds,
        description="Starts a build when the content of exports or settings is new or changed, "
        "and again after a pause if that build failed by what may pass.",
        default_status=dg.DefaultSensorStatus["RUNNING" if sensor.active else "STOPPED"],
    )
    def exports(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = _read_cursor(context.cursor)
        before = cursor.get("stat")
        try:
            cursor["stat"] = digest(export_stats(campaign))
            if cursor["stat"] != before:
                context.update_cursor(json.dumps(cursor))
                return dg.SkipReason("exports may be new; waiting for a second look to be the same")
            content_digest = _wanted(campaign)
        except AnnotError as error:
            return dg.SkipReason(str(error))
        if content_digest == cursor.get("asked"):
            reason = fails_again(campaign) or _waits(context.instance, job.name, content_digest)
            if reason:
                return dg.SkipReason(reason)
        cursor["asked"] = content_digest
        # no run key: what comes back to what it was is built again
        request = dg.RunRequest(tags={EXPORTS_TAG: content_digest})
        return dg.SensorResult(run_requests=[request], cursor=json.dumps(cursor))

    return exports


def pause(failures: int) -> timedelta:
    """Return how long to wait before the same is asked for again."""
    return min(FIRST_PAUSE * (1 << (failures - 1)), LONGEST_PAUSE)


def _wanted(campaign: LoadedCampaign) -> str:
    """Return a digest of what a build would be made of: bytes of all exports, and settings.

    Dagster keeps it as a tag, and exports hold raw names: it is keyed as published digests are.
    """
    store = Store(campaign.store)
    with known_digests(store.export_digests, SECONDS) as sha256:
        exports = present_exports(campaign, sha256=sha256)
    settings = campaign.settings.model_dump(mode="json", by_alias=True, exclude={"schedule"})
    content_digest = digest([exports, settings])
    if campaign.settings.privacy.pseudonymize:
        is_new = not (store.root / "runs").exists()
        key = (judge_key if is_new else present_key)(campaign.settings, store.root)
        if key is None:  # lost: the build that is asked for says so
            return digest([[name for _, name, _ in exports], settings])[:16]
        content_digest = published_digest(campaign.settings, key, content_digest)
    return content_digest[:16]


def _waits(instance: dg.DagsterInstance, job: str, tag: str) -> str:
    """Return why a build is not requested again now; empty if its failures are long enough ago."""
    records = instance.get_run_records(
        dg.RunsFilter(job_name=job, tags={EXPORTS_TAG: tag}), limit=MANY_FAILURES
    )
    failed = list(
        takewhile(lambda record: record.dagster_run.status == dg.DagsterRunStatus.FAILURE, records)
    )
    if not failed:
        return "exports and settings are as they were"
    ended = failed[0].end_time or failed[0].update_timestamp.timestamp()
    remaining_s = ended + pause(len(failed)).total_seconds() - time.time()
    if remaining_s <= 0:
        return ""
    return (
        f"run {failed[0].dagster_run.run_id} failed; unless exports or settings change, "
        f"the same is asked for again in {remaining_s / 60:.0f} minutes"
    )


def _read_cursor(text: str | None) -> dict[str, Any]:
    """Return what the last look noted; what is not ours, or of an older form, is forgotten."""
    with suppress(JsonError):
        noted = parse_bounded_json(text or "{}")
        if isinstance(noted, dict):
            return {name: noted[name] for name in ("stat", "asked") if name in noted}
    return {}
