"""Assets: the steps of the pipeline, each with the table that people look at and its gates."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError, relative_paths
from annot_pipeline.stages.build import Build, Progress, Stage
from assets_defs.campaign_assets import CampaignAssets, Step
from assets_defs.checks import check_result, check_spec, gate_figures
from assets_defs.metadata import step_metadata

T = TypeVar("T")

MISTYPED = "mistyped"
"""Metadata of a failure by the settings in the config of a run."""
READ_ELSEWHERE = ("archive_exports", "read_records", "compare_releases")
"""Stages that read what lies outside the store, exports or gold: what stops them may pass."""


def step_assets(
    assets: CampaignAssets, step: Step, progress: Progress | None
) -> dg.AssetsDefinition:
    """Return the asset of a step: a table of the store."""
    key = assets.work_key(step.table)
    gates = assets.gates(step.stages)

    @dg.multi_asset(
        name=f"{assets.name}__{step.stages[-1].name}",
        specs=[assets.specs["work", step.table]],
        check_specs=[check_spec(key, gates)] if gates else [],
        required_resource_keys={assets.settings_key},
        retry_policy=retry_policy(assets.campaign, step.stages, progress),
    )
    def make(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        campaign = in_dagster("settings", lambda: assets.campaign_of(context))
        build = Build(campaign, context.run.run_id, progress or log_levels(context))
        is_persistent = not context.instance.is_ephemeral

        def result() -> dg.MaterializeResult[Any]:
            runs = [build.run_stage(stage) for stage in step.stages]
            results = [gate for run in runs for gate in run.gates]
            sha256 = runs[-1].result.tables[step.table].sha256
            with build.record_errors():  # data versions need the key of the judges' names
                metadata = step_metadata(build, runs, step.table, is_persistent=is_persistent)
                return dg.MaterializeResult(
                    asset_key=key,
                    metadata=metadata | gate_figures(results),
                    data_version=dg.DataVersion(build.published_version(step.table, sha256)),
                    check_results=[check_result(key, results)] if results else [],
                )

        yield in_dagster(step.table, result)

    return make


def log_levels(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> Progress:
    """Return what writes messages of a build to Dagster's log, those of gates at their level."""
    levels = {"error": context.log.error, "warn": context.log.warning}

    def log(message: str) -> None:
        levels.get(message.partition(":")[0], context.log.info)(relative_paths(message))

    return log


def in_dagster(step: str, work: Callable[[], T]) -> T:
    """Run; an error that is meant for the user fails the step with just its words.

    Dagster's retry policy tries again what may pass.
    """
    try:
        return work()
    except Exception as error:
        defect = f"a defect of annot stopped {step}: {type(error).__name__}: {error}"
        raise dg.Failure(
            str(error) if isinstance(error, AnnotError) else relative_paths(defect),
            allow_retries=isinstance(error, AnnotError) and error.may_pass,
            metadata={MISTYPED: True} if step == "settings" else None,
        ) from error


def retry_policy(
    campaign: LoadedCampaign, stages: tuple[Stage, ...], progress: Progress | None
) -> dg.RetryPolicy | None:
    """Return a policy that waits twice as long each time, with jitter for many campaigns.

    None where nothing can fail that is not of this machine, and where a person waits, who hears
    the progress: Dagster would also try again what Ctrl-C stopped.
    """
    leans = any(stage.name in READ_ELSEWHERE for stage in stages)
    if progress is not None or not (leans or campaign.settings.engine.kind == "spark"):
        return None
    retries = campaign.settings.schedule.retries
    return dg.RetryPolicy(
        max_retries=retries.max,
        delay=retries.delay_seconds,
        backoff=dg.Backoff.EXPONENTIAL,
        jitter=dg.Jitter.PLUS_MINUS,
    )
