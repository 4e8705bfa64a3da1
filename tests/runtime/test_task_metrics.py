"""Metrics of a task that lies in several partitions."""

from __future__ import annotations

from annot_pipeline.runtime.task_partitions import _joined


def test_metrics_of_partitions_are_added_by_task_and_name():
    joined = _joined([
        {"labels": {"b": {"certain": 1, "others": 2}, "a": {"certain": 4}}, "trace": {"b": [1]}},
        {"labels": {"b": {"certain": 3, "decided": 5}}, "trace": {"b": [2, 3]}},
    ])  # fmt: skip
    assert joined == {
        "labels": {"a": {"certain": 4}, "b": {"certain": 4, "others": 2, "decided": 5}},
        "trace": {"b": [1, 2, 3]},
    }
    assert list(joined["labels"]) == ["a", "b"]
