"""Gates: levels, settings, and metrics of other code."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from annot_pipeline.config import Threshold
from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import MetricsError, TableMetrics
from annot_pipeline.errors import ConfigError, GateError
from annot_pipeline.exports import READERS, RawRows
from annot_pipeline.gates import (
    GATES,
    RELEASE,
    check_gate_names,
    is_checked,
    run,
    run_gates,
)  # fmt: skip
from annot_pipeline.stages.build import STAGES
from annot_pipeline.stages.gold import list_judgments
from annot_pipeline.stages.labels.metrics import LabelMetrics
from annot_pipeline.storage.store import digest_of

EXPORT = "item,judge,label\n" + "".join(f"i{i},w{j},a\n" for i in range(3) for j in range(3))


def level(value: float, **thresholds: float | None) -> str:
    document = {name.name: {} for name in fields(LabelMetrics)} | {
        "converged": {"settled": True} | {f"t{n}": False for n in range(int(value))},
        "contracts": {"labels": {"broken": [], "doubtful": []}}, "rows_made": {},
    }  # fmt: skip
    levels = {"convergence": Threshold(**thresholds)}
    results = run_gates("infer_labels", ["labels"], document, levels)
    return next(r.level for r in results if r.name == "convergence")


def test_levels():
    assert level(0) == "pass"
    assert level(1) == "warn"  # the default
    assert level(1, warn=None) == "pass"
    assert level(2, warn=1, error=2) == "warn"
    assert level(3, warn=1, error=2) == "error"


def test_a_given_level_leaves_the_other_at_its_default():
    assert level(1, error=0) == "error"
    assert level(1, error=5) == "warn"


def test_a_measure_that_fails_is_told_and_fails_the_gate(monkeypatch):
    """A defect of the measuring is no verdict on the data, and no reason to publish."""
    document = {field.name: {} for field in fields(LabelMetrics)}
    [gate] = [gate for gate in GATES if gate.name == "convergence"]
    monkeypatch.setattr(run, "GATES", [replace(gate, measure=lambda metrics: metrics.nothing)])
    levels = {"convergence": Threshold(error=9)}
    (result,) = run_gates("infer_labels", ["labels"], document, levels)
    assert result.level == "error"
    assert result.unchecked.startswith("AttributeError: ")
    assert str(result).startswith("convergence: could not be checked: AttributeError")
    assert not is_checked("infer_labels", ["labels"], document)
    monkeypatch.setattr(run, "GATES", [gate])
    assert is_checked("infer_labels", ["labels"], document)


def test_metrics_of_other_code_are_not_complete():
    document = {field.name: {} for field in fields(LabelMetrics)}
    document |= {"contracts": {"labels": {"broken": [], "doubtful": []}}, "rows_made": {}}
    assert is_checked("infer_labels", ["labels"], document)
    assert not is_checked("infer_labels", ["labels"], document | {"converged": {"t": "none"}})
    del document["converged"]
    assert not is_checked("infer_labels", ["labels"], document)
    with pytest.raises(MetricsError, match="converged"):
        run_gates("infer_labels", ["labels"], document, {})


@pytest.mark.parametrize(
    "changes",
    [
        {"measure": None},
        {"measure_from": len},
        {"minimum": 3},
        {"measure": None, "measure_from": len},
    ],
    ids=str,
)
def test_a_gate_measures_in_one_way(changes):
    [gate] = [gate for gate in GATES if gate.name == "convergence"]
    with pytest.raises(ValueError, match="gate convergence"):
        replace(gate, **changes)


def test_metrics_of_gates_are_those_of_stages():
    """A gate reads the metrics that its stage is declared to report."""
    for stage in STAGES:
        kinds = {gate.metrics for gate in run.gates_of(stage.name, stage.outputs)}
        assert len(kinds - {TableMetrics}) <= 1


def test_every_gate_has_a_level_by_default():
    assert [g.name for g in GATES if g.warn is None and g.error is None] == []


def test_what_is_doubtful_warns_and_never_fails():
    def of(**levels):
        contract = {"broken": [], "doubtful": ["seconds are below 0"]}
        document = {"contracts": {"judgments": contract}, "rows_made": {}}
        given = {"contract_judgments": Threshold(**levels)}
        results = run_gates("list_judgments", ["judgments"], document, given)
        (result,) = (r for r in results if r.name == "contract_judgments")
        return result.level, result.detail

    assert of() == ("warn", "doubtful: seconds are below 0")
    assert of(error=0)[0] == "warn"
    assert of(warn=None)[0] == "pass"


def test_every_gate_belongs_to_a_stage_and_says_what_to_do():
    names = {stage.name for stage in STAGES}
    assert len({gate.name for gate in GATES}) == len(GATES)
    for gate in GATES:
        assert gate.stage in {*names, RELEASE} or gate.table in GOLD
        assert gate.do
        assert gate.question


def test_levels_for_unknown_gates_are_refused():
    with pytest.raises(ConfigError, match="unknown gate") as error:
        check_gate_names({"rejectd_share": Threshold(error=1)})
    assert "did you mean rejected_share?" in str(error.value)


def test_a_reader_that_loses_a_row_fails_the_accounting(build_campaign, monkeypatch):
    """The gate counts rows apart from what readers yield, so it can fail."""
    read = READERS["csv"]

    def careless(opening):
        export = read(opening)
        export.chunks = (
            RawRows(
                {name: column.slice(1) for name, column in chunk.columns.items()},
                chunk.row[1:],
                chunk.problem.slice(1),
            )
            for chunk in export.chunks
        )
        return export

    monkeypatch.setitem(READERS, "csv", careless)
    with pytest.raises(GateError, match="nothing was published") as error:
        build_campaign({"a.csv": EXPORT})
    assert "accounting: 1 file with unaccounted rows or records (allowed: 0)" in str(error.value)
    assert "exports/a.csv" in str(error.value)


@pytest.mark.slow
def test_lineage_that_loses_a_record_is_not_published(build_campaign, monkeypatch):
    lineage_rows = list_judgments.lineage_rows

    def careless(records):
        for part in lineage_rows(records):
            yield part.slice(1)

    monkeypatch.setattr(list_judgments, "lineage_rows", careless)
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": EXPORT})
    assert "lineage_rows" in str(error.value)


def test_results_of_older_code_are_made_again(stage_campaign):
    """A gate that is new since the store was filled must not stop the build."""
    first = stage_campaign({"a.csv": EXPORT})
    labels = first.table("labels")
    path = first.runs["infer_labels"].result.tables["labels"].paths[0].parent / "stage.json"
    document = json.loads(path.read_text())
    del document["facts"]["judges_below_chance"], document["sha256"]
    path.write_text(json.dumps(document | {"sha256": digest_of(document)}))
    assert not is_checked("infer_labels", ["labels"], document["facts"])
    second = stage_campaign({"a.csv": EXPORT})
    assert not second.runs["infer_labels"].result.reused
    assert second.table("labels") == labels


def order_gate(built):
    gates = built.runs["settle_judgments"].gates
    return next(gate for gate in gates if gate.name == "superseded_by_order")


def test_corrections_that_sort_first_are_named(stage_campaign):
    """Nothing but their names says which of two files is the later one."""
    corrected = EXPORT.replace("i1,w1,a", "i1,w1,b").replace("i2,w0,a", "i2,w0,b")
    actual = order_gate(stage_campaign({"corrections.csv": corrected, "day1.csv": EXPORT}))
    assert (actual.level, actual.value) == ("warn", 2)
    assert actual.detail == "2 x exports/day1.csv over exports/corrections.csv"
    assert "submitted_at" in actual.do
    same = order_gate(stage_campaign({"corrections.csv": EXPORT, "day1.csv": EXPORT}))
    assert (same.level, same.value) == ("pass", 0)


@pytest.mark.parametrize(("day", "level"), [("2024-01-01", "pass"), ("2024-01-02", "warn")])
def test_a_time_tells_which_answer_is_the_later_one(stage_campaign, day, level):
    timed = EXPORT.replace("label", "label,at", 1).replace(",a\n", ",a,2024-01-02\n")
    corrected = timed.replace("i1,w1,a,2024-01-02", f"i1,w1,b,{day}")
    fields = {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    built = stage_campaign({"a.csv": corrected, "b.csv": timed}, sources=[source])
    assert order_gate(built).level == level


@pytest.mark.parametrize("level", ["warn", "error"])
def test_a_share_above_one_is_no_level(level):
    with pytest.raises(ConfigError, match=rf"gates\.rejected_share\.{level}: a share above 1"):
        check_gate_names({"rejected_share": Threshold(**{level: 5})})
    check_gate_names({"rejected_share": Threshold(**{level: 1}), "look_alikes": Threshold(warn=5)})
