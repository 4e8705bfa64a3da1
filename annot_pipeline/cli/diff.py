"""annot diff: what differs in the inputs, then what it moved and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from annot_pipeline.cli.arguments import TABLES
from annot_pipeline.cli.common import Document, check_output, decision_text, load, say, show, typed
from annot_pipeline.cli.render import fields, table, text
from annot_pipeline.errors import Problem, StoreError, counted, first_of, row_and_line

if TYPE_CHECKING:
    from annot_pipeline.audit.diff.releases import Diff
    from annot_pipeline.config import LoadedCampaign

JUDGMENTS = 5
"""Judgments that are shown."""
NEGLIGIBLE = 1e-6
"""Share of a cell's change below which a cause's part of it is not shown."""
CELL = (
    "task item segment quantity criterion system label method judge reference column change old "
    "new delta=by why"
)
FILES = ("old row", "new row")
"""Columns that stand below a judgment where there is no room."""
JUDGMENT = (
    "change is_adjudication=decision task item judge old_answer=was new_answer=is particulars "
    "old_fate new_fate old_row new_row"
)
VERDICT = (
    "task judge old_verdict=was old_dropped=dropped old_p_value=p new_verdict=is "
    "new_dropped=dropped new_p_value=p"
)
SUMMARY = "table column changed added removed became_true=now_true largest=at_most causes=by_cause"
DIGITS = 6


def run_diff(arguments: argparse.Namespace) -> int:
    """Say what changed between two releases, and why."""
    from annot_pipeline.audit.diff.output import ENDING, add_lines, diff_paths, write_diff
    from annot_pipeline.audit.diff.releases import diff_releases

    campaign = load(arguments)
    versions = (arguments.old or _parent(campaign), arguments.new)
    paths = diff_paths(arguments.output, versions) if arguments.output else []
    if paths:
        check_output(campaign, "a diff", arguments.output, (ENDING, ""), paths)
    diff = diff_releases(
        campaign, versions, tables=(arguments.table,) if arguments.table else TABLES,
        causes=not arguments.no_causes, progress=say,
    )  # fmt: skip
    document = diff.document(max(0, arguments.rows))
    if arguments.table in (None, "labels"):
        document["labels"] = label_changes(diff, document["summary"])
    add_lines(campaign, (diff.old, diff.new), document["judgments"])
    if paths:
        write_diff(diff, paths)
        document |= dict(zip(("path", "judgments_path"), map(str, paths), strict=False))
    return show(arguments, document, lambda: diff_lines(document))


def label_changes(diff: Diff, summary: Sequence[Document]) -> Document | None:
    """Return how many labels are others, new and gone; None where neither release has labels."""
    tables = [table for r in (diff.old, diff.new) for table in r.manifest["tables"]]
    if not any(table["rows"] for table in tables if table["name"] == "labels"):
        return None
    counts = [row for row in summary if (row["table"], row["column"]) == ("labels", "label")]
    return {kind: sum(row[kind] for row in counts) for kind in ("changed", "added", "removed")}


def _parent(campaign: LoadedCampaign) -> str:
    """Return the release before the newest.

    Raises
    ------
    StoreError
        There is none.
    """
    from annot_pipeline.storage.releases import Releases

    newest = Releases.for_campaign(campaign).get()
    if newest.manifest["parent"] is None:
        problem = Problem(newest.version, "it is the first release", do="publish another one")
        raise StoreError("nothing to compare with", [problem])
    return str(newest.manifest["parent"]["version"])


def run_bisect(arguments: argparse.Namespace) -> int:
    """Say since which release an item has its value, or by which a metric moved most."""
    from annot_pipeline.audit.bisect import bisect_name

    campaign = load(arguments)
    document = bisect_name(campaign, arguments.name, arguments.task, progress=say)
    document |= {"campaign": campaign.settings.campaign}
    return show(arguments, document, lambda: _bisected(document, typed(arguments)))


def _bisected(document: Document, campaign: str) -> Iterator[str]:
    if "metric" in document:
        yield from _moved(document, campaign)
    for row in document.get("changes", ()):
        values = row["value"], row["value_before"]
        value, was = ("not there" if v is None else text(v) for v in values)
        yield f"{row['task']}: {row['column']} of {row['item']} is {value}"
        if row["before"] is None:
            yield f"  since {row['since']} ({row['created_at']}), the oldest release that is there"
            continue
        yield f"  since {row['since']} ({row['created_at']}); in {row['before']} it was {was}"
        yield from _why(row)
        judgments = [_with_locations(judgment) for judgment in row["judgments"][:JUDGMENTS]]
        yield from table("", judgments, JUDGMENT, below=FILES)
        yield f"next: annot diff {campaign} {row['before']} {row['since']}"


def _why(step: Document) -> Iterator[str]:
    """Yield why something changed in a release: causes, and what a person decided."""
    decided = step | {"decision": decision_text(step["decision"])}
    names = ("decision", "exports", "settings")
    yield from fields(decided, {"causes": "  by", **{name: f"  {name}" for name in names}})


def _moved(document: Document, campaign: str) -> Iterator[str]:
    where = f" in task {document['task']}" if document["task"] else ""
    yield f"{document['metric']}{where}: {document['question'] or 'value by release'}"
    yield from table("", document["values"], "version value level", most=len(document["values"]))
    if document["before"] is None:
        yield "  the same in all releases"
        return
    was, is_ = text(document["value_before"]) or "0", text(document["value"]) or "0"
    yield f"  the largest step: {document['before']} {was}, {document['since']} {is_}"
    yield from _why(document)
    yield f"next: annot diff {campaign} {document['before']} {document['since']}"


def diff_lines(document: Document) -> Iterator[str]:
    """Yield the whole diff."""
    from annot_pipeline.storage.manifest_changes import setting_in_words

    inputs = document["inputs"]
    yield f"{document['campaign']}: {document['from']} to {document['to']}"
    for what, exports in inputs["exports"].items():
        if exports:
            names = first_of([export["name"] for export in exports])
            yield f"exports {what}: {len(exports):,} ({names})"
    yield from fields(inputs, "judgments")
    judgments = [_with_locations(row) for row in document["judgments"][:JUDGMENTS]]
    yield from table("", judgments, JUDGMENT, below=FILES)
    if (more := (document["judgments_changed"] or 0) - len(judgments)) > 0:
        yield f"  and {more:,} more"
    verdicts = inputs["verdicts"] or []
    yield from table(f"verdicts: {len(verdicts):,} changed", verdicts, VERDICT, most=JUDGMENTS)
    yield from table("models", inputs["model_versions"], "task released_judges=was judges=is")
    changes = [
        dict(zip(("setting", "was", "is"), setting_in_words(row), strict=True))
        for row in inputs["settings"]
    ]
    yield from table("settings", changes, "setting was is", most=len(changes))
    code = [
        {name: text(row[name], 12) for name in ("what", "old", "new")} for row in inputs["code"]
    ]
    yield from table("code", code, "what old=was new=is", most=len(code))
    if document["causes_found"] and not document["recomputed"]:
        yield "recomputed: nothing"
    yield from table("recomputed", document["recomputed"], "state tables")
    yield from (f"note: {note}" for note in document["notes"])
    if labels := document.get("labels"):
        yield f"{counted(labels['changed'], 'label')} changed, {labels['added']:,} added"
        if n := labels["removed"]:
            yield f"{counted(n, 'item')} that had a label {'has' if n == 1 else 'have'} none now"
    if not document["cells"]:
        yield "no label, probability, score, rank or verdict changed"
    summary, rows = document["summary"], document["rows"]
    title = f"{document['cells']:,} cells changed"
    yield from table(title, summary, SUMMARY, most=len(summary), below=("by cause",))
    for name in dict.fromkeys(row["table"] for row in rows):
        cells = [row | {"why": why(row)} for row in rows if row["table"] == name]
        n = sum(
            counts[kind] for counts in summary if counts["table"] == name
            for kind in ("changed", "added", "removed")
        )  # fmt: skip
        title = f"{name}, {len(cells):,} of {n:,} cells"
        yield from table(title, list(map(_values, cells)), CELL, most=len(cells), digits=DIGITS)
    yield from fields(document, {"path": "all cells", "judgments_path": "all judgments"})
    if "path" not in document and len(rows) < document["cells"]:
        yield "next: -o FOLDER writes all cells and judgments, --rows N shows more"


def _with_locations(row: Mapping[str, Any]) -> Document:
    """Return a judgment with the files, rows and lines that hold it, as people read them."""
    locations = {
        f"{age}_row": f"{row[f'{age}_file']} "
        + row_and_line(row[f"{age}_row"], row.get(f"{age}_line"))
        for age in ("old", "new")
        if f"{age}_file" in row
    }
    return dict(row) | locations


def _values(row: Mapping[str, Any]) -> Document:
    """Return a cell with numbers instead of all their digits; what changed needs no word."""
    numbers = {
        age: row[f"{age}_number"] for age in ("old", "new") if row.get(f"{age}_number") is not None
    }
    return dict(row) | numbers | {"change": row["change"] if row["change"] != "changed" else ""}


def why(row: Mapping[str, Any]) -> Any:
    """Return the causes of a change: of a number with the part of each, but those of rounding."""
    causes = row.get("causes", ())
    if "delta" not in row or not causes:
        return causes
    deltas = row["deltas"]
    least = NEGLIGIBLE * max(map(abs, deltas.values()), default=0.0)
    parts = {cause: deltas[cause] for cause in causes if abs(deltas[cause]) >= least}
    return parts if len(parts) > 1 else list(parts)
