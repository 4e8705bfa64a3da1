"""An expert's decision overrides a label; nothing else moves, and nothing is lost."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.storage.keys import pseudonym

ROOT = Path(__file__).parents[1]
JUDGED = {"item": "item", "judge": "judge", "label": "label"}
DECIDED = {**JUDGED, "submitted_at": "at", "why": "why", "control": {"value": "adjudication"}}
SOURCES = [
    {"path": "exports/a*.csv", "format": "csv", "fields": JUDGED},
    {"path": "exports/x*.csv", "format": "csv", "fields": DECIDED},
]
ITEMS = [f"i{n}" for n in range(8)]
KEY = b"a key for tests, long enough to be one"


def answers(judges="pqrs"):
    """Odd items are yes to all; of even ones, one judge in four says yes where the rest say no."""
    rows = [
        f"{item},{judge},{'yes' if n % 2 or (n // 2) % 4 == j else 'no'}\n"
        for n, item in enumerate(ITEMS)
        for j, judge in enumerate(judges)
    ]
    return "item,judge,label\n" + "".join(rows)


def decisions(*rows):
    return "item,judge,label,at,why\n" + "".join(f"{row}\n" for row in rows)


def labels(built):
    return {row["item"]: row for row in built.rows("labels")}


def fates(built, file):
    """Item, judge, fate and reason of the records of a file, in the order of its rows."""
    rows = sorted(
        (r for r in built.rows("lineage") if r["source_file"] == f"exports/{file}"),
        key=lambda r: r["source_row"],
    )
    return [(row["fate"], row["reason"]) for row in rows]


@pytest.fixture
def build(build_campaign):
    def built(exports, *sets, **settings):
        return build_campaign({"a.csv": answers()} | exports, *sets,
                              **({"sources": SOURCES} | settings))  # fmt: skip

    return built


def test_a_decision_overrides_the_label_and_the_model_stays_beside(build):
    before = labels(build({"x.csv": decisions("zz,eva,no,,")}))
    after = labels(build({"x.csv": decisions("i0,eva,yes,2024-05-01T12:00:00+02:00,seen again")}))
    model, decided = before["i0"], after["i0"]
    assert (model["label"], model["adjudicated"], model["model_label"]) == ("no", False, "no")
    assert model["model_probability"] == model["probability"] > 0.99
    assert (decided["label"], decided["adjudicated"], decided["certain"]) == ("yes", True, False)
    assert decided["adjudication_reason"] == "seen again"
    assert decided["adjudicated_at"].isoformat() == "2024-05-01T10:00:00+00:00"
    kept = ("model_label", "model_probability", "entropy", "n_judgments", "n_judges",
            "majority_label", "majority_share")  # fmt: skip
    assert {name: decided[name] for name in kept} == {name: model[name] for name in kept}
    assert decided["probability"] == pytest.approx(1 - model["probability"], rel=1e-6)
    assert (model["support"], decided["support"]) == (0.75, 0.25)  # one of four judges said yes
    undecided = [name for name in ITEMS if name != "i0"]
    assert {name: after[name] for name in undecided} == {name: before[name] for name in undecided}
    assert all(after[name]["adjudicator"] is None for name in undecided)


def test_a_decision_for_the_models_label_is_an_adjudication_too(build):
    built = build({"x.csv": decisions("i1,eva,yes,,")})
    row = labels(built)["i1"]
    assert (row["label"], row["adjudicated"], row["certain"]) == ("yes", True, True)
    assert row["probability"] == row["model_probability"]
    found = {"small": {"decided": 1, "overridden": 0, "superseded": 0}}
    assert built.publication.release.manifest["facts"]["adjudications"] == found


def test_nothing_but_labels_and_lists_moves(build):
    plain = build({"x.csv": decisions()})
    decided = build({"x.csv": decisions("i0,eva,yes,,", "i1,p,no,,", "i2,eva,other,,")})
    old, new = plain.hashes(), decided.hashes()
    moved = {name for name in old if old[name] != new[name]}
    assert moved == {"labels", "judgments", "lineage"}
    assert plain.facts("infer_labels")["adjudications"] == {}
    assert decided.facts("infer_labels")["adjudications"] == {
        "small": {"decided": 3, "overridden": 3, "superseded": 0}
    }
    assert {row["judge"] for row in decided.rows("judges")} == {
        row["judge"] for row in plain.rows("judges")
    }
    assert [row["n_judgments"] for row in decided.rows("judges")] == [8, 8, 8, 8]


def test_an_item_that_only_an_expert_decided_has_a_row(build):
    built = build({"x.csv": decisions("new,eva,yes,,", "i0,eva,yes,,")})
    row = labels(built)["new"]
    assert (row["label"], row["adjudicated"], row["certain"]) == ("yes", True, False)
    assert (row["n_judgments"], row["n_judges"]) == (0, 0)
    told = {"task", "item", "label", "certain", "adjudicated", "n_judgments", "n_judges",
            "adjudicator"}  # fmt: skip
    assert {name for name, value in row.items() if value is not None} == told
    assert [r["item"] for r in built.rows("labels")] == [*ITEMS, "new"]
    assert "new" in {r["item"] for r in built.rows("items")}
    assert not [r for r in built.rows("label_distributions") if r["item"] == "new"]
    assert built.facts("infer_labels")["items"] == 9
    # it is no item with one judgment, and none that the model labelled
    assert built.facts("infer_labels")["single_judgment_share"] == 0


def test_a_class_that_nobody_else_gave(build):
    row = labels(build({"x.csv": decisions("i0,eva,neither,,")}))["i0"]
    assert (row["label"], row["probability"], row["support"]) == ("neither", 0.0, 0.0)
    declared = build(
        {"x.csv": decisions("i0,eva,neither,,", *["i2,eva,yes,,"])},
        "gates.rejected_share.error=.5",
        tasks=[{"name": "*", "kind": "categorical", "labels": ["no", "yes"]}],
    )
    assert labels(declared)["i0"]["adjudicated"] is False
    assert fates(declared, "x.csv") == [
        ("rejected", "label is not a declared class: 'neither'"),
        ("adjudication", "decision of an expert"),
    ]


def test_who_decided_is_a_pseudonym_and_may_judge_elsewhere(build):
    built = build({"x.csv": decisions("i0,p,yes,,")})
    row = labels(built)["i0"]
    (mine,) = {r["judge"] for r in built.rows("judges") if r["judge"] == row["adjudicator"]}
    assert mine == pseudonym(KEY, "p")
    listed = [r for r in built.rows("judgments") if r["item"] == "i0" and r["judge"] == mine]
    assert {(r["fate"], r["control"], r["label"]) for r in listed} == {
        ("used", "none", "yes"), ("adjudication", "adjudication", "yes"),
    }  # fmt: skip
    assert len({r["judgment_id"] for r in listed}) == 2
    assert row["n_judgments"] == 4


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
def test_the_latest_decision_counts(build, exports, label, who):
    built = build({name: decisions(*rows) for name, rows in exports.items()})
    row = labels(built)["i0"]
    assert (row["label"], row["adjudicator"]) == (label, pseudonym(KEY, who))
    turned = build({name: decisions(*rows[::-1]) for name, rows in exports.items()})
    assert turned.hashes()["labels"] == built.hashes()["labels"]
    found = Counter(fate for name in exports for fate, _ in fates(built, name))
    assert found == {"adjudication": 1, "superseded": 1}
    facts = built.facts("infer_labels")["adjudications"]["small"]
    assert (facts["decided"], facts["superseded"]) == (1, 1)


def test_a_later_source_takes_precedence(build):
    later = {"path": "exports/later.csv", "format": "csv", "fields": DECIDED}
    exports = {"x.csv": decisions("i0,eva,no,,"), "later.csv": decisions("i0,tom,yes,,")}
    assert labels(build(exports, sources=[*SOURCES, later]))["i0"]["label"] == "yes"
    first = labels(build(exports, sources=[later, *SOURCES]))["i0"]
    assert first["label"] == "no"


def test_what_became_of_the_other_decisions(build):
    built = build(
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


def gate(built, name):
    (found,) = (
        g for run in built.runs.values() for g in run.gates if g.name == name
    )  # fmt: skip
    return found


def test_experts_who_differ_are_named(build):
    agreed = build(
        {
            "x1.csv": decisions("i0,eva,no,2024-01-01,", "i0,eva,yes,2024-01-02,"),
            "x2.csv": decisions("i0,tom,yes,,", "i1,tom,yes,,"),
        }
    )
    assert gate(agreed, "experts_disagree").level == "pass"
    differ = build(
        {
            "x1.csv": decisions("i0,eva,no,2024-01-01,", "i2,eva,no,,", "i4,eva,no,,"),
            "x2.csv": decisions("i0,tom,yes,2024-01-02,", "i2,eva,yes,,", "i4,eva,maybe,,",
                                "i4,eva,other,,"),
        }
    )  # fmt: skip
    found = gate(differ, "experts_disagree")
    assert (found.level, found.value) == ("warn", 2)
    # eva changed her mind on i2; on i4 nothing tells what she says now
    assert found.detail == "small i0 ('no', 'yes'), small i4 ('maybe', 'other')"


def test_decisions_that_give_way_by_the_names_of_files_are_told(build):
    exports = {"x1.csv": decisions("i0,eva,yes,,"), "x2.csv": decisions("i0,tom,no,,")}
    found = gate(build(exports), "superseded_by_order")
    assert found.detail == "1 x exports/x2.csv over exports/x1.csv"
    timed = exports | {"x1.csv": decisions("i0,eva,yes,2024-01-01,")}
    assert gate(build(timed), "superseded_by_order").level == "pass"


def test_decisions_that_look_mistyped_are_named(build):
    """Nobody judged foo9; nobody else says "yess", nor "neither", which stands in two decisions."""
    plain = build({"x.csv": decisions("i0,eva,yes,,")})
    for name in ("decided_not_judged", "decided_new_classes"):
        assert gate(plain, name).level == "pass"
    rows = ("foo9,eva,yes,,", "i0,eva,yess,,", "i2,eva,neither,,", "i4,tom,neither,,")
    found = build({"x.csv": decisions(*rows)})
    not_judged, new = gate(found, "decided_not_judged"), gate(found, "decided_new_classes")
    assert (not_judged.level, not_judged.value, not_judged.detail) == ("warn", 1, "small 'foo9'")
    assert (new.level, new.value) == ("warn", 2)
    assert new.detail == "small 'neither' (2 items, as 'i2'), small 'yess' (1 item, as 'i0')"


def test_in_a_task_that_only_experts_answered_no_class_is_new(build):
    task = {**DECIDED, "task": {"value": "other"}}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": task}]
    built = build({"x.csv": decisions("i0,eva,yes,,", "i9,tom,no,,")}, sources=sources)
    assert gate(built, "decided_new_classes").level == "pass"
    assert gate(built, "decided_not_judged").value == 2


def test_a_withdrawn_decision_gives_the_label_back(build):
    plain = build({"x.csv": decisions()}).hashes()["labels"]
    built = build({"x.csv": decisions("i0,eva,yes,,", "zz,eva,yes,,")})
    assert built.hashes()["labels"] != plain
    assert build({"x.csv": decisions()}).hashes()["labels"] == plain


def test_a_decision_needs_a_categorical_task(build_campaign):
    score = {"item": "item", "judge": "judge", "score": "score"}
    expert = {**score, "label": "label", "control": {"value": "adjudication"}}
    rows = "".join(f"i{i},j{j},{10 * i + j}\n" for i in range(6) for j in range(3))
    built = build_campaign(
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
    assert built.facts("settle_judgments")["kinds"] == {"small": "scalar"}
    assert built.facts("settle_judgments")["ambiguous_tasks"] == []
    assert built.rows("labels") == []


def test_a_task_that_only_experts_answered(build):
    task = {**DECIDED, "task": {"value": "other"}}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": task}]
    built = build({"x.csv": decisions("i0,eva,yes,,", "i9,tom,no,,")}, sources=sources)
    rows = [r for r in built.rows("labels") if r["task"] == "other"]
    assert [(r["item"], r["label"], r["model_label"]) for r in rows] == [
        ("i0", "yes", None), ("i9", "no", None),
    ]  # fmt: skip
    assert {r["task"] for r in built.rows("prevalence")} == {"small"}


def test_an_expert_who_fails_judge_control_still_decides(build):
    """Judge control is about what a judge gives as one of several; p knows no answer."""
    fields = {**JUDGED, "control": "control", "truth": "truth"}
    known = [
        f"k{n},{judge},{'no' if judge == 'p' else 'yes'},known_answer,yes\n"
        for n in range(12) for judge in "pqrs"
    ]  # fmt: skip
    ordinary = [f"{line},none,\n" for line in answers().splitlines()[1:]]
    built = build(
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


def test_a_decision_whose_assignment_was_rejected_decides_nothing(build):
    fields = {**DECIDED, "status": "status"}
    sources = [SOURCES[0], {"path": "exports/x.csv", "format": "csv", "fields": fields}]
    head = "item,judge,label,at,why,status\n"
    rows = ["i0,eva,yes,2024-01-01,,Approved\n", "i0,tom,maybe,2024-01-02,,Rejected\n"]
    exports = {"x.csv": head + "".join(rows)}
    assert labels(build(exports, sources=sources))["i0"]["label"] == "yes"
    kept = build(exports, "quality.rejected_assignments=keep", sources=sources)
    assert labels(kept)["i0"]["label"] == "maybe"


def test_label_studio_says_it_by_ground_truth(build_campaign):
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
    built = build_campaign(
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


def test_what_is_superseded_says_what_it_was(build):
    long = "x" * 100
    built = build(
        {
            "a1.csv": f"item,judge,label\ni0,p,{long}\ni2,p,no\n",
            "a2.csv": answers(),
            "x.csv": decisions(),
        }
    )
    said = f"a file that takes precedence holds another answer; this one: '{'x' * 60}'"
    assert fates(built, "a1.csv")[0] == ("superseded", said)
