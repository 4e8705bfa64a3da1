"""Free texts in the place of labels stop a build before a model of that many classes is fitted."""

from __future__ import annotations

import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.runtime.job_sizes import JobSizes


def rows(n_classes: int) -> str:
    lines = [f"i{n},j{judge},text {n}" for n in range(n_classes) for judge in range(2)]
    return "\n".join(["item,judge,label", *lines]) + "\n"


def level(built) -> str:
    gates = {gate.name: gate for gate in built.runs["settle_judgments"].gates}
    assert gates["too_many_classes"].detail.startswith("small: ")
    return gates["too_many_classes"].level


@pytest.mark.slow
def test_levels(build_campaign, stage_campaign):
    assert level(stage_campaign({"a.csv": rows(50)})) == "pass"
    assert level(stage_campaign({"a.csv": rows(51)})) == "warn"
    with pytest.raises(GateError, match=r"(?s)too_many_classes.*small: 201.*tasks.labels"):
        build_campaign({"a.csv": rows(201)})


def test_classes_that_are_declared_are_meant(stage_campaign):
    labels = [f"text {n}" for n in range(60)]
    built = stage_campaign({"a.csv": rows(60)}, tasks=[{"name": "*", "labels": labels}])
    gates = {gate.name: gate for gate in built.runs["settle_judgments"].gates}
    assert (gates["too_many_classes"].level, gates["too_many_classes"].value) == ("pass", 0)


@pytest.mark.slow
def test_classes_of_a_task_in_several_partitions_count_together(build_campaign):
    """Each slice of the task has few classes, all slices together 60."""
    built = build_campaign({"a.csv": rows(60)}, sizes=JobSizes(20, 10))
    assert len(built.runs["settle_judgments"].result.tables["settled"].files) > 3
    gates = {gate.name: gate for gate in built.runs["settle_judgments"].gates}
    assert (gates["too_many_classes"].level, gates["too_many_classes"].value) == ("warn", 60)
