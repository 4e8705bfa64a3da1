"""The Dagster side: keys, checks, and whole runs."""

from __future__ import annotations

import logging
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import ConfigError
from annot_pipeline.gates import GATES, RELEASE
from annot_pipeline.stages.build import STAGES
from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions
from assets_defs.campaign_assets import CampaignAssets
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export


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
    assert {f"small/gold/{table}" for table in ("labels", "judges", "lineage", "items")} <= keys
    assert "small/release" in keys
    schedule = definitions.resolve_schedule_def("small_nightly_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 3 * * *", "Europe/Paris")
    assert schedule.job_name == "small_nightly"
    assert definitions.resolve_sensor_def("small_exports").job_name == "small_nightly"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"translate": lambda _: None}, "translate: returned None\n    allowed: the dagster"),
        ({"translate": 1}, "translate: 1 cannot be called\n    allowed: a function that takes"),
        ({"group_name": 1}, "group_name: 1 is no text\n    allowed: a name"),
        ({"translate": ""}, "translate: '' cannot be called"),
        ({"on_failure": 3}, "on_failure: 3 cannot be called"),
        ({"tags": ["gold"]}, 'Param "tags"'),
    ],
)
def test_what_is_no_translator_hook_or_tags_is_named(campaign, wrong, said):
    with pytest.raises(Exception) as error:  # noqa: PT011  # tags are refused by Dagster
        build_definitions(campaign, **wrong)
    assert said in str(error.value)


def warnings_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """Return what the log of a run warns of."""
    return [e.user_message for e in instance.all_logs(run_id) if e.level == logging.WARNING]


def test_every_asset_says_what_it_is(campaign):
    for spec in build_definitions(campaign).resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.group_name in ("small", "small_work")
        assert spec.owners == ["team:annotation"]
        assert spec.kinds, spec.key
        assert spec.code_version, spec.key


@pytest.mark.parametrize(
    ("fields", "has", "lacks", "most"),
    [
        ({"label": "label"}, {"labels", "prevalence"}, {"scores", "system_rankings"}, 25),
        ({"score": "label"}, {"scores", "system_rankings"}, {"labels", "judge_confusion"}, 25),
        ({"label": "label", "score": "label"}, {"labels", "scores"}, {"estimates"}, 40),
    ],
)
def test_a_campaign_has_assets_for_what_it_can_have(tmp_path, fields, has, lacks, most):
    source = {"path": "exports/*.csv", "format": "csv",
              "fields": {"item": "item", "judge": "judge"} | fields}  # fmt: skip
    definitions = build_definitions(write_campaign(tmp_path / "small"), sources=[source])
    keys = {spec.key.to_user_string() for spec in definitions.resolve_all_asset_specs()}
    gold = {key.rpartition("/")[2] for key in keys if "/gold/" in key}
    assert has <= gold
    assert not lacks & gold
    assert len(keys) <= most
    assert len(definitions.resolve_asset_graph().asset_check_keys) <= 15


def test_every_gate_is_in_the_check_of_some_step(campaign):
    assets = CampaignAssets(load_campaign(campaign))
    stages = [stage for step in assets.steps for stage in step.stages] + [*assets.last_stages]
    assert [stage.name for stage in stages] == [stage.name for stage in STAGES]
    gates = {gate.name for gate in assets.gates(stages)}
    assert gates == {gate.name for gate in GATES if gate.stage != RELEASE}


