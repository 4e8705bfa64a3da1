"""What changed since the previous release: counts, then rows; causes are annot diff's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.report.contents import Contents, Document
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

MOST_ROWS = 200

COUNTS = {
    "new_judgments": "new judgments",
    "superseded_judgments": "judgments that a later answer replaced",
    "withdrawn_judgments": "judgments withdrawn",
    "judgments_of_judges_who_fail_now": "judgments of judges who fail now",
    "judgments_of_judges_who_pass_now": "judgments of judges who pass now",
    "new_labels": "new labels",
    "changed_labels": "labels that changed",
    "removed_labels": "labels that went away",
}

Row = dict[str, Any]


def changes(contents: Contents) -> str:
    """Counts, and the labels, ranks, verdicts, exports and settings that differ."""
    manifest = contents.manifest
    parent, found = manifest["parent"], manifest["changes"]
    if not parent:
        return ""
    counts = [(what, found[key]) for key, what in COUNTS.items() if found and found.get(key)]
    others = [
        (key.replace("_", " "), n) for key, n in (found or {}).items()
        if key not in COUNTS and isinstance(n, int) and n
    ]  # fmt: skip
    words = (
        f"Compared with {text(parent['version'])}. What caused each change is found by "
        "recomputation:"
    )
    return join([
        paragraph(words),
        command(f"annot diff CAMPAIGN {parent['version']} {manifest['version']}"),
        table("Changes", [Column("what"), Column("count", "count")], [*counts, *others]),
        *_tables(contents),
        *_inputs(contents),
    ])  # fmt: skip


def _tables(contents: Contents) -> Iterator[str]:
    old, new = contents.previous, contents.tables
    if old is None:
        return
    labels = changed(old["labels"], new["labels"], ("task", "item"), ("label",), ("probability",))
    yield _part(
        "Labels that changed", labels, "labels.parquet",
        [Column("item"), Column("task", choose=True), Column("was"), Column("is"),
         Column("probability was", "share"), Column("probability is", "share")],
        lambda row: [row["item"], row["task"], row["label_old"], row["label"],
                     row["probability_old"], row["probability"]],
    )  # fmt: skip
    ranks = changed(
        old["system_rankings"], new["system_rankings"], ("task", "method", "system"),
        ("rank", "cluster"), ("score",),
    )  # fmt: skip
    yield _part(
        "Ranks that changed", ranks, "system_rankings.parquet",
        [Column("system"), Column("task", choose=True), Column("method", choose=True),
         Column("rank was", "count"), Column("is", "count"), Column("cluster was", "count"),
         Column("cluster is", "count"), Column("score was", "real"), Column("score is", "real")],
        lambda row: [row["system"], row["task"], row["method"], row["rank_old"], row["rank"],
                     row["cluster_old"], row["cluster"], row["score_old"], row["score"]],
    )  # fmt: skip
    verdicts = changed(
        old["judges"], new["judges"], ("task", "judge"), ("verdict", "dropped"), ("p_value",)
    )
    yield _part(
        "Verdicts that changed", verdicts, "judges.parquet",
        [Column("judge"), Column("task", choose=True), Column("was", choose=True),
         Column("is", choose=True), Column("p was", "p"), Column("p is", "p")],
        lambda row: [row["judge"], row["task"], chip(row["verdict_old"]), chip(row["verdict"]),
                     row["p_value_old"], row["p_value"]],
    )  # fmt: skip


def _part(title: str, found: pa.Table, file: str, columns: list[Column], cells: Any) -> str:
    rows = found.slice(0, MOST_ROWS).to_pylist()
    shown = table(title, columns, map(cells, rows), sortable=True, search=len(rows) > 10)
    return part(f"{title}: {number(found.num_rows, 'count')}", shown) + left_out(
        found.num_rows, MOST_ROWS, file
    )


def changed(
    old: pa.Table, new: pa.Table, key: Sequence[str], by: Sequence[str], beside: Sequence[str]
) -> pa.Table:
    """Rows of both tables whose values differ, old ones with ``_old`` in their names.

    Parameters
    ----------
    old, new
        Tables with all of these columns.
    key
        Columns that tell which rows are the same.
    by
        Columns that are compared; missing equals missing.
    beside
        Columns that are shown.
    """
    names = [*key, *by, *beside]
    then, now = (_plain(table_, names) for table_ in (old, new))
    if then.select([*key, *by]).equals(now.select([*key, *by])):
        return now.slice(0, 0).join(then.slice(0, 0), list(key), right_suffix="_old")
    both = now.join(then, list(key), join_type="inner", right_suffix="_old")
    differs = pa.chunked_array([pa.array([False] * both.num_rows, pa.bool_())])
    for name in by:
        here, there = both[name], both[f"{name}_old"]
        unequal = pc.fill_null(pc.not_equal(here, there), False)
        lost = pc.not_equal(here.is_null(), there.is_null())
        differs = pc.or_(differs, pc.or_(unequal, lost))
    return both.filter(differs).sort_by([(name, "ascending") for name in key])


def _plain(found: pa.Table, names: Sequence[str]) -> pa.Table:
    columns = {}
    for name in names:
        column = found[name]
        columns[name] = column.cast(TEXT) if pa.types.is_dictionary(column.type) else column
    return pa.table(columns)


def _inputs(contents: Contents) -> Iterator[str]:
    """Exports, settings and code that differ."""
    old, new = contents.previous_manifest, contents.manifest
    if old is None:
        return
    exports = list(_exports(old["sources"], new["sources"]))
    yield part("Exports that differ", table(
        "Exports that differ", [Column("export"), Column("how", choose=True)],
        exports[:MOST_ROWS], search=len(exports) > 10,
    ) + left_out(len(exports), MOST_ROWS, "manifest.json"))  # fmt: skip
    settings = list(differing(old["settings"], new["settings"]))
    yield part("Settings that differ", table(
        "Settings that differ", [Column("setting"), Column("was"), Column("is")],
        settings[:MOST_ROWS],
    ) + left_out(len(settings), MOST_ROWS, "manifest.json"))  # fmt: skip
    code = [
        row for key in ("code", "packages") for row in differing(old[key], new[key])
    ]  # fmt: skip
    yield part("Code and packages that differ", table(
        "Code and packages that differ", [Column("what"), Column("was"), Column("is")], code,
    ))  # fmt: skip


def _exports(old: Sequence[Document], new: Sequence[Document]) -> Iterator[tuple[str, str]]:
    then = {source["name"]: source["sha256"] for source in old}
    now = {source["name"]: source["sha256"] for source in new}
    for name in sorted(then.keys() | now.keys()):
        if name not in then:
            yield name, "new"
        elif name not in now:
            yield name, "gone"
        elif then[name] != now[name]:
            yield name, "other bytes"


def differing(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Dotted paths at which two documents differ, with both values as JSON."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from differing(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (was, is_) in enumerate(zip(old, new, strict=True)):
            yield from differing(was, is_, f"{path}.{place}")
    elif old != new:
        yield path, json.dumps(old, ensure_ascii=False), json.dumps(new, ensure_ascii=False)
