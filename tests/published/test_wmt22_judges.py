"""WMT22 direct assessment into English: the judges' tests and z-scores as published."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from annot_pipeline.methods.grouped_tests import paired_t
from annot_pipeline.methods.zscores import z_scores

PAIR = ["WorkerId", "HITId", "src", "trg", "sys_id", "sid"]


@pytest.fixture(scope="module")
def judgments(shared_data) -> pd.DataFrame:
    path = shared_data / "wmt22-da-toen" / "derived" / "recovered-raw-good-workers.tsv.gz"
    return pd.read_csv(path, sep="\t")


def test_p_values_of_the_judges(judgments, shared_data):
    """Paired one-sided t-test of outputs against their degraded copies, over all tasks."""
    outputs = judgments[judgments.type == "SYSTEM"]
    degraded = judgments[judgments.type == "BAD_REF"]
    pairs = outputs.merge(degraded, on=PAIR, suffixes=("", "_degraded"))
    judge, names = pd.factorize(pairs.WorkerId, sort=True)
    differences = (pairs.raw_score - pairs.raw_score_degraded).to_numpy(float)
    ours = paired_t(judge, differences, n_groups=len(names))
    published = pd.read_csv(
        shared_data / "wmt22-da-toen" / "ad-trk-stats.csv",
        sep="\t", header=None, names=["judge", "p", "t", "n"], index_col="judge",
    ).reindex(names)  # fmt: skip
    same = ours.n == published.n.to_numpy()  # one judge has pairs that were not released
    assert same.sum() == len(names) - 1 == 427
    # printed to 7 significant digits; t there is of degraded minus output
    np.testing.assert_allclose(ours.p_value[same], published.p[same], rtol=5e-7)
    np.testing.assert_allclose(-ours.statistic[same], published.t[same], rtol=0, atol=5e-5)
    assert (ours.p_value[same] < 0.05).all()


def test_z_scores(judgments):
    """By judge and task over all four kinds; published with mean and sd printed to 7 digits."""
    judge, _ = pd.factorize(judgments.WorkerId + " " + judgments.src)
    scores = judgments.raw_score.to_numpy(float)
    ours = z_scores(judge, scores, n_judges=int(judge.max()) + 1)
    np.testing.assert_allclose(ours.z, judgments.z_score, rtol=0, atol=3e-5)

    def printed(values):
        return np.array([float(f"{value:.7g}") for value in values])

    as_published = (scores - printed(ours.mean)[judge]) / printed(ours.sd)[judge]
    np.testing.assert_allclose(as_published, judgments.z_score, rtol=0, atol=1e-9)
