"""Figures that an earlier build drew from the same values: they are read, not drawn again.

Most figures of a report are those of the night before, and to draw takes half of what a report
takes. A figure is kept under the digest of its values and of the code that draws it, and held
against its own digest when it is read.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec

from annot_pipeline.storage.files import atomic_write, make_private, read_regular
from annot_pipeline.version import numeric_packages

P = ParamSpec("P")
_MEMORY: ContextVar[tuple[Path, set[str]] | None] = ContextVar("memory", default=None)


@contextmanager
def remembering(folder: Path) -> Iterator[None]:
    """Keep figures in a folder while the block runs; those that it has not asked for go."""
    used: set[str] = set()
    token = _MEMORY.set((folder, used))
    try:
        yield
    finally:
        _MEMORY.reset(token)
    for path in folder.glob("*.svg"):
        if path.name not in used:
            path.unlink(missing_ok=True)


def remembered(draw: Callable[P, str]) -> Callable[P, str]:
    """Return a function that draws, and reads what was drawn of equal values (`remembering`)."""

    @wraps(draw)
    def svg(*args: P.args, **kwargs: P.kwargs) -> str:
        memory = _MEMORY.get()
        if memory is None:
            return draw(*args, **kwargs)
        folder, used = memory
        values = pickle.dumps((draw.__module__, draw.__name__, _code(), args, kwargs), protocol=5)
        name = f"{hashlib.sha256(values).hexdigest()}.svg"
        used.add(name)
        with suppress(OSError, ValueError):
            digest, _, drawn = read_regular(folder / name).partition(b"\n")
            if digest.decode() == hashlib.sha256(drawn).hexdigest():
                return drawn.decode()
        text = draw(*args, **kwargs)
        drawn = text.encode()
        make_private(folder)
        with atomic_write(folder / name) as temporary:
            temporary.write_bytes(hashlib.sha256(drawn).hexdigest().encode() + b"\n" + drawn)
        return text

    return svg


@cache
def _code() -> str:
    """Return a digest of the code that draws figures, with the packages it draws by."""
    import matplotlib

    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    packages = repr([matplotlib.__version__, sorted(numeric_packages().items())]).encode()
    return hashlib.sha256(b"\0".join([*sources, packages])).hexdigest()
