"""Preferences of frames: sides, words for sides, and names of winners.

A name wins over a word: where a system is named ``B``, a winner ``B`` is that system in each row,
never side b.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frames import Frame
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import InputError, Problem, first_of

SIDES = {"a": ("a", "left"), "b": ("b", "right")}
"""Words for either side, besides the frame's names of its columns."""
TIES = ("tie", "tied", "draw", "equal", "tie (bothbad)")


def read_sides(read: Frame) -> pa.Array:
    """Return ``a``, ``b`` or ``tie`` of each row; what is none of these stays as it is.

    A cell that equals the name of a system is that system; other cells are words in any case.
    A word counts where no system has it as its name in any case, or where both mean one side.

    Parameters
    ----------
    read
        With ``system_a``, ``system_b`` and ``preference``.

    Raises
    ------
    InputError
        A cell names a system that is not of its row; or is a word for a side and, in another
        case, the name of another system.
    """
    cells = read.values["preference"].cast(TEXT)
    words = _words(cells)
    names = {side: read.values[f"system_{side}"].cast(TEXT) for side in SIDES}
    systems = pa.concat_arrays([*names.values()])
    is_system = _filled(pc.is_in(cells, systems))
    is_like_system = _filled(pc.is_in(words, _words(systems)))
    by_name = {side: _filled(pc.equal(cells, names[side])) for side in SIDES}
    _refuse(
        read, cells, pc.and_not(is_system, pc.or_(by_name["a"], by_name["b"])),
        "a winner is not one of the two systems of its row",
        "names a system of other rows", "the system of either side, or tie",
    )  # fmt: skip
    is_word, by_word = {}, {}
    for side, own in SIDES.items():
        of_side = pa.array([*own, read.names[f"system_{side}"].casefold()], TEXT)
        is_like_name = _filled(pc.equal(words, _words(names[side])))
        is_word[side] = pc.and_not(_filled(pc.is_in(words, of_side)), is_system)
        by_word[side] = pc.and_(is_word[side], pc.or_(pc.invert(is_like_system), is_like_name))
    is_any_word = pc.or_(is_word["a"], is_word["b"])
    _refuse(
        read, cells, pc.and_not(is_any_word, pc.or_(by_word["a"], by_word["b"])),
        "a winner may be a side or a system",
        "is a word for a side and, in another case, the name of another system",
        "names as in the columns of systems, or tie",
    )  # fmt: skip
    is_tie = pc.and_not(_filled(pc.is_in(words, pa.array(TIES, TEXT))), is_like_system)
    sides = pc.if_else(is_tie, pa.scalar("tie", TEXT), cells)
    for side in SIDES:
        sides = pc.if_else(pc.or_(by_word[side], by_name[side]), pa.scalar(side, TEXT), sides)
    return sides


def _refuse(
    read: Frame, cells: pa.Array, flags: pa.Array, title: str, what: str, allowed: str
) -> None:
    """Raise InputError with the rows of flagged cells, if there are any."""
    rows = np.flatnonzero(flags.to_numpy(zero_copy_only=False))
    if not rows.size:
        return
    verb = f"{rows.size:,} of {len(cells):,} rows: {what}"
    numbers = first_of([str(row) for row in rows.tolist()])
    problem = Problem(
        f'column "{read.names["preference"]}"', f"{verb} (rows from 0: {numbers})", allowed,
        "correct these rows, or drop them",
        tuple(pc.unique(cells.filter(flags)).to_pylist()),
    )  # fmt: skip
    raise InputError(title, [problem])


def _words(texts: pa.Array) -> pa.Array:
    return pc.utf8_lower(pc.utf8_trim_whitespace(texts))


def _filled(flags: pa.Array) -> pa.Array:
    return pc.fill_null(flags, False)
