"""The gate on judges whose preferences all are one answer."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from annot_pipeline.config.sections import Resources
from annot_pipeline.storage.queries import Queries
from tests.gates.test_drift import gate

OTHERS = {"b": "ab" * 20, "c": "aab" * 10 + "t" * 10}
"""Of 80 answers 40 are a: with a smoothed share of 41 in 83, 17 answers a have p below 1e-5."""


def names_of(tmp_path, answers):
    """Who is named, of answers by judge; t is a tie."""
    rows = [
        {"task": "t", "judge": judge, "preference": "tie" if answer == "t" else answer}
        for judge, text in answers.items()
        for answer in text
    ]
    judgments = pa.Table.from_pylist([row | {"fate": "used"} for row in rows])
    query = Queries(Resources(), tmp_path).table("audit/one_sided_judges", {"judgments": judgments})
    return query["name"].to_pylist()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a" * 20, ["t x (item_a in all 20 answers)"]), ("t" * 20, ["t x (tie in all 20 answers)"]),
        ("a" * 19, []), ("a" * 25 + "b", []), ("ab" * 30, []),
    ],
)  # fmt: skip
def test_who_gives_one_answer(tmp_path, text, named):
    assert names_of(tmp_path, OTHERS | {"x": text}) == named


def test_an_answer_that_all_give_tells_nothing(tmp_path):
    """Of 98 in 101 others: 20 answers have p .5, 400 have 6e-6."""
    others = {"b": "a" * 49 + "b", "c": "a" * 48}
    assert 20 * math.log(98 / 101) > math.log(1e-5) > 400 * math.log(98 / 101)
    assert names_of(tmp_path, others | {"x": "a" * 20}) == []
    assert names_of(tmp_path, others | {"x": "a" * 400}) == ["t x (item_a in all 400 answers)"]
    assert names_of(tmp_path, {"x": "a" * 40}) == []


def test_a_judge_who_always_takes_the_left_is_named(stage_campaign):
    head = "judge,item_a,item_b,better\n"
    rows = [
        f"{judge},p{n},q{n},{'a' if judge == 'left' or n % 3 else 'b'}\n"
        for n in range(60)
        for judge in ("j1", "j2", "left")
    ]
    fields = {
        "judge": "judge", "item_a": "item_a", "item_b": "item_b", "preference": "better",
    }  # fmt: skip
    built = stage_campaign(
        {"a.csv": head + "".join(rows)},
        "quality.labels=measure",
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        tasks=[{"name": "*", "kind": "pairwise"}],
    )
    actual = gate(built, "one_sided_judges")
    assert (actual.level, actual.value) == ("warn", 1)
    assert actual.detail.endswith("(item_a in all 60 answers)")
