"""Results of the HITs that `annot hits` has planned, whatever platform they come back from.

MTurk batch results, Label Studio JSON and JSON Lines are told apart by what the file holds.
One record is one slot (and criterion) of what one judge handed in: a score, a preference or a
label, as its HIT asks; a file can hold all three. Records are under canonical names
(`HITS_FIELDS`), null where they do not apply, so that no mapping is needed. What one cannot rely
on (bookkeeping that is damaged, a slot without an answer, a cancelled annotation) is a record
with its reason. The file's own columns are offered beside these, for a mapping that wants
another judge or time.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.errors import shorten
from annot_pipeline.exports.hit_bookkeeping import (
    ANSWERS,
    NAME,
    Answer,
    DamagedError,
    HandedIn,
    Hit,
    Results,
    parse_hit,
    plain_number,
)
from annot_pipeline.exports.hits_from_json_lines import json_lines_results
from annot_pipeline.exports.hits_from_label_studio import label_studio_results
from annot_pipeline.exports.hits_from_mturk import mturk_results
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows

BOOKKEPT = ("ask", "scale", "criteria", "labels")
"""Columns beside the canonical ones: what the HIT asks, and its scale, criteria and labels as
JSON; null where it has none.
"""

COLUMNS = (*HITS_FIELDS, *BOOKKEPT)

RECORDS_A_CHUNK = 50_000
HEAD = 1 << 20
NAMED = 10
"""Choices that a reason names."""
HITS_KEPT = 1024
"""Bookkeeping that is not parsed again: workers of one HIT often follow each other."""


def read_hits(opening: Opening) -> Export:
    """Open results of planned HITs; see `raw_rows.Export`.

    Raises
    ------
    InputError
        The file holds no planned HIT at all (of JSON Lines: once all are read).
    """
    results = _open(opening)
    inner = results.inner
    export = Export(iter(()), _columns(results), inner.ignored, has_header=inner.has_header)
    export.chunks = _chunks(opening, results, export)
    return export


def _open(opening: Opening) -> Results:
    """Return the results, opened as what their first characters say they are."""
    return OPENERS[results_format(opening)](opening)


OPENERS: dict[str, Callable[[Opening], Results]] = {
    "label_studio": label_studio_results,
    "jsonl": json_lines_results,
    "mturk": mturk_results,
}


def results_format(opening: Opening) -> str:
    """Return the format of results by their first characters: a key of `OPENERS`."""
    head = _head(opening)
    formats = {"[": "label_studio", "{": "jsonl"}
    start = head[:1]
    if start not in formats and NAME not in head.partition("\n")[0]:
        start = (
            "{" if re.search(r"^[^\S\n]*+\{", head, re.MULTILINE) else start
        )  # the first is broken
    return formats.get(start, "mturk")


def _head(opening: Opening) -> str:
    """Return the beginning of the text, from the first character that is not blank."""
    with (
        opening.open_bytes() as raw,
        io.TextIOWrapper(raw, opening.encoding, errors="replace") as text,
    ):
        return text.read(HEAD).lstrip("\ufeff\r\n\t ")


def _chunks(opening: Opening, results: Results, export: Export) -> Iterator[RawRows]:
    parse = lru_cache(maxsize=HITS_KEPT)(_parsed)
    used_columns, n_chunk = opening.used_columns, opening.chunk_records or RECORDS_A_CHUNK
    records = _Records(used_columns)
    for handed_in in results.rows:
        records.add(handed_in, parse(handed_in.bookkeeping))
        if len(records.row) >= n_chunk:
            yield records.chunk(_columns(results))
            records = _Records(used_columns)
    export.n_rows, export.lines = results.inner.n_rows, results.inner.lines
    export.columns[:] = _columns(results)  # of JSON Lines not known before
    if records.row:
        yield records.chunk(export.columns)


def _columns(results: Results) -> list[str]:
    return [*COLUMNS, *(name for name in results.columns if name not in COLUMNS)]


def _parsed(bookkeeping: str | None) -> _Planned | DamagedError:
    try:
        return _Planned(parse_hit(bookkeeping))
    except DamagedError as error:
        return error


class _Planned:
    """A HIT with the columns that its bookkeeping gives to the records of a row."""

    def __init__(self, hit: Hit) -> None:
        self.hit = hit
        slots = [hit.slots[slot - 1] for slot, _ in hit.answers]
        self.of_row: dict[str, str | None] = {"task": hit.task, "hit": hit.hit, "ask": hit.ask}
        if hit.scale is not None:
            self.of_row["scale"] = json.dumps([*map(plain_number, hit.scale)])
            self.of_row["criteria"] = json.dumps(hit.criteria, ensure_ascii=False)
        if hit.labels:
            self.of_row["labels"] = json.dumps(hit.labels, ensure_ascii=False)
        first = ("item_a", "system_a") if hit.ask == "compare" else ("item", "system")
        self.of_answers: dict[str, Sequence[str | None]] = {
            "position": [str(slot) for slot, _ in hit.answers],
            first[0]: [slot.item for slot in slots],
            "segment": [slot.segment for slot in slots],
            first[1]: [slot.system for slot in slots],
            "control": [slot.control for slot in slots],
            "control_of": [slot.control_of for slot in slots],
            "selection_probability": [
                None if slot.selection_probability is None else repr(slot.selection_probability)
                for slot in slots
            ],
        }
        if hit.ask == "compare":
            self.of_answers["item_b"] = [slot.item_b for slot in slots]
            self.of_answers["system_b"] = [slot.system_b for slot in slots]
        if hit.criteria:
            self.of_answers["criterion"] = [hit.criteria[(k or 1) - 1] for _, k in hit.answers]


class _Records:
    """Records of some rows, column by column.

    Parameters
    ----------
    used_columns
        The columns that are; None for all.
    """

    def __init__(self, used_columns: frozenset[str] | None) -> None:
        self.used_columns = used_columns
        self.row: list[int] = []
        self.cell: list[str | None] = []
        self.problem: list[str | None] = []
        self.columns: dict[str, list[str | None]] = {}

    def add(self, handed_in: HandedIn, planned: _Planned | DamagedError) -> None:
        """Add the records of a row: one per answer, or one that says why there are none."""
        row_values: Mapping[str, str | None] = {}
        reason = handed_in.problem
        answers: Sequence[Answer] = ()
        if isinstance(planned, DamagedError):
            reason = reason or str(planned)
        else:
            row_values = planned.of_row
            if reason is None:
                try:
                    answers = handed_in.answers(planned.hit)
                except DamagedError as error:
                    reason = str(error)
        start, n = len(self.row), len(answers) or 1
        self.row += [handed_in.row] * n
        own = {name: value for name, value in handed_in.own.items() if name not in COLUMNS}
        for name, value in {**own, **handed_in.shared, **row_values}.items():
            self._extend(name, [value] * n, start)
        if isinstance(planned, DamagedError) or reason is not None:
            self.cell.append(handed_in.cell)
            self.problem.append(reason)
            return
        self.cell += [answer.cell for answer in answers]
        self.problem += [
            answer.problem or _invalid_reason(answer, planned.hit) for answer in answers
        ]
        for name, values in planned.of_answers.items():
            self._extend(name, values, start)
        self._extend(ANSWERS[planned.hit.ask], [answer.value for answer in answers], start)

    def _extend(self, name: str, values: Sequence[str | None], start: int) -> None:
        """Put values into a column, at the place where their rows start."""
        if self.used_columns is None or name in self.used_columns:
            column = self.columns.setdefault(name, [])
            column.extend([None] * (start - len(column)))
            column.extend(values)

    def chunk(self, names: Sequence[str]) -> RawRows:
        """Return the records as readers give them."""
        for name in names:
            self._extend(name, (), len(self.row))
        return RawRows(
            {
                name: pa.array(self.columns[name], pa.string())
                for name in names
                if name in self.columns
            },
            np.array(self.row, np.int64),
            pa.array(self.problem, pa.string()),
            pa.array(self.cell, pa.string()),
        )


def _invalid_reason(answer: Answer, hit: Hit) -> str | None:
    """Return why an answer is impossible for its question, whatever the campaign says."""
    if hit.scale is None:
        if answer.value is None or answer.value in hit.choices:
            return None
        choices = hit.choices if hit.ask == "compare" else [*map(shorten, hit.choices[:NAMED])]
        offered = ", ".join(choices) + ", ..." * (len(hit.choices) > NAMED)
        return f"{ANSWERS[hit.ask]} is not one of {offered}: {shorten(answer.value)}"
    try:
        score = float(answer.value or "")
    except ValueError:
        return None  # the reason is that of any score that is no number
    low, high = hit.scale
    if low <= score <= high or not math.isfinite(score):
        return None
    return f"score is outside the scale: {score}"
