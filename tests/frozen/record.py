"""Record, or compare with the record, what every table of some campaigns holds.

``python -m tests.frozen.record [NAME ...]`` compares, ``--write`` records. Before a change that is
to move no number, record; after each step, compare. Without names: all campaigns, for minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.storage.tables import read_table
from tests.conftest import KEY, Built, build_file
from tests.frozen.campaigns import FROZEN, FrozenCampaign

FOLDER = Path(__file__).parent
DIGITS = 9
"""Significant digits of numbers in hashes of values: machines differ in the last ones."""

NAMED_BY_CODE = ("record_files",)
"""Tables that name files by versions of code."""

Hashes = dict[str, dict[str, str]]
"""By stage and table: SHA-256 of its ``bytes``, and of its rounded ``values``."""


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
                hashes[f"{stage}/{name}"]["values"] = hash_values(read_table(table))
    for name, sha256 in built.hashes().items():
        hashes[f"gold/{name}"] = {"bytes": sha256}
    return hashes


def hash_values(table: pa.Table) -> str:
    """Return a hash of names, types and values of columns; numbers rounded to `DIGITS`."""
    digest = hashlib.sha256()
    for name in table.schema.names:
        column = table[name].combine_chunks()
        digest.update(f"{name}\x1f".encode())
        for piece in _plain(column):
            digest.update(piece)
    return digest.hexdigest()


def _plain(column: pa.Array) -> Iterator[bytes]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):
        yield repr(column.to_pylist()).encode()
        return
    yield pc.is_null(column).to_numpy(zero_copy_only=False).tobytes()
    numbers = pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)
    yield "\n".join(np.char.mod(f"%.{DIGITS}g", numbers + 0.0)).encode()


def record_file(name: str) -> Path:
    """Return where the hashes of a campaign are recorded."""
    return FOLDER / f"{name}.json"


def differences(name: str, hashes: Hashes, kind: str) -> list[str]:
    """Return the tables whose ``bytes`` or ``values`` are not as recorded, or not recorded."""
    recorded: Hashes = json.loads(record_file(name).read_text(encoding="utf-8"))
    return [
        table
        for table in sorted({*recorded, *hashes})
        if recorded.get(table, {}).get(kind) != hashes.get(table, {}).get(kind)
    ]


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
