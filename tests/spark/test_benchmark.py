"""`make bench-spark`: what it tells, and that it fails where gold differs."""

from __future__ import annotations

import itertools

import pytest

from benchmarks import engines

WORDS = ["engines", "--labels=2000", "--scores=2000", "--tasks=2"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_times_memory_and_gold_of_each_way(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", [*WORDS, "local", "one-worker"])
    engines.main()
    lines = (tmp_path / "build/bench/engines.md").read_text().splitlines()
    assert "pyspark 4" in lines[0]
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:])
    local, spark = (dict(zip(head, row, strict=True)) for row in rows)
    assert [local["judgments"], local["engine"]] == ["4,000", "local"]
    assert spark["engine"] == "one-worker"
    assert [local["x local"], local["gold"]] == ["1.00", spark["gold"]]
    assert float(local["driver, GB"]) > 0.2
    assert {kind: local[f"{kind}, GB"] for kind in list(engines.KINDS)[1:]} == {
        "worker": "", "executor's Java": "", "driver's Java": ""
    }  # fmt: skip
    assert all(float(spark[f"{kind}, GB"]) > 0.1 for kind in engines.KINDS)
    assert not list((tmp_path / "build/bench").glob("engines-*")), "builds are removed"


def test_a_table_in_several_files_counts(tmp_path):
    part = tmp_path / "v0001" / "lineage.parquet" / "part-00001.parquet"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"some")
    some = engines._hash(tmp_path)
    part.write_bytes(b"others")
    assert engines._hash(tmp_path) != some


def test_gold_that_differs(monkeypatch, capsys):
    counted = itertools.count()
    monkeypatch.setattr(engines, "_hash", lambda _: f"{next(counted)}")
    monkeypatch.setattr("sys.argv", [*WORDS, "local", "local"])
    with pytest.raises(SystemExit, match="gold differs"):
        engines.main()
    assert "| 4,000 | local | " in capsys.readouterr().out


def test_a_build_that_fails_says_why(monkeypatch):
    monkeypatch.setitem(engines.WAYS, "nowhere", (0, ("engine.kind=nowhere",)))
    monkeypatch.setattr("sys.argv", [*WORDS, "nowhere"])
    with pytest.raises(RuntimeError, match=r"nowhere:\n(.*\n)* +engine.kind: 'nowhere' is"):
        engines.main()
