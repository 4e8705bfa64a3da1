"""How the release was made: stages and tables, with code and data versions."""

from __future__ import annotations

from typing import Any

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.render import in_words

RUN = 12
"""Characters of a run's name that are shown."""


def lineage(contents: Contents) -> dict[str, Any]:
    """Return the stages with what they read and make."""
    runs = contents.manifest["runs"]
    return {
        "gold": {table["name"] for table in contents.manifest["tables"]},
        "ids": [f"stage-{run['stage']}" for run in runs],
        "rows": [
            (
                in_words(run["stage"]), run["code_version"], str(run["run"])[:RUN],
                [(name, None) for name in sorted(run.get("inputs") or ())],
                [*run["outputs"].items()],
            )
            for run in runs
        ],
    }  # fmt: skip
