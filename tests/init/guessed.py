"""Guessed campaigns: what its tests share."""

from __future__ import annotations

from collections.abc import Callable


def crossed(
    *header: str, judges: int = 4, items: int = 10, label: Callable[[int, int], object]
) -> list[tuple[object, ...]]:
    """A header, and a row for every judge and item."""
    rows = [(f"j{j}", f"item{i}", label(j, i)) for i in range(items) for j in range(judges)]
    return [header, *rows]


def yes_or_no(judge: int, item: int) -> str:
    return "yes" if (judge + item) % 3 else "no"


def percent(judge: int, item: int) -> int:
    return (judge * 37 + item * 11) % 101


LABEL_STUDIO_FIELDS = {
    "task": "from_name", "judge": "completed_by", "item": "task_id", "label": "choice",
    "native_id": "annotation_id", "submitted_at": "updated_at", "seconds": "lead_time",
}  # fmt: skip
