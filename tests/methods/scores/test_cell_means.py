import numpy as np

from annot_pipeline.methods.scores.cell_means import cell_means


def test_the_mean_of_a_cell():
    actual = cell_means(np.array([0, 0, 1, 1]), np.array([10.0, 20.0, 5.0, np.nan]), n_cells=3)
    assert actual.mean[:2].tolist() == [15, 5]
    assert np.isnan(actual.mean[2])
    assert actual.n.tolist() == [2, 1, 0]


def test_criteria_weigh_alike_whatever_the_number_of_judgments():
    """Fluency 10, 20, 30 and adequacy 80: (20 + 80) / 2, not 140 / 4."""
    cells, criteria = np.zeros(4, int), np.array([0, 0, 0, 1])
    values = np.array([10.0, 20.0, 30.0, 80.0])
    assert cell_means(cells, values, n_cells=1, criteria=criteria).mean[0] == 50
    assert cell_means(cells, values, n_cells=1).mean[0] == 35


def test_a_criterion_without_values_does_not_count():
    values = np.array([10.0, np.nan])
    actual = cell_means(np.zeros(2, int), values, n_cells=1, criteria=np.array([0, 1]))
    assert (actual.mean[0], actual.n[0]) == (10, 1)
