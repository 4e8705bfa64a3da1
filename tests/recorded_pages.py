"""Pages of the documentation that are generated from the code.

``UPDATE_DOCS=1 pytest FILE`` writes the pages that the tests of a file check.
"""

from __future__ import annotations

import os
from pathlib import Path

UPDATE = os.environ.get("UPDATE_DOCS") == "1" and "CI" not in os.environ


def check_page(path: Path, text: str) -> None:
    """Assert that a page is what the code generates; write it where UPDATE_DOCS is set."""
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    assert written == text, f"{path.name} is not up to date: run this test with UPDATE_DOCS=1"
