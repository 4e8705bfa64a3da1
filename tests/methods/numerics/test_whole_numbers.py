import numpy as np
import pytest
from scipy.sparse import csr_array

from annot_pipeline.methods.numerics.whole_numbers import (
    WholeMatrix,
    WholeNumbers,
    narrowest,
)


@pytest.mark.parametrize(
    ("most", "kind"),
    [
        (0, np.int16),
        (2**15 - 1, np.int16),
        (2**15, np.float32),
        (2**24, np.float32),
        (2**24 + 1, np.float64),
        (2**60, np.float64),
    ],
)
def test_a_type_holds_all_numbers_up_to_the_most(most, kind):
    assert narrowest(most) is kind


@pytest.mark.parametrize("largest", [3, 400, 60_000, 10**9])
@pytest.mark.parametrize("most", [1, 9, 5_000])
def test_products_are_exact(largest, most):
    rng = np.random.default_rng(largest + most)
    dense = rng.integers(-largest, largest + 1, (40, 30)) * (rng.random((40, 30)) < 0.3)
    dense[3] = 0
    numbers = rng.integers(0, most + 1, (30, 5))
    actual = WholeMatrix.from_sparse(csr_array(dense)) @ WholeNumbers.from_array(numbers)
    np.testing.assert_array_equal(actual, dense @ numbers)


def test_sums_at_the_edge_of_16_bits_do_not_run_over():
    matrix = WholeMatrix.from_sparse(csr_array(np.array([[32_767, 0], [16_384, 16_384]])))
    numbers = np.ones((2, 3), np.int16)
    np.testing.assert_array_equal(
        matrix @ WholeNumbers.from_array(numbers), [[32_767] * 3, [32_768] * 3]
    )


def test_what_was_asked_for_in_one_type_serves_another():
    numbers = WholeNumbers.from_array(np.array([[1], [200]]))
    small, large = (WholeMatrix.from_sparse(csr_array(np.array([[1, n]]))) for n in (2, 10**6))
    for _ in range(2):
        assert (small @ numbers).tolist() == [[401]]
        assert (large @ numbers).tolist() == [[200_000_001]]


@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (3, 0)])
def test_a_matrix_of_nothing_sums_to_nothing(shape):
    actual = WholeMatrix.from_sparse(csr_array(shape)) @ WholeNumbers.from_array(
        np.ones((shape[1], 2), np.int16)
    )
    np.testing.assert_array_equal(actual, np.zeros((shape[0], 2)))
