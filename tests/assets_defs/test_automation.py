"""What a night needs: schedule, retries, and who is told when it fails."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, InputError, StoreError
from annot_pipeline.stages.gold import compare
from annot_pipeline.storage import archive
from annot_pipeline.storage.releases import Releases
from assets_defs import FailedBuild, RecoveredBuild, alerts, build_definitions, stage_assets
from assets_defs.automation import ATTENDED_TAG
from assets_defs.run import run_in_process
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export

NO_TAGS: Mapping[str, str] = {}
AT_ONCE = {"retries": {"max": 2, "delay_seconds": 0}}


def run(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    tags: Mapping[str, str] | None = None,
    sets: Sequence[str] = (),
):
    job = definitions.resolve_job_def("small_nightly")
    config = {"resources": {"small_settings": {"config": {"sets": [*sets]}}}}
    return job.execute_in_process(config, instance=instance, raise_on_error=False, tags=tags)


def test_nothing_runs_before_it_is_switched_on(tmp_path):
    stopped = build_definitions(write_campaign(tmp_path / "a"))
    assert stopped.resolve_schedule_def("small_nightly_schedule").default_status.value == "STOPPED"
    assert stopped.resolve_sensor_def("small_exports").default_status.value == "STOPPED"
    assert stopped.resolve_sensor_def("small_failed").default_status.value == "RUNNING"
    active = {"active": True, "sensor": {"active": True, "interval_seconds": 7}}
    running = build_definitions(tmp_path / "a", schedule=active)
    assert running.resolve_schedule_def("small_nightly_schedule").default_status.value == "RUNNING"
    sensor = running.resolve_sensor_def("small_exports")
    assert (sensor.default_status.value, sensor.minimum_interval_seconds) == ("RUNNING", 7)


def test_a_tick_of_an_earlier_hour_asks_for_the_same_job(tmp_path):
    """The clock may be set back: a tick knows its own time alone."""
    definitions = build_definitions(write_campaign(tmp_path / "small"))
    schedule = definitions.resolve_schedule_def("small_nightly_schedule")
    with dg.DagsterInstance.ephemeral() as instance:
        for year in (2031, 2020):
            context = dg.build_schedule_context(instance, datetime(year, 1, 1))
            assert len(schedule.evaluate_tick(context).run_requests) == 1


def test_runs_carry_the_campaign(tmp_path):
    definitions = build_definitions(write_campaign(tmp_path / "small"))
    assert definitions.resolve_job_def("small_nightly").tags["annot/campaign"] == "small"


@pytest.fixture
def retried(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small", schedule=AT_ONCE)


def retries_of(result, stage: str) -> int:
    events = result.all_events
    return sum(e.event_type_value == "STEP_UP_FOR_RETRY" and stage in e.step_key for e in events)


@pytest.mark.slow
def test_an_export_that_comes_late_is_waited_for(retried, monkeypatch):
    (retried / "exports" / "a.csv").rename(retried / "late")
    looked = []
    find = archive.glob_exports

    def late(folder, pattern, where=""):
        looked.append(pattern)
        if len(looked) == 2:
            (retried / "late").rename(retried / "exports" / "a.csv")
        return find(folder, pattern, where)

    monkeypatch.setattr(archive, "glob_exports", late)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(retried), instance)
    assert result.success
    assert retries_of(result, "archive_exports") == 1


@pytest.mark.slow
def test_half_a_gzip_is_waited_for(retried):
    (retried / "exports" / "a.csv").unlink()
    whole = gzip.compress(("item,judge,label\n" + ROWS).encode())
    export = retried / "exports" / "a.csv.gz"
    export.write_bytes(whole[:-20])
    source = {
        "path": "exports/*", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    definitions = build_definitions(retried, sources=[source])
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(definitions, instance)
        assert not result.success
        failure = result.failure_data_for_node("small__archive_exports").user_failure_data
        assert "cut short" in failure.description
        assert retries_of(result, "archive_exports") == 2
        assert not list((retried / "store" / "archive").rglob("*.*"))
        export.write_bytes(whole)
        assert run(definitions, instance).success


def test_a_wrong_mapping_is_not_tried_again(retried):
    (retried / "exports" / "a.csv").write_text("thing,judge,label\n1,2,3\n")
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(retried), instance)
    assert not result.success
    assert retries_of(result, "") == 0


@pytest.mark.slow
def test_a_disk_that_is_away_when_it_is_time_to_publish(retried, monkeypatch):
    gold = retried / "elsewhere" / "gold"
    gold.parent.write_text("not a folder")
    calls = []
    from assets_defs import release

    def mended(build):
        calls.append(build)
        if len(calls) == 3:
            gold.parent.unlink()
        return publish(build)

    publish = release.publish
    monkeypatch.setattr(release, "publish", mended)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(retried, gold=str(gold)), instance)
    assert result.success
    assert retries_of(result, "release") == 2
    assert Releases(gold).versions() == ["v0001"]


@pytest.mark.slow
def test_gold_that_is_away_when_it_is_compared_with(retried, monkeypatch):
    calls = []

    class Away(Releases):
        @classmethod
        def for_campaign(cls, campaign):
            calls.append(campaign)
            if len(calls) < 3:
                raise StoreError("s3://team/gold: cannot be reached", may_pass=True)
            return Releases.for_campaign(campaign)

    monkeypatch.setattr(compare, "Releases", Away)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(build_definitions(retried), instance)
    assert result.success
    assert retries_of(result, "release") == 2


@pytest.mark.parametrize(
    ("engine", "retried"),
    [
        ("local", {"archive_exports", "settle_judgments", "release"}),
        (
            "spark",
            {
                "archive_exports",
                "settle_judgments",
                "control_judges",
                "infer_labels",
                "measure_agreement",
                "describe_judges",
                "release",
            },
        ),
    ],
)
def test_steps_that_lean_on_another_machine_are_tried_again(tmp_path, engine, retried):
    definitions = build_definitions(write_campaign(tmp_path / "small", engine={"kind": engine}))
    assets = [asset for asset in definitions.assets if isinstance(asset, dg.AssetsDefinition)]
    actual = {asset.op.name.partition("__")[2] for asset in assets if asset.op.retry_policy}
    assert actual == retried


def test_a_person_does_not_wait_for_retries(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    campaign = write_campaign(tmp_path / "small", rows=None, schedule={"retries": {"max": 9}})
    with pytest.raises(ConfigError, match="an export is missing"):
        run_in_process(load_campaign(campaign), lambda _: None)


def test_reasons_that_may_pass_say_so(tmp_path):
    with pytest.raises(ConfigError) as missing:
        archive.find_exports(tmp_path, "*.csv", where="sources.0.path")
    assert missing.value.may_pass
    (tmp_path / "a.csv").symlink_to(tmp_path / "away")
    with pytest.raises(InputError) as broken:
        archive.find_exports(tmp_path, "*.csv", where="sources.0.path")
    assert broken.value.may_pass
    with pytest.raises(ConfigError) as wrong:
        archive.find_exports(tmp_path, "**.csv", where="sources.0.path")
    assert not wrong.value.may_pass


def told(
    campaign: Path,
    on_failure,
    instance: dg.DagsterInstance,
    *,
    tags: Mapping[str, str] = NO_TAGS,
    sets: Sequence[str] = (),
) -> str:
    """Run the job and then its failure sensor; what the sensor said."""
    definitions = build_definitions(campaign, on_failure=on_failure)
    result = run(definitions, instance, tags, sets)
    (event,) = [e for e in result.all_events if e.event_type_value == "PIPELINE_FAILURE"]
    context = dg.build_run_status_sensor_context(
        "small_failed", event, instance, result.dagster_run,
        partition_key=None, context=None,
    ).for_run_failure()  # fmt: skip
    sensor = definitions.resolve_sensor_def("small_failed")
    return sensor(context).skip_message


def test_a_failed_night_is_told(tmp_path):
    campaign = write_campaign(tmp_path / "small", rows=None, schedule=AT_ONCE)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        said = told(campaign, failures.append, instance)
    assert "on_failure was called" in said
    (failure,) = failures
    assert (failure.campaign, failure.job) == ("small", "small_nightly")
    assert "no file matches exports/*.csv" in failure.message
    assert "do:" in failure.message


@pytest.mark.slow
def test_a_failed_gate_is_told_in_the_words_of_the_gate(tmp_path):
    campaign = write_campaign(tmp_path / "small", rows=ROWS + ",w1,a\n" * 9)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        told(campaign, failures.append, instance)
    assert "a gate failed" in failures[0].message
    assert "item is blank" in failures[0].message


def test_what_a_retry_mended_is_not_told(retried, monkeypatch):
    """The first look finds no export; later Dagster fails a step, where no words are ours."""
    (retried / "exports").rename(retried / "away")
    metadata = stage_assets.step_metadata

    def broken(build, runs, table, **how):
        if table == "labels":
            raise RuntimeError("no words of ours")
        return metadata(build, runs, table, **how)

    find = archive.glob_exports

    def late(folder, pattern, where=""):
        actual = find(folder, pattern, where)
        if (retried / "away").exists():
            (retried / "away").rename(retried / "exports")
        return actual

    monkeypatch.setattr(stage_assets, "step_metadata", broken)
    monkeypatch.setattr(archive, "glob_exports", late)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        told(retried, failures.append, instance)
    assert "an export is missing" not in failures[0].message
    assert "a defect of annot stopped labels" in failures[0].message


def test_without_a_hook_or_with_a_broken_one_the_sensor_goes_on(tmp_path):
    campaign = write_campaign(tmp_path / "small", rows=None, schedule=AT_ONCE)
    with dg.DagsterInstance.ephemeral() as instance:
        assert "logged" in told(campaign, None, instance)
        write_export(campaign, "i,w,a\n")  # another failure
        (campaign / "exports" / "a.csv").rename(campaign / "exports" / "a.txt")
        (campaign / "store" / "alert.json").unlink()
        assert "on_failure failed too" in told(campaign, _breaks, instance)


def test_a_full_disk_is_told_although_the_alert_cannot_be_noted(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(alerts, "write_json", full)
    campaign = write_campaign(tmp_path / "small", rows=None, schedule=AT_ONCE)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        assert "on_failure was called" in told(campaign, failures.append, instance)
    assert len(failures) == 1


def test_the_same_failure_is_told_once_and_its_end_once(tmp_path):
    campaign = write_campaign(tmp_path / "small", rows=ROWS + ",w1,a\n" * 9)
    failures: list[FailedBuild] = []
    ends: list[RecoveredBuild] = []
    definitions = build_definitions(campaign, on_recovery=ends.append)
    schedule = definitions.resolve_schedule_def("small_nightly_schedule")

    def tick(instance: dg.DagsterInstance) -> str:
        context = dg.build_schedule_context(instance, datetime(2031, 1, 1))
        return schedule.evaluate_tick(context).skip_message or ""

    def ended(instance: dg.DagsterInstance, result) -> str:
        assert result.success
        (event,) = [e for e in result.all_events if e.event_type_value == "PIPELINE_SUCCESS"]
        context = dg.build_run_status_sensor_context(
            "small_recovered", event, instance, result.dagster_run,
            partition_key=None, context=None,
        )  # fmt: skip
        return definitions.resolve_sensor_def("small_recovered")(context).skip_message

    with dg.DagsterInstance.ephemeral() as instance:
        assert tick(instance) == ""
        assert "on_failure was called" in told(campaign, failures.append, instance)
        assert "as they were when a build failed: a gate failed" in tick(instance)
        assert "already reported" in told(campaign, failures.append, instance)
        write_export(campaign, ROWS)
        assert tick(instance) == ""
        result = run(definitions, instance)
        assert "on_recovery was called" in ended(instance, result)
        assert "no failed build was reported" in ended(instance, result)
    assert len(failures) == 1
    [end] = ends
    assert failures[0].run_id in end.message
    assert "published v0001" in end.message


@pytest.mark.slow
def test_a_night_that_fails_by_the_same_gate_is_told_once_whatever_it_brings(tmp_path):
    """The next night brings an export, and fails again by what nobody has corrected yet."""
    campaign = write_campaign(tmp_path / "small", rows=ROWS + ",w1,a\n" * 9)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        told(campaign, failures.append, instance)
        write_export(campaign, ROWS.replace("w1", "w5"), "b.csv")
        assert "already reported" in told(campaign, failures.append, instance)
        (campaign / "exports" / "b.csv").write_bytes(b"\x1f\x8b\x08cut")
        told(campaign, failures.append, instance)
    assert ["cannot be read" in failure.message for failure in failures] == [False, True]


@pytest.mark.parametrize("launched_by", [{}, {"dagster/schedule_name": "own_schedule"}])
def test_who_mistypes_a_setting_is_told_by_the_run_alone(tmp_path, launched_by):
    """A schedule with a wrong setting is alerted: nobody looks at its runs."""
    campaign = write_campaign(tmp_path / "small")
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        said = told(
            campaign, failures.append, instance, tags=launched_by, sets=["quality.suspectd=drop"]
        )
    assert ("mistyped" in said) == (not launched_by)
    assert len(failures) == len(launched_by)


def test_whoever_waits_for_annot_build_is_not_told_twice(tmp_path):
    campaign = write_campaign(tmp_path / "small", rows=None)
    failures: list[FailedBuild] = []
    with dg.DagsterInstance.ephemeral() as instance:
        assert "already shown" in told(
            campaign, failures.append, instance, tags={ATTENDED_TAG: "true"}
        )
    assert failures == []


def _breaks(failure: FailedBuild) -> None:
    raise RuntimeError(f"the chat server is away, {failure.campaign} is not told")


def test_a_hook_is_named_as_text(tmp_path):
    campaign = write_campaign(tmp_path / "small")
    build_definitions(campaign, on_failure="assets_defs.alerts:FailedBuild")
    for wrong in ("assets_defs", "assets_defs.alerts:nobody", "no.such.module:tell", ":x", ""):
        with pytest.raises(ConfigError, match=r"(?s)on_failure.*package\.module:function"):
            build_definitions(campaign, on_failure=wrong)


@pytest.mark.slow
def test_what_was_skipped_says_why(tmp_path):
    campaign = write_campaign(tmp_path / "small")
    definitions = build_definitions(campaign)
    key = dg.AssetKey(["small", "work", "labels"])
    with dg.DagsterInstance.ephemeral() as instance:
        first = run(definitions, instance)
        write_export(campaign)
        run(definitions, instance)
        event = instance.get_latest_materialization_event(key)
    metadata = event.asset_materialization.metadata
    assert f"as run {first.run_id} had them" in metadata["skipped"].value


def test_an_export_that_vanishes_while_it_is_archived_is_named(tmp_path, monkeypatch):
    export = tmp_path / "a.csv"
    export.write_text("item,judge,label\n")
    digest = archive.file_sha256

    def vanishing(path: Path) -> str:
        actual = digest(path)
        path.unlink()
        return actual

    monkeypatch.setattr(archive, "file_sha256", vanishing)
    with pytest.raises(InputError, match=r"a\.csv: cannot be read") as error:
        archive.archive_file(export, tmp_path / "archive")
    assert error.value.may_pass
