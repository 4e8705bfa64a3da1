"""Assets: each stage of the pipeline with the tables it makes and the gates on them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.gates import gates_of
from annot_pipeline.stages.build import Build, Progress, Stage, StageRun
from assets_defs.checks import OF_RELEASE, check_result, check_spec
from assets_defs.keys import work_key
from assets_defs.metadata import stage_metadata, table_description

T = TypeVar("T")

READ_ELSEWHERE = ("archive_exports", "read_records", "compare_releases")
"""Stages that read what lies outside the store, exports or gold: what stops them may pass."""


def stage_assets(
    campaign: LoadedCampaign, stage: Stage, progress: Progress | None
) -> dg.AssetsDefinition:
    """Return the assets of one stage: tables of the store, in a group of their own."""
    settings = campaign.settings
    gates = [g for g in gates_of(stage.name, stage.outputs) if g.stage not in OF_RELEASE]
    specs = [
        dg.AssetSpec(
            work_key(campaign, table),
            deps=[work_key(campaign, name) for name in stage.inputs],
            description=f"{table_description(table)}\n\n{stage.description}",
            group_name=f"{settings.campaign}_work",
            kinds=set(stage.kinds),
            owners=list(settings.owners),
            code_version=stage.code_version,
        )
        for table in stage.outputs
    ]

    @dg.multi_asset(
        name=f"{settings.campaign}__{stage.name}",
        specs=specs,
        check_specs=[check_spec(campaign, gate) for gate in gates],
        retry_policy=retry_policy(campaign, progress) if _may_pass(campaign, stage) else None,
    )
    def assets(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        build = Build(campaign, context.run.run_id, progress or context.log.info)
        is_persistent = not context.instance.is_ephemeral

        def results() -> list[dg.MaterializeResult[Any]]:
            run = build.run_stage(stage)
            with build.record_errors():  # data versions need the key of the judges' names
                return [
                    _materialized(campaign, build, run, table, is_persistent=is_persistent)
                    for table in stage.outputs
                ]

        yield from in_dagster(stage.name, results)

    return assets


def _materialized(
    campaign: LoadedCampaign, build: Build, run: StageRun, table: str, *, is_persistent: bool
) -> dg.MaterializeResult[Any]:
    return dg.MaterializeResult(
        asset_key=work_key(campaign, table),
        metadata=stage_metadata(build, run, table, is_persistent=is_persistent),
        data_version=dg.DataVersion(
            build.published_version(table, run.result.tables[table].sha256)
        ),
        check_results=[
            check_result(campaign, gate)
            for gate in run.gates
            if gate.table == table and gate.stage not in OF_RELEASE
        ],
    )


def in_dagster(step: str, work: Callable[[], T]) -> T:
    """Run; an error that is meant for the user fails the step with just its words.

    Dagster's retry policy tries again what may pass.
    """
    try:
        return work()
    except Exception as error:
        defect = f"a defect of annot stopped {step}: {type(error).__name__}: {error}"
        raise dg.Failure(
            str(error) if isinstance(error, AnnotError) else defect,
            allow_retries=isinstance(error, AnnotError) and error.may_pass,
        ) from error


def _may_pass(campaign: LoadedCampaign, stage: Stage) -> bool:
    """Return whether a stage can fail by what is not of this machine."""
    return stage.name in READ_ELSEWHERE or campaign.settings.engine.kind == "spark"


def retry_policy(campaign: LoadedCampaign, progress: Progress | None) -> dg.RetryPolicy | None:
    """Return a policy that waits twice as long each time, with jitter for many campaigns.

    None where a person waits, who hears the progress: Dagster would also try again what Ctrl-C
    stopped.
    """
    if progress is not None:
        return None
    retries = campaign.settings.schedule.retries
    return dg.RetryPolicy(
        max_retries=retries.max,
        delay=retries.delay_seconds,
        backoff=dg.Backoff.EXPONENTIAL,
        jitter=dg.Jitter.PLUS_MINUS,
    )
