"""WMT15, E2E NLG and LLMFAO through the pipeline, against what was published of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from annot_pipeline.methods.rankings import adjusted_comparisons
from annot_pipeline.methods.rankings.score_effects import load_weights
from tests.conftest import Built, Staged, build_file, stage_file

pytestmark = pytest.mark.slow

WMT15_PAIRS = {
    "ces-eng": 85_877, "deu-eng": 40_535, "eng-ces": 136_855, "eng-deu": 54_447, "eng-fin": 32_694,
    "eng-fre": 34_512, "eng-rus": 49_302, "fin-eng": 31_577, "fre-eng": 29_770, "rus-eng": 44_539,
}  # fmt: skip
"""Published numbers of pairs of systems, one ranking of eng-ces without its ranks -1."""

LEAST_SPEARMAN = {
    ("rus-eng", "trueskill"): 0.94,  # one order, which nothing but ids decides: there are no times
    ("rus-eng", "trueskill_permuted"): 0.95,
    ("rus-eng", "bradley_terry"): 0.95,
}
"""The rest .98. Four systems of rus-eng, within .025 and of one cluster, stand in another order."""

E2E_QUALITY = (
    ("slug",),
    ("tuda", "gong", "dangnt", "tgen", "slug-alt", "zhaw2", "tnt1", "tnt2", "nle", "zhaw1",
     "forge1", "sheff1", "harv"),
    ("tr2", "forge3"),
    ("adapt", "tr1", "zhang"),
    ("chen", "sheff2"),
)  # fmt: skip
"""Dusek et al. 2020: clusters of systems by quality, the best first."""


def by_method(built: Built | Staged) -> dict[tuple[str, str], dict[str, float]]:
    actual: dict[tuple[str, str], dict[str, float]] = {}
    for row in built.rows("system_rankings"):
        actual.setdefault((row["task"], row["method"]), {})[row["system"]] = row["score"]
    return actual


def write_wmt15(folder: Path, shared_data: Path) -> Path:
    fields = {
        "task": {"join": ["source_language", "target_language"], "sep": "-"}, "judge": "user",
        "ranking": "ranking", "segment": "segment", "position": "position", "system": "system",
        "rank": "rank", "seconds": "duration", "hit": "hit_id",
    }  # fmt: skip
    (folder / "exports").symlink_to(shared_data / "wmt15-ranking" / "data")
    campaign = {
        "campaign": "wmt15",
        "sources": [{"path": "exports/*.xml.gz", "format": "wmt_ranking", "fields": fields}],
        "ranking": {"bootstrap": 0, "online_rounds": 5},
        "agreement": {"bootstrap": 0},
    }
    (folder / "campaign.yaml").write_text(json.dumps(campaign))
    return folder


@pytest.fixture(scope="module")
def wmt15(shared_data, tmp_path_factory) -> Built:
    return build_file(write_wmt15(tmp_path_factory.mktemp("wmt15"), shared_data))


@pytest.fixture(scope="module")
def wmt15_strengths(shared_data, tmp_path_factory) -> dict[tuple[str, str], dict[str, float]]:
    """Scores where all comparisons weigh alike, as they did in 2015."""
    folder = write_wmt15(tmp_path_factory.mktemp("alike"), shared_data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjusted_comparisons, "load_weights", lambda n, _: load_weights(n, 0.0))
        return by_method(stage_file(folder))


def test_every_ranking_of_wmt15_has_a_fate(wmt15: Built):
    """757 of 29,017 rankings are empty; of one, 7 outputs have no rank."""
    facts = wmt15.metrics("settle_judgments")
    assert facts["fates"]["rejected"] == 757 + 7
    assert facts["files"][0]["rows_read"] == 29_017
    assert wmt15.metrics("break_into_comparisons")["comparisons"] == WMT15_PAIRS


def official_scores(shared_data: Path, task: str) -> dict[str, float]:
    path = shared_data / "wmt15-ranking" / "results" / f"wmt15.{task}.txt"
    return {
        actual[1]: float(actual[2])
        for actual in re.finditer(r"^(\S+) (-?[\d.]+) \(", path.read_text(), re.MULTILINE)
    }


@pytest.mark.parametrize("method", ["trueskill", "trueskill_permuted", "bradley_terry"])
@pytest.mark.parametrize("task", WMT15_PAIRS)
def test_systems_of_wmt15_are_ranked_as_published(
    wmt15: Built, wmt15_strengths, shared_data, task, method
):
    official = official_scores(shared_data, task)
    is_weighted = method == "bradley_terry"
    actual = (wmt15_strengths if is_weighted else by_method(wmt15))[task, method]
    assert actual.keys() == official.keys()
    ours, theirs = ([scores[name] for name in sorted(official)] for scores in (actual, official))
    assert pearsonr(ours, theirs).statistic >= 0.99
    assert spearmanr(ours, theirs).statistic >= LEAST_SPEARMAN.get((task, method), 0.98)


@pytest.mark.parametrize("task", WMT15_PAIRS)
def test_weights_of_judges_change_little_of_wmt15(wmt15: Built, shared_data, task):
    official = official_scores(shared_data, task)
    actual = by_method(wmt15)[task, "bradley_terry"]
    ours, theirs = ([scores[name] for name in sorted(official)] for scores in (actual, official))
    assert pearsonr(ours, theirs).statistic >= 0.98
    assert spearmanr(ours, theirs).statistic >= 0.92


def test_dominance_sums_to_zero_in_every_segment_of_wmt15(wmt15: Built):
    sums: Counter[tuple[str, str]] = Counter()
    for row in wmt15.rows("segment_ranks"):
        sums[row["task"], row["segment"]] += row["dominance"]
    assert len(sums) == 11_377
    assert set(sums.values()) == {0}


def test_rankings_of_wmt15_took_a_minute(wmt15: Built):
    """Durations are of rankings: 54 s in the median, whatever the number of outputs."""
    rows = [r for r in wmt15.rows("comparison_times")
            if r["lengths"] == "all" and r["unit"] == "ranking"]  # fmt: skip
    assert len(rows) == len(WMT15_PAIRS)
    assert 20 < min(r["median"] for r in rows) <= max(r["median"] for r in rows) < 120
    assert all(r["median"] < r["mean"] for r in rows)


def test_scores_of_e2e_rank_systems_as_published(shared_campaigns, tmp_path):
    built = build_file(shared_campaigns / "e2e.yaml", f"store={tmp_path}/s", f"gold={tmp_path}/g",
                       "ranking.online_rounds=20", "ranking.bootstrap=0")  # fmt: skip
    outcomes = Counter(row["outcome"] for row in built.rows("comparisons"))
    assert (outcomes[1] + outcomes[-1], outcomes[0]) == (15_001, 14_789)
    place = {name: number for number, names in enumerate(E2E_QUALITY) for name in names}
    for method in ("trueskill_permuted", "bradley_terry", "wins_ties_half"):
        actual = by_method(built)["quality", method]
        common = sorted(actual.keys() & place.keys())
        assert len(common) >= 20
        clusters = np.array([place[name] for name in common])
        scores = np.array([actual[name] for name in common])
        means = [scores[clusters == k].mean() for k in range(len(E2E_QUALITY))]
        assert (np.diff(means) < 0).all()
        assert spearmanr(scores, -clusters).statistic > 0.85


def test_models_of_llmfao_are_connected(shared_campaigns, tmp_path):
    places = (f"store={tmp_path}/s", f"gold={tmp_path}/g")
    built = build_file(shared_campaigns / "llmfao.yaml", *places)
    rows = [row for row in built.rows("system_rankings") if row["headline"]]
    assert {row["method"] for row in rows} == {"bradley_terry"}
    assert len(rows) == 70
    assert sum(row["score"] for row in rows) == pytest.approx(0, abs=1e-9)
    assert {row["component"] for row in rows} == {None}
    assert {row["cluster"] for row in rows} == {None}, "half of all is one model's, on 18 prompts"
    limits = ("no clusters: they need 10 effective judges", "no interval and tests: too few judges")
    assert all(row["reason"].startswith(limits) for row in rows)
    pairs = built.rows("system_comparisons")
    assert len(pairs) == 70 * 69
    tested = [row for row in pairs if row["p_value"] is not None]
    assert len(tested) > len(pairs) / 2
    assert all(row["ci_low"] < row["difference"] < row["ci_high"] for row in tested)
    assert all(row["reason"] for row in pairs if row["p_value"] is None)
    ties = sum(row["outcome"] == 0 for row in built.rows("comparisons") if row["judge"] != "gpt-4")
    assert ties == 3_471
