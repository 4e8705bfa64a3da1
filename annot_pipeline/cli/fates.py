"""Records by fate, for people."""

from __future__ import annotations

from annot_pipeline.cli.common import Document
from annot_pipeline.errors import counted, printable


def fates_text(records: int, fates: Document, rejections: list[Document]) -> list[str]:
    """Return how many records had which fate, and why some were rejected."""
    from annot_pipeline.contracts import fates_text as by_fate

    lines = [f"{counted(records, 'record')}: {by_fate(fates)}"]
    for row in rejections:
        reason, example = printable(row["reason"]), printable(row["example"])
        lines.append(f"  rejected {row['records']:>9,} x {reason} (as {example})")
    return lines
