"""The two releases of a diff: the settings and exports that each was made of, and its code.

What does not belong here: what would have been published in between (states).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from annot_pipeline.audit.recompute import exports_of, kept_settings_of, settings_of
from annot_pipeline.config import Campaign, ItemSource, LoadedCampaign, Source
from annot_pipeline.config.signature import digest, release_settings, settings_document
from annot_pipeline.contracts import FLAG, GOLD, INT, TEXT
from annot_pipeline.stages.build import stages_for
from annot_pipeline.storage.manifest_changes import code_changes, export_changes, setting_changes
from annot_pipeline.storage.queries import Queries, sql_digest
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable
from annot_pipeline.version import __version__, numeric_packages

Entry = TypeVar("Entry", Source, ItemSource)


@dataclass(frozen=True)
class Side:
    """A release, and what it was made of; ``same_key``: whether judges' names are those of now."""

    release: Release
    settings: Campaign
    exports: pa.Table
    same_key: bool


def side(campaign: LoadedCampaign, release: Release) -> Side:
    """Return what a release was made of; another key of the judges' names does not matter.

    Raises
    ------
    StoreError
        The settings are not kept or damaged, there is no key, or the manifest is too old.
    """
    settings, same_key = kept_settings_of(campaign, release)
    if not (same_key or _are_published(settings, release)):
        settings = settings_of(campaign, release)  # says what is wrong
    return Side(release, settings, exports_of(campaign, release), same_key)


def _are_published(settings: Campaign, release: Release) -> bool:
    """Return whether settings equal those of the manifest, except for the key."""
    stored = release_settings(settings)
    partly_hidden = ("sources", "judges", "privacy")  # there, published settings hide who judged
    published = release.manifest["settings"].items()
    return all(name in partly_hidden or stored.get(name) == value for name, value in published)


def with_other_names(old: Side, new: Side) -> list[str]:
    """Return versions of the releases in which judges have other names than in builds of today."""
    sides = (old, new)
    if {side.settings.privacy.pseudonymize for side in sides} == {False}:
        return []
    return [
        side.release.version
        for side in sides
        if not (side.settings.privacy.pseudonymize and side.same_key)
    ]


def same_settings(one: Campaign, other: Campaign) -> bool:
    """Return whether two campaigns have the same settings that can move a number."""
    return digest(settings_document(one)) == digest(settings_document(other))


def entries_merged(old: Side, new: Side) -> tuple[Campaign, pa.Table]:
    """Return the older settings for the newer exports, and these renumbered by their entries.

    The entries are those of the newer side; those of both have the mapping, and among each other
    the order, of the older one: order decides which of two answers takes precedence.
    """
    sources, of_source = _merge_entries(old.settings.sources, new.settings.sources)
    items, of_items = _merge_entries(old.settings.items, new.settings.items)
    settings = old.settings.model_copy(update={"sources": sources, "items": items})
    places = {"judgments": of_source, "items": of_items}
    rows = [
        row | {"source_order": places[row["kind"]][row["source_order"]]}
        for row in new.exports.to_pylist()
    ]
    rows.sort(key=lambda r: (r["kind"] != "judgments", r["source_order"], r["file_order"]))
    return settings, pa.Table.from_pylist(rows, new.exports.schema)


def _merge_entries(
    old: Sequence[Entry], new: Sequence[Entry]
) -> tuple[tuple[Entry, ...], Sequence[int]]:
    """Return new entries with the options of old ones of the same path, and their places.

    Where paths repeat, their order tells them apart. Entries of both stand in the places of such.
    """
    old_places: dict[str, list[int]] = defaultdict(list)
    for position, entry in enumerate(old):
        old_places[entry.path].append(position)
    of_both = {
        position: old_places[entry.path].pop(0)
        for position, entry in enumerate(new)
        if old_places[entry.path]
    }
    merged, went = list(new), list(range(len(new)))
    in_old_order = sorted(of_both, key=lambda position: of_both[position])
    for slot, position in zip(of_both, in_old_order, strict=True):
        merged[slot], went[position] = old[of_both[position]], slot
    return tuple(merged), went


