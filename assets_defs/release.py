"""The release asset and the gold assets: one step publishes all tables, if anything is new."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import GateError
from annot_pipeline.gates import GateResult
from annot_pipeline.stages.build import GOLD_MADE, MAKER, STAGES, Build, Progress
from assets_defs.checks import OF_RELEASE, check_result, check_spec, release_gates
from assets_defs.freshness import freshness
from assets_defs.keys import gold_key, release_key, work_key
from assets_defs.metadata import gold_metadata, table_description
from assets_defs.stage_assets import in_dagster, retry_policy

READ = {table for stage in STAGES for table in stage.inputs}
LAST = [table for table in MAKER if table in GOLD_MADE or table not in READ]
"""What is published, and what no stage reads: with them every stage has run."""

Events = Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]


def release_asset(campaign: LoadedCampaign, progress: Progress | None) -> dg.AssetsDefinition:
    """Return the assets that publication alone materializes: the release and its gold tables.

    What depends on a gold table so never runs for a build whose gates failed.
    """

    @dg.multi_asset(
        name=f"{campaign.settings.campaign}__release",
        specs=_specs(campaign),
        check_specs=[check_spec(campaign, gate) for gate in release_gates()],
        retry_policy=retry_policy(campaign, progress),
    )
    def release(context: dg.AssetExecutionContext) -> Events:
        build = Build(campaign, context.run.run_id, progress or context.log.info)
        try:
            publication = in_dagster("publish", lambda: publish(build))
        except dg.Failure as failure:
            if isinstance(failure.__cause__, GateError):
                yield from _check_results(campaign, failure.__cause__.checks)
            raise
        yield from _check_results(campaign, publication.checks)
        yield _materialized(campaign, publication)
        for table in publication.release.manifest["tables"]:
            if table["name"] in GOLD:
                is_persistent = not context.instance.is_ephemeral
                yield _gold_materialized(
                    campaign, build, publication, table, is_persistent=is_persistent
                )

    return release


def _specs(campaign: LoadedCampaign) -> list[dg.AssetSpec]:
    common: dict[str, Any] = {
        "group_name": campaign.settings.campaign,
        "kinds": {"parquet"},
        "owners": list(campaign.settings.owners),
        "freshness_policy": freshness(campaign),
    }
    published = "Published if contents, settings or exports changed and no gate fails; else the "
    return [
        dg.AssetSpec(
            release_key(campaign),
            deps=[work_key(campaign, table) for table in LAST],
            description="The newest release: gold tables, manifest, data card, report. "
            f"{published}last release stays.",
            code_version="1",
            **common,
        ),
        *(
            dg.AssetSpec(
                gold_key(campaign, table),
                deps=[work_key(campaign, table)] if table in MAKER else [],
                description=f"{table_description(table)} {published}last release stays.",
                code_version=MAKER[table].code_version if table in MAKER else "1",
                **common,
            )
            for table in GOLD
        ),
    ]


def _check_results(
    campaign: LoadedCampaign, documents: Sequence[Mapping[str, Any]]
) -> Iterator[dg.AssetCheckResult]:
    for document in documents:
        if document["stage"] in OF_RELEASE:
            yield check_result(campaign, GateResult(**document))


def _materialized(campaign: LoadedCampaign, publication: Publication) -> dg.MaterializeResult[Any]:
    """Return the event of the release; its data version is the hash of the published contents."""
    release = publication.release
    return dg.MaterializeResult(
        asset_key=release_key(campaign),
        metadata={
            "version": release.version,
            "published": publication.published,
            "path": dg.MetadataValue.path(release.location),
            "report": dg.MetadataValue.path(release.folder / "report.html"),
            "rows": {table["name"]: table["rows"] for table in release.manifest["tables"]},
            "changes": release.manifest["changes"] or {},
        },
        data_version=dg.DataVersion(release.manifest["content_sha256"]),
    )


def _gold_materialized(
    campaign: LoadedCampaign,
    build: Build,
    publication: Publication,
    table: Mapping[str, Any],
    *,
    is_persistent: bool,
) -> dg.MaterializeResult[Any]:
    """Return the event of a gold table; with figures, if Dagster stores them."""
    name = table["name"]
    metadata = gold_metadata(publication.release, table, published=publication.published)
    if is_persistent and name in MAKER:
        from assets_defs.figures import figures_of

        metadata |= figures_of(build, build.recorded(MAKER[name]), name)
    return dg.MaterializeResult(
        asset_key=gold_key(campaign, name),
        metadata=metadata,
        data_version=dg.DataVersion(table["sha256"]),
    )
