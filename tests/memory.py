"""How much memory a function takes, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def peak_bytes(function: Callable[..., object], *arguments: object) -> int:
    """Bytes that Python holds at most while ``function(*arguments)`` runs.

    In a new process: up to Python 3.12.8, starting and stopping tracemalloc beside threads of
    libraries can crash the process (cpython issue 128679). Both must be importable or picklable.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(_traced, function, arguments).result()


def _traced(function: Callable[..., object], arguments: tuple[object, ...]) -> int:
    tracemalloc.start()
    function(*arguments)
    return tracemalloc.get_traced_memory()[1]
