"""What changed since the release before, in words."""

from __future__ import annotations

from annot_pipeline.cli.common import Document

FLAGS = {"settings_changed": "other settings", "judges_have_other_names": "judges have other names"}


def changes_text(changes: Document) -> str:
    """Return counts and flags of a manifest's ``changes`` that are not nought; empty if none is."""
    counts = [
        f"{n:,} {(what if n > 1 else what.removesuffix('s')).replace('_', ' ')}"
        for what, n in changes.items()
        if n and what not in FLAGS
    ]
    return ", ".join([*counts, *(words for flag, words in FLAGS.items() if changes.get(flag))])
