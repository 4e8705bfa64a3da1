"""The machine and the packages that figures belong to."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "annot-pipeline", "numpy", "scipy", "pyarrow", "duckdb", "dagster", "pandas", "crowd-kit",
    "evalica", "trueskill", "krippendorff", "polars",
)  # fmt: skip


def description() -> str:
    """Processor, cores, memory, system, Python and packages, in two sentences."""
    found = [f"{name} {_version(name)}" for name in PACKAGES]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GB, {platform.system()} "
        f"{platform.machine()}. Python {platform.python_version()}, {', '.join(found)}."
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _gigabytes() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
