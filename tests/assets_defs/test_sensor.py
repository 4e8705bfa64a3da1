"""The sensor for new exports: by content, when they have settled, whatever its cursor holds."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.signature import digest
from annot_pipeline.storage import archive
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions, sensor
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export


class Watch:
    """A sensor and its cursor, looked at again and again."""

    def __init__(self, campaign: Path, instance: dg.DagsterInstance) -> None:
        self.campaign, self.instance = campaign, instance
        self.cursor: str | None = None
        self.said = ""
        self.asked: dict[str, str] = {}
        self.reload()

    def reload(self, **overrides) -> None:
        """Read the campaign anew, as a code location does."""
        self.definitions = build_definitions(self.campaign, **overrides)
        self.sensor = self.definitions.resolve_sensor_def("small_exports")

    def look(self) -> bool:
        """Whether a build was asked for."""
        tick = self.sensor.evaluate_tick(
            dg.build_sensor_context(
                instance=self.instance, cursor=self.cursor, definitions=self.definitions
            )
        )
        self.cursor, self.said = tick.cursor, tick.skip_message or ""
        for request in tick.run_requests or ():
            self.asked = dict(request.tags)
        return bool(tick.run_requests)

    def run(self) -> bool:
        """Do what was asked for; whether it went well."""
        job = self.definitions.resolve_job_def("small_nightly")
        return job.execute_in_process(
            instance=self.instance, raise_on_error=False, tags=self.asked
        ).success


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small")


@pytest.fixture
def watch(campaign: Path, instance: dg.DagsterInstance) -> Watch:
    """A sensor that has asked for the first build."""
    watch = Watch(campaign, instance)
    assert [watch.look() for _ in range(3)] == [False, True, False]
    return watch


def test_what_is_new_is_built_once_it_has_settled(campaign, watch):
    assert "as they were" in watch.said
    write_export(campaign, ROWS + "new,w1,a\n")
    assert not watch.look()
    assert "second look" in watch.said
    write_export(campaign, ROWS + "new,w1,a\nnewer,w1,a\n")  # it is still growing
    assert [watch.look() for _ in range(3)] == [False, True, False]
    write_export(campaign)  # as it was at first: that is a change too
    assert [watch.look() for _ in range(3)] == [False, True, False]
    write_export(campaign, "i1,w9,a\n", "b.csv")
    assert [watch.look() for _ in range(3)] == [False, True, False]


def test_a_new_time_without_new_bytes_is_no_change(campaign, watch):
    os.utime(campaign / "exports" / "a.csv", (1, 1))
    assert [watch.look() for _ in range(3)] == [False, False, False]


def test_a_time_set_back_hides_no_change(campaign, watch):
    path = write_export(campaign, ROWS.replace("i1,w1,b", "i1,w1,a"))
    os.utime(path, (1, 1))
    assert [watch.look() for _ in range(3)] == [False, True, False]


def test_the_same_size_and_time_hide_no_change(campaign, watch):
    """As of a program that writes in place and sets the time of modification back."""
    path = campaign / "exports" / "a.csv"
    before = path.stat()
    with path.open("r+") as file:
        file.write(ROWS.replace("i1,w1,b", "i1,w1,a"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    assert [watch.look() for _ in range(3)] == [False, True, False]


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """Names of the files whose bytes are read."""
    names: list[str] = []
    whole = archive.export_sha256
    monkeypatch.setattr(
        archive, "export_sha256", lambda path: names.append(path.name) or whole(path)
    )
    return names


def test_only_what_changed_is_read(campaign, watch, read):
    for _ in range(5):
        watch.look()
    assert read == []
    write_export(campaign, "i1,w9,a\n", "b.csv")
    assert [watch.look() for _ in range(5)] == [False, True, False, False, False]
    assert read == ["b.csv"]


def test_bytes_are_read_once_where_exports_are_excluded(campaign, watch, monkeypatch):
    names: list[str] = []
    monkeypatch.setattr(archive, "file_sha256", lambda p: names.append(p.name) or file_sha256(p))
    write_export(campaign, "i1,w9,a\n", "b.csv")
    document = (campaign / "campaign.yaml").read_text()
    digest = file_sha256(campaign / "exports" / "b.csv")
    exclude = f'"exclude": [{{"digest": "{digest}", "because": "wrong"}}], "path": "exports/'
    assert '"path": "exports/' in document
    (campaign / "campaign.yaml").write_text(document.replace('"path": "exports/', exclude))
    watch.reload()
    for _ in range(5):
        watch.look()
    assert names == ["b.csv"]


def test_what_takes_long_is_read_in_several_looks(campaign, watch, read, monkeypatch):
    monkeypatch.setattr(sensor, "SECONDS", 0)
    for name in ("b.csv", "c.csv", "d.csv"):
        write_export(campaign, f"i1,{name},a\n", name)
    assert [watch.look() for _ in range(3)] == [False, False, False]
    assert "more is read at the next look" in watch.said
    assert [watch.look() for _ in range(2)] == [True, False]
    assert read == ["b.csv", "c.csv", "d.csv"]


def test_digests_that_cannot_be_kept_are_found_anew(campaign, watch, read):
    (campaign / "store" / "export_digests.json").write_text('{"a": 1, "b": [2], "c": null}')
    write_export(campaign, "i1,w9,a\n", "b.csv")
    assert [watch.look() for _ in range(3)] == [False, True, False]
    assert read == ["a.csv", "b.csv"]


def test_a_folder_that_vanishes_comes_back(campaign, watch):
    shutil.move(campaign / "exports", campaign / "away")
    assert not watch.look()
    assert "no file matches exports/*.csv" in watch.said
    shutil.move(campaign / "away", campaign / "exports")
    assert [watch.look() for _ in range(2)] == [False, False]
    shutil.move(campaign / "exports", campaign / "away")
    watch.look()
    shutil.move(campaign / "away", campaign / "exports")
    write_export(campaign, ROWS + "new,w1,a\n")
    assert [watch.look() for _ in range(2)] == [False, True]


def test_a_file_that_vanishes_between_two_system_calls(campaign, watch, monkeypatch):
    write_export(campaign, "i1,w9,a\n", "b.csv")
    watch.look()
    whole = archive.export_sha256
    monkeypatch.setattr(archive, "export_sha256", lambda path: whole(path / "gone"))
    assert not watch.look()
    assert "cannot be read" in watch.said
    monkeypatch.undo()
    assert watch.look()


@pytest.mark.parametrize(
    "cursor",
    ["not json", "[1]", "17", '{"stat": {"a": [1]}, "built": 3}', '{"seen": "x", "count": 4}', ""],
)
def test_a_cursor_of_any_form_ends_in_a_build(campaign, instance, cursor):
    watch = Watch(campaign, instance)
    watch.cursor = cursor
    assert [watch.look() for _ in range(3)] == [False, True, False]


def test_the_cursor_stays_small(campaign, watch):
    for number in range(300):
        write_export(campaign, "i1,w9,a\n", f"part-{number}.csv")
    watch.look()
    watch.look()
    assert len(watch.cursor) < 400


def later(monkeypatch, **pause: float) -> None:
    """Let time pass."""
    now = time.time() + timedelta(**pause).total_seconds()
    monkeypatch.setattr(sensor.time, "time", lambda: now)


@pytest.mark.slow
def test_a_build_that_failed_is_asked_for_again_later_and_later(campaign, watch, monkeypatch):
    """Nothing that the sensor sees changes when gold comes back."""
    (campaign / "gold").write_text("in the way of the folder")
    assert not watch.run()
    assert [watch.look() for _ in range(5)] == [False] * 5
    assert "failed" in watch.said
    later(monkeypatch, minutes=20)
    assert watch.look()
    assert not watch.run()
    later(monkeypatch, minutes=20)
    assert not watch.look()
    later(monkeypatch, minutes=40)
    (campaign / "gold").unlink()
    assert watch.look()
    assert watch.run()
    assert Releases(campaign / "gold").versions() == ["v0001"]
    later(monkeypatch, days=9)
    assert [watch.look() for _ in range(3)] == [False] * 3
    assert "as they were" in watch.said


@pytest.mark.slow
def test_the_reason_of_a_gate_failure_is_said_at_once(campaign, watch, monkeypatch):
    """It is not asked for again after a pause, so no look says that it is."""
    watch.reload(gates={"accounting": {"error": 0.1}})
    write_export(campaign, ROWS + "new,w1,\n" * 99)
    assert [watch.look() for _ in range(3)] == [False, True, False]
    assert not watch.run()
    reasons = set()
    for minutes in (0, 20):
        later(monkeypatch, minutes=minutes)
        assert not watch.look()
        reasons.add(watch.said)
    assert len(reasons) == 1
    assert "as they were when a build failed" in watch.said


def test_the_tag_of_a_run_confirms_no_guess_of_names(campaign, watch, monkeypatch):
    """Dagster keeps it: without the key, exports with guessed names cannot be held against it."""

    def asked_by(**overrides) -> str:
        other = Watch(campaign, watch.instance)
        other.reload(**overrides)
        assert [other.look() for _ in range(2)] == [False, True]
        return other.asked["annot/exports"]

    def plain(**overrides) -> str:
        settings = load_campaign(campaign, overrides=overrides).settings
        document = settings.model_dump(mode="json", by_alias=True, exclude={"schedule"})
        actual = [[0, "exports/a.csv", file_sha256(campaign / "exports" / "a.csv")]]
        return digest([actual, document])[:16]

    known = {"privacy": {"pseudonymize": False}}
    assert asked_by(**known) == plain(**known)
    tag = watch.asked["annot/exports"]
    assert tag == asked_by() != plain()
    monkeypatch.setenv("ANNOT_KEY", "another key for tests, as long as it has to be")
    assert asked_by() != tag


def test_a_pause_is_never_longer_than_a_day():
    pauses = [sensor.pause(failures) for failures in range(1, 30)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (timedelta(minutes=15), timedelta(days=1))


@pytest.mark.slow
def test_settings_that_are_mended_are_built_at_once(watch):
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields | {"item": "thing"}}
    watch.reload(sources=[source])
    assert watch.look()
    assert not watch.run()
    watch.reload(gates={"accounting": {"warn": 1}}, sources=[source | {"fields": fields}])
    assert [watch.look(), watch.run(), watch.look()] == [True, True, False]
    watch.reload(gates={"accounting": {"warn": 2}}, sources=[source | {"fields": fields}])
    assert [watch.look(), watch.look()] == [True, False]


def test_another_schedule_is_no_reason_to_build(watch):
    watch.reload(schedule={"cron": "1 1 * * *", "sensor": {"active": True}})
    assert [watch.look() for _ in range(2)] == [False, False]
