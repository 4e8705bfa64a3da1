"""What Spark itself refuses: Java is started, and what is wrong stands in words, not in a trace."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.spark.test_same_bytes import command

CAMPAIGN = """\
campaign: c
sources:
- path: a.csv
  format: csv
  fields: {item: item, judge: judge, label: label}
engine: {kind: spark, master: "local[1]"}
"""


@pytest.mark.parametrize(
    ("sets", "says", "do"),
    [
        (
            ["engine.config.spark.executor.memory=2q"],
            "annot: local[1]: no session: Spark gave up\n  [JAVA_GATEWAY_EXITED] ",
            "Java said why above",
        ),
        (
            ["engine.config.spark.driver.port=99999"],
            "annot: local[1]: no session: Spark gave up\n  java.lang.IllegalArgumentException: "
            "requirement failed: startPort should be between 1024 and 65535",
            "set engine.config spark.log.level to INFO",
        ),
    ],
)
def test_settings_that_spark_does_not_take(tmp_path, sets, says, do):
    told = refused(tmp_path, *sets)
    assert told.startswith(says)
    assert do in told


def test_a_python_without_the_packages(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    told = refused(tmp_path)
    assert told.startswith("annot: executors were asked what they have: Spark gave up\n")
    assert "No module named 'pyarrow'" in told
    assert "install annot-pipeline[spark] in the Python of executors" in told


def refused(folder, *sets):
    """What a build says last; it published nothing."""
    path = folder / "campaign.yaml"
    path.write_text(CAMPAIGN)
    (folder / "a.csv").write_text("item,judge,label\ni1,w1,yes\ni1,w2,no\ni2,w1,yes\n")
    done = subprocess.run(
        command(path, "refused", *sets), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr.partition("annot: ")[2]
    assert not list((folder / "refused").glob("gold/v*"))
    return done.stderr[done.stderr.rindex("annot: ") :]
