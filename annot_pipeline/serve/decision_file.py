"""decisions.csv: what experts decide on the page, as the next build reads it."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

COLUMNS = ("task", "item", "expert", "decision", "decided_at", "comment")
SOURCE = """  - path: {path}
    format: csv
    fields:
      task: task
      item: item
      judge: expert
      label: decision
      submitted_at: decided_at
      why: comment
      control: {{value: adjudication}}
"""
"""The element of the list sources that reads it, as `annot init` indents elements."""


class DecisionFile:
    """Appends decisions; those of before stay, and the newest of an expert counts.

    Parameters
    ----------
    path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()

    def add(self, task: str, item: str, expert: str, decision: str, comment: str) -> None:
        """Append a decision; it is on the disk when this returns.

        Raises
        ------
        OSError
            The file cannot be written; nothing of the decision is in it then.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self.lock, self.path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            row = [task, item, expert, decision, now, comment]
            try:
                file.write(_lines([*([] if end else [COLUMNS]), row]))
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise

    def read(self) -> dict[tuple[str, str], list[dict[str, str]]]:
        """Return the decisions by task and item, in the order in which they were made."""
        by_item: dict[tuple[str, str], list[dict[str, str]]] = {}
        if self.path.exists():
            with self.path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    by_item.setdefault((row.get("task", ""), row.get("item", "")), []).append(row)
        return by_item


def _lines(rows: list[tuple[str, ...] | list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")
