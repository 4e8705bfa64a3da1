"""One task in memory as stages have it: what tests of single stages share."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts.task_table import TASKS
from annot_pipeline.runtime.task_partitions import TaskData

FIELDS = {"judge": "j", "item": "i", "label": "l"}


def settings(**sections: Any) -> Campaign:
    """Return the settings of a small campaign."""
    source = {"path": "x.csv", "format": "csv", "fields": FIELDS}
    return Campaign.model_validate_json(
        json.dumps({"campaign": "small", "sources": [source]} | sections)
    )


def task_data(
    name: str, tables: dict[str, pa.Table], campaign: Campaign | None = None, **declared: Any
) -> TaskData:
    """Return a task with its tables; ``declared`` are cells of its row of ``tasks``."""
    row = dict.fromkeys(TASKS.names) | {"task": name} | declared
    tasks = pa.Table.from_pylist([row], TASKS)
    return TaskData(name, row, campaign or settings(), {"tasks": tasks} | tables)
