"""The release asset and the gold assets: one step publishes all tables, if anything is new."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import dagster as dg

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.errors import GateError, StoreError
from annot_pipeline.gates import GATES, RELEASE, Gate, GateResult
from annot_pipeline.stages.build import MAKER, STAGES, Build, Progress, StageRun
from assets_defs.campaign_assets import CampaignAssets
from assets_defs.checks import check_result, check_spec, gate_figures, log_check
from assets_defs.expectations import expectation_result
from assets_defs.metadata import gold_metadata, location_metadata
from assets_defs.stage_assets import in_dagster, log_levels, retry_policy

Documents = Sequence[Mapping[str, Any]]
Events = Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]


def release_asset(assets: CampaignAssets, progress: Progress | None) -> dg.AssetsDefinition:
    """Return the assets that publication alone materializes: the release and its gold tables.

    What depends on a gold table so never runs for a build whose gates failed.
    """

    @dg.multi_asset(
        name=f"{assets.name}__release",
        specs=[spec for (kind, _), spec in assets.specs.items() if kind != "work"],
        check_specs=[check_spec(assets.release_key, _gates(assets))],
        required_resource_keys={assets.settings_key},
        retry_policy=retry_policy(assets.campaign, STAGES, progress),
    )
    def release(context: dg.AssetExecutionContext) -> Events:
        campaign = in_dagster("settings", lambda: assets.campaign_of(context))
        build = Build(campaign, context.run.run_id, progress or log_levels(context))
        try:
            publication = in_dagster("publish", lambda: _published(assets, build))
        except dg.Failure as failure:
            if isinstance(failure.__cause__, GateError):
                yield release_check(assets, failure.__cause__.checks)
                if "--candidate " in (said := failure.description or ""):
                    job = f"{assets.name}_publish_candidate"
                    failure.description = f"{said}; in Dagster: launch the job {job}"
            raise
        yield release_check(assets, publication.checks)
        yield from release_events(assets, build, publication, context.instance)
        if progress is None:  # else a person waits (annot build), and asks for the release alone
            log_check(context, assets.release_key, expectation_result(assets))

    return release


def release_events(
    assets: CampaignAssets,
    build: Build | None,
    publication: Publication,
    instance: dg.DagsterInstance,
) -> Iterator[dg.MaterializeResult[Any]]:
    """Yield the events of a release and of its gold tables that are assets.

    Data versions are the hashes of published contents. Without the build there are no figures.
    """
    release = publication.release
    gold = (build.campaign if build else assets.campaign).settings.gold
    yield dg.MaterializeResult(
        asset_key=assets.release_key,
        metadata={
            "version": release.version,
            "published": publication.published,
            **location_metadata(gold, release.version),
            "report": "report.html",
            "rows": {table["name"]: table["rows"] for table in release.manifest["tables"]},
            "changes": release.manifest["changes"] or {},
            **gate_figures(_results(assets, publication.checks)),
        },
        data_version=dg.DataVersion(release.manifest["content_sha256"]),
    )
    for table in release.manifest["tables"]:
        if (name := table["name"]) not in assets.tables:
            continue
        metadata = gold_metadata(publication, table, gold)
        if build and name in MAKER and not instance.is_ephemeral:  # if Dagster stores figures
            from assets_defs.figures import figures_of

            metadata |= figures_of(build, build.recorded(MAKER[name]), name)
        yield dg.MaterializeResult(
            asset_key=assets.gold_key(name),
            metadata=metadata,
            data_version=dg.DataVersion(table["sha256"]),
        )


def _published(assets: CampaignAssets, build: Build) -> Publication:
    for stage in assets.last_stages:
        try:
            build.run_stage(stage)
        except StoreError as error:  # where a step before has not run: a gate may say why
            raise build.failed(_recorded(build)) or error from None
    return publish(build)


def _recorded(build: Build) -> list[StageRun]:
    runs = []
    for stage in STAGES:
        with suppress(StoreError):
            runs.append(build.recorded(stage))
    return runs


def _gates(assets: CampaignAssets) -> list[Gate[Any]]:
    """Return the gates of the release; other gates have checks of their own."""
    return [*assets.gates(assets.last_stages), *(gate for gate in GATES if gate.stage == RELEASE)]


def _results(assets: CampaignAssets, documents: Documents) -> list[GateResult]:
    names = {gate.name for gate in _gates(assets)}
    return [GateResult(**document) for document in documents if document["name"] in names]


def release_check(assets: CampaignAssets, documents: Documents) -> dg.AssetCheckResult:
    """Return how the gates of the release went."""
    return check_result(assets.release_key, _results(assets, documents))
