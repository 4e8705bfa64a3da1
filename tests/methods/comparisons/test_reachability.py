import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_graphs import Reachability


def as_sets(words: np.ndarray) -> list[set[int]]:
    return [{bit for bit in range(64) if int(row[0]) >> bit & 1} for row in words]


def of(edges, n_vertices):
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    return Reachability.from_edges(source, target, n_vertices=n_vertices)


def test_a_diamond_with_a_short_cut_and_a_vertex_alone():
    """4 is alone; the edge 0 > 3 skips a level, and is given twice."""
    reach = of([(2, 3), (0, 1), (0, 3), (1, 3), (0, 2), (0, 3)], 5)
    own = np.uint64(1) << np.arange(5, dtype=np.uint64)[:, None]
    assert as_sets(reach.reached(own)) == [{1, 2, 3}, {3}, {3}, set(), set()]
    assert as_sets(reach.reached(own, against=True)) == [set(), {0}, {0}, {0, 1, 2}, set()]
    assert own[0, 0] == 1  # sets passed in stay as they are


def test_no_edges():
    reach = of([], 2)
    assert reach.widest == 0
    assert not reach.reached(np.ones((2, 1), np.uint64)).any()
    assert of([], 0).reached(np.ones((0, 1), np.uint64)).shape == (0, 1)


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 1)], [(1, 1)]])
def test_cycles_are_refused(edges):
    with pytest.raises(ValueError, match="cycle"):
        of(edges, 3)
