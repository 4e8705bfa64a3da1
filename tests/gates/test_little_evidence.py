"""Labels and judges that nothing can be compared with: said, and no figure is published."""

from __future__ import annotations

import pytest

from tests.gates.test_drift import gate

HEADER = "item,judge,label\n"
FIGURES = (
    "accuracy", "mean_class_accuracy", "mean_met_class_accuracy", "chance_accuracy",
    "below_chance", "bias_label", "bias",
)  # fmt: skip


def test_a_judge_whom_nothing_is_compared_with_has_no_figures(stage_campaign):
    """Of d no other judge has an item, until the truth of one is known."""
    shared = "".join(f"i{n},{judge},{'xy'[n % 2]}\n" for n in range(8) for judge in "abc")
    alone = "".join(f"k{n},d,{'xy'[n % 2]}\n" for n in range(8))
    rows = HEADER + shared + alone
    privacy = {"pseudonymize": False}
    judges = stage_campaign({"a.csv": rows}, privacy=privacy).rows("judges")
    for judge in judges:
        assert judge["n_judgments"] == 8
        assert {judge[name] is None for name in FIGURES} == {judge["judge"] == "d"}
    fields = {"item": "item", "judge": "judge", "label": "label", "truth": "truth"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    with_truth = (
        rows.replace("\n", ",\n").replace("label,", "label,truth").replace("k0,d,x,", "k0,d,x,x")
    )
    judges = stage_campaign({"a.csv": with_truth}, privacy=privacy, sources=sources).rows("judges")
    assert [judge["judge"] for judge in judges if judge["accuracy"] is None] == []


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, "warn"),
        ({"tasks": [{"name": "*", "kind": "categorical", "labels": ["x", "y"]}]}, "pass"),
    ],
)
def test_labels_of_one_class_are_warned_of(stage_campaign, settings, level):
    rows = HEADER + "".join(f"i{n},{judge},x\n" for n in range(4) for judge in "abc")
    assert gate(stage_campaign({"a.csv": rows}, **settings), "one_class").level == level
