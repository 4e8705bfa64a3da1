"""annot diff."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from annot_pipeline.cli.common import Document, add_campaign, load, say, show
from annot_pipeline.errors import first_of, printable

TABLES = ("labels", "scores", "ranks", "verdicts")
KEYS = ("task", "item", "segment", "system", "method", "judge")


def add(diff: argparse.ArgumentParser) -> None:
    """Its arguments."""
    add_campaign(diff)
    diff.add_argument("old", metavar="V1", help="a release, as v0001")
    diff.add_argument("new", metavar="V2", help="another release, or latest")
    diff.add_argument(
        "-o", "--output", metavar="FILE.parquet|FOLDER", type=Path, help="write all cells there"
    )
    diff.add_argument("--table", choices=TABLES, help="these alone (default: all)")
    diff.add_argument(
        "--rows", metavar="N", type=int, default=10, help="cells shown of each table (default: 10)"
    )
    diff.add_argument(
        "--no-causes", action="store_true", help="from gold alone; nothing is recomputed"
    )


def run(arguments: argparse.Namespace) -> int:
    """Say what changed between two releases, and why."""
    from annot_pipeline.audit.diff.file import diff_path, write_diff
    from annot_pipeline.audit.diff.releases import diff_releases

    campaign = load(arguments)
    versions = (arguments.old, arguments.new)
    path = diff_path(campaign, arguments.output, versions) if arguments.output else None
    diff = diff_releases(
        campaign,
        versions,
        tables=(arguments.table,) if arguments.table else TABLES,
        causes=not arguments.no_causes,
        progress=say,
    )
    document = diff.document(max(0, arguments.rows))
    if path:
        write_diff(diff, path)
        document["path"] = str(path)
    show(arguments, document, lambda: _diff_text(document))
    return 0


def _diff_text(document: Document) -> str:
    lines = [f"{document['campaign']}: {document['from']} to {document['to']}"]
    lines += _inputs_text(document["inputs"])
    made = [f"{row['state']} ({', '.join(row['tables'])})" for row in document["recomputed"]]
    if document["causes_found"]:
        lines.append(f"recomputed: {'; '.join(made) or 'nothing'}")
    lines += [f"note: {note}" for note in document["notes"]]
    if document["cells"]:
        lines.append(f"{document['cells']:,} cells changed, by cause:")
    else:
        lines.append("no label, score, rank or verdict changed")
    lines += [f"  {_summary_text(row)}" for row in document["summary"]]
    table = None
    for row in document["rows"]:
        if row["table"] != table:
            table = row["table"]
            n = sum(_count(counts) for counts in document["summary"] if counts["table"] == table)
            shown = sum(other["table"] == table for other in document["rows"])
            lines.append(f"{table}, {shown:,} of {n:,} cells:")
        lines.append(f"  {_row_text(row)}")
    if "path" in document:
        lines.append(f"all cells: {document['path']}")
    elif len(document["rows"]) < document["cells"]:
        lines.append("next: -o diff.parquet writes all cells, --rows N shows more")
    return "\n".join(map(printable, lines))


def _inputs_text(inputs: Mapping[str, Any]) -> Iterator[str]:
    """What differs in the inputs; what does not is left out."""
    for what, exports in inputs["exports"].items():
        if exports:
            names = first_of([export["name"] for export in exports])
            yield f"exports {what}: {len(exports):,} ({names})"
    counts = {what: n for what, n in (inputs["judgments"] or {}).items() if n}
    if counts:
        words = ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in counts.items())
        yield f"judgments: {words}"
    judges = inputs["verdicts"] or []
    if judges:
        yield f"verdicts: {len(judges):,} changed"
    for row in judges[:5]:
        p = " to ".join(_number(row[f"{age}_p_value"]) for age in ("old", "new"))
        words = " to ".join(_verdict(row, age) for age in ("old", "new"))
        yield f"  {row['task']}, {row['judge']}: {words}, p {p}"
    for row in inputs["settings"]:
        yield f"setting {row['path']}: {_said(row['old'])} to {_said(row['new'])}"
    for row in inputs["code"]:
        yield f"code, {row['what']}: {_short(row['old'])} to {_short(row['new'])}"


def _verdict(row: Mapping[str, Any], age: str) -> str:
    return f"{row[f'{age}_verdict']}{' (dropped)' if row[f'{age}_dropped'] else ''}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _said(value: Any) -> str:
    return "default" if value is None else str(value)


def _short(value: str | None) -> str:
    """A version; of a digest the first digits."""
    return "none" if value is None else value[:12]


def _summary_text(row: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{row[k]:,} {k}" for k in ("changed", "added", "removed") if row[k])
    causes = ", ".join(f"{cause} {n:,}" for cause, n in row["causes"].items())
    largest = f", by {row['largest']:.4g} at most" if row["largest"] else ""
    return f"{row['table']}.{row['column']}: {counts}{largest}" + (f": {causes}" if causes else "")


def _count(row: Mapping[str, Any]) -> int:
    return sum(row[kind] for kind in ("changed", "added", "removed"))


def _row_text(row: Mapping[str, Any]) -> str:
    """A cell: where it is, what it was and is, and why."""
    place = ", ".join(row[key] for key in KEYS if key in row)
    values = f"{_cell(row, 'old')} to {_cell(row, 'new')}"
    if row["change"] != "changed":
        values = f"{row['change']}, {_cell(row, 'new' if row['change'] == 'added' else 'old')}"
    return f"{place}: {row['column']} {values}" + _why(row)


def _cell(row: Mapping[str, Any], age: str) -> str:
    """A value in words; numbers with few digits."""
    number = row.get(f"{age}_number")
    return f"{number:.6g}" if number is not None else str(row.get(age, "nothing"))[:60]


def _why(row: Mapping[str, Any]) -> str:
    causes: Sequence[str] = row.get("causes", ())
    if "delta" not in row or len(causes) < 2:
        return f" ({', '.join(causes)})" if causes else ""
    parts = (f"{c} {row['deltas'][c]:+.4g}" for c in causes)
    return f" ({', '.join(parts)})"
