"""No green without a word where judges agree no more than by chance."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.gates.measures import verdicts_without_power
from annot_pipeline.report.contents import Labelled
from annot_pipeline.report.sections.use import verdict
from tests.gates.test_drift import gate

FIELDS = {"item": "item", "judge": "judge", "label": "label"}


def campaign() -> dict[str, Any]:
    return {
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": FIELDS}],
        "tasks": [{"name": "*", "kind": "categorical", "labels": ["n", "y"]}],
        "quality": {"test": "none"},
    }


def export(n_items: int, *, agree: bool) -> str:
    """Two judges use both labels equally often, and agree on all items or on two of five."""
    rows = ["item,judge,label"]
    for n in range(n_items):
        other = n if agree or n % 5 < 2 else n + 1
        rows += [f"i{n},j0,{'ny'[n % 2]}", f"i{n},j1,{'ny'[other % 2]}"]
    return "\n".join(rows) + "\n"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("n_items", "agree", "level"), [(40, False, "warn"), (40, True, "pass"), (19, False, "pass")]
)
def test_judges_who_agree_by_chance(n_items, agree, level, stage_campaign):
    built = stage_campaign({"a.csv": export(n_items, agree=agree)}, **campaign())
    actual = gate(built, "agreement_by_chance")
    assert actual.level == level
    assert actual.detail.startswith("small -0.") == (level == "warn")


@pytest.mark.parametrize(("value", "level"), [(-0.07, "warn"), (0.0, "warn"), (0.4, "pass")])
def test_the_headline_of_a_report_is_no_green_over_no_agreement(value, level):
    """Of tasks too small for the gate too."""
    contents: Any = SimpleNamespace(
        manifest={"checks": [{"level": "pass"}] * 3, "changes": None, "parent": None},
        facts={"kinds": {"t": "categorical"}},
        headline=lambda task: {"task": task, "value": value},
        labelled_in_all=Labelled(),
        labelled={},
        anonymous_votes={},
        used_judges=[],
        tables={"judge_bias": GOLD["judge_bias"].empty()},
    )
    actual = verdict(contents, [])
    assert actual["level"] == level
    assert "all 3 gates pass" in actual["reasons"]
    told = "agree no more than by chance: t \u22120.070"
    assert (told in actual["reasons"]) == (value < 0)


def test_the_headline_of_a_report_tells_failures_from_warnings():
    flips = {"name": "label_flips", "question": "share of labels", "value": 0.25, "unchecked": ""}
    checks = [{"level": level, **flips} for level in ("warn", "error", "pass", "warn")]
    contents: Any = SimpleNamespace(
        manifest={"checks": checks, "changes": None, "parent": None}, facts={"kinds": {}},
        labelled_in_all=Labelled(), labelled={}, anonymous_votes={}, used_judges=[],
        tables={"judge_bias": GOLD["judge_bias"].empty()},
    )  # fmt: skip
    assert verdict(contents, []) == {
        "level": "error", "start": "Not to be used", "reasons": "25.00% of labels; 2 warnings",
    }  # fmt: skip
    contents.manifest["checks"] = checks[2:]
    actual = verdict(contents, [])
    assert (actual["level"], actual["reasons"]) == ("warn", "1 warning")


def test_judges_without_power_are_told_with_what_they_need():
    rows = [
        {"n": 3, "needed": 5, "judges": 2},
        {"n": 40, "needed": None, "judges": 1},
    ]
    actual = verdicts_without_power(SimpleNamespace(verdicts_without_power=rows))
    assert actual.value == 3
    assert actual.detail == (
        "2 judges with 3 controls: 5 are needed; 1 judge with 40 controls: too many to name are "
        "needed"
    )
