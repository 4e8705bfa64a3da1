"""Planned HITs as scripts give them back: a line of the batch with the answers of one judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from annot_pipeline.contracts.answer_text import value_text
from annot_pipeline.exports.hit_bookkeeping import (
    NAME,
    NOT_ANSWERED,
    Answer,
    DamagedError,
    HandedIn,
    Hit,
    Results,
    filled,
    no_hits,
    other_slots,
)
from annot_pipeline.exports.json_lines import parse_json, read_jsonl
from annot_pipeline.exports.raw_rows import Export, Opening

SHARED = {
    "judge": "judge", "native_id": "assignment", "submitted_at": "submitted_at",
    "hit_seconds": "seconds",
}  # fmt: skip
GIVEN = {"score": "scores", "compare": "answers", "label": "answers"}
"""The key of what the judge said, by what the HIT asks."""

TEXTS = "texts"
"""The key of what was shown; a script may leave it out."""


def json_lines_results(opening: Opening) -> Results:
    """Open JSON Lines; that they are not of planned HITs is known once all are read."""
    used = {NAME, TEXTS, *GIVEN.values(), *SHARED.values()}
    used_columns = None if opening.used_columns is None else frozenset(used | opening.used_columns)
    inner = read_jsonl(replace(opening, used_columns=used_columns))
    return Results(_lines(opening, inner), inner.columns, inner)


def _lines(opening: Opening, inner: Export) -> Iterator[HandedIn]:
    for chunk in inner.chunks:
        values = {name: column.to_pylist() for name, column in chunk.columns.items()}
        blank: list[str | None] = [None] * len(chunk)
        for position, (row, problem) in enumerate(
            zip(chunk.row.tolist(), chunk.problem.to_pylist(), strict=True)
        ):
            own = {name: cells[position] for name, cells in values.items()}
            shared = {field: values.get(name, blank)[position] for field, name in SHARED.items()}
            answers = partial(_answers, {key: own.get(key) for key in (TEXTS, *GIVEN.values())})
            yield HandedIn(row, own.get(NAME), shared, own, answers, problem=problem)
    if inner.n_rows and NAME not in inner.columns:
        raise no_hits(opening, "jsonl", f"no line has {NAME}")


def _answers(cells: Mapping[str, str | None], hit: Hit) -> list[Answer]:
    """Return the answers: of ``scores`` a number, a list or an object per slot; of ``answers``
    a choice per slot.
    """
    texts = _list(cells[TEXTS])
    if texts is not None and len(texts) != len(hit.slots):
        raise other_slots(hit)
    key = GIVEN[hit.ask]
    text = cells[key]
    if text is None or not text.strip():
        raise DamagedError(f"{key} is blank: these HITs have no answers yet")
    values = _list(text)
    if values is None:
        raise DamagedError(f"{key} is not a list")
    if len(values) != len(hit.slots):
        raise DamagedError(f"{key} are {len(values):,} for {len(hit.slots):,} slots")
    if not hit.criteria:
        return [_answer(f"{key}[{n}]", answer) for n, answer in enumerate(values)]
    return [a for n, answer in enumerate(values) for a in _of_slot(f"{key}[{n}]", answer, hit)]


def _list(text: str | None) -> list[Any] | None:
    """Return a value that is a list; None for any other, or none."""
    try:
        value = parse_json(text or "")
    except ValueError:  # not JSON itself, so it was a string
        return None
    return value if isinstance(value, list) else None


def _of_slot(cell: str, score: Any, hit: Hit) -> list[Answer]:
    if isinstance(score, dict):
        return [_answer(f"{cell}.{name}", score.get(name)) for name in hit.criteria]
    n_criteria = len(hit.criteria)
    if score is None:
        score = [None] * n_criteria
    if isinstance(score, list) and len(score) == n_criteria:
        return [_answer(f"{cell}[{n}]", one) for n, one in enumerate(score)]
    problem = f"not {n_criteria:,} scores, one for each criterion"
    return [Answer(cell, None, problem)] * n_criteria


def _answer(cell: str, value: Any) -> Answer:
    text = value_text(value)
    return Answer(cell, text, None if filled(text) else NOT_ANSWERED)
