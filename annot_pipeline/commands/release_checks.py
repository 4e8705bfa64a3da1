"""Checks of a release itself: whether it would name judges who have pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.gates import RELEASE, run_gates
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.gold.metrics import ReleaseMetrics
from annot_pipeline.stages.gold.published_names import PublishedNames
from annot_pipeline.stages.ingest.raw_names import raw_names
from annot_pipeline.storage.tables import StoredTable, read_verified

NO_NAMES = ReleaseMetrics(places=[], names=0, unchecked=0)
"""Metrics where nothing is published, or judges have no pseudonyms."""
PAGES = (".html", ".md", ".json")


def names_in_release(
    build: Build,
    outputs: Mapping[str, StoredTable],
    tables: Mapping[str, StoredTable],
    document: Mapping[str, Any],
) -> PublishedNames | None:
    """Return the raw names of judges in tables and manifest; None without pseudonyms."""
    if not build.campaign.settings.privacy.pseudonymize:
        return None
    files = dict.fromkeys(read_verified(outputs["record_files"])["filename"].to_pylist())
    declared = build.campaign.settings.judges.declared
    names = raw_names((build.store.records / name for name in files), declared)
    return PublishedNames(sorted(names), tables, document)


def name_gates(
    build: Build, names: PublishedNames | None, *, may_fail: bool = False
) -> list[dict[str, Any]]:
    """Return how the gate on raw names of judges goes; in a candidate it may fail.

    Raises
    ------
    GateError
        The release would name judges who have pseudonyms.
    """
    metrics = names.metrics() if names else NO_NAMES
    gates = run_gates(RELEASE, (), metrics.document(), build.campaign.settings.gates)
    if not may_fail and (cause := build.failed_gates(gates)):
        raise cause
    return [gate.document() for gate in gates]
