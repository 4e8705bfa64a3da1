"""Decisions of experts: what is asked of experts."""

import json
import re
from collections import Counter

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.gates.declared import GATES
from annot_pipeline.storage.keys import pseudonym
from tests.adjudication.decided import (
    DECIDED,
    JUDGED,
    KEY,
    ROOT,
    SOURCES,
    answers,
    decisions,
    fates,
    labels,
)


def gate(built, name):
    (stage,) = (declared.stage for declared in GATES if declared.name == name)
    (actual,) = (g for g in built.runs[stage].gates if g.name == name)
    return actual


@pytest.mark.slow
def test_experts_who_differ_are_named(stage):
    agreed = stage(
        {
            "x1.csv": decisions("i0,eva,no,2024-01-01,", "i0,eva,yes,2024-01-02,"),
            "x2.csv": decisions("i0,tom,yes,,", "i1,tom,yes,,"),
        }
    )
    assert gate(agreed, "experts_disagree").level == "pass"
    differ = stage(
        {
            "x1.csv": decisions("i0,eva,no,2024-01-01,", "i2,eva,no,,", "i4,eva,no,,"),
            "x2.csv": decisions("i0,tom,yes,2024-01-02,", "i2,eva,yes,,", "i4,eva,maybe,,",
                                "i4,eva,other,,"),
        }
    )  # fmt: skip
    actual = gate(differ, "experts_disagree")
    assert (actual.level, actual.value) == ("warn", 2)
    # eva changed her mind on i2; on i4 nothing tells what she says now
    assert actual.detail == "small/i0 ('no', 'yes'), small/i4 ('maybe', 'other')"


def test_decisions_that_give_way_by_the_names_of_files_are_told(stage):
    exports = {"x1.csv": decisions("i0,eva,yes,,"), "x2.csv": decisions("i0,tom,no,,")}
    actual = gate(stage(exports), "superseded_by_order")
    assert actual.detail == "1 x exports/x2.csv over exports/x1.csv"
    timed = exports | {"x1.csv": decisions("i0,eva,yes,2024-01-01,")}
    assert gate(stage(timed), "superseded_by_order").level == "pass"


@pytest.mark.slow
def test_decisions_that_look_mistyped_are_named(stage):
    """Nobody judged foo9; nobody else says "yess", nor "neither", which stands in two decisions."""
    plain = stage({"x.csv": decisions("i0,eva,yes,,")})
    for name in ("decided_not_judged", "decided_new_classes"):
        assert gate(plain, name).level == "pass"
    rows = ("foo9,eva,yes,,", "i0,eva,yess,,", "i2,eva,neither,,", "i4,tom,neither,,")
    actual = stage({"x.csv": decisions(*rows)})
    not_judged, new = gate(actual, "decided_not_judged"), gate(actual, "decided_new_classes")
    assert (not_judged.level, not_judged.value, not_judged.detail) == ("warn", 1, "small/'foo9'")
    assert (new.level, new.value) == ("warn", 2)
    assert new.detail == "small 'neither' (2 items, as 'i2'), small 'yess' (1 item, as 'i0')"


@pytest.mark.slow
def test_in_a_task_that_only_experts_answered_no_class_is_new(stage):
    task = {**DECIDED, "task": {"value": "other"}}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": task}]
    built = stage({"x.csv": decisions("i0,eva,yes,,", "i9,tom,no,,")}, sources=sources)
    assert gate(built, "decided_new_classes").level == "pass"
    assert gate(built, "decided_not_judged").value == 2


@pytest.mark.slow
def test_a_withdrawn_decision_gives_the_label_back(stage):
    plain = labels(stage({"x.csv": decisions()}))
    assert labels(stage({"x.csv": decisions("i0,eva,yes,,", "zz,eva,yes,,")})) != plain
    assert labels(stage({"x.csv": decisions()})) == plain


def test_a_decision_needs_a_categorical_task(stage_campaign):
    score = {"item": "item", "judge": "judge", "score": "score"}
    expert = {**score, "label": "label", "control": {"value": "adjudication"}}
    rows = "".join(f"i{i},j{j},{10 * i + j}\n" for i in range(6) for j in range(3))
    built = stage_campaign(
        {"a.csv": "item,judge,score\n" + rows, "x.csv": "item,judge,score,label\ni0,eva,,50\n"},
        "gates.rejected_share.error=.5",
        sources=[
            {"path": "exports/a.csv", "format": "csv", "fields": score},
            {"path": "exports/x.csv", "format": "csv", "fields": expert},
        ],
    )
    assert fates(built, "x.csv") == [
        ("rejected", "an adjudication needs a label: the task is scalar")
    ]
    # what experts say does not make a task categorical, nor ambiguous
    assert built.metrics("settle_judgments")["kinds"] == {"small": "scalar"}
    assert built.metrics("settle_judgments")["ambiguous_tasks"] == []
    assert built.rows("labels") == []


