"""How the release was made: stages and tables, with code and data versions."""

from __future__ import annotations

from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.markup import Column, Markup, join, paragraph, table, text

HASH = 12
"""Characters of a data version that are shown."""


def lineage(contents: Contents) -> str:
    """Return the stages as a table."""
    runs = contents.manifest["runs"]
    gold = {table_["name"]: table_["sha256"] for table_ in contents.manifest["tables"]}
    words = (
        "Each stage reads tables and makes others; a data version is the SHA-256 of a table's "
        "file, or of those of its parts. Gold tables are bold. Dagster shows the stages as a graph."
    )
    columns = [
        Column("stage"), Column("code version"), Column("run", choose=True), Column("reads"),
        Column("makes, with data version"),
    ]  # fmt: skip
    rows = [
        (
            run["stage"].replace("_", " "), run["code_version"], str(run["run"])[:HASH],
            Markup(", ".join(_table(name, None, gold) for name in sorted(run.get("inputs") or ()))),
            Markup(", ".join(_table(name, sha, gold) for name, sha in run["outputs"].items())),
        )
        for run in runs
    ]  # fmt: skip
    return join([
        paragraph(words),
        table("Stages, upstream first", columns, rows, ids=[_anchor(run) for run in runs]),
    ])  # fmt: skip


def _anchor(run: Document) -> str:
    return f"stage-{run['stage']}"


def _table(name: str, sha: str | None, gold: Document) -> str:
    html = f"<strong>{text(name)}</strong>" if name in gold else str(text(name))
    return html + (f" <code>{text(sha[:HASH])}</code>" if sha else "")
