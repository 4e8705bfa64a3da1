"""Dawid & Skene 1979, Tables 2 to 4: the anaesthetists. Tolerance: half the last digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene

EXPORT = Path(__file__).parents[2] / "examples" / "anaesthetists" / "exports" / "ratings.csv"
UNSMOOTHED_VOTES = DawidSkeneParams(start="votes", smoothing=0)


def fit(params: DawidSkeneParams):
    table = pa_csv.read_csv(EXPORT)
    columns = {name: table[name].to_numpy() - 1 for name in ("patient", "observer", "rating")}
    return dawid_skene(
        columns["patient"], columns["observer"], columns["rating"],
        n_items=45, n_judges=5, n_labels=4, params=params,
    )  # fmt: skip


def test_prevalence():
    result = fit(UNSMOOTHED_VOTES)
    assert result.prevalence == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    assert result.prevalence == pytest.approx([0.4000, 0.4216, 0.1118, 0.0667], abs=0.00005)


def test_log_likelihood_of_both_starts():
    votes, diagonal = (
        fit(DawidSkeneParams(start=start, smoothing=0)).convergence.log_likelihood[-1]
        for start in ("votes", "diagonal")
    )
    assert votes == pytest.approx(-190.7310, abs=0.00005)
    assert diagonal == pytest.approx(-191.8085, abs=0.00005)


def test_error_rates_of_observer_1():
    published = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    ours = fit(UNSMOOTHED_VOTES).confusion[0]
    # The first row is .907 .093 with patient 7 as printed in Table 1, .889 .111 with the
    # widely copied 1,2,2; the other rows do not depend on it.
    assert ours[0] == pytest.approx([0.907, 0.093, 0, 0], abs=0.0005)
    assert ours[1:] == pytest.approx(np.array(published[1:]), abs=0.0055)


def test_patients_of_the_rare_classes():
    label = fit(UNSMOOTHED_VOTES).posterior.argmax(axis=1) + 1
    assert (np.flatnonzero(label == 4) + 1).tolist() == [2, 11, 36]
    assert (np.flatnonzero(label == 3) + 1).tolist() == [8, 12, 32, 38, 39]
