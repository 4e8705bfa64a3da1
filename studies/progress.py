"""How far a long piece of work is, told now and then, and shown as a bar on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from annot_pipeline.errors import printable

Progress = Callable[[str], None]

SECONDS = 0.5
"""Between two messages."""

WIDTH = 30
"""Of a bar, characters."""


class Steps:
    """Tells how many steps are done, at most every half second; the last one always.

    Parameters
    ----------
    tell
        Told in words, such as "lexical: 60/400".
    what
        Goes before the numbers.
    total
        Number of steps.
    """

    def __init__(self, tell: Progress, what: str, total: int) -> None:
        self._tell, self._what, self._total = tell, what, total
        self._done, self._told = 0, time.monotonic()

    def step(self) -> None:
        """Count one more step."""
        self._done += 1
        now = time.monotonic()
        if now - self._told >= SECONDS or self._done == self._total:
            self._told = now
            self._tell(f"{self._what}: {self._done:,}/{self._total:,}")


@contextlib.contextmanager
def progress_bar(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield a progress callback: on a terminal one line with a bar, overwritten each time.

    Elsewhere (a file, a pipe) every message is a line. Both can stand in one command: what has
    no numbers at its end is a line of its own on a terminal too.
    """
    to = sys.stderr if stream is None else stream
    open_line = False

    def tell(message: str) -> None:
        nonlocal open_line
        text = printable(message)
        share = _share(text) if to.isatty() else None
        if share is None:
            to.write(("\n" if open_line else "") + f"  {text}\n")
        else:
            full = round(WIDTH * share)
            to.write(f"\r\x1b[K  [{'#' * full}{'.' * (WIDTH - full)}] {text}")
        open_line = share is not None
        to.flush()

    try:
        yield tell
    finally:
        if open_line:
            to.write("\n")
            to.flush()


def _share(text: str) -> float | None:
    """Return the share that is done, where a message ends in such numbers."""
    done, slash, total = text.rpartition(" ")[2].replace(",", "").partition("/")
    if not slash or not done.isdigit() or not total.isdigit() or not int(total):
        return None
    return min(int(done) / int(total), 1.0)
