import numpy as np
import pytest

from annot_pipeline.methods.comparisons.clusters import clusters, ranks


def beats(*rows: str) -> np.ndarray:
    return np.array([[cell == "x" for cell in row] for row in rows])


def test_ranks_with_ties():
    assert ranks(np.array([3.0, 1.0, 2.0, 2.0])).tolist() == [1, 4, 2, 2]
    assert ranks(np.array([[1.0, 1.0], [0.0, 5.0]])).tolist() == [[1, 1], [2, 1]]
    assert ranks(np.array([np.nan, 1.0])).tolist() == [2, 1]
    assert ranks(np.array([5.0])).tolist() == [1]


@pytest.mark.parametrize("rule", ["wmt", "all_beat_all", "min_wins"])
def test_clear_cuts(rule):
    """One is better than all, the last is worse than all, two in the middle."""
    assert clusters(beats("-xxx", "---x", "---x", "----"), rule).tolist() == [1, 2, 2, 3]
    assert clusters(beats("---", "---", "---"), rule).tolist() == [1, 1, 1]
    assert clusters(beats("-"), rule).tolist() == [1]


def test_where_the_rules_differ():
    """The second beats all below it, the first does not beat the third.

    WMT ends a cluster after the second all the same; the textbook and the fewest wins do not.
    """
    matrix = beats("---x", "--xx", "----", "----")
    assert clusters(matrix, "wmt").tolist() == [1, 1, 2, 2]
    assert clusters(matrix, "all_beat_all").tolist() == [1, 1, 1, 1]
    assert clusters(matrix, "min_wins").tolist() == [1, 1, 1, 1]


def test_fewest_wins_count_from_the_start_of_the_cluster():
    """Fewest wins in 1 to 2 are 2, as many as below; nobody of 3 to 4 beats anybody."""
    matrix = beats("-xx-", "--xx", "----", "----")
    assert clusters(matrix, "min_wins").tolist() == [1, 1, 2, 2]
    assert clusters(matrix, "all_beat_all").tolist() == [1, 1, 1, 1]
