"""How the release was made: stages, method, settings, packages, files; and how to cite it."""

from __future__ import annotations

import json
from typing import Any

from annot_pipeline.report.citation import bibtex, citation
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.render import in_words
from annot_pipeline.storage.manifest import files_of

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


def method(contents: Contents) -> dict[str, Any]:
    """Return what has to be told beside a number that is taken from here."""
    manifest = contents.manifest
    return {
        "manifest": manifest,
        "settings": json.dumps(contents.settings, indent=1, ensure_ascii=False, sort_keys=True),
        "files": [
            (file["file"], f"one row per {table['row']}", file["rows"], file["sha256"])
            for table in manifest["tables"]
            for file in files_of(table)
        ],
        "citation": citation(manifest), "bibtex": bibtex(manifest),
        "contact": [
            (key, contents.about[key])
            for key in ("license", "url", "contact")
            if key in contents.about
        ],
    }  # fmt: skip
