"""Rankings at equal length of texts: recovery, what stays as it is, and why there may be none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

from annot_pipeline.stages.rankings.bradley_terry_ranking import (
    ALWAYS_ONE,
    BY_SYSTEM,
    EQUAL,
    NO_TEXTS,
    WITHOUT_TEXT,
)
from annot_pipeline.stages.rankings.rank_systems import log_lengths
from tests.stages.rankings.ranked import CLEAR, METHODS, column, run, table

METHOD = "bradley_terry_length"
STRENGTHS = {"a": 0.8, "b": 0.3, "c": 0.0, "d": -0.4}


def items(texts, **columns):
    n = len(texts)
    return pa.table({
        "task": pa.array([None] * n, pa.string()), "item": pa.array(list(texts), pa.string()),
        "text": pa.array(list(texts.values()), pa.string()), "place": list(range(n)),
    } | columns)  # fmt: skip


def compared(seed, coefficient=1.0, n=1500, n_judges=15, n_segments=60):
    """Weak systems write longer texts, which judges favour; a third is listed second first."""
    rng = np.random.default_rng(seed)
    texts = {
        f"s{segment}/{system}": "x" * int(np.exp(4 - strength + rng.normal(0, 0.5)) + 1)
        for segment in range(n_segments)
        for system, strength in STRENGTHS.items()
    }
    rows, sides, shown, judges, segments = [], [], [], [], []
    for _ in range(n):
        a, b = sorted(rng.choice(list(STRENGTHS), 2, replace=False))
        segment, turned = rng.integers(n_segments), bool(rng.random() < 0.4)
        pair = [f"s{segment}/{system}" for system in (a, b)]
        odds = STRENGTHS[a] - STRENGTHS[b] + (-0.3 if turned else 0.3)
        odds += coefficient * np.log(len(texts[pair[0]]) / len(texts[pair[1]]))
        outcome = 0 if rng.random() < 0.15 else 1 if rng.random() < expit(odds) else -1
        rows.append((a, b, outcome))
        sides.append(pair)
        shown.append(turned)
        judges.append(f"w{rng.integers(n_judges)}")
        segments.append(f"s{segment}")
    first, second = zip(*sides, strict=True)
    columns = {"item_a": first, "item_b": second, "b_shown_first": shown, "judge": judges,
               "segment": segments}  # fmt: skip
    return table(*rows, **columns), items(texts)


def test_the_ranking_at_equal_length_is_that_of_strengths():
    comparisons, texts = compared(1)
    rankings, pairs, facts = run(comparisons, item_rows=texts, covariates=("length",))
    best = {method: min(rankings[method], key=lambda name: rankings[method][name]["rank"])
            for method in ("bradley_terry", METHOD)}  # fmt: skip
    assert best == {"bradley_terry": "d", METHOD: "a"}
    assert column(rankings, METHOD, "rank") == [1, 2, 3, 4]
    differences = {
        (row["system_a"], row["system_b"]): row for row in pairs if row["method"] == METHOD
    }
    for (a, b), row in differences.items():
        assert row["ci_low"] < STRENGTHS[a] - STRENGTHS[b] < row["ci_high"]
        assert row["headline"] is False
    assert differences["a", "d"]["a_beats_b"]
    fit = facts["systems_compared"]["t"][METHOD]
    [effect] = fit["covariates"]
    assert effect["covariate"] == "length"
    assert effect["ci_low"] < 1 < effect["ci_high"]
    assert effect["ci_high"] - effect["ci_low"] == pytest.approx(4.2 * effect["standard_error"],
                                                                 rel=0.05)  # fmt: skip
    assert fit["order_effects"][0]["logits"] == pytest.approx(0.3, abs=0.15)
    assert fit["comparisons_without_text"] == 0
    assert "covariates" not in facts["systems_compared"]["t"]["bradley_terry"]


def test_other_rows_and_metrics_stay():
    comparisons, texts = compared(2, n=300)
    with_length, pairs, facts = run(comparisons, item_rows=texts, covariates=("length",))
    rankings, pairs_before, facts_before = run(comparisons)
    assert list(rankings) == METHODS
    assert sorted(with_length) == sorted([*METHODS, METHOD])
    assert {name: with_length[name] for name in METHODS} == rankings
    assert [row for row in pairs if row["method"] != METHOD] == pairs_before
    del facts["systems_compared"]["t"][METHOD]
    assert facts == facts_before
    assert {row["headline"] for row in with_length[METHOD].values()} == {False}
    assert run(comparisons, item_rows=texts)[0] == rankings, "asked for by the setting alone"


def test_neither_names_nor_order_of_sides_count():
    comparisons, texts = compared(3, n=400)
    rankings, _, facts = run(comparisons, item_rows=texts, covariates=("length",))
    names = dict(zip("abcd", "zyxw", strict=True))
    rows = comparisons.to_pylist()
    turned = [(names[row["system_b"]], names[row["system_a"]], -row["outcome"]) for row in rows]
    columns = {
        "item_a": [row["item_b"] for row in rows], "item_b": [row["item_a"] for row in rows],
        "b_shown_first": [not row["b_shown_first"] for row in rows],
        "judge": [row["judge"] for row in rows], "segment": [row["segment"] for row in rows],
    }  # fmt: skip
    other, _, other_facts = run(table(*turned, **columns), item_rows=texts, covariates=("length",))
    for name, row in rankings[METHOD].items():
        for value in ("score", "ci_low", "ci_high"):
            assert other[METHOD][names[name]][value] == pytest.approx(row[value], abs=1e-7)
    effects = [
        one["systems_compared"]["t"][METHOD]["covariates"][0] for one in (facts, other_facts)
    ]
    assert effects[1]["logits"] == pytest.approx(effects[0]["logits"], abs=1e-7)
    assert effects[1]["standard_error"] == pytest.approx(effects[0]["standard_error"], abs=1e-7)


def test_comparisons_without_texts_are_left_out():
    comparisons, texts = compared(4, n=400)
    without_d = texts.filter(pa.array([not name.endswith("d") for name in
                                       texts["item"].to_pylist()]))  # fmt: skip
    rankings, _, facts = run(comparisons, item_rows=without_d, covariates=("length",))
    rows = rankings[METHOD]
    assert rows["d"]["reason"] == WITHOUT_TEXT
    assert rows["d"]["rank"] is rows["d"]["score"] is None
    assert column(rankings, METHOD, "rank")[:3] == [1, 2, 3]
    has_d = [("d" in (row["system_a"], row["system_b"])) for row in comparisons.to_pylist()]
    assert facts["systems_compared"]["t"][METHOD]["comparisons_without_text"] == sum(has_d)
    rest = comparisons.filter(pa.array([not one for one in has_d]))
    alone, _, _ = run(rest, item_rows=texts, covariates=("length",))
    for name in "abc":
        assert rows[name]["score"] == pytest.approx(alone[METHOD][name]["score"], abs=1e-9)
        assert rows[name]["n_judgments"] == alone[METHOD][name]["n_judgments"]
    assert rankings["bradley_terry"]["d"]["rank"] is not None


def test_judges_who_failed_do_not_count():
    comparisons, texts = compared(7, n=400)
    is_kept = [n % 3 > 0 for n in range(400)]
    column_number = comparisons.schema.get_field_index("kept")
    some = comparisons.set_column(
        column_number, comparisons.schema.field("kept"), pa.array(is_kept)
    )
    rankings = run(some, item_rows=texts, covariates=("length",))[0]
    alone = run(comparisons.filter(pa.array(is_kept)), item_rows=texts, covariates=("length",))[0]
    assert column(rankings, METHOD, "score") == pytest.approx(column(alone, METHOD, "score"))
    assert column(rankings, METHOD, "ci_low") == pytest.approx(column(alone, METHOD, "ci_low"))


@pytest.mark.parametrize("regularize", ["none", 0.1])
def test_a_system_that_never_wins_is_ranked_last(regularize):
    """The others have scores from their own comparisons, as with its component left out."""
    comparisons, texts = compared(6, n=400)
    texts = pa.concat_tables([texts, items({f"s{n}/e": "x" * (9 + n) for n in range(60)})])
    rows = [
        (row["system_a"], row["system_b"], row["outcome"], row["item_a"], row["item_b"],
         row["b_shown_first"], row["judge"], row["segment"])
        for row in comparisons.to_pylist()
    ]  # fmt: skip
    never = [
        (name, "e", 1, f"s{n}/{name}", f"s{n}/e", n % 2 == 0, f"w{n % 15}", f"s{n}")
        for name in "abcd"
        for n in range(5)
    ]
    columns = ("item_a", "item_b", "b_shown_first", "judge", "segment")

    def ranked(rows):
        values = dict(zip(columns, zip(*(row[3:] for row in rows), strict=True), strict=True))
        return run(
            table(*(row[:3] for row in rows), **values), item_rows=texts,
            covariates=("length",), regularize=regularize,
        )[0][METHOD]  # fmt: skip

    rankings, alone = ranked([*rows, *never]), ranked(rows)
    assert [row["rank"] for row in rankings.values()][4] == 5
    if regularize != "none":
        assert rankings["e"]["score"] < min(rankings[name]["score"] for name in "abcd") - 1
        return
    assert rankings["e"]["score"] is None
    assert (
        "never lost" in rankings["e"]["reason"] or "strongly connected" in rankings["e"]["reason"]
    )
    for name in "abcd":
        assert rankings[name]["score"] == pytest.approx(alone[name]["score"], abs=1e-6)


def reasons(comparisons, texts, **settings):
    rankings, pairs, facts = run(comparisons, item_rows=texts, covariates=("length",), **settings)
    for name in ("score", "rank", "ci_low", "wins"):
        assert set(column(rankings, METHOD, name)) == {None}
    assert not [row for row in pairs if row["method"] == METHOD]
    assert METHOD not in facts["systems_compared"]["t"]
    assert None not in column(rankings, "bradley_terry", "rank")
    return set(column(rankings, METHOD, "reason"))


def test_reasons():
    comparisons, texts = compared(5, n=200)
    names = texts["item"].to_pylist()
    assert reasons(comparisons, texts.slice(0, 0)) == {NO_TEXTS}
    assert reasons(comparisons, items(dict.fromkeys(names, "  "))) == {NO_TEXTS}
    assert reasons(comparisons, items(dict.fromkeys(names))) == {NO_TEXTS}
    assert reasons(comparisons, items(dict.fromkeys(names, "four"))) == {EQUAL}
    by_system = {name: "x" * (ord(name[-1]) - 90) for name in names}
    assert reasons(comparisons, items(by_system)) == {BY_SYSTEM}
    lengths = dict(zip(names, map(len, texts["text"].to_pylist()), strict=True))
    for sign in (1, -1):
        rows = [
            (row["system_a"], row["system_b"],
             int(sign * np.sign(lengths[row["item_a"]] - lengths[row["item_b"]])) or 1,
             row["item_a"], row["item_b"])
            for row in comparisons.to_pylist()
            if lengths[row["item_a"]] != lengths[row["item_b"]]
        ]  # fmt: skip
        a, b, outcome, item_a, item_b = zip(*rows, strict=True)
        always = table(*zip(a, b, outcome, strict=True), item_a=item_a, item_b=item_b)
        assert reasons(always, texts) == {ALWAYS_ONE}
    rankings, _, _ = run(table(*CLEAR), item_rows=texts, covariates=("length",), most_systems=2)
    assert set(column(rankings, METHOD, "reason")) == {"more than 2 systems: no Bradley-Terry"}


def test_lengths_are_of_the_first_text_of_the_task():
    rows = pa.table({
        "task": ["u", None, "t", "t", None], "item": ["x", "x", "x", "y", "z"],
        "text": ["a", " abc\n", "abcdef", "äöü\U0001f600", None], "place": [0, 2, 1, 3, 4],
    })  # fmt: skip
    asked = pa.chunked_array([["y", "x"], ["z", "x", "other"]])
    logs = log_lengths(rows, "t", asked)
    np.testing.assert_allclose(np.exp(logs), [4, 6, np.nan, 6, np.nan])
    np.testing.assert_allclose(np.exp(log_lengths(rows, "v", asked))[1], 3)
    encoded = asked.dictionary_encode()
    np.testing.assert_array_equal(log_lengths(rows, "t", encoded), logs)
    assert np.isnan(log_lengths(rows.slice(0, 0), "t", asked)).all()
