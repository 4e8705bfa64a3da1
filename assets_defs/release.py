"""The release asset: publishes the gold tables, if there is anything new."""

from typing import Any

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.pipeline import GOLD_MADE, MAKER, STAGES, Build, Progress
from annot_pipeline.publish import publish
from assets_defs.freshness import freshness
from assets_defs.keys import release_key, table_key
from assets_defs.stage_assets import in_dagster, retry_policy

READ = {table for stage in STAGES for table in stage.inputs}
LAST = [table for table in MAKER if table in GOLD_MADE or table not in READ]
"""What is published, and what no stage reads: with them every stage has run."""


def release_asset(campaign: LoadedCampaign, progress: Progress | None) -> dg.AssetsDefinition:
    """The release of a campaign; its data version is the hash of the published contents."""
    settings = campaign.settings

    @dg.asset(
        key=release_key(campaign),
        deps=[table_key(campaign, table) for table in LAST],
        description="The newest release: gold tables, manifest, data card, report. Published "
        "when contents, settings or exports changed and no gate fails; else the last one stands.",
        group_name=settings.campaign,
        kinds={"parquet"},
        owners=list(settings.owners),
        code_version="1",
        freshness_policy=freshness(campaign),
        retry_policy=retry_policy(campaign, progress),
    )
    def release(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        build = Build(campaign, context.run.run_id, progress or context.log.info)
        publication = in_dagster(lambda: publish(build))
        manifest = publication.release.manifest
        return dg.MaterializeResult(
            metadata={
                "version": publication.release.version,
                "published": publication.published,
                "path": dg.MetadataValue.path(publication.release.place),
                "report": dg.MetadataValue.path(publication.release.folder / "report.html"),
                "rows": {table["name"]: table["rows"] for table in manifest["tables"]},
                "changes": manifest["changes"] or {},
            },
            data_version=dg.DataVersion(manifest["content_sha256"]),
        )

    return release
