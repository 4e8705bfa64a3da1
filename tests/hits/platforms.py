"""Plans made by hand, and what each platform gives back of them: fakes, down to the columns.

MTurk's columns are those of the real data set graham-mturk-da, Label Studio's those of
labelstudio-leoka (tests/real_data/README.md).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.hits import PLATFORMS, write_batch
from annot_pipeline.stages.planning.hit_plan import HIT_PLAN, Question

PLAN = HIT_PLAN

MTURK_COLUMNS = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime",
    "MaxAssignments", "RequesterAnnotation", "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds",
    "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime",
    "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback",
    "WorkTimeInSeconds", "LifetimeApprovalRate", "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)  # fmt: skip

Row = dict[str, Any]
Scores = Callable[[str, Row, int, int | None], float | str | None]
"""What a judge gives: (judge, bookkeeping, slot, criterion), both from 1."""


def slot(item: str, control: str = "none", **more: Any) -> Row:
    return {"item": item, "control": control, **more}


def hit_id(number: int) -> str:
    return f"{number * 2654435761 % 2**64:016x}"


def plan(*tasks: tuple[str, Sequence[Sequence[Row]]]) -> pa.Table:
    """A plan of (task, HITs); a HIT is a list of slots."""
    rows: list[Row] = []
    number = 0
    for task, hits in tasks:
        for slots in hits:
            number += 1
            for place, shown in enumerate(slots, start=1):
                at = {"task": task, "hit": hit_id(number), "slot": place, "role": "item"}
                rows.append({**at, **shown})
    order = sorted(rows, key=lambda row: (row["task"], row["hit"], row["slot"]))
    return pa.Table.from_pylist(order, HIT_PLAN)


def question(task: str, *criteria: str, scale: tuple[float, float] = (0.0, 100.0)) -> Question:
    return Question(task, scale, criteria)


def write(table: pa.Table, questions: Sequence[Question], folder: Path, platform: str) -> Row:
    return write_batch(table, questions, folder, PLATFORMS[platform])


def files(document: Row, ending: str) -> dict[str, Path]:
    """The file with an ending of each task."""
    return {
        task["task"]: Path(file["path"])
        for task in document["tasks"]
        for file in task["files"]
        if file["path"].endswith(ending)
    }


def read_csv(path: Path, delimiter: str = ",") -> list[list[str]]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


FIELDS = {"compare": "preference", "label": "label"}


def choices_of(hit: Row) -> list[str]:
    """What the form offers, as it says it."""
    if hit["ask"] == "compare":
        return ["a", "tie", "b"]
    return [str(n) for n in range(1, len(hit["labels"]) + 1)]


def form_value(hit: Row, chosen: float | str) -> float | str:
    """Labels are numbers on forms."""
    labels = hit.get("labels", ())
    return str(labels.index(chosen) + 1) if chosen in labels else chosen


def radio_buttons(hit: Row, given: Row) -> Row:
    """What an MTurk form makes of radio buttons: true and false for each of them."""
    return {name: {choice: choice == value for choice in choices_of(hit)}
            for name, value in given.items()}  # fmt: skip


@dataclass
class Worked:
    """Who worked, what they gave, and what went with it."""

    judges: Sequence[str]
    scores: Scores
    extra: Callable[[str, Row], Row] = field(default=lambda _judge, _hit: {})

    def given(self, judge: str, hit: Row) -> dict[str, float | str]:
        """Name of the answer on the form to what was given; of choices, as forms say it."""
        if "ask" in hit:
            return {
                f"{FIELDS[hit['ask']]}_{number}": form_value(hit, chosen)
                for number in range(1, len(hit["slots"]) + 1)
                if (chosen := self.scores(judge, hit, number, None)) is not None
            }
        places: list[int | None] = [*range(1, len(hit["criteria"]) + 1)] or [None]
        actual = {}
        for number in range(1, len(hit["slots"]) + 1):
            for place in places:
                name = f"score_{number}" + ("" if place is None else f"_{place}")
                score = self.scores(judge, hit, number, place)
                if score is not None:
                    actual[name] = score
        return actual


def mturk_results(uploaded: Path, worked: Worked, *, packed: bool = False) -> str:
    """Batch results as downloaded: rows end before Approve and Reject."""
    header, *rows = read_csv(uploaded)
    inputs = [f"Input.{name}" for name in header]
    handed_in = []
    for row in rows:
        hit = json.loads(row[0])
        for judge in worked.judges:
            plain = {name: str(value) for name, value in worked.given(judge, hit).items()}
            buttons = radio_buttons(hit, plain) if "ask" in hit else {}
            given = {f"Answer.{name}": value for name, value in plain.items()}
            if buttons:
                given = {
                    f"Answer.{name}.{choice}": json.dumps(is_chosen)
                    for name, choices in buttons.items()
                    for choice, is_chosen in choices.items()
                }
            if packed:
                given = {"Answer.taskAnswers": json.dumps([buttons or plain])}
            cells = {
                "HITId": f"3{hit['hit'].upper()}", "HITTypeId": "3TYPE", "Title": "Score texts",
                "Description": "Score, please", "Keywords": "text", "Reward": "$0.05",
                "CreationTime": "Sat Nov 21 01:00:00 PST 2026",
                "MaxAssignments": str(len(worked.judges)),
                "RequesterAnnotation": "BatchId:1559525;OriginalHitTemplateId:1;",
                "AssignmentId": f"3{judge}{hit['hit']}".upper(), "WorkerId": judge,
                "AssignmentStatus": "Submitted", "AcceptTime": "Sat Nov 21 04:40:00 PST 2026",
                "SubmitTime": "Sat Nov 21 04:45:23 PST 2026", "WorkTimeInSeconds": "323",
                "LifetimeApprovalRate": "100% (2/2)",
            }  # fmt: skip
            cells |= dict(zip(inputs, row, strict=True)) | given | worked.extra(judge, hit)
            handed_in.append(cells)
    answers = sorted({name for cells in handed_in for name in cells if name.startswith("Answer.")})
    columns = [*MTURK_COLUMNS, *inputs, *answers]
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*columns, "Approve", "Reject"])
    writer.writerows([cells.get(name, "") for name in columns] for cells in handed_in)
    return text.getvalue()


def label_studio_results(uploaded: Path, worked: Worked) -> str:
    """A JSON export, as a project gives it when tasks were imported."""
    tasks = json.loads(uploaded.read_text(encoding="utf-8"))
    exported = []
    for number, task in enumerate(tasks, start=1):
        hit = task["data"]["annot_hit"]
        annotations = []
        for judge in worked.judges:
            results = [
                _chosen(name, given) if "ask" in hit else _number(name, given)
                for name, given in worked.given(judge, hit).items()
            ]
            annotation = {
                "id": 32408071 + 1000 * number + len(annotations),
                "completed_by": {"id": judge, "email": f"{judge}@example.invalid",
                                 "first_name": "", "last_name": ""},
                "result": results, "reviews": [], "was_cancelled": False, "ground_truth": False,
                "created_at": "2026-11-21T23:38:09.506456Z",
                "updated_at": "2026-11-22T02:03:22.745460Z", "draft_created_at": None,
                "lead_time": 236.5, "prediction": {}, "result_count": len(results),
                "unique_id": "99454a41-30d8-407e-9881-996e6584db86", "import_id": None,
                "last_action": None, "task": number, "project": 58513, "updated_by": 15582,
                "parent_prediction": None, "parent_annotation": None, "last_created_by": None,
            }  # fmt: skip
            annotations.append(annotation | worked.extra(judge, hit))
        exported.append(
            {
                "id": 97057261 + number,
                "annotations": annotations,
                "file_upload": "f3d2399a-hits.json",
                "drafts": [],
                "predictions": [],
                "data": task["data"],
                "meta": {},
                "created_at": "2026-11-20T18:40:49.823690Z",
                "updated_at": "2026-11-22T02:03:22.854806Z",
                "inner_id": number,
                "total_annotations": len(annotations),
                "cancelled_annotations": 0,
                "total_predictions": 0,
                "comment_count": 0,
                "unresolved_comment_count": 0,
                "last_comment_updated_at": None,
                "project": 58513,
                "updated_by": 15582,
                "comment_authors": [],
            }
        )
    return json.dumps(exported, ensure_ascii=False)


def _number(name: str, score: float | str) -> Row:
    return {
        "id": f"r{name}",
        "type": "number",
        "value": {"number": score},
        "origin": "manual",
        "to_name": f"text_{name.split('_')[1]}",
        "from_name": name,
    }


def _chosen(name: str, choice: float | str) -> Row:
    """Of a repeated card; Label Studio numbers these from 0."""
    kind, number = name.split("_")
    return {
        "id": f"r{name}",
        "type": "choices",
        "value": {"choices": [choice]},
        "origin": "manual",
        "to_name": f"text_at_{int(number) - 1}",
        "from_name": f"{kind}_at_{int(number) - 1}",
    }


def json_lines_results(uploaded: Path, worked: Worked) -> str:
    """The lines of a batch, with the scores of each judge."""
    lines = []
    for line in uploaded.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        hit = json.loads(line)["annot_hit"]
        for judge in worked.judges:
            slots = range(1, len(hit["slots"]) + 1)
            given = worked.given(judge, hit)
            scores: list[Any] = [given.get(f"score_{n}") for n in slots]
            if hit.get("criteria"):
                places = range(1, len(hit["criteria"]) + 1)
                scores = [[given.get(f"score_{n}_{place}") for place in places] for n in slots]
            if "ask" in hit:
                scores = [worked.scores(judge, hit, n, None) for n in slots]
            answer = {
                "judge": judge,
                "answers" if "ask" in hit else "scores": scores,
                "submitted_at": "2026-11-21T12:45:23Z",
                "seconds": 12.5,
                "assignment": f"{judge}-{hit['hit']}",
            }
            lines.append(json.loads(line) | answer | worked.extra(judge, hit))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


RESULTS: dict[str, tuple[str, Callable[..., str]]] = {
    "mturk": (".csv", mturk_results),
    "label_studio": (".json", label_studio_results),
    "jsonl": (".jsonl", json_lines_results),
}
"""Platform to the ending of its upload file, and to what comes back of it."""
