"""Assets: each stage of the pipeline with the tables it makes and the gates on them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.gates import gates_of
from annot_pipeline.pipeline import Build, Progress, Stage, StageRun
from assets_defs.checks import check_result, check_spec
from assets_defs.keys import table_key
from assets_defs.metadata import stage_metadata, table_description

T = TypeVar("T")


def stage_assets(
    campaign: LoadedCampaign, stage: Stage, progress: Progress | None
) -> dg.AssetsDefinition:
    """The assets of one stage."""
    settings = campaign.settings
    gates = gates_of(stage.name, stage.outputs)
    specs = [
        dg.AssetSpec(
            table_key(campaign, table),
            deps=[table_key(campaign, name) for name in stage.inputs],
            description=f"{table_description(table)}\n\n{stage.description}",
            group_name=settings.campaign,
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
    )
    def assets(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        build = Build(campaign, context.run.run_id, progress or context.log.info)
        run = in_dagster(lambda: build.run_stage(stage))
        for table in stage.outputs:
            yield _materialized(campaign, run, table)

    return assets


def _materialized(campaign: LoadedCampaign, run: StageRun, table: str) -> dg.MaterializeResult[Any]:
    return dg.MaterializeResult(
        asset_key=table_key(campaign, table),
        metadata=stage_metadata(run, table),
        data_version=dg.DataVersion(run.result.tables[table].sha256),
        check_results=[check_result(campaign, gate) for gate in run.gates if gate.table == table],
    )


def in_dagster(work: Callable[[], T]) -> T:
    """Run; an error that is meant for the user fails the step with just its words."""
    try:
        return work()
    except AnnotError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
