"""Any csv is read as Python's own reader reads it in strict mode, line by line where it is broken.

Where a line breaks the grammar, Python's reader gives up the file; here it is asked again from the
next line on, so that each line is in a row or is a row of its own that is rejected.
"""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.exports import Opening, tabular
from tests.conftest import stage_file, write_small_campaign
from tests.exports.python_rows import ReorderedError, Rows, rows_by_python

CELLS = (
    "x", '"q"', '"a,b"', '"l1\nl2"', "", '5" n', '"d""q"', '"\r\n"', "é", 'a"b"', '" "', " ",
    '"x"y', '"open', 'shut"', '""', '"""', "a", "b", "c", "#x",
)  # fmt: skip
"""Quoted well and badly, over several lines, and names of the header."""
BLOCKS = [16, 64, 1 << 22]
HEADER = ["a", "b", "c"]


def rows_by_us(path: Path, block: int) -> Rows:
    rows: Rows = {}
    export = tabular.read_csv(Opening(path, path.name, block_bytes=block))
    for chunk in export.chunks:
        cells = zip(*(column.to_pylist() for column in chunk.columns.values()), strict=True)
        for number, problem, row in zip(
            chunk.row.tolist(), chunk.problem.to_pylist(), cells, strict=True
        ):
            assert number not in rows
            rows[number] = problem.partition(":")[0] if problem else list(row)
    assert sorted(rows) == list(range(1, export.n_rows + 1))
    assert export.lines is None or export.lines.other == 0
    return rows


def check_random_files(path: Path, n_files: int, seed: int) -> tuple[int, int]:
    """Compare random files; return how many are well-formed, and how many rows are malformed."""
    chance, n_whole, n_malformed = random.Random(seed), 0, 0
    for _ in range(n_files):
        end = chance.choice(["\n", "\r\n", "\r"])
        cells = CELLS if chance.random() < 0.8 else CELLS[:12]
        lines = [
            ",".join(chance.choices(cells, k=chance.choice([3, 3, 3, 3, 3, 2, 4, 1, 0])))
            for _ in range(chance.randint(0, 12))
        ]
        body = end.join(lines) + chance.choice(["", end, end * 3])
        text = chance.choice(["", end, "# a comment" + end]) + "a,b,c" + end + body
        path.write_bytes(text.encode())
        block = chance.choice(BLOCKS)
        try:
            expected = rows_by_python(body, HEADER)
        except ReorderedError:
            with pytest.raises(InputError, match="cannot be read"):
                rows_by_us(path, block)
            continue
        rows = rows_by_us(path, block)
        assert rows == expected, text
        n_malformed += sum(row == "malformed quotes" for row in rows.values())
        try:
            whole = [row for row in csv.reader(io.StringIO(body, newline=""), strict=True) if row]
        except csv.Error:
            continue
        n_whole += 1
        if all(len(row) == len(HEADER) and row != HEADER for row in whole):
            assert [*rows.values()] == whole, text
    return n_whole, n_malformed


def test_any_csv_is_read_as_python_reads_it(tmp_path: Path) -> None:
    n_whole, n_malformed = check_random_files(tmp_path / "random.csv", 400, seed=17)
    assert n_whole > 50
    assert n_malformed > 200


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")
FIELDS = {"item": "a", "judge": "b", "label": "c"}


@pytest.mark.slow
def test_every_row_of_two_thousand_malformed_files_is_in_lineage(tmp_path: Path) -> None:
    """Quotes, line ends, headers, encodings, cut files: a fate for each row, or no such file."""
    chance = random.Random(18)
    exports: dict[str, str] = {}
    expected: dict[str, Rows] = {}
    while len(exports) < 2_000:
        end = chance.choice(["\n", "\r\n", "\r"])
        lines = [
            ",".join(chance.choices(CELLS, k=chance.choice([3, 3, 3, 3, 2, 4, 0])))
            for _ in range(chance.randint(1, 12))
        ]
        body = end.join([*lines, ""])
        body = body[: chance.choice([len(body), chance.randint(1, len(body))])]
        encoding = chance.choice(ENCODINGS)
        text = "a,b,c" + end + body
        name = f"{len(exports):04}-{encoding}.csv"
        try:
            expected[f"exports/{name}"] = rows_by_python(body, HEADER)
        except ReorderedError:
            continue
        exports[name] = text
    sources = [
        {"path": f"exports/*-{encoding}.csv", "format": "csv", "fields": FIELDS,
         "options": {"encoding": encoding}}
        for encoding in ENCODINGS
    ]  # fmt: skip

    folder = write_small_campaign(
        tmp_path / "campaign", {}, sources=sources, privacy={"pseudonymize": False}
    )
    for name, text in exports.items():
        data = text.encode(name.removesuffix(".csv").partition("-")[2])
        (folder / "exports" / name).write_bytes(data)
    built = stage_file(folder)
    rows: dict[str, dict[int, str | None]] = {name: {} for name in expected}
    for row in built.rows("lineage"):
        rows[row["source_file"]][row["source_row"]] = row["reason"]
    assert built.rows("lineage")
    for name, of_file in expected.items():
        assert rows[name].keys() == of_file.keys(), name
        for number, row in of_file.items():
            if isinstance(row, str):
                assert (rows[name][number] or "").startswith(row), (name, number)
