"""What differs in the inputs of two releases, as their manifests and gold say it.

Nothing is recomputed. What does not belong here: judgments (judgments, states), causes (cells).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.manifest_changes import (
    code_changes,
    export_changes,
    setting_changes,
)
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release

OF_JUDGES = ("verdict", "dropped", "p_value", "p_adjusted", "n_pairs")
Document = dict[str, Any]


def input_changes(queries: Queries, old: Release, new: Release, *, by_judge: bool) -> Document:
    """Return what differs; ``by_judge``: whether judges have the same names in both."""
    manifests = old.manifest, new.manifest
    return {
        "exports": export_changes(*manifests),
        "judgments": None,
        "verdicts": verdict_changes(old, new) if by_judge else None,
        "model_versions": queries.table(
            "audit/model_versions", {"judges": _with_models(new), "released": _with_models(old)}
        ).to_pylist(),
        "settings": setting_changes(*manifests),
        "code": code_changes(*manifests),
    }


def verdict_changes(old: Release, new: Release) -> list[Document]:
    """Return the judges of both releases whose verdict, or whether they count, has changed."""
    before, after = _judges(old), _judges(new)
    changes = []
    for key in sorted(before.keys() & after.keys()):
        one, other = before[key], after[key]
        if any(one[name] != other[name] for name in ("verdict", "dropped")):
            verdicts = {f"{age}_{n}": row[n] for n in OF_JUDGES for age, row in _ages(one, other)}
            changes.append({"task": key[0], "judge": key[1]} | verdicts)
    return changes


def _with_models(release: Release) -> pa.Table:
    """Return the judges of a release; without models if it is older than their columns."""
    judges = release.table("judges")
    return judges if "model" in judges.schema.names else GOLD["judges"].empty()


def _ages(old: Document, new: Document) -> tuple[tuple[str, Document], ...]:
    return (("old", old), ("new", new))


def _judges(release: Release) -> dict[tuple[str, str], Document]:
    rows = release.table("judges").select(["task", "judge", *OF_JUDGES]).to_pylist()
    return {(row["task"], row["judge"]): row for row in rows}
