"""Any csv is read as Python's own reader reads it, or refused."""

import csv
import io
import random
from pathlib import Path

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.exports import Opening, tabular

CELLS = ("x", '"q"', '"a,b"', '"l1\nl2"', "", '5" n', '"d""q"', '"\r\n"', "é", 'a"b"', '" "', " ")


@pytest.mark.parametrize("block", [64, tabular.FIRST_BLOCK])
def test_any_csv_is_read_as_python_reads_it(block: int, tmp_path: Path) -> None:
    """Ragged rows, quotes, blank lines and line ends at random, over block boundaries too."""
    chance, path, n_unclosed = random.Random(17), tmp_path / "random.csv", 0
    for _ in range(500):
        end = chance.choice(["\n", "\r\n"])
        rows = [
            ",".join(chance.choices(CELLS, k=chance.choice([3, 3, 3, 3, 3, 2, 4, 1, 0])))
            for _ in range(chance.randint(0, 12))
        ]
        rows += ['x,"open,z'] * (chance.random() < 0.1)
        text = end.join(["a,b,c", *rows]) + chance.choice(["", end, end * 3])
        path.write_bytes((chance.choice(["", end]) + text).encode())
        try:
            list(csv.reader(io.StringIO(text, newline=""), strict=True))
            is_unclosed = False
        except csv.Error as error:
            is_unclosed = "end of data" in str(error)
        n_unclosed += is_unclosed
        if is_unclosed:
            with pytest.raises(InputError, match="never closed"):
                read_rows(path, block)
        else:
            written = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
            assert read_rows(path, block) == {
                number: row if len(row) == 3 else None
                for number, row in enumerate(written, start=1)
            }, text
    assert n_unclosed > 20


def read_rows(path: Path, block: int) -> dict[int, list[str] | None]:
    """Row number to cells, or to None if the row is rejected."""
    rows: dict[int, list[str] | None] = {}
    for chunk in tabular.read_csv(Opening(path, path.name, block_bytes=block)).chunks:
        cells = zip(*(column.to_pylist() for column in chunk.columns.values()), strict=True)
        for number, problem, row in zip(chunk.row, chunk.problem.to_pylist(), cells, strict=True):
            assert int(number) not in rows
            rows[int(number)] = None if problem else list(row)
    return rows
