"""Gates as Dagster shows them."""

from __future__ import annotations

import dagster as dg

from annot_pipeline.gates import GateResult
from assets_defs.checks import check_result, gate_figures

KEY = dg.AssetKey(["small", "work", "labels"])


def result(level, **other):
    fields = {"name": "label_flips", "stage": "compare_releases", "table": "label_changes",
              "value": 0.25, "warn": 0.05, "error": None, "question": "share of items",
              "detail": "small 10 of 40", "do": "look"} | other  # fmt: skip
    return GateResult(level=level, **fields)


def test_a_check_lists_the_gates_of_its_step_the_worst_first():
    passing = result("pass", name="accounting", value=0.0, do="")
    failing = result("error", name="doubtful_items", error=0.2)
    check = check_result(KEY, [passing, result("warn"), failing])
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.ERROR
    assert (check.metadata["failed"].value, check.metadata["warned"].value) == (1, 1)
    figures = {name for name in check.metadata if name.startswith("gate ")}
    assert figures == {"gate doubtful_items", "gate label_flips"}  # also of what is not published
    lines = check.metadata["gates"].value.splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| error", "| warn", "| pass"]
    assert "small 10 of 40" in lines[0]
    assert lines[0].endswith("| look |")
    assert str(check.description).startswith("doubtful_items")


def test_severity_is_that_of_the_worst_gate():
    assert check_result(KEY, [result("pass"), result("pass")]).passed
    warned = check_result(KEY, [result("warn")])
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)


def test_what_could_not_be_checked_is_no_figure():
    unchecked = result("error", name="accounting", unchecked="no way to tell")
    check = check_result(KEY, [unchecked])
    assert "no way to tell" in str(check.description)
    assert "gate accounting" not in check.metadata
    assert gate_figures([unchecked, result("warn")]) == {"gate label_flips": 0.25}
