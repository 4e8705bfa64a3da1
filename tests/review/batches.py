"""`annot review`: what its tests share."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError, StoreError
from annot_pipeline.review import review

COLUMNS = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.set", "Answer.Q1"]


HEAD = [*COLUMNS, "Answer.comments", "Approve", "Reject"]


FIELDS: dict[str, Any] = {
    "judge": "WorkerId",
    "hit": "HITId",
    "native_id": "AssignmentId",
    "position": {"value": "{i}"},
    "system": {"value": "s"},
    "segment": {"join": ["Input.set", {"value": "{k}"}], "sep": "-"},
    "control": {"value": "{i}"},
    "score": {"column": "Answer.Q1", "match": r"(?:^|\|){i}_{k}_(\d+)"},
}
"""Three segments (k), each judged as it is and as a degraded copy (i)."""


CAREFUL = "none_0_80|none_1_70|none_2_75|bad_reference_0_20|bad_reference_1_10|bad_reference_2_31"


CARELESS = "none_0_50|none_1_52|none_2_49|bad_reference_0_50|bad_reference_1_53|bad_reference_2_40"


UPSIDE_DOWN = (
    "none_0_10|none_1_12|none_2_9|bad_reference_0_50|bad_reference_1_53|bad_reference_2_60"
)


def scored(*pairs: tuple[int, int]) -> str:
    """Answers by pairs of an output's score and that of its degraded copy."""
    return "|".join(f"none_{k}_{a}|bad_reference_{k}_{b}" for k, (a, b) in enumerate(pairs))


TEN = {"each": {"i": ["none", "bad_reference"], "k": "0..9"}}
"""Ten segments; a source of what `scored` makes."""


def ten_pairs(*differences: int) -> str:
    """Ten pairs whose differences are these, over and over."""
    return scored(
        *((90 - 2 * k, 90 - 2 * k - differences[k % len(differences)]) for k in range(10))
    )


ONE_PAIR = "none_0_50|none_1_52|bad_reference_0_10"


FAILED = (
    "Control items: degraded copies were not scored reliably lower than their originals "
    "(paired t-test, p = 0.24, 3 pairs)."
)


def batch(*rows: list[str], head: list[str] = HEAD, end: str = "\n", delimiter: str = ",") -> str:
    """A batch as MTurk writes it: every cell quoted."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end, delimiter=delimiter)
    writer.writerows([head, *rows])
    return text.getvalue()


def work(worker: str, answer: str, status: str = "Submitted", *more: str) -> list[str]:
    return ["h1", f"a-{worker}", worker, status, "x", answer, *(more or ("fine",))]


Make = Callable[..., Path]


def reviewed(folder: Path, **options: Any) -> dict[str, Any]:
    return review(load_campaign(folder), folder / "review", **options)


def upload(folder: Path, name: str = "upload-b.csv") -> str:
    return (folder / "review" / name).read_bytes().decode()


def sheet(folder: Path) -> list[dict[str, str]]:
    with (folder / "review" / "review.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def refused(folder: Path, kind: type[AnnotError] = StoreError, **options: Any) -> str:
    with pytest.raises(kind) as error:
        reviewed(folder, **options)
    assert type(error.value) is kind
    return str(error.value)
