"""One thread for products and inverses of matrices: with more, last digits depend on how many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread; jobs have threads of their own."""
    import numpy as np  # noqa: F401 - its library has to be there to be limited

    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> ThreadpoolController:
    """Return the libraries of this process; an import may have loaded others since."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
