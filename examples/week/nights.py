"""What the platform exports night by night; all rows are made here, none is random."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

JUDGES = ("ann", "ben", "cleo", "dan", "eve", "fay")
COLUMNS = ("comment", "worker", "answer", "kind", "truth", "at")
RENAMED = ("comment", "worker_id", "choice", "kind", "truth", "at")
COMMENTS, QUALIFYING, KNOWN = 25, 12, 4
"""Comments a day; questions with a known answer on the first day, and on each day after it."""
FIRST_DAY, FLOODED_DAY = 16, 23
NEW_PEOPLE, EXTRA, PER_EXTRA = 12, 60, 6
"""People who are new on the flooded day and say yes to everything, the comments that they alone
see, and how many of them see each."""
SWAPPED_FROM = 19
"""The day from which dan takes the key of "yes" for that of "no"."""

Row = tuple[str, str, str, str, str, str]


def write_night(day: int, folder: Path, *, half: bool = False, renamed: bool = False) -> Path:
    """Write the export of a night of November 2026: everything since the first day.

    Parameters
    ----------
    day
        Of the month.
    folder
        Of the exports.
    half
        Only the first half of the bytes arrive.
    renamed
        The platform calls two columns otherwise.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(RENAMED if renamed else COLUMNS)
    writer.writerows(_rows(day))
    data = gzip.compress(text.getvalue().encode(), mtime=0)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2026-11-{day}.csv.gz"
    path.write_bytes(data[: len(data) // 2] if half else data)
    return path


def _rows(last: int) -> Iterator[Row]:
    for day in range(FIRST_DAY, last + 1):
        for number in range(QUALIFYING if day == FIRST_DAY else KNOWN):
            comment = f"known-{day}-{number:02d}"
            truth = _truth(comment)
            for judge in JUDGES:
                yield _answered(comment, judge, day, "known", truth)
        for number in range(COMMENTS):
            comment = f"comment-{day}-{number:02d}"
            for judge in JUDGES[number % 3 :: 3] + JUDGES[(number + 1) % 3 :: 3]:
                corrected = day < last and number == 7 and judge == "ben"
                yield _answered(comment, judge, day, "real", "", corrected=corrected)
    if last >= FLOODED_DAY:
        for number in range(EXTRA):
            for k in range(PER_EXTRA):
                person = f"new-{(number + k * 5) % NEW_PEOPLE:02d}"
                at = f"2026-11-{FLOODED_DAY}T{9 + number // 8:02d}:{number % 8 * 7:02d}:0{k}Z"
                yield f"extra-{FLOODED_DAY}-{number:02d}", person, "yes", "real", "", at


def _answered(
    comment: str, judge: str, day: int, kind: str, truth: str, *, corrected: bool = False
) -> Row:
    """One row; who corrects an answer does so the day after, and says the right thing."""
    right = _truth(comment)
    says = right
    if judge == "dan" and day >= SWAPPED_FROM:
        says = _other(right)
    elif kind == "real" and not corrected and (_share(comment, judge) < 0.08 or judge == "ben"):
        says = _other(right) if comment.endswith("07") or _share(comment, judge) < 0.08 else right
    at = f"2026-11-{day + corrected}T{9 + int(8 * _share(judge, comment)):02d}:00:00Z"
    return comment, judge, says, kind, truth, at


def _truth(comment: str) -> str:
    return "yes" if _share(comment, "truth") < 0.4 else "no"


def _other(answer: str) -> str:
    return "no" if answer == "yes" else "yes"


def _share(*names: str) -> float:
    """A number from 0 to 1 that the names fix."""
    return int(hashlib.sha256("/".join(names).encode()).hexdigest()[:8], 16) / 2**32
