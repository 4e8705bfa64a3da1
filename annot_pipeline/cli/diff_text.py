"""A diff for people: what differs in the inputs, then what it moved and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annot_pipeline.cli.columns import number, short
from annot_pipeline.cli.common import Document
from annot_pipeline.errors import first_of, printable, row_and_line
from annot_pipeline.storage.manifest_changes import setting_in_words

SHOWN_KEYS = (
    "task", "item", "segment", "quantity", "criterion", "system", "label", "method", "judge",
    "reference",
)  # fmt: skip
"""Columns that tell rows apart, in the order in which people read them."""

JUDGMENTS = 5
"""Judgments that are shown."""

NEGLIGIBLE = 1e-6
"""Share of a cell's change below which a cause's part of it is not shown."""


def diff_text(document: Document) -> str:
    """Return the whole diff as text."""
    lines = [f"{document['campaign']}: {document['from']} to {document['to']}"]
    lines += _inputs_text(document["inputs"])
    lines += _judgments_text(document)
    recomputed = [f"{row['state']} ({', '.join(row['tables'])})" for row in document["recomputed"]]
    if document["causes_found"]:
        lines.append(f"recomputed: {'; '.join(recomputed) or 'nothing'}")
    lines += [f"note: {note}" for note in document["notes"]]
    if document["cells"]:
        by_cause = ", by cause" if document["causes_found"] else ""
        lines.append(f"{document['cells']:,} cells changed{by_cause}:")
    else:
        lines.append("no label, probability, score, rank or verdict changed")
    lines += [f"  {_summary_text(row)}" for row in document["summary"]]
    table = None
    for row in document["rows"]:
        if row["table"] != table:
            table = row["table"]
            n = sum(_count(counts) for counts in document["summary"] if counts["table"] == table)
            n_rows = sum(other["table"] == table for other in document["rows"])
            lines.append(f"{table}, {n_rows:,} of {n:,} cells:")
        lines.append(f"  {row_text(row)}")
    if "path" in document:
        lines.append(f"all cells: {document['path']}")
        if "judgments_path" in document:
            lines.append(f"all judgments: {document['judgments_path']}")
    elif len(document["rows"]) < document["cells"]:
        lines.append("next: -o FOLDER writes all cells and judgments, --rows N shows more")
    return "\n".join(map(printable, lines))


def _inputs_text(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Return lines on the inputs that differ."""
    for what, exports in inputs["exports"].items():
        if exports:
            names = first_of([export["name"] for export in exports])
            yield f"exports {what}: {len(exports):,} ({names})"
    counts = {what: n for what, n in (inputs["judgments"] or {}).items() if n}
    if counts:
        words = ", ".join(_count_text(what.replace("_", " "), n) for what, n in counts.items())
        yield f"judgments: {words}"
    judges = inputs["verdicts"] or []
    if judges:
        yield f"verdicts: {len(judges):,} changed"
    for row in judges[:5]:
        p = " to ".join(number(row[f"{age}_p_value"]) for age in ("old", "new"))
        words = " to ".join(_verdict(row, age) for age in ("old", "new"))
        yield f"  {row['task']}, {row['judge']}: {words}, p {p}"
    for row in inputs["model_versions"]:
        yield f"model: {row['task']}, {row['released_judges']} is now {row['judges']}"
    for row in inputs["settings"]:
        setting, was, is_ = setting_in_words(row)
        if was == "none":
            yield f"setting {setting} added: {short(is_, 80)}"
        elif is_ == "none":
            yield f"setting {setting} removed: {short(was, 80)}"
        else:
            yield f"setting {setting}: {short(was, 80)} to {short(is_, 80)}"
    for row in inputs["code"]:
        versions = (row[age][:12] if row[age] else "none" for age in ("old", "new"))
        yield f"code, {row['what']}: {' to '.join(versions)}"


def _count_text(what: str, n: int) -> str:
    return f"{n:,} {what.removesuffix('s') if n == 1 else what}"


def _judgments_text(document: Document) -> Iterator[str]:
    """Yield the first judgments that differ, each with its answers and places."""
    rows = document["judgments"][:JUDGMENTS]
    for row in rows:
        what = f"{row['change']} decision" if row["is_adjudication"] else row["change"]
        places = [
            f"{row[f'{age}_file']} {row_and_line(row[f'{age}_row'], row.get(f'{age}_line'))}"
            for age in ("old", "new")
            if f"{age}_file" in row
        ]
        fates = [row[name] for name in ("old_fate", "new_fate") if name in row]
        yield (
            f"  {what}: {row['task']}, {row['item']}, {row.get('judge', 'unknown')}: "
            f"{_answers(row)}, {' to '.join(dict.fromkeys(fates)) or 'fate unknown'} "
            f"({' to '.join(dict.fromkeys(places))})"
        )
    n = document["judgments_changed"] or 0
    if n > len(rows):
        more = n - len(rows)
        yield f"  and {more:,} more judgment{'s' * (more != 1)}"


def _answers(row: Mapping[str, Any]) -> str:
    if row["change"] == "restated":
        return f"{short(row.get('new_answer'))}, other {', '.join(row['particulars'])}"
    answers = (row[name] for name in ("old_answer", "new_answer") if name in row)
    return " to ".join(map(short, answers))


def _verdict(row: Mapping[str, Any], age: str) -> str:
    return f"{row[f'{age}_verdict']}{' (dropped)' if row[f'{age}_dropped'] else ''}"


def _summary_text(row: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{row[k]:,} {k}" for k in ("changed", "added", "removed") if row[k])
    causes = ", ".join(f"{cause} {n:,}" for cause, n in row["causes"].items())
    if row["became_true"] is not None:
        state = row["column"].removeprefix("dawid_skene_")
        counts += f" ({row['became_true']:,} became {state}, "
        counts += f"{row['changed'] - row['became_true']:,} no longer)"
    largest = f", by {row['largest']:.4g} at most" if row["largest"] else ""
    return f"{row['table']}.{row['column']}: {counts}{largest}" + (f": {causes}" if causes else "")


def _count(row: Mapping[str, Any]) -> int:
    return sum(row[kind] for kind in ("changed", "added", "removed"))


def row_text(row: Mapping[str, Any]) -> str:
    """Return a cell: where it is, what it was and is, and why."""
    cell = ", ".join(row[key] for key in SHOWN_KEYS if key in row)
    values = f"{_cell(row, 'old')} to {_cell(row, 'new')}"
    if row["change"] != "changed":
        values = f"{row['change']}, {_cell(row, 'new' if row['change'] == 'added' else 'old')}"
    return f"{cell}: {row['column']} {values}" + _why(row)


def _cell(row: Mapping[str, Any], age: str) -> str:
    """Return a value in words; numbers with few digits."""
    value = row.get(f"{age}_number")
    if value is None:
        return short(row.get(age, "nothing"), 60)
    digits = f"{value:.6g}"
    return ">0.999999" if digits == "1" and value < 1 else digits  # no probability is certainty


def _why(row: Mapping[str, Any]) -> str:
    causes: Sequence[str] = row.get("causes", ())
    if "delta" in row:
        least = NEGLIGIBLE * max(map(abs, row["deltas"].values()), default=0.0) if causes else 0.0
        causes = [cause for cause in causes if abs(row["deltas"][cause]) >= least]
    if "delta" not in row or len(causes) < 2:
        return f" ({', '.join(causes)})" if causes else ""
    parts = (f"{c} {row['deltas'][c]:+.4g}" for c in causes)
    return f" ({', '.join(parts)})"
