"""What people read of a release: data card, report, and the description for machines.

A build that publishes nothing does not load it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.report import report
from annot_pipeline.report.croissant import croissant
from annot_pipeline.report.data_card import data_card
from annot_pipeline.report.figures.remembered import remembering
from annot_pipeline.report.release_figures import drawn_judges
from annot_pipeline.report.render import render_html
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.gold.compare import forgotten_judges
from annot_pipeline.stages.ingest.archived_lines import FindLines, released_lines
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.manifest import stored_table
from annot_pipeline.storage.marked_folder import FIGURES
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, read_groups, read_table, verify_table

READ = "items judge_confusion judgments label_distributions labels lineage scores"
"""Gold tables that the report's queries read."""
READ_FOR_LINES = 2 << 20
"""Bytes of an export that is read for the line numbers in the report; rows of others have none."""


def write_pages(
    folder: Path,
    document: Mapping[str, Any],
    build: Build,
    outputs: Mapping[str, StoredTable],
    parent: Release | None,
) -> None:
    """Write data card, report and description into a new release's folder, which has its tables.

    Parameters
    ----------
    folder, document
        The release; its manifest, without ``files``.
    build, outputs
        What made it, and the tables of all stages.
    parent
        The release before; no page names its judges who are forgotten people.
    """
    campaign = build.campaign
    queries = Queries(campaign.settings.resources, campaign.spill)
    lines = released_lines(campaign, document, READ_FOR_LINES)
    forgotten = forgotten_judges(parent, build.store.root, build.key)
    stored_tables = {table["name"]: stored_table(folder, table) for table in document["tables"]}
    gold = reported_tables(stored_tables, queries)
    gold["doubtful_answers"] = _with_lines(gold["doubtful_answers"], lines)
    (folder / "README.md").write_text(data_card(document, gold), encoding="utf-8")
    (folder / "croissant.json").write_bytes(canonical_json(croissant(document)))
    with remembering(build.store.root / FIGURES):
        drawn = drawn_tables(outputs, gold, queries)
        before = _parent_tables(parent, stored_tables, document, queries, forgotten)
        manifest = parent.manifest if parent else None
        html = report.report_html(document, gold, drawn, before, manifest, campaign.file.name)
    (folder / "report.html").write_text(html, encoding="utf-8")


def write_restored_pages(
    folder: Path, document: Mapping[str, Any], old: Release, queries: Queries
) -> None:
    """Write the pages of a release with the content of an older one.

    The report is that of then, with a note: the tables that it draws are in no store any more.
    """
    tables = {table["name"]: stored_table(folder, table) for table in document["tables"]}
    card = data_card(document, reported_tables(tables, queries))
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "croissant.json").write_bytes(canonical_json(croissant(document)))
    html = old.file("report.html").read_text(encoding="utf-8")
    note = render_html("decision.html", {"manifest": document})
    html = html.replace("<header>", f"<header>{note}", 1)
    (folder / "report.html").write_text(html, encoding="utf-8")


def reported_tables(
    stored_tables: Mapping[str, StoredTable], queries: Queries
) -> dict[str, pa.Table]:
    """Return the gold tables for the pages: large ones only as counts, and rows to draw."""
    read = {name: read_table(stored_tables[name]) for name in report.TABLES}
    counted = report.COUNTED.items()
    read |= {name: _count_rows(stored_tables[name], columns) for name, columns in counted}
    return read | query_tables(
        report.QUERIED, {name: stored_tables[name] for name in READ.split()}, queries
    )


def _with_lines(answers: pa.Table, find: FindLines) -> pa.Table:
    """Return the answers with the line of the file where the row of each starts, if it has one."""
    columns = [answers[name].to_pylist() for name in ("source_file", "source_digest", "source_row")]
    lines = find(zip(*columns, strict=True))
    numbers = [lines.get(at) for at in zip(*columns, strict=True)]
    return answers.append_column("line", pa.array(numbers, pa.int64()))


def drawn_tables(
    outputs: Mapping[str, StoredTable], gold: Mapping[str, pa.Table], queries: Queries
) -> dict[str, pa.Table]:
    """Return the tables that the report draws, from the outputs of stages."""
    tables = {name: read_table(verify_table(outputs[name])) for name in report.INTERNAL}
    queried = ("comparisons", "control_pairs", "segment_ranks")
    inputs = {name: verify_table(outputs[name]) for name in queried}
    judges = drawn_judges(gold["judges"])
    parameters_by_name = report.DRAWN | {"control_differences": {"judges": judges}}
    return tables | query_tables(parameters_by_name, inputs, queries)


def query_tables(
    parameters_by_name: Mapping[str, Mapping[str, Any]],
    inputs: Mapping[str, StoredTable | pa.Table],
    queries: Queries,
) -> dict[str, pa.Table]:
    """Run the report's queries with their parameters; each may read those before it."""
    tables: dict[str, pa.Table] = {}
    for name, parameters in parameters_by_name.items():
        tables[name] = queries.table(f"report/{name}", {**inputs, **tables}, parameters)
    return tables


def _count_rows(table: StoredTable, columns: Sequence[str]) -> pa.Table:
    """Count rows by the values of some columns, a row group at a time."""
    counts = [
        rows.group_by(columns).aggregate([([], "count_all")])
        for rows in read_groups(table, columns, plain=True)
    ]
    summed = pa.concat_tables(counts).group_by(columns).aggregate([("count_all", "sum")])
    in_order = summed.sort_by([(column, "ascending") for column in columns])
    return in_order.rename_columns([*columns, "n"])


def _parent_tables(
    parent: Release | None,
    stored_tables: Mapping[str, StoredTable],
    document: Mapping[str, Any],
    queries: Queries,
    forgotten: Sequence[str],
) -> dict[str, pa.Table] | None:
    """Return tables of the parent that the report compares with, and the labels that differ."""
    if parent is None:
        return None
    compared = report.COMPARED.items()
    tables = {name: read_table(parent.stored(name), columns) for name, columns in compared}
    inputs = {
        f"{age}_{name}": table
        for name in ("labels", "judgments")
        for age, table in (("old", parent.stored(name)), ("new", stored_tables[name]))
    }
    inputs["new_lineage"] = stored_tables["lineage"]
    other_names = (document["changes"] or {}).get("judges_have_other_names", False)
    parameters = {**report.MOST_CHANGES, "same_names": not other_names, "forgotten": forgotten}
    return tables | {"label_changes": queries.table("report/label_changes", inputs, parameters)}
