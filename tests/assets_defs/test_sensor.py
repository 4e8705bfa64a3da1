"""The sensor for new exports: by content, when they have settled, whatever its cursor holds."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.storage.archive import export_sha256
from assets_defs import automation, build_definitions
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export


class Watch:
    """A sensor and its cursor, looked at again and again."""

    def __init__(self, campaign: Path) -> None:
        self.definitions = build_definitions(campaign)
        self.sensor = self.definitions.resolve_sensor_def("small_exports")
        self.cursor: str | None = None
        self.said = ""

    def look(self) -> bool:
        """Whether a build was asked for."""
        with dg.DagsterInstance.ephemeral() as instance:
            tick = self.sensor.evaluate_tick(
                dg.build_sensor_context(
                    instance=instance, cursor=self.cursor, definitions=self.definitions
                )
            )
        self.cursor, self.said = tick.cursor, tick.skip_message or ""
        return bool(tick.run_requests)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small")


@pytest.fixture
def watch(campaign: Path) -> Watch:
    """A sensor that has asked for the first build."""
    watch = Watch(campaign)
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


def test_bytes_are_read_once_a_change(campaign, watch, monkeypatch):
    read = []
    whole = automation.present_exports
    monkeypatch.setattr(automation, "present_exports", lambda c: read.append(c) or whole(c))
    for _ in range(5):
        watch.look()
    assert read == []
    write_export(campaign, ROWS + "new,w1,a\n")
    for _ in range(5):
        watch.look()
    assert len(read) == 1


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
    monkeypatch.setattr(automation, "present_exports", _gone)
    assert not watch.look()
    assert "cannot be read" in watch.said
    monkeypatch.undo()
    assert watch.look()


def _gone(campaign: LoadedCampaign) -> str:
    return export_sha256(campaign.folder / "exports" / "gone.csv")


@pytest.mark.parametrize(
    "cursor",
    ["not json", "[1]", "17", '{"stat": {"a": [1]}, "built": 3}', '{"seen": "x", "count": 4}', ""],
)
def test_a_cursor_of_any_form_ends_in_a_build(campaign, cursor):
    watch = Watch(campaign)
    watch.cursor = cursor
    assert [watch.look() for _ in range(3)] == [False, True, False]


def test_the_cursor_of_an_older_version_knows_what_was_built(watch):
    built = json.loads(watch.cursor)["built"]
    watch.cursor = json.dumps({"seen": built, "built": built, "count": 3})
    assert [watch.look() for _ in range(3)] == [False, False, False]


def test_the_cursor_stays_small(campaign, watch):
    for number in range(300):
        write_export(campaign, "i1,w9,a\n", f"part-{number}.csv")
    watch.look()
    watch.look()
    assert len(watch.cursor) < 400
