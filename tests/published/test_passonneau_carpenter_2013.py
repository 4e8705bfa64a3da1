"""Passonneau & Carpenter 2013: Table 3 to the count, section 6 to the printed digit."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from annot_pipeline.methods.labels.class_identity import class_identity
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.votes import count_votes

AS_PUBLISHED = DawidSkeneParams(stop_on="likelihood", tolerance=1e-8, max_iterations=100)
POSTERIOR = DawidSkeneParams(
    stop_on="posterior", tolerance=3e-9, max_iterations=100, posterior_tolerance=np.inf
)

# certain items by sense, the last class of the data being the paper's sense 0; Table 3
TABLE_3 = {
    "add-v": [461, 135, 107, 50, 50, 93, 9],
    "date-n": [68, 19, 83, 173, 190, 133, 236, 5, 19],
    "help-v": [279, 82, 201, 24, 0, 169, 0, 5, 0],
    "ask-v": [348, 177, 9, 251, 0, 6, 6, 6],
}
SUBTOTALS = {"add-v": 905, "date-n": 926, "help-v": 760, "ask-v": 803}


@lru_cache(maxsize=1)
def words(folder: Path) -> dict[str, LabelCodes]:
    actual = {}
    for path in sorted(folder.glob("*.tsv")):
        table = pa_csv.read_csv(path, parse_options=pa_csv.ParseOptions(delimiter="\t"))
        item, judge = (
            np.unique(table[name].to_numpy(), return_inverse=True) for name in ("item", "annotator")
        )
        label = table["rating"].to_numpy() - 1
        actual[path.stem] = LabelCodes(
            item[1], judge[1], label, item[0].size, judge[0].size, int(label.max()) + 1
        )
    return actual


@lru_cache(maxsize=3)
def fits(folder: Path, params: DawidSkeneParams) -> dict[str, DawidSkeneResult]:
    tasks = words(folder)
    return dict(zip(tasks, dawid_skene_batch(list(tasks.values()), params=params), strict=True))


@pytest.fixture
def masc(shared_data: Path) -> Path:
    return shared_data / "masc-wordsense" / "munged"


def diagonal(fit: DawidSkeneResult):
    return fit.confusion.diagonal(axis1=1, axis2=2)


def test_the_data_is_whole(masc):
    tasks = words(masc)
    assert len(tasks) == 45
    assert sum(task.items.size for task in tasks.values()) == 1_084_551
    assert sum(task.n_items for task in tasks.values()) == 44_682


@pytest.mark.parametrize("params", [AS_PUBLISHED, POSTERIOR], ids=["likelihood", "posterior"])
@pytest.mark.parametrize("word", TABLE_3)
def test_table_3(masc, word, params):
    posterior = fits(masc, params)[word].posterior
    certain = posterior.max(axis=1) >= 0.99
    counts = np.bincount(posterior.argmax(axis=1)[certain], minlength=posterior.shape[1])
    assert counts.tolist() == TABLE_3[word]
    assert counts.sum() == SUBTOTALS[word]


def test_section_6_accuracies_of_add_v(masc):
    fit = fits(masc, AS_PUBLISHED)["add-v"]
    by_judge = diagonal(fit).mean(axis=1)
    assert by_judge.size == 57
    assert (by_judge.min(), by_judge.max()) == pytest.approx((0.25, 0.73), abs=0.005)
    by_class = diagonal(fit).mean(axis=0)
    assert by_class == pytest.approx([0.90, 0.79, 0.52, 0.38, 0.29, 0.19, 0.43], abs=0.005)
    assert fit.prevalence[0] == pytest.approx(0.51, abs=0.005)


def test_section_6_accuracies_of_help_v(masc):
    fit = fits(masc, AS_PUBLISHED)["help-v"]
    assert len(fit.confusion) == 49
    printed = [0.73, 0.32, 0.41, 0.64, 0.11, 0.35, 0.11, 0.26, 0.11]
    assert diagonal(fit).mean(axis=0) == pytest.approx(printed, abs=0.005)


def test_section_6_range_over_all_words(masc):
    means = [diagonal(fit).mean(axis=1) for fit in fits(masc, POSTERIOR).values()]
    assert min(m.min() for m in means) == pytest.approx(0.0559, abs=0.00005)
    assert max(m.max() for m in means) == pytest.approx(0.8575, abs=0.00005)


def test_section_7_certain_words(masc):
    """The paper says 42 words have 80% certain items; the released data give 41."""
    shares = [
        (fit.posterior.max(axis=1) >= 0.99).mean() for fit in fits(masc, AS_PUBLISHED).values()
    ]
    assert sum(share >= 0.8 for share in shares) == 41


def test_figure_2_estimates_of_add_v_sense_1(masc):
    task = words(masc)["add-v"]
    votes = count_votes(task.items, task.labels, n_items=task.n_items, n_labels=task.n_labels)
    assert votes.sums.vote_share[0] == pytest.approx(0.637, abs=0.0005)
    assert votes.sums.plurality_frequency[0] == pytest.approx(0.72, abs=0.005)
    assert votes.sums.majority_frequency[0] == pytest.approx(0.64, abs=0.005)


def test_the_likelihood_stalls_on_poor_j_where_the_posterior_goes_on(masc):
    stalled = fits(masc, AS_PUBLISHED)["poor-j"].convergence
    assert stalled.iterations == 10
    assert stalled.log_likelihood[-1] == pytest.approx(-12282.58, abs=0.005)
    on = fits(masc, POSTERIOR)["poor-j"].convergence
    assert on.log_likelihood[-1] == pytest.approx(-12110.2, abs=0.05)


def test_the_votes_start_takes_a_class_over_on_say_v(masc):
    """66% of items have sense 1 as the plurality; the votes start leaves it 17%."""
    task = words(masc)["say-v"]
    votes = count_votes(task.items, task.labels, n_items=task.n_items, n_labels=task.n_labels)
    assert votes.sums.plurality_frequency[0] == pytest.approx(0.66, abs=0.005)
    fit = dawid_skene_batch([task], params=DawidSkeneParams(start="votes"))[0]
    assert fit.prevalence[0] == pytest.approx(0.17, abs=0.005)
    identity = class_identity(fit.posterior, votes)
    assert not (identity.named & identity.names_truth)[identity.has_mass].all()


def test_defaults_never_let_the_log_posterior_fall_and_converge(masc):
    for fit in fits(masc, DawidSkeneParams()).values():
        trace = fit.convergence.log_posterior
        assert np.all(np.diff(trace) >= -1e-9 * np.abs(trace[:-1]))
        assert fit.convergence.converged
