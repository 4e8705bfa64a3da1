"""Holds a build against the newest release: agreement, classes, labels, judges, judgments."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.storage.keys import fingerprint, same_names
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.tables import StoredTable

COMPARED = {
    "agreement_changes": ("agreement", "agreement"),
    "prevalence_changes": ("prevalence", "prevalence"),
    "label_changes": ("labels", "labels"),
    "judge_changes": ("judges", "judges"),
    "vanished_judgments": ("lineage", "judgments"),
}
"""Queries, with the table of the build and that of the release which each compares."""


def compare_releases(context: StageContext) -> Made:
    """What has become of each compared table since the newest release."""
    from annot_pipeline.steps.compare_releases import agreement_changes, prevalence_changes

    release = Releases.of(context.campaign).latest()
    changes = {
        changed: context.queries.table(
            f"audit/{changed}",
            {made: context.inputs[made], "released": _released(release, released)},
        )
        for changed, (made, released) in COMPARED.items()
    }
    agreement, falls = agreement_changes(changes["agreement_changes"])
    prevalence, shifts = prevalence_changes(changes["prevalence_changes"])
    facts = {
        "released_version": release.version if release else None,
        "judges_have_other_names": release is not None and not _same_names(context, release),
        "agreement_falls": falls,
        "prevalence_shifts": shifts,
        "label_changes": changes["label_changes"].to_pylist(),
        "judge_changes": changes["judge_changes"].to_pylist(),
        "vanished_judgments": changes["vanished_judgments"].to_pylist(),
    }
    return Made(changes | {"agreement_changes": agreement, "prevalence_changes": prevalence}, facts)


def _released(release: Release | None, name: str) -> pa.Table | StoredTable:
    """A table of the newest release, or an empty one where there is none."""
    if release is None or name not in release.tables:
        return GOLD[name].empty()
    return release.stored(name)


def _same_names(context: StageContext, release: Release) -> bool:
    """Whether judges have the names that they have in the release."""
    privacy = context.campaign.settings.privacy
    now: dict[str, Any] = privacy.model_dump()
    if privacy.pseudonymize:
        now["key_fingerprint"] = fingerprint(context.judge_key())
    return same_names(release.manifest["settings"], {"privacy": now})
