"""Events of a nightly run for OpenLineage, by the sensor that docs/dagster.md shows.

Needs the extra `openlineage`; skipped, saying so, where it is not installed.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import dagster as dg
import pytest

from assets_defs import build_definitions
from tests.assets_defs.campaigns import write_campaign

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
    from dagster_openlineage import openlineage_sensor  # its client looks at the variables now

    sensor = openlineage_sensor(include_asset_events=True, record_filter_limit=10_000)
    definitions = dg.Definitions.merge(
        build_definitions(write_campaign(tmp_path / "small")), dg.Definitions(sensors=[sensor])
    )
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text(ONE_LOG.format(folder=tmp_path / "home"))
    with dg.DagsterInstance.from_config(str(tmp_path / "home")) as instance:
        job = definitions.resolve_job_def("small_nightly")
        assert job.execute_in_process(instance=instance).success
        context = dg.build_sensor_context(
            instance, definitions=definitions, sensor_name=sensor.name
        )
        list(sensor(context) or ())
    text = events.read_text(encoding="utf-8")
    names = {json.loads(line)["job"]["name"] for line in text.splitlines() if line.strip()}
    assert any("small" in name for name in names)
    assert "labels" in text
