"""`annot build` runs the stages that the assets run, without Dagster, and to the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys

import dagster as dg
import pytest

from annot_pipeline.cli import main
from annot_pipeline.storage.releases import Releases
from tests.assets_defs.campaigns import write_campaign
from tests.conftest import KEY

HEAVY = ("dagster", "pandas", "great_expectations", "matplotlib")
PROGRAM = f"""
import json, sys
from annot_pipeline.cli import main
status = main(sys.argv[1:])
print(json.dumps([status, [name for name in {HEAVY} if name in sys.modules]]))
"""


def test_with_dagster_and_without_it_publishes_the_same_bytes(built_once, tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    hashes = {}
    folders = {"direct": built_once, "dagster": write_campaign(tmp_path / "dagster" / "small")}
    for name, options in (("direct", []), ("dagster", ["--dagster"])):
        assert main(["build", str(folders[name]), *options]) == 0
        manifest = Releases(folders[name] / "gold").get().manifest
        hashes[name] = {table["name"]: table["sha256"] for table in manifest["tables"]}
    assert hashes["direct"] == hashes["dagster"]
    with dg.DagsterInstance.get() as instance:
        runs = instance.get_runs()
    assert [run.job_name for run in runs] == ["small_nightly"], "the direct build is not recorded"


def test_dagster_needs_an_instance(tmp_path, capsys):
    folder = write_campaign(tmp_path / "small")
    assert main(["build", str(folder), "--dagster"]) == 2
    said = capsys.readouterr().err
    assert "DAGSTER_HOME is not set" in said
    assert "build without --dagster" in said


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        pytest.param(["build"], ["matplotlib"], marks=pytest.mark.slow),
        (["build"], []),
        (["status"], []),
    ],
    ids=["build", "nothing new", "status"],
)
def test_a_command_loads_what_it_uses(words, loaded, built_once):
    command = [sys.executable, "-c", PROGRAM, words[0], str(built_once)]
    if loaded:  # a release is made
        command += ["--set", "seed=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [0, loaded]


def build_small(folder):
    assert main(["build", str(write_campaign(folder))]) == 0


@pytest.fixture
def built_once(copy_campaign, tmp_path):
    return copy_campaign(build_small, tmp_path / "small")
