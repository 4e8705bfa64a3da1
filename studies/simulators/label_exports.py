"""Writes the exports of a simulated label campaign: csv, one night as JSON Lines, damage and all.

Bytes are the same for the same rows under one zlib. What does not belong here: what is drawn.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from studies.simulators.labels import UNKNOWN_CLASS, ExportRows, SimulatedLabels

COLUMNS = ("item", "judge", "label", "submitted_at", "seconds")
NOT_UTF8 = "\udce9"
"""One byte, E9 (Latin-1 e acute), once it is encoded with ``surrogateescape``."""


def write_label_campaign(simulated: SimulatedLabels, folder: Path | str) -> list[Path]:
    """Write the exports and the item table of a campaign.

    A file that holds the same bytes already is left alone, so that nothing takes it for new.
    Other files in the folder stay as they are.

    Returns
    -------
    list of Path
        ``exports/night-1.csv`` and so on, one of them ``.jsonl.gz``, then ``items.csv``.
    """
    folder, params = Path(folder), simulated.params
    contents: dict[Path, bytes] = {}
    for night in range(1, params.nights + 1):
        rows = simulated.rows.take(simulated.rows.night == night)
        if night == params.json_night:
            contents[folder / "exports" / f"night-{night}.jsonl.gz"] = _json_lines(simulated, rows)
        else:
            contents[folder / "exports" / f"night-{night}.csv"] = _csv(simulated, rows)
    contents[folder / "items.csv"] = _item_table(simulated)
    for path, data in contents.items():
        if not (path.is_file() and path.read_bytes() == data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return list(contents)


def _cells(simulated: SimulatedLabels, rows: ExportRows) -> Iterator[tuple[list[str], str, int]]:
    """Yield (item, judge and label as the row says them, damage, time) of each row."""
    classes = simulated.params.classes
    codes = (rows.item.tolist(), rows.judge.tolist(), rows.label.tolist())
    times, damages = rows.submitted_at.tolist(), rows.damage.tolist()
    for item, judge, label, time, damage in zip(*codes, times, damages, strict=True):
        name = "" if damage == "blank judge" else simulated.judges[judge]
        yield [simulated.items[item], name, _label(classes, label, damage)], damage, time


def _label(classes: Sequence[str], code: int, damage: str) -> str:
    """Return a label as a damaged row says it."""
    label = classes[code]
    if damage == "blank label":
        return ""
    if damage == "unknown class":
        return UNKNOWN_CLASS
    if damage == "not UTF-8":
        return label[:1] + NOT_UTF8 + label[1:]
    if damage == "other case" and label.upper() not in classes:
        return label.upper()
    if damage in ("full stop", "other case"):  # a name without case can only gain a stop
        return f"{label}."
    return label


def _csv(simulated: SimulatedLabels, rows: ExportRows) -> bytes:
    lines = [list(COLUMNS)]
    for (cells, damage, time), seconds in zip(
        _cells(simulated, rows), rows.seconds.tolist(), strict=True
    ):
        written = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = [*cells, written, str(seconds)]
        lines.append(fields[:3] if damage == "torn row" else fields)
    return _csv_bytes(lines)


def _json_lines(simulated: SimulatedLabels, rows: ExportRows) -> bytes:
    """Return JSON Lines as gzip without time and name, which would differ between runs."""
    lines = []
    for (cells, damage, time), seconds in zip(
        _cells(simulated, rows), rows.seconds.tolist(), strict=True
    ):
        item, judge, label = cells
        answer = {"label": label, "seconds": seconds}
        record = {"item": item, "judge": judge, "answer": answer, "submitted_at": time}
        line = json.dumps(record, ensure_ascii=False)
        lines.append(line[: len(line) // 2] if damage == "torn row" else line)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as unpacked:
        unpacked.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return packed.getvalue()


def _item_table(simulated: SimulatedLabels) -> bytes:
    classes = simulated.params.classes
    truth = [classes[code] for code in simulated.truth.tolist()]
    rows = zip(simulated.items, simulated.texts, truth, strict=True)
    return _csv_bytes([["item", "text", "truth"], *map(list, rows)])


def _csv_bytes(lines: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "surrogateescape")