def test_a_task_that_only_experts_answered(stage):
    task = {**DECIDED, "task": {"value": "other"}}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": task}]
    built = stage({"x.csv": decisions("i0,eva,yes,,", "i9,tom,no,,")}, sources=sources)
    rows = [r for r in built.rows("labels") if r["task"] == "other"]
    assert [(r["item"], r["label"], r["model_label"]) for r in rows] == [
        ("i0", "yes", None), ("i9", "no", None),
    ]  # fmt: skip
    assert {r["task"] for r in built.rows("prevalence")} == {"small"}


@pytest.mark.slow
def test_an_expert_who_fails_judge_control_still_decides(stage):
    """Judge control is about what a judge gives as one of several; p knows no answer."""
    fields = {**JUDGED, "control": "control", "truth": "truth"}
    known = [
        f"k{n},{judge},{'no' if judge == 'p' else 'yes'},known_answer,yes\n"
        for n in range(12) for judge in "pqrs"
    ]  # fmt: skip
    ordinary = [f"{line},none,\n" for line in answers().splitlines()[1:]]
    built = stage(
        {
            "a.csv": "item,judge,label,control,truth\n" + "".join(ordinary + known),
            "x.csv": decisions("i0,p,yes,,"),
        },
        sources=[{**SOURCES[0], "fields": fields}, SOURCES[1]],
        quality={"test": "known_answer", "contrast": "paired"},
    )
    verdicts = {r["judge"]: r["verdict"] for r in built.rows("judges")}
    assert verdicts[pseudonym(KEY, "p")] == "failed"
    assert Counter(verdicts.values()) == {"failed": 1, "passed": 3}
    row = labels(built)["i0"]
    assert (row["label"], row["adjudicated"], row["n_judges"]) == ("yes", True, 3)


@pytest.mark.slow
def test_a_decision_whose_assignment_was_rejected_decides_nothing(stage):
    fields = {**DECIDED, "status": "status"}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": fields}]
    head = "item,judge,label,at,why,status\n"
    rows = ["i0,eva,yes,2024-01-01,,Approved\n", "i0,tom,maybe,2024-01-02,,Rejected\n"]
    exports = {"x.csv": head + "".join(rows)}
    assert labels(stage(exports, sources=sources))["i0"]["label"] == "yes"
    kept = stage(exports, "quality.rejected_assignments=keep", sources=sources)
    assert labels(kept)["i0"]["label"] == "maybe"


def test_label_studio_says_it_by_ground_truth(stage_campaign):
    def annotation(number, judge, choice, truth):
        result = {"from_name": "tone", "to_name": "text", "type": "choices",
                  "value": {"choices": [choice]}}  # fmt: skip
        return {"id": number, "completed_by": judge, "ground_truth": truth, "result": [result],
                "created_at": "2024-01-01T00:00:00Z"}  # fmt: skip

    tasks = [
        {
            "id": n,
            "data": {},
            "annotations": [annotation(10 * n + j, j, "ab"[n % 2], False) for j in range(3)],
        }
        for n in range(4)
    ]
    tasks[0]["annotations"].append(annotation(99, 2, "b", True))
    control = {"column": "ground_truth", "map": {"true": "adjudication", "false": "none"}}
    built = stage_campaign(
        {"a.json": json.dumps(tasks)},
        sources=[
            {
                "path": "exports/a.json",
                "format": "label_studio",
                "fields": {
                    "task": "from_name", "item": "task_id", "judge": "completed_by",
                    "label": "choice", "native_id": "annotation_id", "control": control,
                    "submitted_at": "created_at",
                },
            }
        ],
    )  # fmt: skip
    row = labels(built)["0"]
    assert (row["label"], row["model_label"], row["n_judgments"]) == ("b", "a", 3)


@pytest.mark.parametrize(
    "block",
    re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "adjudication.md").read_text(), re.DOTALL),
)
def test_what_is_said_of_adjudication_can_be_written(block, tmp_path):
    (tmp_path / "campaign.yaml").write_text("campaign: c\n" + block)
    fields = load_campaign(tmp_path).settings.sources[-1].fields
    assert {"judge", "label", "submitted_at", "control"} <= fields.keys()


@pytest.mark.slow
def test_what_is_superseded_says_what_it_was(stage):
    long = "x" * 100
    built = stage(
        {
            "a1.csv": f"item,judge,label\ni0,p,{long}\ni2,p,no\n",
            "a2.csv": answers(),
            "x.csv": decisions(),
        }
    )
    said = f"a file that takes precedence holds another answer; this one: '{'x' * 60}'"
    assert fates(built, "a1.csv")[0] == ("superseded", said)
