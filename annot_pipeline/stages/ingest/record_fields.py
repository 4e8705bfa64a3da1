"""Fields of records that several steps look at: answers, and cells that are blank."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import FieldName

ANSWERS: tuple[tuple[FieldName, ...], ...] = (
    ("label",),
    ("score",),
    ("preference",),
    ("winner",),
    ("strength",),
    ("rank",),
    ("rank_a", "rank_b"),
)
"""What can be an answer; a record needs one that is complete."""


def is_blank(array: pa.Array) -> pa.Array:
    """Return whether values are null or only blanks, ``(n,)``."""
    if not pa.types.is_string(array.type):
        return array.is_null()
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True)


def reason_where(mask: pa.Array, reason: str) -> pa.Array | None:
    """Return a reason where a mask is true, else null; None where it is nowhere."""
    if not pc.any(mask).as_py():
        return None
    return pc.if_else(mask, pa.scalar(reason), pa.scalar(None, pa.string()))
