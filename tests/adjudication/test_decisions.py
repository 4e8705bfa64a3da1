"""Decisions of experts: what decisions do."""

from collections import Counter

import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.keys import pseudonym
from tests.adjudication.decided import (
    DECIDED,
    ITEMS,
    KEY,
    SOURCES,
    answers,
    decisions,
    fates,
    labels,
)


def test_a_decision_overrides_the_label_and_the_model_stays_beside(stage):
    before = labels(stage({"x.csv": decisions("zz,eva,no,,")}))
    after = labels(stage({"x.csv": decisions("i0,eva,yes,2024-05-01T12:00:00+02:00,seen again")}))
    model, decided = before["i0"], after["i0"]
    assert (model["label"], model["adjudicated"], model["model_label"]) == ("no", False, "no")
    assert model["model_probability"] == model["probability"] > 0.95
    assert (model["certain"], model["dawid_skene_label"]) == (True, "no")
    assert model["dawid_skene_probability"] > 0.99
    assert (decided["label"], decided["adjudicated"], decided["certain"]) == ("yes", True, True)
    assert (decided["probability"], decided["entropy"]) == (1, 0)
    assert decided["adjudication_reason"] == "seen again"
    assert decided["adjudicated_at"].isoformat() == "2024-05-01T10:00:00+00:00"
    unchanged = ("model_label", "model_probability", "n_judgments", "n_judges",
            "majority_label", "majority_share", "dawid_skene_label", "dawid_skene_probability",
            "dawid_skene_certain")  # fmt: skip
    assert {name: decided[name] for name in unchanged} == {name: model[name] for name in unchanged}
    assert (model["support"], decided["support"]) == (0.75, 0.25)  # one of four judges said yes
    undecided = [name for name in ITEMS if name != "i0"]
    assert {name: after[name] for name in undecided} == {name: before[name] for name in undecided}
    assert all(after[name]["adjudicator"] is None for name in undecided)


@pytest.mark.slow
def test_a_decision_for_the_models_label_is_an_adjudication_too(build):
    # eight judges: of four who agree the published model is not certain
    built = build({"a.csv": answers("pqrstuvw"), "x.csv": decisions("i1,eva,yes,,")})
    row = labels(built)["i1"]
    assert (row["label"], row["adjudicated"], row["certain"]) == ("yes", True, True)
    assert (row["probability"], row["model_probability"] < 1) == (1, True)
    actual = {"small": {"decided": 1, "overridden": 0, "superseded": 0}}
    assert built.publication.release.manifest["facts"]["adjudications"] == actual


@pytest.mark.slow
def test_nothing_but_labels_and_lists_moves(stage):
    plain = stage({"x.csv": decisions()}).run(*GOLD)
    decided = stage({"x.csv": decisions("i0,eva,yes,,", "i1,p,no,,", "i2,eva,other,,")})
    moved = {name for name in GOLD if not decided.table(name).equals(plain.table(name))}
    assert moved == {"labels", "judgments", "lineage"}
    assert plain.metrics("infer_labels")["adjudications"] == {}
    assert decided.metrics("infer_labels")["adjudications"] == {
        "small": {"decided": 3, "overridden": 3, "superseded": 0}
    }
    assert {row["judge"] for row in decided.rows("judges")} == {
        row["judge"] for row in plain.rows("judges")
    }
    assert [row["n_judgments"] for row in decided.rows("judges")] == [8, 8, 8, 8]


def test_an_item_that_only_an_expert_decided_has_a_row(stage):
    built = stage({"x.csv": decisions("new,eva,yes,,", "i0,eva,yes,,")})
    row = labels(built)["new"]
    assert (row["label"], row["adjudicated"], row["certain"]) == ("yes", True, True)
    assert (row["n_judgments"], row["n_judges"]) == (0, 0)
    filled = {"task", "item", "label", "probability", "entropy", "certain", "dawid_skene_certain",
            "adjudicated", "n_judgments", "n_judges", "adjudicator"}  # fmt: skip
    assert {name for name, value in row.items() if value is not None} == filled
    assert [r["item"] for r in built.rows("labels")] == [*ITEMS, "new"]
    assert "new" in {r["item"] for r in built.rows("items")}
    assert not [r for r in built.rows("label_distributions") if r["item"] == "new"]
    # it is no item with one judgment, and none that the model labelled
    facts = built.metrics("infer_labels")
    assert list(facts["items"].values()) == [8]
    [counts] = facts["items_by_judgments"].values()
    assert counts[0][0] > 1


