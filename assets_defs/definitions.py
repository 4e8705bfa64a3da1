"""Everything of one campaign, for a `Definitions` of its own or merged into another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import Progress
from assets_defs import alerts
from assets_defs.automation import nightly_job, nightly_schedule
from assets_defs.campaign_assets import CampaignAssets, Layout, Translate
from assets_defs.decisions import decision_jobs
from assets_defs.expectations import expectation_check
from assets_defs.release import release_asset
from assets_defs.sensor import exports_sensor
from assets_defs.stage_assets import step_assets


def build_definitions(
    campaign: str | Path,
    /,
    *,
    on_failure: alerts.OnFailure | str | None = None,
    on_recovery: alerts.OnRecovery | str | None = None,
    key_prefix: str | Sequence[str] = (),
    group_name: str | None = None,
    tags: Mapping[str, str] | None = None,
    translate: Translate | None = None,
    **overrides: Any,
) -> dg.Definitions:
    """Return assets, checks, jobs, schedule and sensors of a campaign.

    Parameters
    ----------
    campaign
        A campaign.yaml, or the folder that holds one.
    on_failure
        Called with a `FailedBuild` when a run of the job failed; a function, or its name as
        ``package.module:function``. Without it the message is logged.
    on_recovery
        The same with a `RecoveredBuild` when the first run after that succeeded.
    key_prefix
        Put before the keys of all assets.
    group_name
        Group of gold and release, by default the campaign's name; that of internal tables is
        ``GROUP_work``.
    tags
        Tags of all assets.
    translate
        Takes the `dagster.AssetSpec` of each asset and returns it as it shall be, also with
        another key.
    **overrides
        Top-level keys of campaign.yaml that replace the file's, ``campaign``, its name, too.

    Raises
    ------
    annot_pipeline.errors.ConfigError
        The campaign is not valid; all problems at once.
    """
    load = partial(load_campaign, campaign, overrides=overrides)
    return definitions_of(
        load(), Layout(key_prefix, group_name, tags or {}, translate), reload=load,
        on_failure=on_failure, on_recovery=on_recovery,
    )  # fmt: skip


def definitions_of(
    campaign: LoadedCampaign,
    layout: Layout | None = None,
    *,
    reload: Callable[..., LoadedCampaign] | None = None,
    progress: Progress | None = None,
    on_failure: alerts.OnFailure | str | None = None,
    on_recovery: alerts.OnRecovery | str | None = None,
) -> dg.Definitions:
    """Return the same for a campaign that is read already.

    ``progress`` hears what Dagster's log does; ``reload`` reads it with the settings of a run.
    """
    assets = CampaignAssets(campaign, layout or Layout(), reload)
    job = nightly_job(assets)
    publish_candidate, rollback = decision_jobs(assets)
    failed = alerts.resolved("on_failure", on_failure)
    recovered = alerts.resolved("on_recovery", on_recovery)
    schedule = nightly_schedule(campaign, job)  # refuses a wrong cron, which assets rest on
    return dg.Definitions(
        assets=[
            *(step_assets(assets, step, progress) for step in assets.steps),
            release_asset(assets, progress),
        ],
        asset_checks=[expectation_check(assets)],
        jobs=[job, publish_candidate, rollback],
        resources=assets.resources,
        schedules=[schedule],
        sensors=[
            exports_sensor(campaign, job),
            alerts.failure_sensor(campaign, job, failed),
            alerts.recovery_sensor(campaign, [job, publish_candidate], recovered),
        ],
    )
