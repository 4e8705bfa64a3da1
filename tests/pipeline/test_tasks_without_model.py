"""Tasks with too many classes and judges for Dawid-Skene are labelled by votes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.cli import main
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene
from annot_pipeline.runtime.job_sizes import JobSizes
from tests.conftest import build_file, stage_file

LARGE = {
    "i1": [("ann", "cat"), ("bob", "dog"), ("cyd", "dog")],
    "i2": [("ann", "eel"), ("bob", "cat")],
    "i3": [("ann", "fox"), ("ann", "fox"), ("bob", "gnu")],
}
"""Three judges and five classes: 75 confusion probabilities. In i2 the votes are tied."""
PROBABILITIES = ("probability", "model_probability", "dawid_skene_probability", "entropy")


def write_campaign(folder: Path, **settings: object) -> Path:
    lines = ["task,item,judge,label,role"]
    lines += [f"texts,{i},{judge},{label}," for i, row in LARGE.items() for judge, label in row]
    lines += [f"small,i{n},{judge},{'ab'[n % 2]}," for n in range(6) for judge in "xyz"]
    lines += ["texts,i3,erin,gnu,adjudication", "texts,i9,erin,yak,adjudication"]
    (folder / "a.csv").write_text("\n".join([*lines, ""]))
    names = {name: name for name in ("task", "item", "judge", "label")}
    source = {"path": "*.csv", "format": "csv", "fields": names | {"control": "role"}}
    gates = {name: {"warn": None} for name in ("decided_not_judged", "decided_new_classes")}
    document = {
        "campaign": "c", "sources": [source], "gates": gates,
        "dawid_skene": {"max_parameters": 74}, "privacy": {"pseudonymize": False}, **settings,
    }  # fmt: skip
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def test_votes_are_published_without_probabilities(tmp_path):
    built = stage_file(write_campaign(tmp_path))
    labels = {(row["task"], row["item"]): row for row in built.table("labels").to_pylist()}
    assert {item: labels["texts", item]["label"] for item in ("i1", "i2", "i3", "i9")} == {
        "i1": "dog", "i2": "cat", "i3": "gnu", "i9": "yak",
    }  # fmt: skip
    for item, (votes, judges, majority, share, support) in {
        "i1": (3, 3, "dog", 2 / 3, 2 / 3),
        "i2": (2, 2, "cat", 1 / 2, 1 / 2),
        "i3": (3, 2, "fox", 2 / 3, 1 / 3),
    }.items():
        row = labels["texts", item]
        assert (row["n_judgments"], row["n_judges"]) == (votes, judges)
        assert row["majority_label"] == majority
        assert (row["majority_share"], row["support"]) == pytest.approx((share, support))
        is_decided = item == "i3"
        shown = [1.0, None, None, 0.0] if is_decided else [None] * 4
        assert [row[name] for name in PROBABILITIES] == shown
        assert row["model_label"] is None
        assert (row["certain"], row["dawid_skene_certain"]) == (is_decided, False)
    assert labels["small", "i0"]["probability"] > 0.9
    distribution = [
        (row["item"], row["label"], row["probability"], row["votes"])
        for row in built.table("label_distributions").to_pylist()
        if row["task"] == "texts"
    ]
    assert distribution == [
        ("i1", "cat", None, 1), ("i1", "dog", None, 2), ("i2", "cat", None, 1),
        ("i2", "eel", None, 1), ("i3", "fox", None, 2), ("i3", "gnu", None, 1),
    ]  # fmt: skip
    for table in ("prevalence", "judge_confusion", "label_calibration"):
        assert set(built.table(table)["task"].to_pylist()) == {"small"}, table
    [gate] = [g for g in built.runs["infer_labels"].gates if g.name == "tasks_without_model"]
    assert (gate.level, gate.value, gate.detail) == ("warn", 1, "texts: 5 classes, 3 judges")


@pytest.mark.slow
def test_tasks_with_a_model_are_as_if_they_were_alone(tmp_path):
    with_texts, alone = tmp_path / "with", tmp_path / "alone"
    for folder in (with_texts, alone):
        folder.mkdir()
        write_campaign(folder)
    text = (alone / "a.csv").read_text().splitlines(keepends=True)
    (alone / "a.csv").write_text("".join(line for line in text if not line.startswith("texts")))
    actual, expected = stage_file(with_texts), stage_file(alone)
    for name in ("prevalence", "judge_confusion", "label_calibration"):
        assert actual.table(name).equals(expected.table(name)), name


@pytest.mark.slow
def test_a_task_in_blocks_gives_the_same_rows(tmp_path):
    folder = write_campaign(tmp_path)
    whole = build_file(folder)
    locations = (f"store={tmp_path}/store2", f"gold={tmp_path}/gold2")
    blocks = build_file(folder, *locations, sizes=JobSizes(3, 2, task_judgments=4))
    assert len(blocks.runs["infer_labels"].result.tables["labels"].files) > 2
    for name in ("labels", "label_distributions", "judges"):
        rows = [built.table(name).to_pylist() for built in (blocks, whole)]
        assert [r for r in rows[0] if r["task"] == "texts"] == [
            r for r in rows[1] if r["task"] == "texts"
        ], name
    for built in (blocks, whole):
        facts = built.metrics("infer_labels")
        assert facts["not_fitted"] == {"texts": [3, 5]}
        assert facts["items"] == {"small": 6, "texts": 3}


def build_two_releases(folder: Path) -> None:
    folder.mkdir()
    write_campaign(folder)
    build_file(folder)
    with (folder / "a.csv").open("a") as export:
        export.write("texts,i2,cyd,eel,\n")
    build_file(folder)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("status", []),
        ("trace", ["i1", "--task", "texts"]),
        ("trace", ["i3", "--task", "texts"]),
        ("diff", ["v0001", "v0002"]),
        pytest.param("verify", ["--rebuild"], marks=pytest.mark.slow),
        ("score", ["FOLDER/predictions.csv"]),
    ],
)
def test_commands_read_labels_without_probabilities(copy_campaign, tmp_path, capsys, command, more):
    folder = copy_campaign(build_two_releases, tmp_path / "campaign")
    (folder / "predictions.csv").write_text("task,item,label\nsmall,i1,b\nsmall,i2,a\n")
    capsys.readouterr()
    arguments = [word.replace("FOLDER", str(folder)) for word in more]
    assert main([command, str(folder), *arguments]) == 0, capsys.readouterr().err
    assert "None" not in capsys.readouterr().out


def test_predictions_are_not_scored_against_votes_alone(copy_campaign, tmp_path, capsys):
    folder = copy_campaign(build_two_releases, tmp_path / "campaign")
    (folder / "predictions.csv").write_text("item,label\ni1,dog\n")
    arguments = ["score", str(folder), str(folder / "predictions.csv"), "--task", "texts"]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "no task that has labels with probabilities" in error


def test_the_function_refuses_what_is_too_large():
    codes = np.zeros(3, np.int64)
    params = DawidSkeneParams(max_parameters=49)
    sizes = {"n_items": 1, "n_judges": 2}
    dawid_skene(codes, codes, codes, **sizes, n_labels=4, params=params)
    with pytest.raises(ValueError, match="2 judges times 5 classes squared is more than"):
        dawid_skene(codes, codes, codes, **sizes, n_labels=5, params=params)
