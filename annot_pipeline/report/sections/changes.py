"""What changed since the previous release: counts, then rows, with what can have caused them.

Where several inputs changed, annot diff finds by recomputation which of them it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.report.contents import Contents, plain
from annot_pipeline.storage.manifest_changes import (
    code_changes,
    export_changes,
    release_figures,
    setting_changes,
    setting_in_words,
)

MOST_ROWS, MOST_ANSWERS = 150, 3
"""Rows of each kind, and answers of an item that are shown."""
MOST_CHANGES = {"most": MOST_ROWS, "most_answers": MOST_ANSWERS}
"""Parameters of sql/report/label_changes.sql."""
RESULTS = ("labels", "scores")
"""Figures of the last releases without a column where no release has any."""

CAUSES = {
    "new judgments": "new_judgments",
    "corrected judgments": "corrected_judgments superseded_judgments",
    "withdrawn judgments": "withdrawn_judgments",
    "adjudications": "new_decisions changed_decisions withdrawn_decisions",
    "verdicts": "judgments_of_judges_who_fail_now judgments_of_judges_who_pass_now",
}
"""What annot diff calls causes, by the counts of a manifest's changes."""
Row = dict[str, Any]


def changes(contents: Contents) -> dict[str, Any]:
    """Return counts, and labels, ranks, verdicts, exports and settings that differ."""
    manifest, old = contents.manifest, contents.previous_manifest
    if not manifest["parent"]:
        return {}
    exports = export_changes(old, manifest) if old else {}
    settings = [setting_in_words(c) for c in setting_changes(old, manifest)] if old else []
    code = [(c["what"], c["old"], c["new"]) for c in code_changes(old, manifest)] if old else []
    differences = manifest["changes"] or {}
    inputs = {
        **{cause: any(map(differences.get, names.split())) for cause, names in CAUSES.items()},
        "item tables": any(row["kind"] == "items" for rows in exports.values() for row in rows),
        "settings": any(not path.startswith("about.") for path, _, _ in settings),
        "code": code,
    }
    causes = [cause for cause, has_changed in inputs.items() if has_changed]
    return {
        "campaign": contents.campaign, "parent": manifest["parent"],
        "is_gone": bool((manifest.get("decision") or {}).get("forgets_person")),
        "version": manifest["version"], "differences": differences,
        "tables": contents.previous and changed_rows(contents.previous, contents.tables, causes),
        "exports": exports, "settings": settings, "code": code,
        "any_decided": contents.labelled_in_all.decided > 0,
        "trend": [
            figures | {name: figures[name] or None for name in RESULTS}
            for figures in [*manifest["trend"], release_figures(manifest)]
        ],
        "most_rows": MOST_ROWS,
    }  # fmt: skip


def changed_rows(
    old: Mapping[str, pa.Table], new: Mapping[str, pa.Table], causes: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return the first rows of labels, ranks, clusters and verdicts that differ, and numbers.

    Parameters
    ----------
    old, new
        Tables of two releases: ``label_changes``, ``system_rankings`` and ``judges``, of the
        newer one the last two.
    causes
        What can have caused the changes.
    """
    labels = old["label_changes"]
    headline = new["system_rankings"].filter(new["system_rankings"]["headline"])
    rankings = old["system_rankings"], headline, ("task", "method", "system")
    ranks = changed(*rankings, ("rank",), ("cluster", "score"))
    clusters = changed(*rankings, ("cluster",), ("rank", "score"))
    same = pc.fill_null(pc.equal(clusters["rank"], clusters["rank_old"]), False)
    clusters = clusters.filter(
        pc.or_(same, pc.and_(clusters["rank"].is_null(), clusters["rank_old"].is_null()))
    )
    verdicts = changed(
        old["judges"], new["judges"], ("task", "judge"), ("verdict", "dropped"), ("p_value",)
    )
    n_labels = labels["n_changed"][0].as_py() if labels.num_rows else 0
    first_labels = [
        row | {
            "source_old": _label_source(row, "_old"), "source": _label_source(row),
            "causes": _causes(row, causes), "since": None if row["n_new"] is None else row,
        }
        for row in labels.slice(0, MOST_ROWS).to_pylist()
    ]  # fmt: skip
    return {
        "labels": {"rows": first_labels, "n": n_labels},
        "ranks": _first(ranks), "clusters": _first(clusters), "verdicts": _first(verdicts),
    }  # fmt: skip


def _first(table: pa.Table) -> dict[str, Any]:
    return {"rows": table.slice(0, MOST_ROWS).to_pylist(), "n": table.num_rows}


def _causes(row: Row, causes: Sequence[str]) -> list[str]:
    """Return which of the causes can have changed a label: where experts decide, they alone."""
    is_decided = row["adjudicated"] or row["adjudicated_old"]
    return ["adjudications"] if is_decided and "adjudications" in causes else [*causes]


def _label_source(row: Row, age: str = "") -> str:
    """Return who decided a label."""
    if not row.get(f"adjudicated{age}"):
        return "the model"
    return f"expert {row.get(f'adjudicator{age}') or ''}".rstrip()


def changed(
    old: pa.Table, new: pa.Table, key: Sequence[str], by: Sequence[str], columns: Sequence[str]
) -> pa.Table:
    """Return rows of both tables whose values differ, old ones with ``_old`` in their names.

    Parameters
    ----------
    old, new
        Tables with all of these columns.
    key
        Columns that tell which rows are the same.
    by
        Columns that are compared; missing equals missing.
    columns
        Columns that are shown, but not compared.
    """
    names = [*key, *by, *columns]
    then, now = (plain(table_.select(names)) for table_ in (old, new))
    if then.select([*key, *by]).equals(now.select([*key, *by])):
        return now.slice(0, 0).join(then.slice(0, 0), list(key), right_suffix="_old")
    both = now.join(then, list(key), join_type="inner", right_suffix="_old")
    differs = pa.chunked_array([pa.array([False] * both.num_rows, pa.bool_())])
    for name in by:
        here, old_values = both[name], both[f"{name}_old"]
        unequal = pc.fill_null(pc.not_equal(here, old_values), False)
        lost = pc.not_equal(here.is_null(), old_values.is_null())
        differs = pc.or_(differs, pc.or_(unequal, lost))
    return both.filter(differs).sort_by([(name, "ascending") for name in key])
