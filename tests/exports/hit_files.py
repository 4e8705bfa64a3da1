"""Results of planned HITs: what its tests share."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.exports import READERS, Opening

HIT: dict[str, Any] = {
    "annot": 1,
    "task": "t",
    "hit": "00000000000000a1",
    "scale": [0, 100],
    "criteria": [],
    "slots": [
        {"item": "a", "segment": "s", "system": "x"},
        {"item": "a", "segment": "s", "system": "x", "control": "bad_reference"},
        {"item": "b"},
    ],
}


TWO = HIT | {"criteria": ["fluency", "adequacy"], "slots": HIT["slots"][:2]}


ALL = frozenset(HITS_FIELDS)


Records = list[dict[str, Any]]


def opened(path: Path, content: str | bytes, wanted: frozenset[str] | None = ALL, **options: Any):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return READERS["hits"](Opening(path, path.name, wanted, **options))


def records(path: Path, content: str | bytes, **options: Any) -> Records:
    """Every record: row, cell, reason and columns; every row must have one."""
    export = opened(path, content, **options)
    actual: Records = []
    for chunk in export.chunks:
        columns = {name: column.to_pylist() for name, column in chunk.columns.items()}
        assert chunk.cell is not None
        for n, (row, reason) in enumerate(
            zip(chunk.row.tolist(), chunk.problem.to_pylist(), strict=True)
        ):
            values = {name: column[n] for name, column in columns.items()}
            actual.append({"row": row, "cell": chunk.cell[n].as_py(), "reason": reason, **values})
    assert {r["row"] for r in actual} == set(range(1, export.n_rows + 1)), "a row is lost"
    return actual


def reasons(actual: Records) -> list[str | None]:
    return [record["reason"] for record in actual]


MTURK = {
    "HITId": "3X", "AssignmentId": "as1", "WorkerId": "w1", "AssignmentStatus": "Submitted",
    "SubmitTime": "Sat Nov 21 04:45:23 PST 2026", "WorkTimeInSeconds": "60",
    "Input.annot_hit": json.dumps(HIT), "Input.text_1": "A", "Input.text_2": "A!",
    "Input.text_3": "B", "Answer.score_1": "10", "Answer.score_2": "20", "Answer.score_3": "30",
}  # fmt: skip


def mturk(*rows: dict[str, Any], columns: dict[str, Any] = MTURK, delimiter: str = ",") -> str:
    """Batch results; each row is `MTURK` but for what is given."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([*columns, "Approve", "Reject"])
    for row in rows:
        writer.writerow([(columns | row)[name] for name in columns])
    return text.getvalue()


def studio(hit: Any, results: Any, **annotation: Any) -> str:
    usual = {"id": 7, "completed_by": 3, "was_cancelled": False, "lead_time": 4.5,
             "created_at": "2026-11-21T12:00:00Z"}  # fmt: skip
    annotations = [{**usual, "result": results, **annotation}]
    return json.dumps([{"id": 1, "data": {"annot_hit": hit}, "annotations": annotations}])


def number(name: str, value: Any, type_: str = "number") -> dict[str, Any]:
    return {"from_name": name, "to_name": "text_1", "type": type_, "value": {type_: value}}


NUMBERS = [number("score_1", 10), number("score_2", 20.5), number("score_3", 30)]


def line(scores: Any, hit: Any = HIT, **more: Any) -> str:
    texts = {"texts": ["A text"] * len(hit["slots"])} if isinstance(hit, dict) else {}
    return json.dumps({"annot_hit": hit, **texts, "judge": "llm", "scores": scores} | more)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
