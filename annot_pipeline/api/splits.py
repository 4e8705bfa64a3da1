"""Splits of items into parts for training and test that never change."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api import frames
from annot_pipeline.api.frames import AnyFrame, Frame, materialize
from annot_pipeline.errors import ConfigError, Problem, counted

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
COLUMN = "split"
GROUPS = ("document", "segment")
"""Roles whose rows are not independent: in several parts, training tells of the test."""


def split(
    frame: AnyFrame,
    *,
    item: str = "item",
    shares: Mapping[str, float] | None = None,
    salt: str = "",
) -> AnyFrame:
    """Return the frame with a column ``split``: the part that each row's item belongs to.

    The part follows from the SHA-256 of the item alone: an item stays in its part when others come
    or go, in every release and on every machine. Rows of one item are in one part.

    Parameters
    ----------
    frame
        Any table with a column of items: pandas, polars or Arrow.
    item
        The column that decides. Where items of a document, or outputs of a segment, must stay
        together, the column of these.
    shares
        Part by its share of items; they sum to 1. None: train .8, dev .1, test .1.
    salt
        Another text gives another split.

    Raises
    ------
    ConfigError
        Shares that are no shares, a column ``split`` that is there already, or no item column; or
        a column ``document`` or ``segment`` whose rows would fall into several parts.
    InputError
        An item is missing, or the frame is empty.
    """
    parts = _parts(SHARES if shares is None else shares)
    frame = materialize(frame)
    read = Frame.read(frame, {"item": item})
    if COLUMN in frames.column_names(frame):
        problem = Problem("frame", f'has a column "{COLUMN}"', do="rename it")
        raise ConfigError("no split can be made", [problem])
    items = read.texts()["item"].combine_chunks().dictionary_encode()
    if items.null_count:
        what = f"is missing in {items.null_count:,} rows"
        raise ConfigError("no split can be made", [Problem(item, what, do="drop these rows")])
    ends = np.cumsum(list(parts.values()))
    positions = [_position(text, salt) for text in items.dictionary.to_pylist()]
    part = np.minimum(np.searchsorted(ends, positions, side="right"), len(parts) - 1)
    names = pa.array(list(parts)).take(pa.array(part[items.indices.to_numpy()]))
    _check_groups(frame, item, names)
    return frames.with_column(frame, COLUMN, names)


def _check_groups(frame: AnyFrame, item: str, parts: pa.Array) -> None:
    """Make sure that no document and no segment has items in several parts.

    Raises
    ------
    ConfigError
        One has.
    """
    for group in GROUPS:
        if (
            group == item
            or group not in frames.column_names(frame)
            or not frames.has_values(frame, group)
        ):
            continue
        pairs = pa.table({"group": Frame.read(frame, {group: group}).texts()[group], "part": parts})
        pairs = pairs.filter(pc.is_valid(pairs["group"])).group_by(["group", "part"]).aggregate([])
        n_parts = pairs.group_by("group").aggregate([("part", "count")])["part_count"]
        torn = int(pc.sum(pc.greater(n_parts, 1).cast(pa.int64())).as_py() or 0)
        if torn:
            what = f"{counted(torn, group)} would have items in several parts"
            do = f'pass item="{group}" to keep them together, or rename the column'
            raise ConfigError("no split can be made", [Problem(f'column "{group}"', what, do=do)])


def _parts(shares: Any) -> dict[str, float]:
    """Return the share of each part.

    Raises
    ------
    ConfigError
        They are no shares that sum to 1.
    """
    is_mapping = isinstance(shares, Mapping) and all(
        isinstance(share, (int, float)) and math.isfinite(share) and share >= 0
        for share in shares.values()
    )
    if not is_mapping or abs(sum(shares.values()) - 1) > 1e-9:
        allowed = 'numbers that sum to 1, as {"train": 0.8, "test": 0.2}'
        raise ConfigError("no split can be made", [Problem("shares=", f"is {shares}", allowed)])
    return {str(part): float(share) for part, share in shares.items()}


def _position(text: str, salt: str) -> float:
    """Return where in [0, 1) an item falls."""
    return int.from_bytes(hashlib.sha256(f"{salt}\0{text}".encode()).digest()[:7], "big") / 2**56
