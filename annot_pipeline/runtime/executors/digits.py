"""Which digits this processor computes: with the same packages another can give others.

numpy, OpenBLAS and the C library choose their code by processor, and the last digit of a result may
follow. What does not belong here: versions, and who is asked (runtime.executors.traits,
spark_workers).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIZE = 24
"""Of matrices: several blocks of a kernel, too few for a second thread, which would add apart."""


@cache
def digits() -> dict[str, str]:
    """Return the SHA-256 of the results on a fixed grid of each function that methods use.

    A sum of two, a product, a quotient and a root have the same digits on any processor, and are
    left out; the order of a longer sum may be the processor's. Takes some 10 ms, once a process.
    """
    import numpy as np

    return {
        name: hashlib.sha256(np.ascontiguousarray(values, np.float64).tobytes()).hexdigest()
        for name, compute in (*_of_numpy(), *_of_scipy(), *_of_python())
        for values in [compute()]
    }


def _of_numpy() -> Iterator[tuple[str, Callable[[], Any]]]:
    import numpy as np

    whole, above, chances = _grids()
    of_whole: tuple[np.ufunc, ...] = (np.exp, np.exp2, np.expm1, np.sin, np.cos)
    of_above: tuple[np.ufunc, ...] = (np.log, np.log1p, np.log2, np.log10)
    for function in of_whole:
        yield function.__name__, partial(function, whole)
    for function in of_above:
        yield function.__name__, partial(function, above)
    yield "power", lambda: above**0.37
    yield "arctanh", lambda: np.arctanh(chances)
    yield "logaddexp", lambda: np.logaddexp(whole, whole[::-1])
    yield "hypot", lambda: np.hypot(above, above[::-1])
    yield "arctan2", lambda: np.arctan2(whole, whole[::-1])
    rows = 1 / above[: SIZE**2 * 3].reshape(3, SIZE, SIZE)
    yield "sum", lambda: np.stack([rows.sum(axis=1), rows.sum(axis=2), rows.cumsum(axis=2)[:, -1]])
    yield "einsum", lambda: np.einsum("aij,bij->ab", rows, rows * rows)
    yield "matmul", lambda: rows[0] @ rows[1]
    regular = rows + np.eye(SIZE)
    yield "inv", lambda: np.linalg.inv(regular)
    yield "eigvalsh", lambda: np.linalg.eigvalsh(regular + regular.transpose(0, 2, 1))
    yield "solve", lambda: np.linalg.solve(regular, rows)


def _of_scipy() -> Iterator[tuple[str, Callable[[], Any]]]:
    from scipy import special

    whole, above, chances = _grids()
    for function in (special.ndtr, special.log_ndtr, special.expit):
        yield function.__name__, partial(function, whole)
    yield "gammaln", lambda: special.gammaln(chances * 60)
    yield "erfcx", lambda: special.erfcx(whole / 4)
    yield "stdtr", lambda: special.stdtr(7.0, whole)
    some = chances[::8]
    yield "bdtrc", lambda: special.bdtrc((some * 19).round(), 20, some)
    yield "fdtri", lambda: special.fdtri(5.0, 35.5, some)
    yield "betaincinv", lambda: special.betaincinv(2.5, 3.5, some)
    yield "binom", lambda: special.binom(60.0, (some * 60).round())
    yield "chdtri", lambda: special.chdtri(4.0, some)
    yield "chdtrc", lambda: special.chdtrc(4.0, above)
    yield "nctdtr", lambda: special.nctdtr(9.0, 1.5, whole[::8] / 10)
    yield "ndtri", lambda: special.ndtri(chances)
    yield "owens_t", lambda: special.owens_t(whole / 10, 0.7)
    yield "stdtrit", lambda: special.stdtrit(7.0, some)
    yield "rel_entr", lambda: special.rel_entr(chances, chances[::-1])
    yield "xlogy", lambda: special.xlogy(chances, chances)


def _of_python() -> Iterator[tuple[str, Callable[[], Any]]]:
    whole, above, _ = _grids()
    yield "math.exp", lambda: [*map(math.exp, whole.tolist())]
    yield "math.log", lambda: [*map(math.log, above.tolist())]


@cache
def _grids() -> tuple[Floats, Floats, Floats]:
    """Return numbers of either sign, numbers above 0, and numbers between 0 and 1.

    Made of products and quotients alone, which are the same everywhere.
    """
    import numpy as np

    steps = np.arange(1, 4001) / 4001
    some = steps * 60
    return (steps - 0.5) * 79, np.concatenate([steps + 0.5, some * some * some * some]), steps
