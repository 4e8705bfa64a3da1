"""The gate on exports whose new judgments agree less than those of other items."""

from __future__ import annotations

import random
from itertools import combinations

import pyarrow as pa
import pytest

from annot_pipeline.config.sections import Resources
from annot_pipeline.stages.gold.compare import mean_changes
from annot_pipeline.storage.queries import Queries
from tests.gates.test_drift import gate

COLUMNS = {
    "judgment_id": pa.string(), "fate": pa.string(), "task": pa.string(), "item": pa.string(),
    "item_a": pa.string(), "item_b": pa.string(), "criterion": pa.string(), "label": pa.string(),
    "preference": pa.string(), "z": pa.float64(),
}  # fmt: skip


def rows_of(tmp_path, answers, released=(), *, exports=("old",), judges=3):
    """What the query says of answers by export: ``(export, item, answer)``, old ones of None."""
    judgments, lineage = [], []
    for n, (source, *answer) in enumerate(answers):
        row = {"judgment_id": str(n), "fate": "used", "task": "t"} | answer[0]
        judgments.append(row)
        lineage.append(
            {"judgment_id": str(n), "fate": "used", "task": "t"}
            | {"source_file": source or "old.csv", "source_digest": source or "old"}
            | {"judge": f"j{n % judges}"}
        )
    inputs = {
        "judgments": pa.Table.from_pylist(judgments, pa.schema(COLUMNS.items())),
        "lineage": pa.Table.from_pylist(lineage),
        "released": pa.table({"judgment_id": pa.array(released, pa.string())}),
        "released_exports": pa.table({"source_digest": pa.array(exports, pa.string())}),
    }
    queries = Queries(Resources(), tmp_path)
    return queries.table("audit/unlike_exports", inputs).to_pylist()


def labels(source, items, *answers):
    return [(source, {"item": item, "label": label}) for item in items for label in answers]


def test_labels_by_hand(tmp_path):
    """Of 7 x and 5 y .486 differ by chance; of pairs none, and 2 of 3, in old items; all in new."""
    old = [*labels(None, "a", "x", "x", "x", "x"), *labels(None, "b", "y", "x", "x")]
    [row] = rows_of(tmp_path, [*old, *labels("n", "c", "x", "y"), *labels("n", "d", "y", "y", "y")])
    expected = 1 - (7**2 + 5**2) / 12**2
    before, after = (1 - 0.0 / expected, 1 - 2 / 3 / expected), (1 - 1 / expected, 1.0)
    scale = 2 / sum(before)
    assert (row["source_file"], row["released_items"], row["new_items"]) == ("n", 2, 2)
    assert row["released_sum"] == 2
    assert row["new_sum"] == pytest.approx(scale * sum(after), abs=1e-5)
    for when, values in (("released", before), ("new", after)):
        squares = sum((scale * value) ** 2 for value in values)
        assert row[f"{when}_squares"] == pytest.approx(squares, rel=1e-5)


def test_z_scores_by_hand(tmp_path):
    scores = {"a": (None, [1.0, 2.0]), "b": ("n", [-3.0, 1.0, 0.5])}
    answers = [(s, {"item": i, "z": z}) for i, (s, all_z) in scores.items() for z in all_z]
    [row] = rows_of(tmp_path, answers)
    every = [z for _, all_z in scores.values() for z in all_z]
    mean = sum(every) / len(every)
    expected = 2 * sum((z - mean) ** 2 for z in every) / len(every)
    before, after = (
        1 - sum((x - y) ** 2 for x, y in pairs) / len(pairs) / expected
        for pairs in ([*combinations(all_z, 2)] for _, all_z in scores.values())
    )
    assert row["new_sum"] == pytest.approx(after / before, abs=1e-5)


def test_a_pair_in_both_orders_is_one_item(tmp_path):
    pairs = [("a", "b", "a"), ("b", "a", "b"), ("c", "d", "a"), ("d", "c", "b"), ("d", "c", "tie")]
    answers = [
        (source, {"item": f"{a} | {b}", "item_a": a, "item_b": b, "preference": answer})
        for source, (a, b, answer) in zip([None, None, "n", "n", "n"], pairs, strict=True)
    ]
    [row] = rows_of(tmp_path, answers)
    assert (row["released_items"], row["new_items"]) == (1, 1)
    assert row["new_sum"] == pytest.approx(1 - 2 / 3 / (1 - (4**2 + 1) / 25), abs=1e-5)


def test_what_the_release_has_is_not_new(tmp_path):
    """A file that grows is read anew; only its last judgment is new, and its item with it."""
    answers = [*labels("grown", "a", "x", "x"), *labels("grown", "b", "x", "y", "y")]
    [row] = rows_of(tmp_path, answers, released=["0", "1", "2", "3"])
    assert (row["source_file"], row["released_items"], row["new_items"]) == ("grown", 1, 1)


