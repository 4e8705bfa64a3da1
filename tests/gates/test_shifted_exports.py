"""The gates on exports whose scores, systems or labels have moved beyond chance."""

from __future__ import annotations

from itertools import product
from statistics import mean, variance

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config.sections import Resources
from annot_pipeline.storage.queries import Queries
from tests.gates.test_drift import gate

TEXT = (
    "judgment_id", "fate", "task", "item", "segment", "criterion", "judge", "system", "item_a",
    "item_b", "system_a", "system_b", "preference", "label",
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
    assert (row["name"], row["kind"], row["items"]) == ("t n", "scores", 144)
    assert row["change"] == pytest.approx(change, abs=1e-6)
    assert [row["low"], row["high"]] == pytest.approx([change - reach, change + reach], abs=1e-6)


def test_a_system_by_plain_means(tmp_path):
    """Other judges, who like A: their scores may differ, as those of any judge may."""
    answers = scores("old", WORTH) + scores("n", WORTH | {"A": 70.0}, seed=1, first=90)
    rows = rows_of(tmp_path, answers)
    assert [row["kind"] for row in rows] == ["systems"] * len(rows)
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


def labels(source, shares, *, n_judges=6, n_items=20, first=0, turn=None):
    """Each judge labels each item; of ten items, ``shares`` are of each class, one by chance."""
    classes = [label for label, n in shares.items() for _ in range(n)]
    rng = np.random.default_rng(len(source))
    answers = []
    for n, j in product(range(n_items), range(first, first + n_judges)):
        label = rng.choice(classes) if rng.random() < 0.1 else classes[n % len(classes)]
        label = (turn or {}).get(label, str(label))
        answers.append((source, {"judge": f"j{j}", "item": f"{source} {n}", "label": label}))
    return answers


def share_by(answers, key, label):
    groups = {}
    for _, row in answers:
        groups.setdefault(row[key], []).append(row["label"] == label)
    return {name: mean(group) for name, group in groups.items()}


RARE = {"x": 8, "y": 2}
SWAPPED = {"x": "y", "y": "x"}


def test_labels_of_the_same_judges_by_plain_shares(tmp_path):
    """Each judge's share of a class less the share that the judge gave it in the others."""
    old, new = labels("old", RARE, n_items=30), labels("n", RARE, turn=SWAPPED)
    [row] = rows_of(tmp_path, old + new + labels("n", RARE, first=90))  # these have no others
    before, after = (share_by(side, "judge", "y") for side in (old, new))
    changes = [after[judge] - before[judge] for judge in before]
    variances = [variance(changes) / 6]
    for side in (old, new):
        less = {}
        for _, r in side:
            less.setdefault(r["item"], []).append((r["label"] == "y") - before[r["judge"]])
        variances.append(variance(map(mean, less.values())) / len(less))
    reach = 1.96 * sum(variances) ** 0.5
    shares = [f"{100 * mean(side.values()):.0f}%" for side in (before, after)]
    assert row["name"] == f"t n y {shares[0]} to {shares[1]}"
    assert (row["kind"], row["items"]) == ("labels", 120)
    assert row["change"] == pytest.approx(mean(changes), abs=1e-6)
    low, high = mean(changes) - reach, mean(changes) + reach
    assert [row["low"], row["high"]] == pytest.approx([low, high], abs=1e-6)


@pytest.mark.parametrize(
    ("night", "least"),
    [
        (labels("n", RARE), 0),
        (labels("n", RARE, turn=SWAPPED), 0.4),
        (labels("n", {"x": 5, "y": 5}, n_items=120), 0.15),  # other material, perhaps
        (labels("n", RARE, turn=SWAPPED, n_judges=4), 0),  # too few
        (labels("n", RARE, turn=SWAPPED, n_items=4), 0),
        (labels("n", RARE, turn=SWAPPED, first=90), 0),  # other judges
        (labels("n", RARE, turn={"x": "z"}), 0.4),  # a class that no other export has
    ],
    ids=["alike", "swapped", "moved", "four judges", "four items", "other judges", "new class"],
)
def test_labels_that_move_beyond_twice_their_interval(tmp_path, night, least):
    rows = rows_of(tmp_path, labels("old", RARE, n_items=120) + night)
    assert [row["kind"] for row in rows] == ["labels"] * (least > 0)
    assert all(least < abs(row["change"]) < (0.4 if least == 0.15 else 1) for row in rows)


def test_labels_move_by_all_classes(tmp_path):
    """Two classes of four shrink from .8 to .2 of the labels, each by .3."""
    old = labels("old", {"a": 4, "b": 4, "c": 1, "d": 1}, n_items=100)
    night = labels("n", {"a": 1, "b": 1, "c": 4, "d": 4}, n_items=100)
    [row] = rows_of(tmp_path, old + night)
    assert abs(row["change"]) == pytest.approx(0.6, abs=0.1)
    assert row["low"] < row["change"] < row["high"]


def test_of_exports_of_the_first_build_the_one_with_swapped_labels_stops_it(stage_campaign):
    exports = {
        f"{source}.csv": "judge,item,label\n" + "".join(
            f"{r['judge']},{r['item']},{r['label']}\n" for _, r in answers
        )
        for source, answers in (
            ("old", labels("old", RARE, n_items=30)), ("n", labels("n", RARE, turn=SWAPPED))
        )
    }  # fmt: skip
    actual = gate(stage_campaign(exports), "shifted_labels")
    assert actual.level == "error"
    assert actual.detail.startswith("small exports/n.csv y ")
