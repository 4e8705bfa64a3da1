"""Writes the exports of simulated preferences: a night each, one in JSON Lines, damage and all.

Bytes are the same for the same campaign. What does not belong here: what is drawn (preferences).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from studies.simulators.preferences import PreferenceRows, SimulatedPreferences

COLUMNS = ("hit", "worker", "segment", "left", "right", "outcome", "seconds", "submitted_at")
ANSWER_COLUMNS = ("worker", "segment", "system", "answer", "seconds", "submitted_at")
ITEM_COLUMNS = ("segment", "system", "source", "text")
OUTCOMES = {1: "left", -1: "right", 0: "same"}
ANSWERS = {True: "good", False: "not good"}
UNKNOWN_OUTCOME, UNKNOWN_ANSWER = "both bad", "maybe"
"""Neither is a tie, or an answer: what they mean nobody has decided."""


def write_preference_campaign(simulated: SimulatedPreferences, folder: Path | str) -> list[Path]:
    """Write the exports and the item table of a campaign.

    A file that holds the same bytes already is left alone, so that nothing takes it for new.
    Other files in the folder stay as they are.

    Returns
    -------
    list of Path
        ``exports/preferences-1.csv`` and so on, one of them ``.jsonl``; the answers of the
        night after, ``exports/answers-4.csv``; ``items.csv``.
    """
    folder, params = Path(folder), simulated.params
    contents: dict[Path, str] = {}
    for night in range(1, params.nights + 1):
        rows = simulated.rows.take(simulated.rows.night == night)
        if night == params.json_night:
            contents[folder / f"exports/preferences-{night}.jsonl"] = _json_lines(simulated, rows)
        else:
            lines = [_csv_line(row) for row in _records(simulated, rows)]
            contents[folder / f"exports/preferences-{night}.csv"] = _csv([COLUMNS, *lines])
    contents[folder / f"exports/answers-{params.nights + 1}.csv"] = _answers(simulated)
    contents[folder / "items.csv"] = _items(simulated)
    for path, text in contents.items():
        data = text.encode()
        if not (path.is_file() and path.read_bytes() == data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return list(contents)


# --- preferences ---------------------------------------------------------------------------


def _records(simulated: SimulatedPreferences, rows: PreferenceRows) -> Iterator[dict[str, Any]]:
    """Yield each row under the names of `COLUMNS`; times in seconds since 1970."""
    width = len(str(simulated.rows.hit.max(initial=0)))
    columns = (
        rows.hit, rows.judge, rows.segment, rows.first, rows.second, rows.outcome, rows.seconds,
        rows.submitted_at, rows.damage,
    )  # fmt: skip
    for hit, judge, segment, first, second, outcome, seconds, time, damage in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        shown_left, shown_right, word = (
            simulated.systems[first],
            simulated.systems[second],
            OUTCOMES[outcome],
        )
        if damage == "unknown outcome":
            word = UNKNOWN_OUTCOME
        elif damage == "system as outcome":  # nobody shown here
            word = next(
                name for name in (*simulated.systems, "?") if name not in (shown_left, shown_right)
            )
        elif damage == "blank outcome":
            word = ""
        elif damage == "against itself":
            shown_right = shown_left
        elif damage == "blank system":
            shown_right = ""
        yield {
            "hit": f"hit-{hit + 1:0{width}}",
            "worker": simulated.judges[judge],
            "segment": simulated.segments[segment],
            "left": shown_left,
            "right": shown_right,
            "outcome": word,
            "seconds": seconds,
            "submitted_at": time,
        }


def _csv_line(record: dict[str, Any]) -> list[str]:
    return [*map(str, list(record.values())[:-1]), _iso(record["submitted_at"])]


def _json_lines(simulated: SimulatedPreferences, rows: PreferenceRows) -> str:
    """Return one object a line, the outputs shown and what was said of them one level down."""
    lines = []
    for record in _records(simulated, rows):
        sides = {side: record.pop(side) for side in ("left", "right")}
        answer = {name: record.pop(name) for name in ("outcome", "seconds")}
        lines.append(json.dumps(record | {"shown": sides, "said": answer}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


# --- answers and outputs -------------------------------------------------------------------


def _answers(simulated: SimulatedPreferences) -> str:
    answers = simulated.answers
    columns = (
        answers.judge, answers.segment, answers.system, answers.adequate, answers.seconds,
        answers.submitted_at, answers.damaged,
    )  # fmt: skip
    lines: list[Sequence[str]] = [ANSWER_COLUMNS]
    for judge, segment, system, adequate, seconds, time, damaged in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        word = UNKNOWN_ANSWER if damaged else ANSWERS[adequate]
        who, where = simulated.judges[judge], simulated.segments[segment]
        lines.append([who, where, simulated.systems[system], word, str(seconds), _iso(time)])
    return _csv(lines)


def _items(simulated: SimulatedPreferences) -> str:
    sources = simulated.sources.tolist()
    lines: list[Sequence[str]] = [ITEM_COLUMNS]
    for segment, source, texts in zip(
        simulated.segments, sources, simulated.texts.tolist(), strict=True
    ):
        lines += [
            (segment, system, source, text)
            for system, text in zip(simulated.systems, texts, strict=True)
        ]
    return _csv(lines)


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
