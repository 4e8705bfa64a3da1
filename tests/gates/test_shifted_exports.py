"""The gates on exports whose scores, or whose systems, have moved beyond chance."""

from __future__ import annotations

from itertools import product
from statistics import mean, variance

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config.operation import Resources
from annot_pipeline.storage.queries import Queries
from tests.gates.test_drift import gate

TEXT = (
    "judgment_id", "fate", "task", "item", "segment", "criterion", "judge", "system", "item_a",
    "item_b", "system_a", "system_b", "preference",
)  # fmt: skip
SCHEMA = pa.schema([*((name, pa.string()) for name in TEXT), ("score", pa.float64())])


def rows_of(tmp_path, answers, *, released=("old",)):
    """What the query says of ``(export, answer)``; without a release the largest is the others."""
    rows = [{"judgment_id": str(n), "fate": "used", "task": "t"} for n in range(len(answers))]
    lineage = [
        row | {"source_file": source, "source_digest": source}
        for row, (source, _) in zip(rows, answers, strict=True)
    ]
    judgments = [row | answer for row, (_, answer) in zip(rows, answers, strict=True)]
    inputs = {
        "judgments": pa.Table.from_pylist(judgments, SCHEMA),
        "lineage": pa.Table.from_pylist(lineage),
        "released": pa.table({"judgment_id": pa.array([], pa.string())}),
        "released_exports": pa.table({"source_digest": pa.array(released, pa.string())}),
    }
    return Queries(Resources(), tmp_path).table("audit/shifted_exports", inputs).to_pylist()


def scores(source, worth, *, n_judges=6, n_segments=8, seed=0, first=0, turn=lambda score: score):
    """Each judge scores the systems of each segment; ``turn`` is what the export makes of it."""
    rng = np.random.default_rng(seed)
    cells = product(range(first, first + n_judges), range(n_segments), worth)
    return [
        (source, {
            "judge": f"j{j}", "segment": f"{source} {s}", "item": f"{source} {s} {system}",
            "system": system, "score": turn(worth[system] + 3 * (j - first) + rng.normal(0, 4)),
        })
        for j, s, system in cells
    ]  # fmt: skip


def preferences(source, worth, *, seed=0, is_swapped=False):
    rng = np.random.default_rng(seed)
    answers = []
    for j, s in product(range(6), range(10)):
        a, b = rng.choice(list(worth), 2, replace=False)
        better = "a" if worth[a] + rng.normal(0, 3) > worth[b] else "b"
        sides = (b, a) if is_swapped else (a, b)
        answers.append((source, {
            "judge": f"j{j}", "segment": f"{source} {s}", "item": f"{source} {s} {a} {b}",
            "item_a": f"{source} {s} {sides[0]}", "system_a": sides[0], "system_b": sides[1],
            "preference": better,
        }))  # fmt: skip
    return answers


WORTH = {"A": 40.0, "B": 50.0, "C": 60.0}


def variance_of(values, *keys):
    """The variance of a mean whose judges, and whose segments, repeat."""
    total = 0.0
    for key in keys:
        groups = {}
        for name, value in zip(key, values, strict=True):
            groups.setdefault(name, []).append(value)
        means = [mean(group) for group in groups.values()]
        total += variance(means) / len(means)
    return total


def test_scores_of_the_same_judges_by_plain_means(tmp_path):
    answers = scores("old", WORTH) + scores("n", WORTH, seed=1, turn=lambda score: score / 100)
    row = rows_of(tmp_path, answers)[0]  # then systems, whose differences vanish
    values = [row["score"] for _, row in answers]
    reach = 1.96 * sum(
        variance_of(*zip(*((
            r["score"] / (max(values) - min(values)), r["judge"], r["segment"]
        ) for source, r in answers if source == side), strict=True))
        for side in ("old", "n")
    ) ** 0.5  # fmt: skip
    change = mean(values[144:]) - mean(values[:144])  # as many scores of each judge
    change /= max(values) - min(values)
    assert (row["name"], row["is_system"], row["items"]) == ("t n", False, 144)
    assert row["change"] == pytest.approx(change, abs=1e-6)
    assert [row["low"], row["high"]] == pytest.approx([change - reach, change + reach], abs=1e-6)


def test_a_system_by_plain_means(tmp_path):
    """Other judges, who like A: their scores may differ, as those of any judge may."""
    answers = scores("old", WORTH) + scores("n", WORTH | {"A": 70.0}, seed=1, first=90)
    rows = rows_of(tmp_path, answers)
    assert [row["is_system"] for row in rows] == [True] * len(rows)
    row = rows[0]
    means = {
        (side, system): mean(r["score"] for s, r in answers if (s, r["system"]) == (side, system))
        for side in ("old", "n")
        for system in WORTH
    }
    about = {side: mean(means[side, system] for system in WORTH) for side in ("old", "n")}
    of_a = {side: means[side, "A"] - about[side] for side in about}
    span = means["old", "C"] - means["old", "A"]
    assert row["name"] == "t n A"
    assert row["change"] == pytest.approx((of_a["n"] - of_a["old"]) / span, abs=1e-6)
    assert row["low"] < row["change"] < row["high"]


@pytest.mark.parametrize(
    ("night", "expected"),
    [
        (scores("n", WORTH, seed=1), set()),
        (scores("n", WORTH, seed=1, turn=lambda score: 100 - score), {"t n", "t n A", "t n C"}),
        (scores("n", WORTH, seed=1, n_judges=4), set()),  # too few
        (scores("n", WORTH | {"A": 70.0}, seed=1, n_segments=4), set()),
        (scores("n", {"D": 90.0}, seed=1), set()),  # a new system
        (scores("n", {"A": 70.0}, seed=1), {"t n"}),  # of one system: no mean of all
        (preferences("n", WORTH, seed=1), set()),
        (preferences("n", WORTH, seed=1, is_swapped=True), {"t n A", "t n C"}),
    ],
    ids=[
        "alike",
        "reversed",
        "four judges",
        "four segments",
        "new system",
        "one system",
        "pairs",
        "swapped",
    ],
)
def test_what_moves_beyond_twice_its_interval(tmp_path, night, expected):
    first = preferences("old", WORTH) if "preference" in night[0][1] else scores("old", WORTH)
    assert {row["name"] for row in rows_of(tmp_path, first + night)} == expected


def test_without_a_release_exports_are_compared_with_the_largest(tmp_path):
    answers = scores("old", WORTH, n_segments=9) + scores("n", WORTH, turn=lambda score: score / 9)
    assert rows_of(tmp_path, answers, released=())[0]["name"] == "t n"


def test_an_export_of_another_scale_stops_the_first_build(stage_campaign):
    head = "judge,system,segment,score\n"
    exports = {
        f"{source}.csv": head + "".join(
            f"{r['judge']},{r['system']},{r['segment']},{r['score']:.3f}\n" for _, r in answers
        )
        for source, answers in (
            ("old", scores("old", WORTH, n_segments=9)),
            ("n", scores("n", WORTH, turn=lambda score: score / 100)),
        )
    }  # fmt: skip
    fields = {name: name for name in ("judge", "system", "segment", "score")}
    built = stage_campaign(
        exports,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    )
    actual = gate(built, "shifted_scores")
    assert actual.level == "error"
    assert actual.detail.startswith("small exports/n.csv -")
    assert gate(built, "shifted_systems").detail.startswith("small exports/n.csv A +")
