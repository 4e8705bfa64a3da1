"""Every record of every export accounted for: what became of it, and what it made."""

from __future__ import annotations

from collections import Counter

from annot_pipeline.contracts import FATES, fates_text
from annot_pipeline.errors import counted
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.figures.records_by_fate import records_by_fate_svg
from annot_pipeline.report.markup import (
    Column,
    figures,
    join,
    left_out,
    more,
    paragraph,
    part,
    table,
)
from annot_pipeline.report.release_figures import Drawn

MOST_EXPORTS = 10
"""Exports drawn on their own; the rest together."""
MOST_ROWS = 200

RESULTS = {
    "categorical": "labels", "scalar": "scores and rankings", "pairwise": "rankings",
    "ranking": "rankings",
}  # fmt: skip
COUNT_IN = {
    "control": "test of judges", "judge_failed": "figures of all judges",
    "measured": "judge_validation and estimates",
    "superseded": "kept in lineage", "duplicate": "kept in lineage", "rejected": "kept in lineage",
    "adjudication": "labels", "filtered": "kept in lineage", "not_asked": "kept in lineage",
    "unscored": "kept in lineage",
}  # fmt: skip
MEANINGS = {
    "used": "counts", "adjudication": "an expert's decision, which overrides the model",
    "control": "tests the judge, and counts in nothing else",
    "judge_failed": "by a judge who failed the test",
    "measured": "by a kind of judge that the task does not use; compared with the others",
    "superseded": "replaced by a later answer", "duplicate": "also in another row",
    "rejected": "could not be read as a judgment",
    "unscored": "the judge's answer failed: an error, or no number",
    "not_asked": "no answer was given", "filtered": "left out by where or skip_rows",
}  # fmt: skip


def records(contents: Contents) -> str:
    """Return the section: the flow of records, and the same as tables."""
    fates = contents.facts["fates"]
    sources = [s for s in contents.manifest["sources"] if s["kind"] == "judgments"]
    read = sum(source["rows"] for source in sources)
    intro = (
        f"{read:,} rows in {counted(len(sources), 'export')} hold {sum(fates.values()):,} records, "
        f"one for each judgment cell: {fates_text(fates)}. Each is a row of lineage.parquet."
    )
    results = _results(contents)
    return join([
        paragraph(intro),
        figures([Drawn("From exports to gold", _figure(contents))]),
        table(
            "Records by fate",
            [Column("fate"), Column("records", "count"), Column("share", "share"), Column("which"),
             Column("counts in")],
            (
                (fate.replace("_", " "), n, n / max(sum(fates.values()), 1), MEANINGS[fate],
                 results[fate])
                for fate in reversed(FATES)
                if (n := fates.get(fate, 0))
            ),
        ),
        _exports(contents),
        _gold_tables(contents),
        part("Why records were rejected", _rejections(contents)),
        part("Left out of a calculation", _excluded_judgments(contents)),
        part("In the exports, but not records", _ignored(contents)),
    ])  # fmt: skip


def _figure(contents: Contents) -> str:
    sources = [s for s in contents.manifest["sources"] if s["kind"] == "judgments"]
    sources.sort(key=lambda source: -sum(source["records"].values()))
    label = f"{len(sources) - MOST_EXPORTS:,} other exports"
    folders = [source["name"].split("/")[:-1] for source in sources]
    shared = next((n for n, names in enumerate(zip(*folders, strict=False)) if len({*names}) > 1),
                  min(map(len, folders), default=0))  # fmt: skip
    records: Counter[tuple[str, str]] = Counter()
    rows: Counter[str] = Counter()
    for position, source in enumerate(sources):
        own = "/".join(source["name"].split("/")[shared:])
        name = own if position < MOST_EXPORTS else label
        rows[name] += source["rows"]
        for fate in reversed(FATES):
            records[name, fate] += source["records"].get(fate, 0)
    return records_by_fate_svg(records, rows)


def _results(contents: Contents) -> dict[str, str]:
    """Return what records of each fate count in, with their numbers where there are several."""
    used: Counter[str] = Counter()
    for (task, fate), n in contents.judgments_by_task.items():
        if fate == "used":
            used[RESULTS.get(contents.facts["kinds"].get(task, ""), "gold")] += n
    return COUNT_IN | {"used": ", ".join(f"{what} {n:,}" for what, n in used.most_common())}


def _exports(contents: Contents) -> str:
    sources = [s for s in contents.manifest["sources"] if s["kind"] == "judgments"]
    fates = [fate for fate in reversed(FATES) if contents.facts["fates"].get(fate)]
    columns = [
        Column("export"), Column("rows", "count"), Column("records", "count"),
        *(Column(fate.replace("_", " "), "count") for fate in fates), Column("bytes", "count"),
    ]  # fmt: skip
    rows = (
        (
            s["name"], s["rows"], sum(s["records"].values()),
            *(s["records"].get(fate, 0) for fate in fates), s["bytes"],
        )
        for s in sources[:MOST_ROWS]
    )  # fmt: skip
    html = table("Exports, and the fates of their records", columns, rows, sortable=True,
                  search=len(sources) > 10)  # fmt: skip
    return part("Exports", html + left_out(len(sources), MOST_ROWS, "manifest.json"))


def _gold_tables(contents: Contents) -> str:
    rows = [(t["name"], t["row"], t["rows"]) for t in contents.manifest["tables"] if t["rows"]]
    columns = [Column("table"), Column("one row per"), Column("rows", "count")]
    return part("Gold tables", table("Tables of the release that have rows", columns, rows))


def _rejections(contents: Contents) -> str:
    rows = contents.facts["rejections"]
    columns = [Column("reason"), Column("records", "count"), Column("as in")]
    cells = ((row["reason"], row["records"], row["example"]) for row in rows[:MOST_ROWS])
    return table("Rejected records by reason", columns, cells, sortable=len(rows) > 1) + left_out(
        len(rows), MOST_ROWS, "lineage.parquet"
    )


def _excluded_judgments(contents: Contents) -> str:
    """Return the table of judgments that were left out of calculations, and why."""
    counts: Counter[tuple[str, str, str]] = Counter()
    aside = contents.tables["set_aside"]
    counts.update(
        zip(*(aside[name].to_pylist() for name in ("task", "left_out_of", "reason")), strict=True)
    )
    columns = [
        Column("task", choose=True), Column("left out of", choose=True), Column("because"),
        Column("judgments", "count"),
    ]  # fmt: skip
    rows = [
        (task, what.replace("_", " "), why, n) for (task, what, why), n in sorted(counts.items())
    ]
    html = table(
        "Judgments that count, but that a calculation could not take", columns, rows[:MOST_ROWS],
        sortable=True,
    )  # fmt: skip
    return more(f"{sum(counts.values()):,} judgments", html) if html else html


def _ignored(contents: Contents) -> str:
    columns = [Column("export"), Column("what"), Column("count", "count")]
    rows = [
        (source["name"], what, count)
        for source in contents.manifest["sources"]
        for what, count in source.get("ignored", {}).items()
    ]
    return table("Read, but not a record", columns, rows[:MOST_ROWS])
