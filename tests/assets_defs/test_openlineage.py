"""Events of a nightly run for OpenLineage, by the sensor that docs/dagster.md shows.

Needs the extra `openlineage`; skipped, saying so, where it is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from annot_pipeline.contracts import GOLD
from assets_defs import build_definitions
from tests.assets_defs.campaigns import write_campaign

PAGE = (Path(__file__).parents[2] / "docs" / "dagster.md").read_text("utf-8")
ONE_LOG = """
event_log_storage:
  module: dagster._core.storage.event_log
  class: ConsolidatedSqliteEventLogStorage
  config: {{base_dir: {folder}}}
"""
"""The sensor reads no log that has a file a run, as SQLite has by default."""


@pytest.mark.filterwarnings("ignore:.*get_event_records")  # by the sensor of dagster-openlineage
@pytest.mark.skipif(
    importlib.util.find_spec("dagster_openlineage") is None,
    reason="pip install '.[openlineage]' to test events of OpenLineage",
)
def test_a_night_emits_events_of_runs_and_gold_tables(tmp_path: Path, monkeypatch):
    events = tmp_path / "events.json"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(events))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    folder = write_campaign(tmp_path / "small")
    names: dict[str, Any] = {"dg": dg, "build_definitions": build_definitions}
    [code] = re.findall(r"```python\n(from dagster_openlineage.*?)```", PAGE, re.DOTALL)
    exec(code.replace("campaigns/sentiment", str(folder)), names)  # its client reads variables now
    definitions: dg.Definitions = names["defs"]
    [sensor] = [s for s in definitions.sensors if s.name == "openlineage_sensor"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text(ONE_LOG.format(folder=tmp_path / "home"))
    with dg.DagsterInstance.from_config(str(tmp_path / "home")) as instance:
        job = definitions.resolve_job_def("small_nightly")
        assert job.execute_in_process(instance=instance).success
        context = dg.build_sensor_context(
            instance, definitions=definitions, sensor_name=sensor.name
        )
        list(sensor(context) or ())
    lines = events.read_text(encoding="utf-8").splitlines()
    said = [event for event in map(json.loads, filter(None, lines)) if event["outputs"]]
    [table] = [
        event["outputs"][0] for event in said
        if event["eventType"] == "COMPLETE" and event["outputs"][0]["name"] == "small/gold/labels"
    ]  # fmt: skip
    columns = [field["name"] for field in table["facets"]["schema"]["fields"]]
    assert columns == [column.name for column in GOLD["labels"].columns]
    assert table["facets"]["dataSource"]["uri"] == "gold/v0001/labels.parquet"