def is_of_code_at_hand(release: Release, tables: Iterable[str]) -> bool:
    """Return whether tables of a release were made by this code, with these packages."""
    manifest = release.manifest
    code_versions = {run["stage"]: run["code_version"] for run in manifest["runs"]}
    return (
        manifest["code"] == {"annot-pipeline": __version__, "sql": sql_digest()}
        and all(manifest["packages"].get(n) == v for n, v in numeric_packages().items())
        and all(code_versions.get(s.name) == s.code_version for s in stages_for(tables))
    )


Document = dict[str, Any]
JUDGMENTS = pa.schema(
    [("change", TEXT), ("is_adjudication", FLAG), ("task", TEXT), ("item", TEXT), ("judge", TEXT)]
    + [("criterion", TEXT), ("old_answer", TEXT), ("new_answer", TEXT)]
    + [("particulars", pa.list_(TEXT)), ("old_fate", TEXT), ("new_fate", TEXT)]
    + [(f"{age}_{name}", type_) for age in ("old", "new")
       for name, type_ in (("file", TEXT), ("row", INT), ("cell", TEXT))]
)  # fmt: skip
"""One row is a judgment, or an expert's decision, that is new, corrected, withdrawn or restated."""

RESTATED_DECISION = "corrected"
"""Of a decision its reason and its time are published too: with others it is another decision."""


def input_changes(queries: Queries, old: Release, new: Release, *, by_judge: bool) -> Document:
    """Return what manifests and gold say; ``by_judge``: whether judges have the same names."""
    manifests = old.manifest, new.manifest
    judges = {"old": old.table("judges"), "new": new.table("judges")}
    verdicts = queries.table("audit/verdict_changes", judges) if by_judge else None
    return {
        "exports": export_changes(*manifests),
        "judgments": None,
        "verdicts": None if verdicts is None else verdicts.to_pylist(),
        "model_versions": queries.table(
            "audit/model_versions", {"judges": _with_models(new), "released": _with_models(old)}
        ).to_pylist(),
        "settings": setting_changes(*manifests),
        "code": code_changes(*manifests),
    }


def _with_models(release: Release) -> pa.Table:
    """Return the judges of a release; without models if it is older than their columns."""
    judges = release.table("judges")
    return judges if "model" in judges.schema.names else GOLD["judges"].empty()


def changed_judgments(
    queries: Queries,
    releases: tuple[Release, Release],
    judgments_by_age: tuple[StoredTable, StoredTable],
) -> pa.Table:
    """Return the judgments that differ, as `JUDGMENTS` says; judges by their published names.

    Parameters
    ----------
    queries
        SQL.
    releases
        The older and the newer: what is published of each judgment.
    judgments_by_age
        Output of the stage ``settle_judgments`` for each.
    """
    inputs: dict[str, pa.Table | StoredTable] = {}
    for age, release, judgments in zip(("old", "new"), releases, judgments_by_age, strict=True):
        columns = ["source_file", "source_row", "cell", "fate", "judge"]
        lineage = release.table("lineage").select(columns)
        inputs |= {age: judgments, f"{age}_lineage": lineage}
    return queries.table("diff/judgments", inputs).cast(JUDGMENTS)


def counts_of(judgments: pa.Table) -> Mapping[str, int]:
    """Count judgments, and decisions of experts, by how they changed."""
    names = (judgments[name].to_pylist() for name in ("change", "is_adjudication"))
    n_by_kind = Counter(
        f"{RESTATED_DECISION if change == 'restated' else change}_adjudications"
        if is_adjudication
        else change
        for change, is_adjudication in zip(*names, strict=True)
    )
    kinds = ("new", "corrected", "restated", "withdrawn")
    of_experts = (f"{kind}_adjudications" for kind in ("new", "corrected", "withdrawn"))
    return {name: n_by_kind[name] for name in (*kinds, *of_experts)}
