"""The Dagster side: keys, checks, and whole runs."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import ConfigError
from annot_pipeline.gates import GATES, RELEASE
from annot_pipeline.stages.build import GOLD_MADE, STAGES
from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions, expectations
from tests.assets_defs.campaigns import ROWS, write_campaign


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small")


def run(definitions: dg.Definitions, instance: dg.DagsterInstance, job: str = "small_nightly"):
    return definitions.resolve_job_def(job).execute_in_process(
        instance=instance, raise_on_error=False
    )


def test_keys_and_names_of_the_contract(campaign):
    definitions = build_definitions(campaign)
    dg.Definitions.validate_loadable(definitions)
    keys = {spec.key.to_user_string() for spec in definitions.resolve_all_asset_specs()}
    assert {f"small/gold/{table}" for table in GOLD_MADE} <= keys
    assert "small/release" in keys
    schedule = definitions.resolve_schedule_def("small_nightly_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 3 * * *", "Europe/Paris")
    assert schedule.job_name == "small_nightly"
    assert definitions.resolve_sensor_def("small_exports").job_name == "small_nightly"


def test_every_asset_says_what_it_is(campaign):
    for spec in build_definitions(campaign).resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.group_name in ("small", "small_work")
        assert spec.owners == ["team:annotation"]
        assert spec.kinds, spec.key
        assert spec.code_version, spec.key


def test_every_gate_of_a_made_table_is_a_check(campaign):
    definitions = build_definitions(campaign)
    names = {key.name for key in definitions.resolve_asset_graph().asset_check_keys}
    made = {table for stage in STAGES for table in stage.outputs}
    gates = {g.name for g in GATES if g.table in made or g.stage == RELEASE}
    assert names == gates | {expectations.CHECK}


@pytest.mark.slow
def test_figures_are_drawn_where_dagster_keeps_them(campaign, tmp_path):
    """Of a stage that is used again too: its page shows the latest materialization."""

    def fits(instance: dg.DagsterInstance) -> dict[str, dg.MetadataValue]:
        assert run(build_definitions(campaign), instance).success
        event = instance.get_latest_materialization_event(
            dg.AssetKey(["small", "work", "label_fits"])
        )
        return dict(event.asset_materialization.metadata)

    with dg.DagsterInstance.ephemeral() as instance:
        assert "convergence" not in fits(instance)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        metadata = fits(instance)
    assert metadata["reused"].value is True
    assert "image/svg+xml" in metadata["convergence"].value


def test_a_run_publishes_with_schemas_data_versions_and_checks(campaign):
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(campaign), instance)
        assert result.success
        labels = instance.get_latest_materialization_event(dg.AssetKey(["small", "gold", "labels"]))
        metadata = labels.asset_materialization.metadata
        assert metadata["dagster/row_count"].value == 9
        columns = [c.name for c in metadata["dagster/column_schema"].value.columns]
        assert columns == [c.name for c in GOLD["labels"].columns]
        manifest = Releases(campaign / "gold").get().manifest
        released = {table["name"]: table["sha256"] for table in manifest["tables"]}
        tags = labels.asset_materialization.tags
        assert tags["dagster/data_version"] == released["labels"]
        evaluations = result.get_asset_check_evaluations()
        assert {e.check_name for e in evaluations} >= {"accounting", "convergence"}
        assert {run["run"] for run in manifest["runs"]} == {result.run_id}


@pytest.mark.slow
def test_a_second_run_reuses_and_publishes_nothing(campaign):
    definitions = build_definitions(campaign)
    with dg.DagsterInstance.ephemeral() as instance:
        run(definitions, instance)
        assert run(definitions, instance).success
        key = dg.AssetKey(["small", "work", "labels"])
        events = instance.fetch_materializations(key, limit=2).records
        assert [e.asset_materialization.metadata["reused"].value for e in events] == [True, False]
        release = instance.get_latest_materialization_event(dg.AssetKey(["small", "release"]))
        assert release.asset_materialization.metadata["published"].value is False
    assert Releases(campaign / "gold").versions() == ["v0001"]


def test_a_failed_gate_blocks_and_the_release_is_not_made(tmp_path):
    campaign = write_campaign(tmp_path / "bad", rows=ROWS + ",w1,a\n" * 9)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(campaign), instance)
        assert not result.success
        failed = [e for e in result.get_asset_check_evaluations() if not e.passed]
        assert "rejected_share" in {e.check_name for e in failed}
        assert "9 x item is blank" in failed[0].metadata["detail"].value
        assert instance.get_latest_materialization_event(dg.AssetKey(["small", "release"])) is None
    assert not (campaign / "gold").exists()


@pytest.mark.slow
def test_a_release_is_gated_by_itself(tmp_path):
    """Materializing the release alone, after a run whose check failed, publishes nothing."""
    campaign = write_campaign(tmp_path / "bad", rows=ROWS + ",w1,a\n" * 9)
    definitions = build_definitions(campaign)
    with dg.DagsterInstance.ephemeral() as instance:
        for stage in ("settle_judgments", "infer_labels", "describe_judges", "describe_items",
                      "trace_lineage"):  # fmt: skip
            definitions.resolve_implicit_global_asset_job_def().execute_in_process(
                instance=instance, raise_on_error=False,
                asset_selection=[
                    dg.AssetKey(["small", "work", t])
                    for s in STAGES if s.name in (stage, "archive_exports", "read_records")
                    for t in s.outputs
                ],
            )  # fmt: skip
        release = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance, raise_on_error=False,
            asset_selection=[
                dg.AssetKey(["small", "release"]),
                *(dg.AssetKey(["small", "gold", t]) for t in GOLD),
            ],
        )  # fmt: skip
        assert not release.success
        message = release.failure_data_for_node("small__release").error.message
        assert "a gate failed" in message
    assert not (campaign / "gold").exists()


def test_a_bad_export_fails_the_step_in_our_words(campaign):
    (campaign / "exports" / "a.csv").unlink()
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(campaign), instance)
        failure = result.failure_data_for_node("small__archive_exports")
        assert "no file matches exports/*.csv" in failure.user_failure_data.description


@pytest.mark.slow
def test_two_campaigns_live_in_one_project(tmp_path):
    definitions = dg.Definitions.merge(
        build_definitions(write_campaign(tmp_path / "one", "one")),
        build_definitions(write_campaign(tmp_path / "two", "two")),
    )
    dg.Definitions.validate_loadable(definitions)
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(definitions, instance, "two_nightly").success


@pytest.mark.slow
def test_overrides_replace_top_level_keys(campaign, tmp_path):
    definitions = build_definitions(campaign, gold=str(tmp_path / "elsewhere"))
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(definitions, instance).success
    assert (tmp_path / "elsewhere" / "latest.json").exists()
    with pytest.raises(ConfigError, match="1 problem"):
        build_definitions(campaign, glod="x")


def test_workspace_shows_the_examples():
    from examples.definitions import defs

    dg.Definitions.validate_loadable(defs)
    jobs = {job.name for job in defs.resolve_all_job_defs()}
    assert {"anaesthetists_nightly", "simulated_nightly"} <= jobs
