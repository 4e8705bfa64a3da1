"""Writes the exports of a simulated direct assessment: csv, one row a judgment, damage on demand.

A file holds the HITs submitted on one day, after the last rows of the day before. Names and
words are those of MTurk and WMT. Bytes are the same for the same campaign under one pyarrow.
What does not belong here: what is drawn (scores).
"""

from __future__ import annotations

import filecmp
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from annot_pipeline.arrays import Codes
from annot_pipeline.errors import ConfigError, Problem
from studies.simulators.scores import BAD_REFERENCE, ORDINARY, SLOTS, SimulatedScores, names

COLUMNS = (
    "src", "trg", "judge", "hit", "assignment", "position", "system", "segment", "kind", "score",
    "seconds", "submitted_at", "status",
)  # fmt: skip
KIND_NAMES = ("SYSTEM", "REPEAT", "BAD_REF", "REF")
"""What exports call the kinds of `scores.KINDS`."""

UNFIT_SCORES = {
    "text": "good",
    "decimal comma": "85,5",
    "per cent": "70%",
    "not a number": "NaN",
    "off the scale": "120",
}
"""Scores that are none; they stand on ordinary outputs without controls."""

UNPAIRED, DOUBLED = "control without its output", "control twice"
"""The output's row of a bad_reference is lost, or the row of a bad_reference stands twice."""

DAMAGES = (*UNFIT_SCORES, UNPAIRED, DOUBLED)
BLOCK = 200_000
"""Rows that are written at once; bounds memory."""

_TEXT_OF_SCORE = (*map(str, range(101)), *UNFIT_SCORES.values())


@dataclass(frozen=True)
class WrittenScores:
    """What the exports hold.

    Parameters
    ----------
    paths
        The exports, night by night.
    n_rows
        Rows of all of them.
    n_repeats
        Of these, rows of the night before.
    n_rejected, n_rejected_repeats
        Rows, and repeats among them, of assignments that the requester rejected.
    damage
        How often each of `DAMAGES` was done.
    """

    paths: tuple[Path, ...]
    n_rows: int
    n_repeats: int
    n_rejected: int
    n_rejected_repeats: int
    damage: dict[str, int]


def write_score_campaign(
    simulated: SimulatedScores, folder: Path | str, *, dirty: int = 0, rows_at_once: int = BLOCK
) -> WrittenScores:
    """Write ``exports/night-1.csv`` and so on.

    A file that holds the same bytes already is left alone, so that nothing takes it for new.
    Other files in the folder stay as they are.

    Parameters
    ----------
    simulated
        The campaign.
    folder
        Where ``exports`` is made.
    dirty
        How often each of `DAMAGES` is done, to rows that no other file repeats and whose
        assignments were not rejected: so each shows.
    rows_at_once
        Rows of a file that are written at once.

    Raises
    ------
    ConfigError
        ``dirty`` below 0, or fewer rows than would have to be damaged.
    """
    exports = Path(folder) / "exports"
    exports.mkdir(parents=True, exist_ok=True)
    nights = _nights(simulated)
    repeats = _repeats(simulated, nights)
    score, lost, doubled = _damaged(simulated, np.concatenate(repeats), dirty)
    columns = _Columns(simulated, score)
    rejected = simulated.hits.status == "Rejected"
    paths, n_rows, n_rejected = [], 0, 0
    for night, (before, today) in enumerate(zip(repeats, nights, strict=True), start=1):
        written = today[~np.isin(today, lost)]
        written = np.repeat(written, 1 + np.isin(written, doubled))
        rows = np.concatenate([before, written])
        path = exports / f"night-{night}.csv"
        _write(columns, rows, path, rows_at_once)
        paths.append(path)
        n_rows += rows.size
        n_rejected += int(rejected[simulated.rows.hit[rows]].sum())
    repeated = simulated.rows.hit[np.concatenate(repeats)]
    return WrittenScores(
        paths=tuple(paths),
        n_rows=n_rows,
        n_repeats=repeated.size,
        n_rejected=n_rejected,
        n_rejected_repeats=int(rejected[repeated].sum()),
        damage=dict.fromkeys(DAMAGES, dirty),
    )


# --- which rows ----------------------------------------------------------------------------


def _nights(simulated: SimulatedScores) -> list[Codes]:
    """Return rows of each night, in order."""
    night = simulated.hits.night
    ends = np.searchsorted(night, np.arange(1, simulated.params.nights + 1), side="right") * SLOTS
    starts = [0, *ends[:-1].tolist()]
    return [np.arange(start, end) for start, end in zip(starts, ends.tolist(), strict=True)]


def _repeats(simulated: SimulatedScores, nights: list[Codes]) -> list[Codes]:
    """Return rows that each night repeats: the last ones of the night before."""
    repeats = [np.arange(0)]
    for before, today in itertools.pairwise(nights):
        count = round(simulated.params.repeat_share * today.size)
        repeats.append(before[max(before.size - count, 0) :])
    return repeats