@pytest.mark.slow
def test_a_run_takes_settings(campaign):
    definitions = build_definitions(campaign)
    job = definitions.resolve_job_def("small_nightly")
    config = {"resources": {"small_settings": {"config": {"sets": ["seed=5"]}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance, run_config=config).success
        assert Releases(campaign / "gold").get().manifest["settings"]["seed"] == 5
        wrong = {"resources": {"small_settings": {"config": {"sets": ["sed=5"]}}}}
        result = job.execute_in_process(instance=instance, run_config=wrong, raise_on_error=False)
        failure = result.failure_data_for_node("small__archive_exports")
        assert "sed: unknown key" in failure.user_failure_data.description


@pytest.mark.slow
def test_a_candidate_is_published_by_a_job(tmp_path):
    campaign = write_campaign(tmp_path / "bad", rows=ROWS + ",w1,a\n" * 9)
    definitions = build_definitions(campaign)
    job = definitions.resolve_job_def("small_publish_candidate")
    config = {"candidate": "latest", "accept": ["rejected_share"], "because": "blank rows",
              "by": "ann"}  # fmt: skip
    run_config = {"ops": {"small__publish_candidate": {"config": config}}}
    with dg.DagsterInstance.ephemeral() as instance:
        assert not run(definitions, instance).success
        published = job.execute_in_process(instance=instance, run_config=run_config)
        assert published.success
        [accepted, *_] = warnings_of(instance, published.run_id)
        assert accepted.startswith("warn: rejected_share: ")
        assert "accepted by ann: blank rows" in accepted
        labels = instance.get_latest_materialization_event(dg.AssetKey(["small", "gold", "labels"]))
        assert labels.asset_materialization.metadata["release"].value == "v0001"
        check = dg.AssetCheckKey(dg.AssetKey(["small", "release"]), "gates")
        [record] = instance.event_log_storage.get_asset_check_execution_history(check, limit=1)
        assert record.event.dagster_event.asset_check_evaluation_data.metadata["failed"].value == 0
        assert run(definitions, instance).success  # the next night: nothing is new
    assert Releases(campaign / "gold").versions() == ["v0001"]
    decision = Releases(campaign / "gold").get().manifest["decision"]
    assert (decision["by"], decision["accepted"]) == ("ann", ["rejected_share"])


def test_a_job_goes_back_to_an_older_release(tmp_path):
    """The gold tables are materialized with the data versions of then, so that models follow."""
    campaign = write_campaign(tmp_path / "small")
    definitions = build_definitions(campaign)
    job = definitions.resolve_job_def("small_rollback")
    key = dg.AssetKey(["small", "gold", "labels"])

    def back(instance: dg.DagsterInstance, **config: str) -> dg.ExecuteInProcessResult:
        run_config = {"ops": {"small__rollback": {"config": {"by": "ann", **config}}}}
        return job.execute_in_process(run_config, instance=instance, raise_on_error=False)

    def version(instance: dg.DagsterInstance) -> str:
        event = instance.get_latest_materialization_event(key).asset_materialization
        assert event.metadata["published"].value
        return event.tags["dagster/data_version"]

    with dg.DagsterInstance.ephemeral() as instance:
        assert run(definitions, instance).success
        first = version(instance)
        write_export(campaign, ROWS.replace("w1", "w9").replace("i1,", "i8,"), "b.csv")
        assert run(definitions, instance).success
        assert version(instance) != first
        failure = back(instance, version="v0001").failure_data_for_node("small__rollback")
        assert "a decision needs a reason" in failure.user_failure_data.description
        gone_back = back(instance, version="v0001", because="wrong people")
        assert gone_back.success
        again = "builds fail that read exports/b.csv again: annot status has the line"
        assert again in warnings_of(instance, gone_back.run_id)
        assert version(instance) == first
        assert not back(instance, version="v0001", because="again").success
    decision = Releases(campaign / "gold").get().manifest["decision"]
    assert (decision["restored"], decision["by"]) == ("v0001", "ann")
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002", "v0003"]


@pytest.mark.slow
def test_figures_are_drawn_where_dagster_keeps_them(campaign, tmp_path):
    """Of tables that stand too: the page of an asset shows the latest materialization."""

    def fits(instance: dg.DagsterInstance) -> dict[str, dg.MetadataValue]:
        assert run(build_definitions(campaign), instance).success
        key = dg.AssetKey(["small", "gold", "prevalence"])
        event = instance.get_latest_materialization_event(key)
        return dict(event.asset_materialization.metadata)

    with dg.DagsterInstance.ephemeral() as instance:
        assert "Prevalence, small" not in fits(instance)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        metadata = fits(instance)
    assert metadata["published"].value is False
    assert "image/svg+xml" in metadata["Prevalence, small"].value


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
        listed = "".join(e.metadata["gates"].value for e in evaluations if "gates" in e.metadata)
        assert "accounting" in listed
        assert "convergence" in listed
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
        assert release.asset_materialization.metadata["gate certain_share"].value == 0
    assert Releases(campaign / "gold").versions() == ["v0001"]


def test_after_a_failed_gate_the_release_is_not_made_and_a_candidate_is(tmp_path):
    campaign = write_campaign(tmp_path / "bad", rows=ROWS + ",w1,a\n" * 9)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(campaign), instance)
        assert not result.success
        failed = [e for e in result.get_asset_check_evaluations() if not e.passed]
        assert "9 x item is blank" in failed[0].description
        message = result.failure_data_for_node("small__release").user_failure_data.description
        assert "annot publish" in message
        assert "in Dagster: launch the job small_publish_candidate" in message
        assert instance.get_latest_materialization_event(dg.AssetKey(["small", "release"])) is None
    assert not (campaign / "gold").exists()


@pytest.mark.slow
def test_a_release_is_gated_by_itself(tmp_path):
    """Materializing the release alone, after a run whose check failed, publishes nothing."""
    campaign = write_campaign(tmp_path / "bad", rows=ROWS + ",w1,a\n" * 9)
    definitions = build_definitions(campaign)
    with dg.DagsterInstance.ephemeral() as instance:
        definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance, raise_on_error=False,
            asset_selection=[dg.AssetKey(["small", "work", t]) for t in ("exports", "settled")],
        )  # fmt: skip
        release = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance, raise_on_error=False,
            asset_selection=[
                dg.AssetKey(["small", "release"]),
                *(spec.key for spec in definitions.resolve_all_asset_specs()
                  if "gold" in spec.key.path),
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
