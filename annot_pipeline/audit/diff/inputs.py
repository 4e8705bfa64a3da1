"""What differs in the inputs of two releases: exports, settings and code, judgments and verdicts.

What does not belong here: causes (cells), and how judgments are recomputed (states).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import FLAG, GOLD, INT, TEXT
from annot_pipeline.storage.manifest_changes import code_changes, export_changes, setting_changes
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable

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
