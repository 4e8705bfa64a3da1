"""The version of the code, which every manifest and signature carries, and of what it stands on."""

from functools import cache
from importlib import metadata

__version__ = "0.1.0"

NUMERIC_PACKAGES = ("numpy", "scipy", "pyarrow", "duckdb")
"""Packages whose version can change bytes."""


@cache
def numeric_packages() -> dict[str, str]:
    """Return the installed versions of those packages; to look one up takes 2 ms."""
    return {name: metadata.version(name) for name in NUMERIC_PACKAGES}
