"""A task that is too large for one job: its labels, worked out in blocks of items."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.methods.labels.e_step import expected_counts
from annot_pipeline.runtime import task_partitions
from annot_pipeline.runtime.executors.local import LocalEngine
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import MAKER
from annot_pipeline.stages.labels import em_checkpoints, infer_labels
from tests.conftest import stage_file

GOLD_OF_LABELS = (
    "labels", "label_distributions", "prevalence", "judge_confusion", "label_calibration", "judges",
)  # fmt: skip
FEW = ("ranking.bootstrap=2", "agreement.bootstrap=2")

BLOCK_SIZES = JobSizes(60, 40, task_judgments=100)
"""Blocks of some fifty labels."""
WHOLE_SIZES = JobSizes(60, 40, task_judgments=10**6)
"""Partitions of as many rows, and no blocks."""

N_ITEMS = 40


def crowd(n_items=N_ITEMS, n_judges=7, seed=3):
    """Two tasks of three classes; judges differ, and one says class b too often."""
    draw = random.Random(seed)
    rows = ["task,item,judge,label,role"]
    for task in ("large", "other"):
        for item in range(n_items if task == "large" else 12):
            truth = draw.choice("aabc")
            for judge in draw.sample(range(n_judges), 5):
                right = draw.random() < 0.55 + judge / 20
                label = truth if right else draw.choice("bbac" if judge == 2 else "abc")
                rows.append(f"{task},item {item:03},w{judge},{label},")
    rows += ["large,item 007,expert,a,adjudication", "large,item 999,expert,z,adjudication"]
    rows += ["large,item 011,expert,z,adjudication"]
    return "\n".join([*rows, ""])


def campaign(folder, text=None, **more):
    names = {name: name for name in ("task", "item", "judge", "label")}
    source = {"path": "*.csv", "format": "csv", "fields": names | {"control": "role"}}
    gates = {"decided_not_judged": {"warn": None}, "decided_new_classes": {"warn": None}}
    (folder / "a.csv").write_text(text or crowd())
    document = {"campaign": "c", "sources": [source], "gates": gates, **more}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def stage_in_blocks(folder, *sets, **more):
    return stage_file(folder, *FEW, *sets, sizes=BLOCK_SIZES, **more)


def assert_alike(blocks: pa.Table, whole: pa.Table) -> None:
    """The same rows; numbers but for rounding."""
    assert blocks.schema == whole.schema
    assert blocks.num_rows == whole.num_rows
    for name in whole.schema.names:
        actual, expected = blocks[name].to_pylist(), whole[name].to_pylist()
        if not pa.types.is_floating(whole.schema.field(name).type):
            assert actual == expected, name
        else:
            assert [x is None for x in actual] == [x is None for x in expected], name
            assert [x for x in actual if x is not None] == pytest.approx(
                [x for x in expected if x is not None], abs=1e-6
            ), name


@pytest.mark.sampled
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"judges": [{"name": "w[23]", "family": "f"}], "labels": {"certain_at": 0.8}},
        pytest.param(
            {"label_model": "dawid_skene", "dawid_skene": {"start": "votes"}},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_blocks_are_the_whole(tmp_path, settings):
    folder = campaign(tmp_path, **settings)
    blocks = stage_in_blocks(folder).run(*GOLD_OF_LABELS)
    assert len(blocks.runs["infer_labels"].result.tables["labels"].files) > 5
    whole = stage_file(folder, *FEW, f"store={tmp_path}/store2", sizes=WHOLE_SIZES)
    for name in GOLD_OF_LABELS:
        assert_alike(blocks.table(name), whole.table(name))
    actual, expected = (dict(built.metrics("infer_labels")) for built in (blocks, whole))
    for name in ("classes", "converged", "items", "items_by_judgments", "certain_share", "judges",
                 "judges_below_chance", "misnamed_classes", "adjudications", "certainty",
                 "unsupported_labels", "labels_against_the_plurality", "related_judges",
                 "decided_not_judged", "decided_new_classes"):  # fmt: skip
        assert actual[name] == expected[name], name
    assert actual["adjudications"]["large"]["decided"] == 3


@pytest.mark.slow
def test_threads_and_the_order_of_exports_change_no_byte(tmp_path):
    folder = campaign(tmp_path)
    built = stage_in_blocks(folder, "resources.threads=1").run(*GOLD_OF_LABELS)
    header, *rows = crowd().splitlines()
    random.Random(1).shuffle(rows)
    for n in range(3):
        (tmp_path / f"{n}.csv").write_text("\n".join([header, *rows[n::3], ""]))
    (tmp_path / "a.csv").unlink()
    again = stage_in_blocks(folder, f"store={tmp_path}/store2", "resources.threads=3")
    for name in GOLD_OF_LABELS:
        assert again.table(name).equals(built.table(name)), name


@pytest.mark.slow
def test_a_copy_of_an_export_and_rejected_rows_change_no_byte(tmp_path):
    """Where blocks end, and whether there are any, hangs on what counts."""
    folder = campaign(tmp_path, gates={"rejected_share": {"error": None}})
    before = stage_in_blocks(folder).run(*GOLD_OF_LABELS)
    text = crowd()
    (tmp_path / "b.csv").write_text(text)
    blank = "".join(f"large,item {n:03},w1,,\n" for n in range(0, N_ITEMS, 2))
    (tmp_path / "c.csv").write_text(text.splitlines()[0] + "\n" + blank)
    after = stage_in_blocks(folder)
    assert after.metrics("control_judges")["fates"]["rejected"] == N_ITEMS // 2
    for name in GOLD_OF_LABELS:
        if name != "judges":  # which tells how many of a judge's records were rejected
            assert after.table(name).equals(before.table(name)), name


def assert_same_labels(actual, expected):
    for name in MAKER["labels"].outputs:
        assert actual.table(name).equals(expected.table(name)), name


class KilledError(Exception):
    """In the middle of EM."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "n", "message"),
    [
        (expected_counts, 9, "continues after iteration 7"),
        pytest.param(task_partitions.make_block, 1, "dependence 0.4", marks=pytest.mark.slow),
    ],
)
def test_a_build_that_was_killed_goes_on_where_em_stood(
    tmp_path, monkeypatch, function, n, message
):
    """In the middle of EM, and where rows are written."""
    folder = campaign(tmp_path)
    undisturbed = stage_in_blocks(folder, f"store={tmp_path}/store2").run("labels")
    monkeypatch.setattr(em_checkpoints, "SECONDS", 0.0)
    run, calls = LocalEngine.run, []

    def dies(self, jobs, *rest, **more):
        if any(function in (job.func, *job.args[:1]) for job in jobs if isinstance(job, partial)):
            calls.append(1)
            if len(calls) == n:
                raise KilledError
        return run(self, jobs, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(LocalEngine, "run", dies)
        with pytest.raises(KilledError):
            stage_in_blocks(folder).run("labels")
    lines = []
    built = stage_in_blocks(folder, progress=lines.append).run("labels")
    assert any(message in line for line in lines if "continues" in line), lines
    assert_same_labels(built, undisturbed)
    assert not [*(tmp_path / "store" / "checkpoints").iterdir()]


@pytest.mark.slow
def test_a_note_that_cannot_be_written_stops_no_build(tmp_path, monkeypatch):
    """Another build, which is done, removes the folder in between; or the disk is full."""
    folder = campaign(tmp_path)
    undisturbed = stage_in_blocks(folder, f"store={tmp_path}/store2").run("labels")
    monkeypatch.setattr(em_checkpoints, "SECONDS", 0.0)
    savez = np.savez

    def save(file, **arrays):
        savez(file, **arrays)
        shutil.rmtree(tmp_path / "store" / "checkpoints")

    monkeypatch.setattr(np, "savez", save)
    lines = []
    built = stage_in_blocks(folder, progress=lines.append).run("labels")
    assert_same_labels(built, undisturbed)
    warnings = [line for line in lines if "if this build is killed" in line]
    assert len(warnings) == len({line.partition(": ")[0] for line in warnings}) > 0


@pytest.mark.slow
def test_a_straggler_that_writes_yet_stops_no_build(tmp_path, monkeypatch):
    """A machine that was given up puts a file into the folder that is being removed."""
    plain = os.rmdir

    def rmdir(path, *rest, **more):
        if str(path).endswith(task_partitions.BLOCKS) or path == task_partitions.BLOCKS:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(path))
        return plain(path, *rest, **more)

    monkeypatch.setattr(os, "rmdir", rmdir)
    assert stage_in_blocks(campaign(tmp_path)).table("labels").num_rows > N_ITEMS


