"""A disk without room."""

from __future__ import annotations

from pathlib import Path


def fill_disk(ballast: Path) -> None:
    """Write until there is no room for another byte."""
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
