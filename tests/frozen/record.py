"""Record, or compare with the record, what every table of some campaigns holds.

``python -m tests.frozen.record [NAME ...]`` compares, ``--write`` records. Before a change that is
to move no number, record; after each step, compare. Without names: all campaigns, for minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.storage.tables import read_table
from tests.conftest import KEY, Built, build_file
from tests.frozen.campaigns import FROZEN, FrozenCampaign

FOLDER = Path(__file__).parent
TOLERANCE = 1e-6
"""Relative and, of sums below 1, absolute: processors differ in last digits, and fits add to it."""

NAMED_BY_CODE = ("record_files",)
"""Tables that name files by versions of code."""

Hashes = dict[str, dict[str, Any]]
"""By stage and table: SHA-256 of its ``bytes``, and of its ``values`` but for real ``numbers``, of
which two sums a column are held.
"""


def build_frozen(campaign: FrozenCampaign, folder: Path) -> Built:
    """Build a campaign into a folder of its own."""
    path = campaign.write(folder / "campaign")
    locations = (f"store={folder}/store", f"gold={folder}/gold")
    with mock.patch.dict(os.environ, {"ANNOT_KEY": KEY}):
        return build_file(path, *locations, *campaign.sets, sizes=campaign.sizes)


def hash_tables(built: Built, *, values: bool = True) -> Hashes:
    """Return the hashes of all tables of stages and of gold, in the order of stages."""
    hashes: Hashes = {}
    for stage, run in built.runs.items():
        for name, table in run.result.tables.items():
            if name in NAMED_BY_CODE:
                continue
            hashes[f"{stage}/{name}"] = {"bytes": table.sha256}
            if values:
                hashes[f"{stage}/{name}"] |= table_values(read_table(table))
    for name, sha256 in built.hashes().items():
        hashes[f"gold/{name}"] = {"bytes": sha256}
    return hashes


def table_values(table: pa.Table) -> dict[str, Any]:
    """Return the hash of names and values of columns, and sums of those of real numbers.

    Of a column the sum, and the sum with weights that grow by row, so that order counts.
    """
    digest = hashlib.sha256()
    numbers: dict[str, list[float]] = {}
    for name in table.schema.names:
        column = table[name].combine_chunks()
        digest.update(f"{name}\x1f".encode())
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
            digest.update(repr(pc.list_value_length(column).to_pylist()).encode())
            column = column.flatten()
        if not pa.types.is_floating(column.type):
            digest.update(repr(column.to_pylist()).encode())
            continue
        digest.update(pc.is_null(column).to_numpy(zero_copy_only=False).tobytes())
        values = pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)
        digest.update(np.isfinite(values).tobytes())
        values = np.where(np.isfinite(values), values, 0.0)
        weights = np.arange(1, values.size + 1) / max(values.size, 1)
        numbers[name] = [float(values.sum()), float((values * weights).sum())]
    return {"values": digest.hexdigest(), "numbers": numbers}


def are_equal(recorded: dict[str, Any], values: dict[str, Any]) -> bool:
    """Return whether values are as recorded, and sums of real numbers so within `TOLERANCE`."""
    if recorded.get("values") != values.get("values"):
        return False
    sums, expected = values.get("numbers", {}), recorded.get("numbers", {})
    return sums.keys() == expected.keys() and all(
        math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for name in sums
        for a, b in zip(sums[name], expected[name], strict=True)
    )


def record_file(name: str) -> Path:
    """Return where the hashes of a campaign are recorded."""
    return FOLDER / f"{name}.json"


def differences(name: str, hashes: Hashes, kind: str) -> list[str]:
    """Return the tables whose ``bytes`` or ``values`` are not as recorded, or not recorded."""
    recorded: Hashes = json.loads(record_file(name).read_text(encoding="utf-8"))
    pairs = {
        table: (recorded.get(table, {}), hashes.get(table, {}))
        for table in sorted({*recorded, *hashes})
    }
    if kind == "values":
        return [table for table, (old, new) in pairs.items() if not are_equal(old, new)]
    return [table for table, (old, new) in pairs.items() if old.get(kind) != new.get(kind)]


def main(arguments: list[str] | None = None) -> int:
    """Record or compare; the exit status is the number of campaigns that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FROZEN))
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    options = parser.parse_args(arguments)
    failed = 0
    for name in options.names or FROZEN:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            hashes = hash_tables(build_frozen(FROZEN[name], Path(folder)))
        seconds = f"{time.monotonic() - start:.1f} s"
        if options.write:
            record_file(name).write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
            print(f"{name}: {len(hashes)} tables recorded ({seconds})", flush=True)
            continue
        changed = differences(name, hashes, "bytes")
        rounded = differences(name, hashes, "values")
        failed += bool(changed)
        for table in changed:
            print(f"  {table}: {'other values' if table in rounded else 'other bytes'}")
        print(f"{name}: {len(changed)} of {len(hashes)} tables differ ({seconds})", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
