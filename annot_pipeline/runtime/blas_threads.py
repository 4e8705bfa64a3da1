"""One thread for products and inverses of matrices: with more, last digits depend on how many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread; jobs have threads of their own."""
    import numpy as np  # noqa: F401 - its library has to be there to be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