def test_without_a_release_each_export_is_held_against_all_others(tmp_path):
    """Of 13 x and 4 y .36 differ by chance; of pairs none in n, 1 of 4 in m, half in k."""
    answers = [
        *labels("n", "ab", "x", "x"),
        *labels("m", "c", "x", "x"),
        *labels("m", "d", "y", "x"),
    ]
    answers += [*labels("m", "f", "y", "y"), *labels("m", "i", "x", "x")]
    answers += [*labels("k", "e", "x", "y"), *labels("k", "g", "x", "x"), *labels("k", "h", "x")]
    rows = {row["source_file"]: row for row in rows_of(tmp_path, answers, exports=())}
    expected = 1 - (13**2 + 4**2) / 17**2
    agreements = {"n": [1, 1], "m": [1, 1 - 1 / expected, 1, 1], "k": [1 - 1 / expected, 1]}
    assert {*rows} == {*agreements}
    for export, own in agreements.items():
        others = [
            value for name, values in agreements.items() if name != export for value in values
        ]
        row, scale = rows[export], len(others) / sum(others)
        assert (row["new_items"], row["released_items"]) == (len(own), len(others))
        assert row["new_sum"] == pytest.approx(scale * sum(own), rel=1e-5, abs=1e-5)
        squares = sum((scale * value) ** 2 for value in others)
        assert row["released_squares"] == pytest.approx(squares, rel=1e-5)


def test_exports_of_one_judge_each_are_a_matter_of_judge_tests(tmp_path):
    answers = [*labels("n", "ab", "x", "y"), *labels("m", "cd", "x", "x")]
    assert rows_of(tmp_path, answers, exports=(), judges=1) == []
    assert {row["source_file"] for row in rows_of(tmp_path, answers, exports=())} == {"n"}


def test_without_agreement_or_items_nothing_is_compared(tmp_path):
    assert rows_of(tmp_path, labels("n", "ab", "x", "y")) == []
    differing = [*labels(None, "ab", "x", "y"), *labels("n", "cd", "x", "y")]
    assert rows_of(tmp_path, differing) == []
    assert rows_of(tmp_path, [*labels(None, "a", "x"), *labels("n", "b", "x")]) == []


@pytest.mark.parametrize(("n", "is_named"), [(40, True), (3, False)])
def test_only_what_is_beyond_chance_is_named(n, is_named):
    """A fall of .5; the mean of 40 items has a standard error of .06, that of 3 one of .28."""
    sides = {
        "released_items": 226, "released_sum": 226.0, "released_squares": 226 * (1 + 0.4**2),
        "new_items": n, "new_sum": 0.5 * n, "new_squares": n * (0.5**2 + 0.4**2),
    }  # fmt: skip
    rows = pa.Table.from_pylist([{"task": "t", "source_file": "n"} | sides])
    _, falls = mean_changes(rows, "source_file")
    assert [fall["name"] for fall in falls] == ["t n"] * is_named


def export(rng, start, *, shuffled):
    """40 items of three classes by 3 judges who are right with .85; or their answers shuffled."""
    answers = []
    for n in range(start, start + 40):
        truth = "xyz"[n % 3]
        answers += [truth if rng.random() < 0.85 else rng.choice("xyz") for _ in range(3)]
    if shuffled:
        rng.shuffle(answers)
    rows = [f"i{start + n // 3},{'abc'[n % 3]},{label}\n" for n, label in enumerate(answers)]
    return "item,judge,label\n" + "".join(rows)


def test_an_export_with_shuffled_answers_stops_the_build(start_campaign, stage_campaign):
    rng = random.Random(1)
    good = {f"{night}.csv": export(rng, 40 * night, shuffled=False) for night in range(3)}
    first = dict(list(good.items())[:2])
    start_campaign(first)
    actual = gate(stage_campaign(good), "unlike_exports")
    assert (actual.level, actual.value) == ("pass", 0)
    bad = first | {"9.csv": export(rng, 80, shuffled=True)}
    actual = gate(stage_campaign(bad), "unlike_exports")
    assert actual.level == "error"
    assert actual.detail.startswith("small exports/9.csv -")


@pytest.mark.slow
def test_a_first_build_names_its_shuffled_export(stage_campaign):
    rng = random.Random(1)
    exports = {f"{night}.csv": export(rng, 40 * night, shuffled=night == 1) for night in range(3)}
    actual = gate(stage_campaign(exports), "unlike_exports")
    assert actual.level == "error"
    assert actual.detail.startswith("small exports/1.csv -")
    exports["1.csv"] = export(rng, 40, shuffled=False)
    assert gate(stage_campaign(exports), "unlike_exports").level == "pass"


@pytest.mark.slow
def test_some_hard_items_stop_no_build(start_campaign, stage_campaign):
    """In half of 20 new items all judges differ: agreement falls by .64 +- .47 of that before."""
    rng = random.Random(1)
    first = {"1.csv": export(rng, 0, shuffled=False), "2.csv": export(rng, 40, shuffled=False)}
    start_campaign(first)
    answers = [("xyz" if n % 2 else 3 * "xyz"[n % 3]) for n in range(20)]
    rows = [f"k{n},{'abc'[j]},{answers[n][j]}\n" for n in range(20) for j in range(3)]
    built = stage_campaign(first | {"9.csv": "item,judge,label\n" + "".join(rows)})
    actual = gate(built, "unlike_exports")
    assert (actual.level, actual.value) == ("pass", 0)
