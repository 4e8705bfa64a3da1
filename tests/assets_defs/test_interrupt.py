"""Ctrl-C, wherever a build is: it stops, says so in a line, and the next build is whole."""

from __future__ import annotations

import os
import signal

import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands import build
from annot_pipeline.stages.build import Build
from annot_pipeline.storage.releases import Releases
from assets_defs import release
from tests.assets_defs.campaigns import write_campaign
from tests.conftest import build_file

RETRIES = {"retries": {"max": 2, "delay_seconds": 0}}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "stopped",
    [
        pytest.param("archive_exports", marks=pytest.mark.slow),
        pytest.param("read_records", marks=pytest.mark.slow),
        "infer_labels",
        pytest.param("release", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("options", [[], ["--dagster"]], ids=["direct", "dagster"])
def test_it_stops_a_build_and_nothing_is_tried_again(
    tmp_path, monkeypatch, capsys, stopped, options
):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    folder = write_campaign(tmp_path / "small", schedule=RETRIES)
    run_stage, publish = Build.run_stage, release.publish
    started = []

    def start(name):
        started.append(name)
        if name == stopped:
            os.kill(os.getpid(), signal.SIGINT)

    def run(this_build, stage):
        start(stage.name)
        return run_stage(this_build, stage)

    def publish_it(this_build, **how):
        start("release")
        return publish(this_build, **how)

    monkeypatch.setattr(Build, "run_stage", run)
    for module in (release, build):
        monkeypatch.setattr(module, "publish", publish_it)
    assert main(["build", str(folder), *options]) == 130
    assert started.count(stopped) == 1
    assert started[-1] == stopped
    told = capsys.readouterr().err
    assert told.endswith("annot: stopped; the last release stands\n")
    assert "Traceback" not in told
    assert Releases(folder / "gold").versions() == []
    monkeypatch.undo()
    build_file(folder)
    assert Releases(folder / "gold").versions() == ["v0001"]
    assert main(["verify", str(folder), "--rebuild"]) == 0
