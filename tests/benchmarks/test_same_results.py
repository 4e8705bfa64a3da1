"""What is compared gives the same result, or the comparison would say nothing."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.storage.tables import read_table
from benchmarks import kept_exports, processes
from benchmarks.comparison import Way
from benchmarks.comparisons import (
    COMPARISONS,
    bradley_terry,
    commands,
    direct_assessment,
    second_build,
)
from benchmarks.exports import write_campaign
from tests.conftest import build_file

pytestmark = pytest.mark.filterwarnings("ignore")  # those of peers are theirs


@pytest.fixture(autouse=True)
def _folders(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_exports, "FOLDER", tmp_path / "exports")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def result_of(way: Way, drawn: Any) -> Any:
    if not way.is_installed():
        pytest.skip(f"{way.name} is not installed: the extra `bench`")
    return way.prepare(drawn)()


def results(name: str, size: int) -> list[Any]:
    """What all ways give, ours first."""
    comparison = COMPARISONS[name]
    drawn = comparison.draw(size)
    if comparison.keep:
        comparison.keep(drawn)
    return [result_of(way, drawn) for way in comparison.ways if way.takes(size)]


def test_dawid_skene():
    ours, crowd_kit = results("dawid_skene", 20_000)
    np.testing.assert_allclose(ours, crowd_kit.sort_index(axis=0).sort_index(axis=1), atol=1e-9)


def test_dawid_skene_tasks():
    ours, crowd_kit = results("dawid_skene_tasks", 2)
    assert len(ours) == 2
    for one, other in zip(ours, crowd_kit, strict=True):
        np.testing.assert_allclose(one, other.sort_index(axis=0).sort_index(axis=1), atol=1e-9)


def test_bradley_terry():
    (score, rounds), (strength, peer_rounds) = results("bradley_terry", 20_000)

    def logs(strengths):
        values = np.log(strengths.sort_index().to_numpy())
        return values - values.mean()

    np.testing.assert_allclose(score, logs(strength), atol=2e-3)  # it stops at 1e-6 of a share
    theirs = np.array([logs(one) for one in peer_rounds])
    assert rounds.shape == theirs.shape == (bradley_terry.ROUNDS, bradley_terry.SYSTEMS)
    spread = rounds.std(axis=0).mean() / theirs.std(axis=0).mean()
    assert 0.85 < spread < 1.15


def test_trueskill():
    ours, package = results("trueskill", 500)
    np.testing.assert_allclose(ours, package, atol=1e-6)  # its cdf errs by 1e-7


def test_krippendorff():
    ours, *package = results("krippendorff", 2_000)
    assert len(package) == 2
    for alphas in package:
        np.testing.assert_allclose(ours, alphas, atol=1e-9)


def test_judge_control():
    ours, scipy = results("judge_control", 50)
    np.testing.assert_allclose(ours, scipy, rtol=1e-9, atol=1e-15)


def test_direct_assessment():
    ours, pandas = results("direct_assessment", 20_000)
    assert 0 < ours.passed.sum() < ours.passed.size
    np.testing.assert_array_equal(ours.passed, pandas.passed)
    assert np.isfinite(ours.p_values).sum() == direct_assessment.SYSTEMS * 11
    np.testing.assert_allclose(ours.p_values, pandas.p_values, atol=1e-9)


def test_next_hits():
    ours, all_pairs = results("next_hits", 500)
    assert ours.items.shape == all_pairs.shape == (100, 5)
    seeds = ours.items[ours.roles == 0]
    assert sorted(seeds) == sorted(all_pairs[:, 0])
    partners = ours.items[ours.roles == 1]
    assert not set(partners) & set(seeds)
    assert not set(all_pairs[:, 1:].ravel()) & set(seeds)


def test_reading():
    records, *peers = results("reading", 1_000)
    (ours,) = records.rglob("*.parquet")
    judges = read_table(ours)["judge"].to_pylist()
    assert len(judges) == 1_000
    for path in peers:
        assert pq.read_table(path)["judge"].to_pylist() == judges


@pytest.fixture
def _here(monkeypatch):
    """Commands in this process, builds without Dagster: what they add is time to start."""

    def command(module, *words):
        assert module == "annot_pipeline.cli"
        if words[0] == "build":
            built = build_file(Path(words[1]), *words[3::2])
            return "published" if built.publication.published else "nothing new"
        with contextlib.redirect_stdout(io.StringIO()) as text:
            assert main(words) == 0
        return text.getvalue()

    monkeypatch.setattr(processes, "command", command)

    def without_intervals(folder, shape):
        path = write_campaign(folder, shape)
        path.write_text(path.read_text() + "agreement: {bootstrap: 0}\nranking: {bootstrap: 0}\n")

    monkeypatch.setattr(kept_exports, "write_campaign", without_intervals)
    n = len(commands.annot())
    monkeypatch.setattr(commands, "said", lambda words: command("annot_pipeline.cli", *words[n:]))


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
def test_second_build(monkeypatch):
    monkeypatch.setattr(second_build, "TASKS", 2)
    second, cold = results("second_build", 400)
    before, after = sorted(second.glob("v*/labels.parquet"))
    (at_once,) = cold.glob("v*/labels.parquet")
    assert read_table(after).num_rows == read_table(before).num_rows + 20
    assert after.read_bytes() == at_once.read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
def test_commands(monkeypatch):
    monkeypatch.setattr(commands, "TASKS", 4)
    comparison = COMPARISONS["commands"]
    campaign = comparison.draw(800)
    comparison.keep(campaign)
    on_campaign = [way for way in comparison.ways if way.name[:9] not in ("python -c", "annot --h")]
    said = {way.name: result_of(way, campaign) for way in on_campaign}
    assert "nothing new" in said["annot build, nothing new"]
    assert "v0001" in said["annot status"]
    assert "item-7" in said["annot trace"]
    assert said["annot validate"]
    one, all_ = said["annot trace"], said["annot trace, an item of ten tasks"]
    assert [len(set(re.findall(r"labels-\d\d", text))) for text in (one, all_)] == [1, 4]


def test_commands_start_as_processes():
    ways = COMPARISONS["commands"].ways
    said = [way.prepare(None)() for way in ways if "-c pass" in way.name or "--help" in way.name]
    assert said[0] == ""
    assert said[1].startswith("usage: annot")
