"""Preferences of frames: sides, words for sides, and names of winners."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frames import Frame
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import InputError, Problem

SIDES = {"a": ("a", "left"), "b": ("b", "right")}
"""Words for either side, besides the frame's names of its columns."""
TIES = ("tie", "tied", "draw", "equal", "tie (bothbad)")


def read_sides(read: Frame) -> pa.Array:
    """Return ``a``, ``b`` or ``tie`` of each row; what is none of these stays as it is.

    Parameters
    ----------
    read
        With ``system_a``, ``system_b`` and ``preference``.

    Raises
    ------
    InputError
        A cell is a word for one side and the name of the other's system.
    """
    cells = read.values["preference"].cast(TEXT)
    words = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    by_word, by_name = {}, {}
    for side, own in SIDES.items():
        role = f"system_{side}"
        by_word[side] = _filled(
            pc.is_in(words, pa.array([*own, read.names[role].casefold()], TEXT))
        )
        by_name[side] = _filled(pc.equal(cells, read.values[role].cast(TEXT)))
    doubtful = pc.or_(pc.and_(by_word["a"], by_name["b"]), pc.and_(by_word["b"], by_name["a"]))
    if pc.any(doubtful).as_py():
        values = pc.unique(cells.filter(doubtful)).to_pylist()
        problem = Problem(
            read.names["preference"], "names one side, and the system of the other", "a, b, tie",
            "rename the systems, or write a, b and tie", tuple(values),
        )  # fmt: skip
        raise InputError("a winner may be a side or a system", [problem])
    sides = cells
    for side in SIDES:
        sides = pc.if_else(pc.or_(by_word[side], by_name[side]), pa.scalar(side, TEXT), sides)
    is_named = pc.or_(by_name["a"], by_name["b"])
    is_tie = pc.and_not(_filled(pc.is_in(words, pa.array(TIES, TEXT))), is_named)
    return pc.if_else(is_tie, pa.scalar("tie", TEXT), sides)


def _filled(flags: pa.Array) -> pa.Array:
    return pc.fill_null(flags, False)
