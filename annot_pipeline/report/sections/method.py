"""Method signature, settings, packages, files, and how to cite the release."""

from __future__ import annotations

import json
from typing import Any

from annot_pipeline.report.citation import bibtex, citation
from annot_pipeline.report.contents import Contents
from annot_pipeline.storage.manifest import files_of


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
        "citation": citation(manifest),
        "bibtex": bibtex(manifest),
        "contact": [
            (key, contents.about[key])
            for key in ("license", "url", "contact")
            if key in contents.about
        ],
    }
