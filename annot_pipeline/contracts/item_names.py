"""Names of items whose text changed: an earlier text is an item of its own, NAME#DIGEST."""

from __future__ import annotations


def is_earlier(item: str, version: str | None) -> bool:
    """Return whether an item, by its name and the digest of its text, is an earlier text."""
    _, separator, suffix = item.rpartition("#")
    return bool(separator and version and suffix.startswith(version))
