"""Builds of a release's exports with its settings, or with others, in a temporary store.

The stages are those of every build; what differs is where the exports come from: the archive,
not the globs. What does not belong here: what is asked of the recomputed tables (verify, diff).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign, LoadedCampaign
from annot_pipeline.config.campaign_file import kept_settings
from annot_pipeline.config.signature import settings_hash
from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from annot_pipeline.stages.build import Build, Progress, Work, stages_for
from annot_pipeline.stages.ingest.exports import EXPORTS
from annot_pipeline.stages.ingest.metrics import ExportMetrics
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.keys import derive, no_key, present_key
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.tables import StoredTable
from annot_pipeline.storage.temporary import temporary_store

SHARED = ("records", "stages")
"""Folders of the store that hold results under the hash of all that went into them."""


def recomputation(
    campaign: LoadedCampaign, release: Release, progress: Progress, sizes: JobSizes = DEFAULT_SIZES
) -> AbstractContextManager[Build]:
    """Return a build of a release's exports with its settings, which reuses no result.

    Parameters
    ----------
    campaign
        The campaign as it is now: its archive and its key.
    release
        What to make again.
    progress
        Called with messages about the progress.
    sizes
        How much work a job takes.

    Raises
    ------
    StoreError
        The settings, the key or archived bytes are not there any more, or are not those of then.
    """
    made_of = settings_of(campaign, release), exports_of(campaign, release)
    return temporary_build(campaign, *made_of, reuse=False, progress=progress, sizes=sizes)


def settings_of(campaign: LoadedCampaign, release: Release) -> Campaign:
    """Return the settings that a release was made with, as the store keeps them.

    Raises
    ------
    StoreError
        They are not kept, or the key of the judges' names is missing or another.
    """
    settings, are_of_then = kept_settings_of(campaign, release)
    if not are_of_then:
        what = "the settings that are kept, or the key of the judges' names, are not those of then"
        do = f"set ${settings.privacy.key_env} to the key of then, or restore the store"
        raise _not_remade(release, Problem("", what, do=do))
    return settings


def kept_settings_of(campaign: LoadedCampaign, release: Release) -> tuple[Campaign, bool]:
    """Return the settings that the store keeps, and whether they and the key are those of then.

    Raises
    ------
    StoreError
        They are not kept, or there is no key of the judges' names.
    """
    expected_hash: str = release.manifest["settings_hash"]
    text = Store(campaign.store).settings(expected_hash)
    if text is None:
        what = f"its settings are not in {campaign.store / 'settings'}"
        raise _not_remade(release, Problem("", what, do="restore the store from a backup"))
    settings = kept_settings(text, f"the settings of {release.version} in the store")
    key = present_key(settings, campaign.store)
    if key is None:
        raise _not_remade(release, no_key(settings.privacy))
    return settings, settings_hash(settings, derive(key, "fingerprint")) == expected_hash


def _not_remade(release: Release, problem: Problem) -> StoreError:
    return StoreError(f"{release.version} cannot be made again", [problem])


def exports_of(campaign: LoadedCampaign, release: Release) -> pa.Table:
    """Return the exports that a release was made from, in their order of precedence.

    Raises
    ------
    StoreError
        The manifest names no export, or the store does not tell which archived bytes its digest
        stands for.
    """
    digests = SourceDigests(Store(campaign.store), campaign.settings)
    places: dict[tuple[str, int], int] = {}
    rows: list[dict[str, Any]] = []
    for source in release.manifest["sources"]:
        source_key = (source["kind"], source["source"])
        position = places[source_key] = places.get(source_key, -1) + 1
        sha256 = digests.sha256(source_digest(source)) or ""
        row = (*source_key, position, source["name"], sha256, source["bytes"])
        rows.append(dict(zip(EXPORTS.names, row, strict=True)))
    if not any(row["kind"] == "judgments" for row in rows):
        what = "its manifest names no export with judgments"
        raise _not_remade(release, Problem("", what, do="restore the release from a backup"))
    if unknown := [row["source_file"] for row in rows if not row["source_sha256"]]:
        what = f"neither the archive nor {campaign.store / 'digests'} knows {first_of(unknown)}"
        do = "restore the store's archive from a backup"
        raise _not_remade(release, Problem("", what, do=do))
    return pa.Table.from_pylist(rows, EXPORTS)


@contextmanager
def temporary_build(
    campaign: LoadedCampaign,
    settings: Campaign,
    exports: pa.Table,
    *,
    progress: Progress,
    reuse: bool = True,
    overrides: Mapping[str, Work] | None = None,
    sizes: JobSizes = DEFAULT_SIZES,
) -> Iterator[Build]:
    """Yield a build in a temporary store over a campaign's archive; it has run no stage yet.

    Parameters
    ----------
    campaign
        Whose archive and key.
    settings
        What to build with.
    exports
        What to build from, as the stage ``archive_exports`` gives them.
    progress
        Called with messages about the progress.
    reuse
        Whether results that the store holds for the same inputs, settings and code count.
    overrides
        Work that takes a stage's place, by stage.
    sizes
        How much work a job takes.
    """
    real = Store(campaign.store)
    with (
        temporary_store(campaign, settings, continues_previous=True) as temporary,
        real.shared_lock(),
    ):
        for name in ("archive", *(SHARED if reuse else ())):
            if (real.root / name).exists():
                (temporary.store / name).symlink_to((real.root / name).resolve())
        work = {"archive_exports": _archived(exports)} | dict(overrides or {})
        yield Build(temporary, progress=progress, overrides=work, sizes=sizes)


def recomputed_tables(build: Build, names: Iterable[str]) -> dict[str, StoredTable]:
    """Return the tables, and all that they are made of, by name; runs the stages needed.

    Gates are measured, but stop nothing: what was published passed them.
    """
    tables: dict[str, StoredTable] = {}
    for stage in stages_for(names):
        tables |= build.run_stage(stage).result.tables
    return tables


def _archived(exports: pa.Table) -> Callable[[StageContext], StageOutput[ExportMetrics]]:
    """Return work for ``archive_exports`` that checks exports which are archived already."""

    def work(context: StageContext) -> StageOutput[ExportMetrics]:
        wrong: dict[str, list[str]] = {}
        for row in exports.to_pylist():
            path = archived(context.store.archive, row["source_sha256"])
            if not path.is_file():
                wrong.setdefault("is not there", []).append(row["source_file"])
            elif file_sha256(path) != row["source_sha256"]:
                wrong.setdefault("is damaged", []).append(row["source_file"])
        if wrong:
            do = "restore the store's archive from a backup"
            problems = [
                Problem("", f"what was kept of {first_of(names)} {what}", do=do)
                for what, names in wrong.items()
            ]
            raise StoreError("the archive does not hold these exports", problems)
        n_bytes = sum(exports["bytes"].to_pylist())
        metrics = ExportMetrics(exports.num_rows, n_bytes, parent=None, exposed_secrets=[])
        return StageOutput({"exports": exports}, metrics)

    return work
