"""Rankings of systems from scores or comparisons, as releases publish them.

A name wins over a word: where a system is named ``B``, a winner ``B`` is that system in each row,
never side b.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frame_build import build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result
from annot_pipeline.api.roles import (
    PAIRS,
    SEVERAL_CRITERIA,
    check_columns,
    has_likely,
    optional_columns,
)
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of

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


COLUMNS = (
    "system rank score ci_low ci_high rank_low rank_high wins cluster component n_segments "
    "n_judgments reason"
)
COMPARISON_COLUMNS = (
    "system_a system_b difference ci_low ci_high p_value p_adjusted a_beats_b reason"
)
OF_SYSTEMS = "systems are ranked by scores or comparisons of two"
OF_PAIRS: Mapping[str, str] = {
    "item": "a pair has two items: name them item_a and item_b",
    "criterion": f"comparisons {SEVERAL_CRITERIA}",
    "system": "a pair has two systems: system_a and system_b",
}
"""Fields that rankings by comparisons do not use, with the reason."""


def rank(
    frame: AnyFrame,
    *,
    judge: str = "judge",
    segment: str = "segment",
    system: str = "system",
    score: str = "score",
    system_a: str = "system_a",
    system_b: str = "system_b",
    preference: str = "preference",
    winner: str = "winner",
    document: str | None = None,
    scale: tuple[float, float] | None = None,
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Result:
    """Rank systems by scores or by comparisons of two.

    Parameters
    ----------
    frame
        One row per score (``judge``, ``segment``, ``system``, ``score``), or per comparison
        (``judge``, ``system_a``, ``system_b``, ``preference`` or ``winner``): pandas, polars or
        Arrow. A frame with a column of preferences or winners holds comparisons; without a segment
        column each row is a segment of its own. The system of ``system_a`` was shown first: if
        the order means nothing, pass ``settings={"ranking": {"shown_order": "unknown"}}``. Columns
        named as fields of campaign.yaml count, such as task and control, or are refused.
    judge, segment, system, score, system_a, system_b, preference, winner
        Its columns. A preference or winner is ``a``, ``b`` or ``tie``; ``left`` or ``right``; the
        name of a column of systems; or the name of the system that won. Where a system is named
        ``a`` or ``b``, in any case, winners are names of systems.
    document
        Column of the document of each segment, whose segments are not independent: intervals and
        tests then count documents. None: ``document``, if the frame has it.
    scale
        Lowest and highest score; None: as the scores tell.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"ranking": {...}}``.

    Raises
    ------
    ConfigError
        A column is missing, there twice or of no use, or a setting is wrong.
    InputError
        No row can be used, with the reasons; a winner is a system of other rows; or it may be a
        side or a system.
    """
    frame = materialize(frame)
    names = column_names(frame)
    answers = [name for name in dict.fromkeys((preference, winner, score)) if name in names]
    if len(answers) > 1:
        written = " and ".join(f'"{name}"' for name in answers)
        problem = Problem("frame", f"has the columns {written}", do="select the one to rank by")
        raise ConfigError("scores or comparisons?", [problem])
    of_pairs = bool(answers) and answers[0] != score
    columns = {"judge": judge}
    unused: dict[str, str] = dict.fromkeys(("label", "rank", "ranking"), OF_SYSTEMS)
    pair = {"system_a": system_a, "system_b": system_b}
    if of_pairs or (score not in names and has_likely(frame, pair)):
        answer = winner if winner in answers else preference
        columns |= {**pair, "preference": answer}
        unused |= OF_PAIRS
    else:
        columns |= {"segment": segment, "system": system, "score": score}
        unused |= dict.fromkeys(PAIRS, OF_SYSTEMS)
    check_columns("rank", frame, columns)
    if of_pairs and segment in names:
        columns["segment"] = segment
    read = Frame.read(frame, optional_columns(frame, columns, unused, {"document": document}))
    _check_types(read)
    if of_pairs:
        values = dict(read.values) | {"preference": read_sides(read)}
        if "segment" not in columns:
            values["segment"] = pa.array([str(n) for n in range(read.n_rows)])
        read = Frame(read.kind, read.names, values)
    kind = "pairwise" if of_pairs else "scalar"
    of_scale = {"scale": list(scale)} if scale is not None and not of_pairs else {}
    gold = build_frame(
        read, ("system_rankings", "system_comparisons"), kind=kind,
        task=of_scale | dict(task or {}), settings=settings,
    )  # fmt: skip
    headline = pc.field("headline")
    rows = gold.table("system_rankings").filter(headline)
    method = rows["method"][0].as_py() if rows.num_rows else "none"
    every = gold.restore("system_rankings", f"method {COLUMNS}", order="method rank system")
    return Result(
        "ranking", f"{rows.num_rows:,} systems by {method}", method=method, all_methods=every,
        ranking=gold.restore("system_rankings", COLUMNS, headline, order="rank system"),
        comparisons=gold.restore("system_comparisons", COMPARISON_COLUMNS, headline),
        excluded=gold.excluded, columns=read.names, gold=gold,
    )  # fmt: skip


def _check_types(read: Frame) -> None:
    """Make sure that both columns of systems have one type.

    Raises
    ------
    InputError
        They have two.
    """
    types = {
        role: read.values[role].type for role in ("system_a", "system_b") if role in read.values
    }
    if len(set(types.values())) > 1:
        what = ", ".join(f"{read.names[role]}: {type_}" for role, type_ in types.items())
        do = "make them one type, as frame[...].astype(str)"
        raise InputError("systems have two types", [Problem("system_a=, system_b=", what, do=do)])
