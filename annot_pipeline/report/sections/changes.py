"""What changed since the previous release: counts, then rows; causes are annot diff's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.report.contents import Contents, plain
from annot_pipeline.report.markup import (
    Column,
    chip,
    command,
    join,
    left_out,
    number,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.storage.manifest_changes import (
    code_changes,
    export_changes,
    setting_changes,
    setting_in_words,
)

MOST_ROWS = 200

COUNTS = {
    "added_exports": "new exports and item tables",
    "removed_exports": "exports and item tables that were removed",
    "changed_exports": "exports and item tables with other bytes",
    "new_judgments": "new judgments",
    "superseded_judgments": "judgments that a later answer replaced",
    "corrected_judgments": "judgments corrected in their export",
    "withdrawn_judgments": "judgments withdrawn",
    "judgments_of_judges_who_fail_now": "judgments of judges who fail now",
    "judgments_of_judges_who_pass_now": "judgments of judges who pass now",
    "judgments_of_models_measured_now": "judgments of models that are only measured now",
    "judgments_of_models_counted_now": "judgments of models that count now",
    "new_labels": "new labels",
    "changed_labels": "labels that changed",
    "removed_labels": "labels that went away",
    "new_decisions": "new decisions of experts",
    "changed_decisions": "decisions of experts that changed",
    "withdrawn_decisions": "decisions of experts withdrawn",
}

OTHER_NAMES = (
    "Judges have other names than before (another key, or pseudonyms turned on or off): judgments "
    "and verdicts of the two releases cannot be matched."
)

WAYS = {"added": "new", "removed": "gone", "changed": "other bytes"}

Row = dict[str, Any]


def changes(contents: Contents) -> str:
    """Return the section: counts, and labels, ranks, verdicts, exports and settings that differ."""
    manifest = contents.manifest
    parent, differences = manifest["parent"], manifest["changes"]
    if not parent:
        return ""
    counts = [
        (what, differences[key])
        for key, what in COUNTS.items()
        if differences and differences.get(key)
    ]
    rows = [
        (key.replace("_", " "), n) for key, n in (differences or {}).items()
        if key not in COUNTS and isinstance(n, int) and n and not isinstance(n, bool)
    ]  # fmt: skip
    words = (
        f"Compared with {text(parent['version'])}. What caused each change is found by "
        "recomputation:"
    )
    other_names = differences and differences.get("judges_have_other_names")
    return join([
        paragraph(words),
        paragraph(OTHER_NAMES) if other_names else "",
        command(f"annot diff CAMPAIGN {parent['version']} {manifest['version']}"),
        table("Changes", [Column("what"), Column("count", "count")], [*counts, *rows]),
        *_tables(contents),
        *_inputs(contents),
    ])  # fmt: skip


def _tables(contents: Contents) -> Iterator[str]:
    old, new = contents.previous, contents.tables
    if old is None:
        return
    labels = old["label_changes"]
    yield _part(
        "Labels that changed", labels,
        labels["n_changed"][0].as_py() if labels.num_rows else 0, "labels.parquet",
        [Column("item"), Column("task", choose=True), Column("was"), Column("is"),
         Column("by whom it was", choose=True), Column("by whom it is", choose=True),
         Column("probability was", "share"), Column("probability is", "share")],
        lambda row: [row["item"], row["task"], row["label_old"], row["label"],
                     _label_source(row, "_old"), _label_source(row),
                     row["probability_old"], row["probability"]],
    )  # fmt: skip
    headline = new["system_rankings"].filter(new["system_rankings"]["headline"])
    rankings = old["system_rankings"], headline, ("task", "method", "system")
    ranks = changed(*rankings, ("rank",), ("cluster", "score"))
    clusters = changed(*rankings, ("cluster",), ("rank", "score"))
    same = pc.fill_null(pc.equal(clusters["rank"], clusters["rank_old"]), False)
    clusters = clusters.filter(
        pc.or_(same, pc.and_(clusters["rank"].is_null(), clusters["rank_old"].is_null()))
    )
    yield _part(
        "Ranks that changed", ranks, ranks.num_rows, "system_rankings.parquet",
        [Column("system"), Column("task", choose=True), Column("method", choose=True),
         Column("rank was", "count"), Column("is", "count"), Column("cluster was", "count"),
         Column("cluster is", "count"), Column("score was", "real"), Column("score is", "real")],
        lambda row: [row["system"], row["task"], row["method"], row["rank_old"], row["rank"],
                     row["cluster_old"], row["cluster"], row["score_old"], row["score"]],
    )  # fmt: skip
    yield _part(
        "Clusters that changed at the same rank", clusters, clusters.num_rows,
        "system_rankings.parquet",
        [Column("system"), Column("task", choose=True), Column("method", choose=True),
         Column("rank", "count"), Column("cluster was", "count"), Column("cluster is", "count")],
        lambda row: [row["system"], row["task"], row["method"], row["rank"],
                     row["cluster_old"], row["cluster"]],
    )  # fmt: skip
    verdicts = changed(
        old["judges"], new["judges"], ("task", "judge"), ("verdict", "dropped"), ("p_value",)
    )
    yield _part(
        "Verdicts that changed", verdicts, verdicts.num_rows, "judges.parquet",
        [Column("judge"), Column("task", choose=True), Column("was", choose=True),
         Column("is", choose=True), Column("p was", "p"), Column("p is", "p")],
        lambda row: [row["judge"], row["task"], chip(row["verdict_old"]), chip(row["verdict"]),
                     row["p_value_old"], row["p_value"]],
    )  # fmt: skip


def _label_source(row: Row, age: str = "") -> str:
    """Return who decided a label."""
    if not row.get(f"adjudicated{age}"):
        return "the model"
    return f"expert {row.get(f'adjudicator{age}') or ''}".rstrip()


def _part(
    title: str, differing: pa.Table, n: int, file: str, columns: list[Column], cells: Any
) -> str:
    rows = differing.slice(0, MOST_ROWS).to_pylist()
    html = table(title, columns, map(cells, rows), sortable=True, search=len(rows) > 10)
    return part(f"{title}: {number(n, 'count')}", html) + left_out(n, MOST_ROWS, file)


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


def _inputs(contents: Contents) -> Iterator[str]:
    """Yield exports, settings and code that differ."""
    old, new = contents.previous_manifest, contents.manifest
    if old is None:
        return
    exports = [
        (change["name"], WAYS[how])
        for how, changes_ in export_changes(old, new).items()
        for change in changes_
    ]
    settings = [setting_in_words(change) for change in setting_changes(old, new)]
    code = [(row["what"], row["old"], row["new"]) for row in code_changes(old, new)]
    was_is = [Column("was"), Column("is")]
    yield _input("Exports that differ", [Column("export"), Column("how", choose=True)], exports)
    yield _input("Settings that differ", [Column("setting"), *was_is], settings)
    yield _input("Code and packages that differ", [Column("what"), *was_is], code)


def _input(title: str, columns: list[Column], rows: Sequence[Sequence[Any]]) -> str:
    html = table(title, columns, rows[:MOST_ROWS], search=len(rows) > 10)
    return part(title, html + left_out(len(rows), MOST_ROWS, "manifest.json"))
