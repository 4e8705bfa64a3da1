"""Suites of Great Expectations on released tables, as checks of Dagster."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.runtime import context
from annot_pipeline.stages.gold import check_tables
from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions, expectations
from assets_defs.definitions import definitions_of
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small")


def evaluation(campaign: Path) -> dg.AssetCheckEvaluation:
    """Run the nightly job; what the check says."""
    job = build_definitions(campaign).resolve_job_def("small_nightly")
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance)
    released = result.asset_materializations_for_node("small__release")
    assert released, "the release is published whatever the checks say"
    [check] = [
        event.event_specific_data for event in result.all_events
        if event.event_type_value == "ASSET_CHECK_EVALUATION"
        and event.event_specific_data.check_name == expectations.CHECK
    ]  # fmt: skip
    return check


@pytest.mark.slow
def test_every_ruled_table_of_the_release_is_held_to_its_suite(campaign):
    check = evaluation(campaign)
    assert check.passed
    assert not check.blocking
    lines = check.metadata["tables"].value.splitlines()
    assert "- labels: 9 expectations on 9 rows of v0001" in lines
    assert any(line.endswith(": no row to check") for line in lines)
    assert {line[2:].partition(":")[0] for line in lines} <= GOLD.keys()


@pytest.mark.slow
def test_what_gates_did_not_see_is_told_and_stops_nothing(campaign, monkeypatch):
    """An engine of its own: it finds probabilities above 1 where the rules of gates do not."""
    declared = context._as_declared

    def doubled(rows: pa.RecordBatchReader, name: str, **how: bool) -> pa.RecordBatchReader:
        if name == "labels":
            table = rows.read_all()
            at = table.schema.get_field_index("probability")
            rows = table.set_column(at, "probability", pc.multiply(table["probability"], 2.0))
        return declared(rows, name, **how)

    monkeypatch.setattr(context, "_as_declared", doubled)
    monkeypatch.setattr(check_tables, "check_rules_by_chunk", lambda *_: [])
    check = evaluation(campaign)
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert "labels: probability is below 0 or above 1 in 9 rows" in str(check.description)


@pytest.mark.slow
def test_where_a_gate_stops_the_release_the_check_did_not_run(campaign):
    """Dagster takes a check that is planned in a run that fails as failed."""
    job = build_definitions(campaign).resolve_job_def("small_nightly")
    key = dg.AssetCheckKey(dg.AssetKey(["small", "release"]), expectations.CHECK)
    with dg.DagsterInstance.ephemeral() as instance:

        def statuses() -> list[str]:
            records = instance.event_log_storage.get_asset_check_execution_history(key, limit=9)
            return [record.status.value for record in records]

        write_export(campaign, ROWS + ",w1,a\n" * 9)
        assert not job.execute_in_process(instance=instance, raise_on_error=False).success
        assert statuses() == []
        write_export(campaign)
        assert job.execute_in_process(instance=instance).success
        assert statuses() == ["SUCCEEDED"]
        write_export(campaign, ROWS + ",w1,a\n" * 9)
        assert not job.execute_in_process(instance=instance, raise_on_error=False).success
        assert statuses() == ["SUCCEEDED"]


@pytest.mark.slow
def test_large_tables_are_left_to_gates(campaign, monkeypatch):
    monkeypatch.setattr(expectations, "MOST_ROWS", 0)
    monkeypatch.setattr(expectations, "hold_to_suite", None)
    lines = evaluation(campaign).metadata["tables"].value.splitlines()
    held = {line.partition(": ")[2] for line in lines}
    assert held == {"no row to check", "more than 0 rows: checked by the gate of the build alone"}


@pytest.mark.slow
def test_where_a_person_waits_no_suite_runs(campaign):
    loaded = load_campaign(campaign)
    job = definitions_of(loaded, progress=lambda _: None).resolve_job_def("small_nightly")
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance)
    assert Releases.for_campaign(loaded).latest() is not None
    names = {of.check_name for of in result.get_asset_check_evaluations()}
    assert "gates" in names
    assert expectations.CHECK not in names
