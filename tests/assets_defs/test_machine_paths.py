"""What leaves the machine in Dagster names no folder of it: events, metadata, logs, alerts."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster_shared.serdes import serialize_value

from annot_pipeline.errors import Problem, relative_paths
from assets_defs import FailedBuild, build_definitions
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export

BLANK_ITEMS = ROWS + ",w1,a\n" * 9


def test_paths_below_the_working_directory_are_relative(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    commands = f"annot diff {here}/c latest; annot build {here}; see '{here}/a b'."
    assert relative_paths(commands) == "annot diff c latest; annot build .; see 'a b'."
    assert relative_paths(f"it is in {here}.") == "it is in .."
    others = f"{tmp_path}/b {here}s/c {here}-2 {here}.old /mnt{here}/c file://{here}/c"
    assert relative_paths(others) == others
    assert str(Problem(f"{here}/c", "is away")) == "c: is away"
    here.rmdir()
    assert relative_paths(commands) == commands


def test_the_root_is_no_working_directory_to_leave_out(monkeypatch):
    monkeypatch.chdir("/")
    assert relative_paths("/srv/gold is away") == "/srv/gold is away"


def everything_of(instance: dg.DagsterInstance) -> str:
    """Return all that Dagster keeps of all runs, and would show or send elsewhere."""
    runs = instance.get_runs()
    events = [entry for run in runs for entry in instance.all_logs(run.run_id)]
    return "\n".join(map(serialize_value, [*runs, *events]))


@pytest.mark.slow
def test_runs_that_fail_and_succeed_name_no_folder_of_the_machine(
    tmp_path, tmp_path_factory, monkeypatch
):
    project = tmp_path / "project"
    campaign = write_campaign(project / "defs" / "small", schedule={"retries": {"max": 0}})
    monkeypatch.chdir(project)
    alerts: list[FailedBuild] = []
    definitions = build_definitions(campaign, on_failure=alerts.append)
    sensor = definitions.resolve_sensor_def("small_failed")

    def night(instance: dg.DagsterInstance) -> bool:
        job = definitions.resolve_job_def("small_nightly")
        result = job.execute_in_process(instance=instance, raise_on_error=False)
        for event in result.all_events:
            if event.event_type_value == "PIPELINE_FAILURE":
                context = dg.build_run_status_sensor_context(
                    "small_failed", event, instance, result.dagster_run,
                    partition_key=None, context=None,
                ).for_run_failure()  # fmt: skip
                assert "was called" in sensor(context).skip_message
        return result.success

    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as instance:
        assert night(instance)
        write_export(campaign, BLANK_ITEMS)
        assert not night(instance)
        (campaign / "exports").rename(campaign / "away")
        assert not night(instance)
        (campaign / "away").rename(campaign / "exports")
        (campaign / "gold" / "latest.json").write_text("{")
        assert not night(instance)
        context = dg.build_sensor_context(instance=instance, definitions=definitions)
        evaluation = definitions.resolve_sensor_def("small_exports").evaluate_tick(context)
        texts = everything_of(instance) + str(evaluation)
        release = instance.get_latest_materialization_event(dg.AssetKey(["small", "release"]))
    gate, export, pointer = (alert.message for alert in alerts)
    assert "annot publish defs/small --candidate" in gate
    assert "starts at defs/small" in export
    assert "defs/small/gold/latest.json: damaged" in pointer
    assert all(str(project) not in alert.message for alert in alerts)
    assert str(project) not in texts
    assert release is not None
    metadata = release.asset_materialization.metadata
    place = Path(metadata["path"].value)
    assert place == Path("gold/v0001")
    assert (campaign / place / metadata["report"].value).is_file()
