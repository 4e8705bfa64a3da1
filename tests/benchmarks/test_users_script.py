"""The user's script makes our tables: else its time would say nothing of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import kept_exports
from benchmarks.comparisons import COMPARISONS
from benchmarks.comparisons.build import by_script
from benchmarks.exports import Shape
from tests.conftest import Built, build_file

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.filterwarnings("ignore")  # those of peers are theirs

ROUNDS = 100
EXACT = {
    "scores": ("task item", "n_judgments raw_mean z_mean n_unfiltered unfiltered_mean easl_score "
               "easl_alpha easl_beta easl_variance"),
    "system_rankings": ("task method system",
                        "rank score wmt_wins wmt_cluster n_segments n_judgments"),
    "system_comparisons": ("task method system_a system_b",
                           "difference wmt_p_value wmt_p_adjusted wmt_a_beats_b"),
    "agreement": ("task statistic", "value"),
    "labels": ("task item", "n_judgments n_judges majority_label majority_share"),
    "label_distributions": ("task item label", "votes"),
    "prevalence": ("task label", "vote_share plurality_frequency majority_frequency"),
}  # fmt: skip
"""Key and columns of tables in which both have the same."""

JUDGES = ("n_judgments mean sd mean_ordinary mean_bad_reference longest_constant_run effect "
          "statistic p_value verdict")  # fmt: skip
"""Columns of judges, who have other names there."""


OF_LABELS = (
    "percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1",
    "alpha_nominal",
)  # fmt: skip
"""Statistics whose intervals are no bootstrap: they are over judges, too."""


class Both:
    """Tables of both, by name."""

    def __init__(self, built: Built, folder: Path) -> None:
        self.built, self.folder = built, folder

    def tables(self, name: str, key: str = "") -> tuple[pd.DataFrame, pd.DataFrame]:
        ours = self.built.table(name).to_pandas()
        theirs = pq.read_table(self.folder / f"{name}.parquet").to_pandas()
        if not key:
            return ours, theirs
        ours, theirs = (of.set_index(key.split()) for of in (ours, theirs))
        # rankings of ours have methods that the script does not know
        ours = ours.loc[theirs.index] if name.startswith("system_") else ours
        assert len(ours) == len(theirs) > 0
        return ours, theirs.loc[ours.index]


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    script = COMPARISONS["build"].ways[-1]
    if not script.is_installed():
        pytest.skip(f"{script.name} is not installed: the extra `bench`")
    monkeypatch.setattr(kept_exports, "FOLDER", tmp_path / "exports")
    shape = Shape(labels=4_000, scores=10_000, comparisons=0, tasks=2)
    campaign = kept_exports.kept_campaign(shape)
    folder = by_script(f"--rounds={ROUNDS}")(campaign)()
    return Both(build_file(campaign, f"agreement.bootstrap={ROUNDS}"), folder)


def same(ours: Any, theirs: Any) -> bool:
    """Whether columns hold the same, but for rounding."""
    if ours.dtype.kind in "iufb":
        return bool(
            np.allclose(ours.astype(float), theirs.astype(float), atol=1e-9, equal_nan=True)
        )
    return list(ours) == list(theirs)


def test_alphas_by_library_are_those_by_numpy():
    pytest.importorskip("krippendorff")
    import pandas as pd

    from benchmarks.users_script.score_alphas import alphas_by_library, score_alphas

    rng = np.random.default_rng(17)
    rows = pd.DataFrame({"item": np.arange(90) // 3, "score": rng.integers(30, 60, size=90)})
    by_library, by_numpy = alphas_by_library(rows), score_alphas(rows, np.ones((1, 30)))
    assert set(by_library) == {"ordinal", "interval", "ratio"}
    for level, alpha in by_library.items():
        np.testing.assert_allclose(by_numpy[level], alpha, atol=1e-12)


@pytest.mark.slow
def test_tables_are_ours(both):
    for name, (key, columns) in EXACT.items():
        ours, theirs = both.tables(name, key)
        for column in columns.split():
            assert same(ours[column], theirs[column]), f"{name}.{column}"
    # crowd-kit has no smoothing to speak of
    ours, theirs = both.tables("labels", "task item")
    assert (ours.label == theirs.label).mean() > 0.99
    ours, theirs = both.tables("prevalence", "task label")
    np.testing.assert_allclose(ours.prevalence, theirs.prevalence, atol=0.01)
    ours, theirs = both.tables("agreement", "task statistic")
    drawn = ~ours.index.get_level_values(1).isin(OF_LABELS)
    _intervals(ours[drawn], theirs[drawn])
    _judges(*both.tables("judges"))
    ours, theirs = both.tables("judge_confusion")
    assert ours.judge.nunique() == theirs.judge.nunique()
    for name in ("items", "judgments", "lineage"):
        ours, theirs = both.tables(name)
        assert len(ours) == len(theirs), name
        if "fate" in ours:
            assert dict(ours.fate.value_counts()) == dict(theirs.fate.value_counts())


def _intervals(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    """Rounds are drawn: ends are alike. Ours of Spearman's rho are moved around the value."""
    ours = ours.dropna(subset=["ci_low"])
    theirs = theirs.loc[ours.index]
    width = ours.ci_high - ours.ci_low
    for end in ("ci_low", "ci_high"):
        apart = (ours[end] - theirs[end]).abs() / width
        assert apart.median() < 0.1
        assert apart[~ours.index.get_level_values(1).str.contains("spearman")].max() < 0.5


def _judges(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    order = ["task", "n_judgments", "p_value", "mean", "mean_class_accuracy"]
    ours, theirs = (of.sort_values(order, ignore_index=True) for of in (ours, theirs))
    for column in JUDGES.split():
        assert same(ours[column], theirs[column]), column
