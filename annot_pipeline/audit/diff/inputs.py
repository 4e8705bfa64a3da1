"""What differs in the inputs of two releases, as their manifests and gold say it.

Nothing is recomputed. What does not belong here: judgments (judgments, states), causes (cells).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.manifest_changes import code_changes, export_changes, setting_changes
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release

Document = dict[str, Any]


def input_changes(queries: Queries, old: Release, new: Release, *, by_judge: bool) -> Document:
    """Return what differs; ``by_judge``: whether judges have the same names in both."""
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
