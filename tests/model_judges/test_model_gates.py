"""Gates on models: drift, other versions, no validation, one answer, chosen items."""

from __future__ import annotations

import random

import pytest

from tests.gates import test_drift

MODELS = [{"name": "gpt-*", "kind": "model"}]


def gate(built, name):
    """Return a gate on models, of a build or of stages that are run as far as this one."""
    for stage in ("measure_model_judges", "compare_releases"):
        built.metrics(stage)
        if any(actual.name == name for actual in built.runs[stage].gates):
            break
    return test_drift.gate(built, name)


def labels(judge, items, right):
    return "".join(f"i{n:03d},{judge},{'xy'[(n + (not right(n))) % 2]}\n" for n in items)


def export(*rows):
    return {"a.csv": "item,judge,label\n" + "".join(rows)}


def people(items):
    return "".join(labels(judge, items, lambda _: True) for judge in ("ann", "ben", "cleo"))


@pytest.mark.slow
def test_a_model_that_is_worse_on_new_items_drifts(start_campaign, build_campaign):
    first = [people(range(60)), labels("gpt-4", range(60), lambda n: n % 10 > 0)]
    start_campaign(export(*first), judges=MODELS)
    new = range(60, 120)
    same = [people(new), labels("gpt-4", new, lambda n: n % 10 > 0)]
    assert (
        gate(build_campaign(export(*first, *same), judges=MODELS), "model_judge_drift").value == 0
    )


@pytest.mark.slow
def test_drift_is_told_with_its_interval(start_campaign, stage_campaign):
    first = [people(range(60)), labels("gpt-4", range(60), lambda n: n % 10 > 0)]
    start_campaign(export(*first), judges=MODELS)
    new = range(60, 120)
    worse = [people(new), labels("gpt-4", new, lambda n: n % 2 > 0)]
    drift = gate(stage_campaign(export(*first, *worse), judges=MODELS), "model_judge_drift")
    assert (drift.level, drift.value) == ("warn", 1)
    # .9 and .5 of 60: the errors are sqrt(.09/59) and sqrt(.25/59), added in squares
    half = 1.959964 * (0.09 / 59 + 0.25 / 59) ** 0.5
    assert drift.detail == f"small gpt-4 -0.400 ({-0.4 - half:+.3f} to {-0.4 + half:+.3f})"


@pytest.mark.slow
def test_another_version_is_named(start_campaign, stage_campaign):
    rows = [people(range(12)), labels("gpt-4", range(12), lambda n: n % 4 > 0)]
    versions = ([{**MODELS[0], "version": version}] for version in ("0613", "0613", "1106"))
    rated = export(*rows)
    first, same, other = versions
    start_campaign(rated, judges=first)
    actual = [
        gate(stage_campaign(rated, judges=judges), "model_judge_versions")
        for judges in (same, other)
    ]
    assert [one.value for one in actual] == [0, 1]
    assert actual[1].detail == "small: gpt-4 (version 0613) is now gpt-4 (version 1106)"


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("has_truth", [True, False])
def test_a_model_without_shared_items_is_not_validated(stage_campaign, has_truth):
    rows = export(people(range(10)), labels("gpt-4", range(20, 40), lambda n: n % 3 > 0))
    if has_truth:
        lines = rows["a.csv"].splitlines()
        rows = {"a.csv": "\n".join([lines[0] + ",truth", *(line + ",x" for line in lines[1:])])}
    fields = {name: name for name in ("item", "judge", "label")}
    fields |= {"truth": "truth"} if has_truth else {}
    built = stage_campaign(
        rows, judges=MODELS,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    unvalidated = gate(built, "unvalidated_model_judges")
    assert unvalidated.value == (not has_truth)
    by_reference = {row["reference"]: row for row in built.rows("judge_validation")}
    assert by_reference["people"]["reason"] == "the model and people share no item"
    assert by_reference["people"]["agreement"] is None
    assert ("truth" in by_reference) == has_truth
    corrected = [r for r in built.rows("estimates") if r["method"] == "prediction_powered"]
    assert {row["value"] for row in corrected} == {None}
    assert {row["reason"] for row in corrected} == {"the model and people share no item"}


def test_a_model_that_always_answers_the_same(stage_campaign):
    rows = export(people(range(30)), "".join(f"i{n:03d},gpt-4,x\n" for n in range(60)))
    built = stage_campaign(rows, judges=MODELS)
    constant = gate(built, "constant_model_judges")
    assert (constant.value, constant.detail) == (1, "small gpt-4")
    [row] = built.rows("judge_validation")
    assert row["agreement"] == pytest.approx(0.5)
    assert row["kappa"] == 0
    assert row["kappa_low"] is None
    assert row["reason"].startswith("the model always gives the same answer")
    corrected = {
        (r["method"], r["label"]): r for r in built.rows("estimates") if r["method"] != "model"
    }
    alone, ppi = corrected["people", "x"], corrected["prediction_powered", "x"]
    assert ppi["power"] == 0
    assert (ppi["value"], ppi["ci_low"]) == pytest.approx((alone["value"], alone["ci_low"]))


def test_versions_and_labels_of_models_alone_are_named(stage_campaign):
    rows = export(
        people(range(12)),
        "".join(f"i{n:03d},gpt-4 (version {v}),{'error' if n == 3 else 'x'}\n"
                for n in range(12) for v in ("1", "2")),
    )  # fmt: skip
    built = stage_campaign(rows, judges=MODELS)
    assert gate(built, "several_model_versions").detail == (
        "small gpt-4 (version 1), gpt-4 (version 2)"
    )
    assert gate(built, "labels_of_models_alone").detail == "small error"


def chosen(stage_campaign, **judges):
    """Return a build in which people judged the items that the model calls x."""
    draw = random.Random(4)
    calls = {n: draw.choice("xy") for n in range(200)}
    asked = [n for n, call in calls.items() if call == "x"][:60]
    rows = export(
        "".join(f"i{n:03d},ann,{draw.choice('xxy')}\n" for n in asked),
        "".join(f"i{n:03d},gpt-4,{call}\n" for n, call in calls.items()),
    )
    return stage_campaign(rows, judges={"declared": MODELS, **judges})


def test_items_chosen_by_the_answers_of_the_model_are_refused(stage_campaign):
    built = chosen(stage_campaign)
    chosen_items = gate(built, "chosen_human_items")
    assert chosen_items.value == 1
    assert "prevalence x by gpt-4 is 1.000 on them and" in chosen_items.detail
    for row in built.rows("estimates"):
        if row["method"] in ("people", "prediction_powered", "rogan_gladen"):
            assert row["value"] is None
            assert row["reason"].startswith("people's items are not a random sample")


def test_declared_chosen_items_are_refused(stage_campaign):
    draw = random.Random(5)
    rows = export(
        "".join(f"i{n:03d},ann,{draw.choice('xy')}\n" for n in range(0, 200, 4)),
        "".join(f"i{n:03d},gpt-4,{draw.choice('xy')}\n" for n in range(200)),
    )
    assert gate(stage_campaign(rows, judges=MODELS), "chosen_human_items").value == 0
    judges = {"declared": MODELS, "people_items": "chosen"}
    refused = gate(stage_campaign(rows, judges=judges), "chosen_human_items")
    assert refused.value == 1
    assert "judges.people_items" in refused.detail
