"""The study of audits: labels just short of the promise, and a set in a folder."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from studies.audit_study import audit_labels, run_audits
from studies.params import Audits


@pytest.mark.parametrize(("n", "chance"), [(60, 0.946**60), (100, 0.946**100 * 6.708)])
def test_labels_just_short_of_the_promise_are_rarely_certified(n, chance):
    """54 of 1,000 labels are wrong: by the binomial, zero (or one) of n errors is as rare."""
    right = np.arange(1_000) >= 54
    audited = audit_labels(np.full(1_000, 0.97), right, n, 0.95, 2_000, np.random.default_rng(4))
    assert audited is not None
    share = audited.share.size / 2_000
    assert audited.is_wrong.all()
    assert abs(share - chance) < 4 * np.sqrt(chance / 2_000)
    assert share < 0.05


def test_labels_that_keep_the_promise_are_never_wrongly_certified():
    right = np.arange(1_000) >= 10
    audited = audit_labels(np.full(1_000, 0.97), right, 200, 0.95, 50, np.random.default_rng(4))
    assert audited is not None
    assert not audited.is_wrong.any()
    assert audited.share.size > 40
    assert (
        audit_labels(np.full(50, 0.97), right[:50], 60, 0.95, 5, np.random.default_rng(4)) is None
    )


def test_a_set_of_a_folder(tmp_path: Path):
    rng = np.random.default_rng(1)
    (tmp_path / "barzan").mkdir()
    truth = rng.integers(0, 2, 150).tolist()
    with (tmp_path / "barzan" / "label.csv").open("w") as file:
        csv.writer(file).writerows([["item", "judge", "label"], *(
            [f"i{n}", f"j{j}", str(int(label ^ (rng.random() < 0.05)))]
            for n, label in enumerate(truth) for j in range(4)
        )])  # fmt: skip
    with (tmp_path / "barzan" / "truth.csv").open("w") as file:
        csv.writer(file).writerows(
            [["item", "truth"], *([f"i{n}", t] for n, t in enumerate(truth))]
        )
    result = run_audits(Audits(folder=str(tmp_path), repeats=3), lambda _: None)
    assert [row["sample"] for row in result.numbers] == [60, 200]
    assert result.numbers[0]["set"] == "Barzan"
    assert result.numbers[0]["labels"] == 150


def test_settings_that_cannot_be(tmp_path: Path):
    with pytest.raises(ConfigError, match="certain_at"):
        Audits(certain_at=1.0)
    with pytest.raises(ConfigError, match="has no set"):
        run_audits(Audits(folder=str(tmp_path)), lambda _: None)
