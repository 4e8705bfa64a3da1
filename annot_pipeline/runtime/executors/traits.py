"""What decides on bytes, of a machine: versions of packages, and digits of its processor."""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

from annot_pipeline.runtime.executors.digits import digits
from annot_pipeline.version import __version__, numeric_packages


@cache
def traits() -> dict[str, Any]:
    """Return versions by package, and `digits`; cached for the life of the process."""
    return {
        **numeric_packages(),
        "annot-pipeline": __version__,
        "python": platform.python_version(),
        "digits": digits(),
    }
