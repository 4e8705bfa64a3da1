"""Spark is asked for where it cannot run: what is missing, and what to do. Nothing is built."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from annot_pipeline.cli import main
from annot_pipeline.errors import ConfigError, EngineError
from annot_pipeline.runtime.executors import spark_session

EXPORT = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(4) for j in range(3)
)
SPARK = ("--set", "engine.kind=spark", "--set", "engine.master=local[2]")


@pytest.mark.slow
def test_nothing_of_spark_is_imported_without_being_asked_for(build_campaign, tmp_path):
    build_campaign({"a.csv": EXPORT})
    code = (
        "import sys; from annot_pipeline.cli import main; main(['status', sys.argv[1]]); "
        "import annot_pipeline.stages.registry, annot_pipeline.runtime.executors; "
        "print([m for m in sys.modules if m.partition('.')[0] in ('pyspark', 'py4j')])"
    )
    actual = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "campaign")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert actual.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_it_says_what_to_install(build_campaign, tmp_path, monkeypatch, capsys):
    gold = build_campaign({"a.csv": EXPORT}).publication.release.folder.parent
    (tmp_path / "campaign" / "exports" / "b.csv").write_text(EXPORT.replace("i0", "new"))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    spark_session.spark_session.cache_clear()
    assert main(["build", str(tmp_path / "campaign"), *SPARK]) == 2
    told = capsys.readouterr().err
    assert "engine.kind: Apache Spark (pyspark) is not installed" in told
    assert "pip install 'annot-pipeline[spark]'" in told
    assert [path.name for path in gold.glob("v*")] == ["v0001"]


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_391"', "is Java 8"),
        ("no version here", "does not run"),
    ],
)
def test_java_is_too_old_or_none(tmp_path, monkeypatch, says, problem):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=problem) as error:
        spark_session.check_java()
    assert "install Java 17 or later" in str(error.value)
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    spark_session.check_java()


def test_java_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="no Java"):
        spark_session.check_java()


def test_no_master_answers():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # listens to nobody
        port = held.getsockname()[1]
        with pytest.raises(EngineError, match="no master answers") as error:
            spark_session.check_masters(f"spark://127.0.0.1:{port}")
        assert f"127.0.0.1:{port}: " in str(error.value)
        held.listen()
        spark_session.check_masters(f"spark://nowhere.invalid:1,127.0.0.1:{port}")
    with pytest.raises(EngineError, match="no master answers"):
        spark_session.check_masters("spark://127.0.0.1")
    spark_session.check_masters("local[2]")


def test_no_server_of_connect_answers(monkeypatch):
    """Spark itself would try for ten minutes."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        address = f"sc://127.0.0.1:{port}/;token=abcdef"
        with pytest.raises(EngineError, match="no master answers at sc:") as error:
            spark_session.check_masters(address)
        assert "abcdef" not in str(error.value)
        held.listen()
        spark_session.check_masters(address)
        monkeypatch.setattr(spark_session, "CONNECT_PORT", port)
        spark_session.check_masters("sc://127.0.0.1")