def _damaged(simulated: SimulatedScores, repeated: Codes, dirty: int) -> tuple[Codes, Codes, Codes]:
    """Return all scores as written, rows that are lost, and rows that are written twice."""
    rows = simulated.rows
    if dirty == 0:
        return rows.score, np.arange(0), np.arange(0)
    if dirty < 0:
        raise _impossible(f"is {dirty}", "0 or more")
    rng = np.random.default_rng([simulated.params.seed, 1])  # other lots than those of the rows
    free = simulated.hits.status != "Rejected"
    free[rows.hit[repeated]] = False
    enough = 40 * dirty + 400  # 40 of a HIT's 70 outputs have no control
    outputs = _random_places(rng, np.flatnonzero((rows.kind == ORDINARY) & free[rows.hit]), enough)
    outputs = outputs[_other_slots_of_output(simulated, outputs).sum(axis=1) == 0]
    outputs = outputs[: len(UNFIT_SCORES) * dirty]
    controls = np.flatnonzero((rows.kind == BAD_REFERENCE) & free[rows.hit])
    unpaired, doubled = np.array_split(_random_places(rng, controls, 2 * dirty), 2)
    if outputs.size < len(UNFIT_SCORES) * dirty or doubled.size < dirty:
        raise _impossible(f"is {dirty}, more than there are rows for", "fewer, or more HITs")
    score = rows.score.copy()
    score[outputs] = 101 + np.arange(outputs.size) % len(UNFIT_SCORES)
    _, slot = np.nonzero(_other_slots_of_output(simulated, unpaired))
    return score, rows.hit[unpaired] * SLOTS + slot, doubled


def _impossible(what: str, allowed: str) -> ConfigError:
    return ConfigError("damage that cannot be", [Problem("dirty", what, allowed)])


def _random_places(rng: np.random.Generator, places: Codes, count: int) -> Codes:
    return rng.permutation(places)[:count]


def _other_slots_of_output(simulated: SimulatedScores, places: Codes) -> npt.NDArray[np.bool_]:
    """Return which other slots of the HIT show the output of each place, ``(n_places, SLOTS)``."""
    rows = simulated.rows
    slots = rows.hit[places, None] * SLOTS + np.arange(SLOTS)
    same = (rows.system[slots] == rows.system[places, None]) & (
        rows.segment[slots] == rows.segment[places, None]
    )
    is_same: npt.NDArray[np.bool_] = same & (slots != places[:, None])
    return is_same


# --- what they say -------------------------------------------------------------------------


class _Columns:
    """Texts of the rows, taken from small tables by code."""

    def __init__(self, simulated: SimulatedScores, score: Codes) -> None:
        params = simulated.params
        self.rows, self.hits, self.score = simulated.rows, simulated.hits, score
        sides = [pair.split("-") for pair in params.language_pairs]
        self.source, self.target = (pa.array(side) for side in zip(*sides, strict=True))
        self.judges, self.systems = pa.array(simulated.judges), pa.array(simulated.systems)
        self.segments = pa.array(simulated.segments)
        self.hit_ids = pa.array(names("hit", params.n_hits))
        self.assignments = pa.array(names("assignment", params.n_hits))
        self.kinds, self.scores = pa.array(KIND_NAMES), pa.array(_TEXT_OF_SCORE)
        times = np.datetime_as_string(
            simulated.hits.submitted_at.astype("datetime64[s]"), timezone="UTC"
        )
        self.times, self.statuses = pa.array(times), pa.array(simulated.hits.status)

    def table(self, places: Codes) -> pa.Table:
        """Return some rows."""
        rows = self.rows
        hit = rows.hit[places]
        task, judge = self.hits.task[hit], rows.judge[places]
        return pa.table(
            {
                "src": self.source.take(task),
                "trg": self.target.take(task),
                "judge": self.judges.take(judge),
                "hit": self.hit_ids.take(hit),
                "assignment": self.assignments.take(hit),
                "position": rows.position[places],
                "system": self.systems.take(rows.system[places]),
                "segment": self.segments.take(rows.segment[places]),
                "kind": self.kinds.take(rows.kind[places]),
                "score": self.scores.take(self.score[places]),
                "seconds": rows.seconds[places],
                "submitted_at": self.times.take(hit),
                "status": self.statuses.take(hit),
            }
        )


def _write(columns: _Columns, rows: Codes, path: Path, rows_at_once: int) -> None:
    """Write a file block by block; put it in place only if it differs from what is there."""
    part = path.with_name(f"{path.name}.part")
    with pa_csv.CSVWriter(part, columns.table(rows[:0]).schema) as writer:
        for start in range(0, rows.size, rows_at_once):
            writer.write(columns.table(rows[start : start + rows_at_once]))
    if path.is_file() and filecmp.cmp(part, path, shallow=False):
        part.unlink()
    else:
        os.replace(part, path)
