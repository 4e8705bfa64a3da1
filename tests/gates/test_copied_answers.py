"""The gate on exports with judges whose scores or preferences are those of another judge."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config.sections import Resources
from annot_pipeline.storage.queries import Queries
from tests.gates.test_drift import gate

COLUMNS = ("judgment_id", "fate", "task", "item", "judge", "item_a", "item_b", "preference")
SCHEMA = pa.schema(
    [*((name, pa.string()) for name in (*COLUMNS, "criterion")), ("score", pa.float64())]
)


def rows_of(tmp_path, answers, *, released=("old",)):
    """What the query says of ``(export, judge, answer)``."""
    rows = [{"judgment_id": str(n), "fate": "used", "task": "t"} for n in range(len(answers))]
    lineage = [
        row | {"source_file": source, "source_digest": source}
        for row, (source, _, _) in zip(rows, answers, strict=True)
    ]
    judgments = [
        row | {"judge": judge} | answer
        for row, (_, judge, answer) in zip(rows, answers, strict=True)
    ]
    inputs = {
        "judgments": pa.Table.from_pylist(judgments, SCHEMA),
        "lineage": pa.Table.from_pylist(lineage),
        "released": pa.table({"judgment_id": pa.array([], pa.string())}),
        "released_exports": pa.table({"source_digest": pa.array(released, pa.string())}),
    }
    return Queries(Resources(), tmp_path).table("audit/copied_answers", inputs).to_pylist()


def crowd(points, spread, *, n_judges=6, n_items=60, per_item=3, seed=0):
    """Scores from 0 to ``points - 1`` about the worth of an item: by judge and item."""
    rng = np.random.default_rng(seed)
    spread = np.broadcast_to(spread, n_judges)
    worth, answers = rng.uniform(0, points - 1, n_items), {}
    for i in range(n_items):
        for j in rng.choice(n_judges, per_item, replace=False):
            score = np.rint(worth[i] + rng.normal(0, spread[j]))
            answers[f"j{j}", f"i{i}"] = float(np.clip(score, 0, points - 1))
    return answers


def scores(source, answers, names="{}"):
    return [
        (source, names.format(judge), {"item": item, "score": score})
        for (judge, item), score in answers.items()
    ]


def preferences(source, answers, names="{}"):
    """Of three points: a is better, they tie, or b is; a copy is shown in the other order."""
    rows = []
    for (judge, item), score in answers.items():
        sides = (f"{item} a", f"{item} b")[:: 1 if source == "old" else -1]
        better = "tie" if score == 1 else "ab"[(score > 1) == (source == "old")]
        rows.append((source, names.format(judge), {
            "item": " | ".join(sides), "item_a": sides[0], "item_b": sides[1], "preference": better,
        }))  # fmt: skip
    return rows


def test_an_export_under_other_names_is_a_copy(tmp_path):
    for kind, answers in ((scores, crowd(101, 15)), (preferences, crowd(3, 0.7, n_items=90))):
        [row] = rows_of(tmp_path, kind("old", answers) + kind("n", answers, "{}@x.org"))
        n = len(answers)
        assert (row["task"], row["judgments"], row["copied"]) == ("t n", n, n)
        assert (row["judges"], row["first"]) == (6, "j0@x.org as j0")


def test_one_judge_of_an_export_who_copies(tmp_path):
    """j9 has the scores of j0, but 1 of 50, and some of his own; with 2 of 50 there is no copy."""
    old = crowd(101, 15, n_items=100)
    others = [*crowd(101, 15, n_items=100, seed=1).items()][:10]
    of_first = [(item, score) for (judge, item), score in old.items() if judge == "j0"][:50]
    for n_unlike in (1, 2):
        copy = {("j9", i): s + (n < n_unlike) for n, (i, s) in enumerate(of_first)}
        night = copy | {("j9", f"k{n}"): s for n, (_, s) in enumerate(others)}
        rows = rows_of(tmp_path, scores("old", old) + scores("n", night))
        expected = [("t n", 60, 60, "j9 as j0")] if n_unlike == 1 else []
        assert [(r["task"], r["judgments"], r["copied"], r["first"]) for r in rows] == expected


@pytest.mark.parametrize(
    ("points", "spread", "items"),
    [
        (101, 2, 60),
        (101, 0, 60),
        (5, 0.5, 200),
        (3, 0.2, 200),
        (5, [0.001, 0.001, 2, 2, 2, 2], 200),
        (5, [0.001, 0.001, 0.001, 2, 2, 2], 200),
    ],
    ids=["points", "all agree", "few points", "easy", "two experts", "three experts"],
)
def test_judges_who_look_for_themselves_copy_nobody(tmp_path, points, spread, items):
    for seed in range(5):
        answers = crowd(points, spread, n_items=items, per_item=4, seed=seed)
        assert rows_of(tmp_path, scores("old", answers), released=()) == []
    assert rows_of(tmp_path, scores("old", answers) + scores("n", answers)) == []  # the same people


def test_judges_of_one_answer_copy_nobody(tmp_path):
    answers = crowd(101, 15) | {(j, f"i{i}"): 100.0 for j in ("k", "l") for i in range(60)}
    assert rows_of(tmp_path, scores("n", answers)) == []


def test_copies_of_the_release_are_not_held_against_a_new_export(tmp_path):
    old = crowd(101, 15)
    first = scores("old", old) + scores("old", old, "{}@x.org")
    assert rows_of(tmp_path, first + scores("n", {("j0", f"k{n}"): 9.0 for n in range(30)})) == []


def test_an_export_that_repeats_another_stops_the_build(stage_campaign):
    answers = crowd(101, 15)
    head = "judge,item,score\n"
    exports = {
        name: head + "".join(
            f"{names.format(judge)},{item},{score}\n" for (judge, item), score in answers.items()
        )
        for name, names in (("a.csv", "{}"), ("b.csv", "{}@x.org"))
    }  # fmt: skip
    built = stage_campaign(
        exports,
        sources=[{
            "path": "exports/*.csv", "format": "csv",
            "fields": {name: name for name in ("judge", "item", "score")},
        }],
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    )  # fmt: skip
    actual = gate(built, "copied_answers")
    assert (actual.level, actual.value) == ("error", 1)
    assert actual.detail.startswith("small exports/a.csv 180 of 180 by 6 judges: ")
