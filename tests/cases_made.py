"""What completes the copied folders of cases: exports that a repository should not hold."""

import csv
import gzip
import io
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.cli import main

Action = Callable[[Path], None]
PREPARE: dict[str, Action] = {}


def before(*names: str) -> Callable[[Action], Action]:
    """Registers what completes the copied folders of these cases."""

    def register(action: Action) -> Action:
        PREPARE.update(dict.fromkeys(names, action))
        return action

    return register


def good_rows() -> list[tuple[str, ...]]:
    """24 judgments of 8 items by 3 judges, as most cases have them."""
    good = {"i1", "i2", "i3", "i5", "i8"}
    rows = [(f"i{n}", judge) for judge in ("ann", "bob", "cem") for n in range(1, 9)]
    return [
        (item, judge, "good" if (item in good) != ((item, judge) == ("i3", "cem")) else "bad")
        for item, judge in rows
    ]


def as_csv(rows: list[tuple[str, ...]], header: str = "item,judge,label") -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


def as_json_lines(rows: list[tuple[str, ...]]) -> str:
    names = ("item", "judge", "label")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def write_export(folder: Path, data: bytes, name: str = "monday.csv") -> Path:
    (folder / "exports").mkdir(exist_ok=True)
    path = folder / "exports" / name
    path.write_bytes(data)
    return path


@before("latin1", "latin1_declared")
def latin1(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good"), ("i2", "zoë", "good"), ("i3", "dee", "bad")]
    write_export(folder, as_csv(rows).encode("latin-1"))


@before("latin1_header")
def latin1_header(folder: Path) -> None:
    write_export(folder, as_csv(good_rows(), "item,Prüfer,label").encode("latin-1"))


@before("utf16", "utf16_declared")
def utf16(folder: Path) -> None:
    write_export(folder, as_csv([*good_rows(), ("i1", "zoë", "good")]).encode("utf-16"))


@before("nul_bytes")
def nul_bytes(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = ("i4", "an\0n", "bad", "note")
    rows[4] = ("i5", "ann", "go\0od", "note")
    rows[5] = ("i6", "ann", "bad", "no\0te")
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


@before("ragged_rows_not_utf8")
def ragged_rows_not_utf8(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good", "sehr schön"), ("i2", "zoë", "good"), ("i3", "zo")]
    write_export(folder, as_csv(rows).encode("latin-1"))


@before("first_row_long")
def first_row_long(folder: Path) -> None:
    rows = [(*row, "x" * 200_000 if row[:2] == ("i1", "ann") else "short") for row in good_rows()]
    write_export(folder, "\n".join(map(",".join, rows)).encode())


@before("ten_megabyte_cell")
def ten_megabyte_cell(folder: Path) -> None:
    long = [("i1", "dee", "x" * 10_000_000), ("y" * 10_000_000, "dee", "good")]
    write_export(folder, as_csv([*good_rows(), *long]).encode())


@before("ten_megabyte_cell_unused")
def ten_megabyte_cell_unused(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = (*rows[3][:3], '"' + "a line\n" * 1_500_000 + '"')
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


def as_gzip(text: str) -> bytes:
    """Stored, not compressed: the same bytes whatever the library."""
    return gzip.compress(text.encode(), compresslevel=0, mtime=0)


@before("latin1_gzip")
def latin1_gzip(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good"), ("i2", "zoë", "good")]
    data = gzip.compress(as_csv(rows).encode("latin-1"), compresslevel=0, mtime=0)
    write_export(folder, data, "monday.csv.gz")


@before("truncated_gzip")
def truncated_gzip(folder: Path) -> None:
    data = as_gzip(as_csv(good_rows()))
    write_export(folder, data[: len(data) // 2], "monday.csv.gz")


@before("truncated_gzip_jsonl")
def truncated_gzip_jsonl(folder: Path) -> None:
    data = as_gzip(as_json_lines(good_rows()))
    write_export(folder, data[: len(data) // 2], "monday.jsonl.gz")


@before("damaged_gzip_jsonl")
def damaged_gzip_jsonl(folder: Path) -> None:
    data = as_gzip(as_json_lines(good_rows()))
    write_export(folder, data[:10] + b"\xff" + data[11:], "monday.jsonl.gz")


@before("damaged_gzip_label_studio")
def damaged_gzip_label_studio(folder: Path) -> None:
    data = as_gzip('[{"id": 1, "data": {}, "annotations": []}]')
    write_export(folder, data.replace(b"data", b"dada"), "monday.json.gz")


@before("gzip_without_its_name")
def gzip_without_its_name(folder: Path) -> None:
    write_export(folder, as_gzip(as_csv(good_rows())))


HOSTILE = ("<script>alert(1)</script>", "two\nlines\x1b[2J", "a\x1fb", "x" * 10_000)


@before("hostile_systems")
def hostile_systems(folder: Path) -> None:
    """Each name once as task, system, segment, criterion and judge; one judge is constant."""
    rows = [
        (
            task,
            judge,
            "h1",
            system,
            segment,
            criterion,
            "none",
            str(70 if judge == HOSTILE[0] else n),
        )
        for task, judge in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)
        for n, (system, segment, criterion) in enumerate(
            itertools.product(HOSTILE, HOSTILE[:2], HOSTILE[1:3])
        )
    ]
    rows.append((HOSTILE[1], HOSTILE[2], "h1", "none", HOSTILE[0], "", "bad_reference", "3"))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "judge", "hit", "system", "segment", "criterion", "kind", "score"])
    writer.writerows(rows)
    write_export(folder, text.getvalue().encode())


@before("control_characters_unknown_column")
def control_characters_in_names(folder: Path) -> None:
    export = as_csv(good_rows(), "item,\x1b[2Jjudge,label").encode()
    write_export(folder, export, "\x1b[31m\nannot: all is well.csv")


@before("campaign_not_utf8")
def campaign_not_utf8(folder: Path) -> None:
    text = "# Written on an old computer.\ncampaign: bad_input\nowners: [zoë]\n"
    (folder / "campaign.yaml").write_bytes(text.encode("latin-1"))


@before("glob_matches_a_broken_link")
def broken_link(folder: Path) -> None:
    (folder / "exports/tuesday.csv").symlink_to("moved/tuesday.csv")


@before("glob_matches_a_name_that_is_not_text")
def name_that_is_not_text(folder: Path) -> None:
    try:
        write_export(folder, as_csv(good_rows()).encode(), os.fsdecode(b"pr\xfcfer.csv"))
    except OSError as error:
        pytest.skip(f"this file system has such names not: {error}")


@before("export_cannot_be_read")
def export_cannot_be_read(folder: Path) -> None:
    memory = Path("/proc/self/mem")  # opens, but the first read fails, for root too
    if not memory.exists():
        pytest.skip("there is no /proc here to read a broken file from")
    (folder / "exports/tuesday.csv").symlink_to(memory)


@before("rejected_share_failed", "gold_full", "gold_read_only", "store_read_only")
def an_earlier_release(folder: Path) -> None:
    export = folder / "exports/monday.csv"
    arrived = export.read_bytes()
    export.write_text(as_csv([*good_rows(), ("i1", "dee", "good")]), encoding="utf-8")
    assert main(["build", str(folder)]) == 0
    export.write_bytes(arrived)