def test_a_note_of_where_em_stood_that_cannot_be_read_is_none(tmp_path):
    for text in (b"", b"PK\x03\x04 cut short", b"no note"):
        (tmp_path / "note.npz").write_bytes(text)
        assert em_checkpoints.Checkpoint(tmp_path / "note.npz").read() is None


@pytest.mark.slow
def test_blocks_without_news_are_not_fitted_again(tmp_path, monkeypatch):
    folder = campaign(tmp_path)
    before = stage_in_blocks(folder).run("labels")

    fitted: list[str] = []

    def fit_tasks(tasks, *others, **named):
        fitted.extend(task.name for task in tasks)
        return infer_tasks(tasks, *others, **named)

    infer_tasks = infer_labels.fit_tasks
    (tmp_path / "b.csv").write_text("task,item,judge,label,role\nother,new,w1,a,\n")
    monkeypatch.setattr(infer_labels, "fit_tasks", fit_tasks)
    after = stage_in_blocks(folder)
    files = [built.runs["infer_labels"].result.tables["labels"].files for built in (before, after)]
    assert len({file.sha256 for file in files[0]} & {file.sha256 for file in files[1]}) > 2
    large, now = (
        [row for row in built.table("labels").to_pylist() if row["task"] == "large"]
        for built in (before, after)
    )
    assert large == now
    assert fitted == ["other"]
    assert after.metrics("infer_labels")["items"] == {"large": N_ITEMS, "other": 13}


@pytest.mark.slow
def test_a_large_task_no_label_of_which_counts(tmp_path):
    text = re.sub(r"(?m)^(large,.*),[abc],$", r"\1,,", crowd())
    folder = campaign(tmp_path, text, gates={"rejected_share": {"error": None}})
    built = stage_in_blocks(folder)
    labels = built.table("labels").to_pylist()
    assert [row["item"] for row in labels if row["task"] == "large"] == [
        "item 007", "item 011", "item 999",
    ]  # fmt: skip
    assert all(row["adjudicated"] for row in labels if row["task"] == "large")
