"""Everything of one campaign, for a `Definitions` of its own or merged into another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import STAGES, Progress
from assets_defs.alerts import OnFailure, failure_sensor, resolved
from assets_defs.automation import nightly_job, nightly_schedule
from assets_defs.expectations import expectation_checks
from assets_defs.release import release_asset
from assets_defs.sensor import exports_sensor
from assets_defs.stage_assets import stage_assets


def build_definitions(
    campaign: str | Path, /, *, on_failure: OnFailure | str | None = None, **overrides: Any
) -> dg.Definitions:
    """Return assets, checks, job, schedule and sensors of a campaign.

    Parameters
    ----------
    campaign
        A campaign.yaml, or the folder that holds one.
    on_failure
        Called with a `FailedBuild` when a run of the job failed; a function, or its name as
        ``package.module:function``. Without it the message is logged.
    **overrides
        Top-level keys of campaign.yaml that replace the file's, ``campaign``, its name, too.

    Raises
    ------
    annot_pipeline.errors.ConfigError
        The campaign is not valid; all problems at once.
    """
    return definitions_of(load_campaign(campaign, overrides=overrides), on_failure=on_failure)


def definitions_of(
    campaign: LoadedCampaign,
    *,
    progress: Progress | None = None,
    on_failure: OnFailure | str | None = None,
) -> dg.Definitions:
    """Return the same for a campaign that is read already.

    ``progress`` hears what Dagster's log does.
    """
    job = nightly_job(campaign)
    schedule = nightly_schedule(campaign, job)  # refuses a wrong cron, which assets rest on
    return dg.Definitions(
        assets=[
            *(stage_assets(campaign, stage, progress) for stage in STAGES),
            release_asset(campaign, progress),
        ],
        # where a person waits (annot build) the release is all that is asked for
        asset_checks=[] if progress else [expectation_checks(campaign)],
        jobs=[job],
        schedules=[schedule],
        sensors=[
            exports_sensor(campaign, job),
            failure_sensor(campaign, job, resolved(on_failure)),
        ],
    )