@pytest.mark.slow
def test_a_class_that_nobody_else_gave(stage):
    row = labels(stage({"x.csv": decisions("i0,eva,neither,,")}))["i0"]
    assert (row["label"], row["probability"], row["support"]) == ("neither", 1.0, 0.0)
    declared = stage(
        {"x.csv": decisions("i0,eva,neither,,", *["i2,eva,yes,,"])},
        "gates.rejected_share.error=.5",
        tasks=[{"name": "*", "kind": "categorical", "labels": ["no", "yes"]}],
    )
    assert labels(declared)["i0"]["adjudicated"] is False
    assert fates(declared, "x.csv") == [
        ("rejected", "label is not a declared class: 'neither'"),
        ("adjudication", "decision of an expert"),
    ]


@pytest.mark.slow
def test_who_decided_is_a_pseudonym_and_may_judge_elsewhere(stage):
    built = stage({"x.csv": decisions("i0,p,yes,,")})
    row = labels(built)["i0"]
    (mine,) = {r["judge"] for r in built.rows("judges") if r["judge"] == row["adjudicator"]}
    assert mine == pseudonym(KEY, "p")
    listed = [r for r in built.rows("judgments") if r["item"] == "i0" and r["judge"] == mine]
    assert {(r["fate"], r["control"], r["label"]) for r in listed} == {
        ("used", "none", "yes"), ("adjudication", "adjudication", "yes"),
    }  # fmt: skip
    assert len({r["judgment_id"] for r in listed}) == 2
    assert row["n_judgments"] == 4


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("exports", "label", "who"),
    [
        # by time, whatever the order of files and rows
        ({"x1.csv": ["i0,eva,yes,2024-02-02,"], "x2.csv": ["i0,tom,no,2024-01-01,"]}, "yes", "eva"),
        ({"x1.csv": ["i0,eva,yes,2024-02-02,", "i0,tom,no,2024-03-01,"]}, "no", "tom"),
        # a time counts more than none
        ({"x1.csv": ["i0,eva,yes,2024-02-02,"], "x2.csv": ["i0,tom,no,,"]}, "yes", "eva"),
        # else the later file, by natural path order
        ({"x2.csv": ["i0,eva,yes,,"], "x10.csv": ["i0,tom,no,,"]}, "no", "tom"),
        ({"x2.csv": ["i0,eva,no,,"], "x10.csv": ["i0,eva,yes,,"]}, "yes", "eva"),
        # else by label
        ({"x.csv": ["i0,eva,yes,,", "i0,tom,maybe,,"]}, "maybe", "tom"),
        ({"x.csv": ["i0,eva,yes,,", "i0,eva,maybe,,"]}, "maybe", "eva"),
    ],
)
def test_the_latest_decision_counts(stage, exports, label, who):
    built = stage({name: decisions(*rows) for name, rows in exports.items()})
    row = labels(built)["i0"]
    assert (row["label"], row["adjudicator"]) == (label, pseudonym(KEY, who))
    turned = stage({name: decisions(*rows[::-1]) for name, rows in exports.items()})
    assert turned.table("labels").equals(built.table("labels"))
    actual = Counter(fate for name in exports for fate, _ in fates(built, name))
    assert actual == {"adjudication": 1, "superseded": 1}
    facts = built.metrics("infer_labels")["adjudications"]["small"]
    assert (facts["decided"], facts["superseded"]) == (1, 1)


@pytest.mark.slow
def test_a_later_source_takes_precedence(stage):
    later = {"path": "exports/later.csv", "format": "csv", "fields": DECIDED}
    exports = {"x.csv": decisions("i0,eva,no,,"), "later.csv": decisions("i0,tom,yes,,")}
    assert labels(stage(exports, sources=[*SOURCES, later]))["i0"]["label"] == "yes"
    first = labels(stage(exports, sources=[later, *SOURCES]))["i0"]
    assert first["label"] == "no"


def test_what_became_of_the_other_decisions(stage):
    built = stage(
        {
            "x1.csv": decisions("i0,eva,no,2024-01-01,", "i0,tom,yes,2024-01-02,"),
            "x2.csv": decisions("i0,eva,no,2024-01-01,", "i0,eva,yes,2024-01-03,"),
        }
    )
    assert labels(built)["i0"]["adjudicator"] == pseudonym(KEY, "eva")
    differs = "a decision that takes precedence differs; this one: 'no'"
    same = "a decision that takes precedence is the same"
    assert fates(built, "x1.csv") == [("superseded", differs), ("duplicate", same)]
    assert fates(built, "x2.csv") == [
        ("superseded", differs), ("adjudication", "decision of an expert"),
    ]  # fmt: skip
    ids = {r["judgment_id"] for r in built.rows("lineage") if r["judge"] == pseudonym(KEY, "eva")}
    assert len(ids) == 1  # one expert's decision on one item, whenever it was made
