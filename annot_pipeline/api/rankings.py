"""Rankings of systems from scores or comparisons, as releases publish them.

A name wins over a word: where a system is named ``B``, a winner ``B`` is that system in each row,
never side b.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frame_build import build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result
from annot_pipeline.api.roles import PAIRS, SEVERAL_CRITERIA, has_likely, read_roles
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem

WORDS = {
    "a": ("a", "left"), "b": ("b", "right"),
    "tie": ("tie", "tied", "draw", "equal", "tie (bothbad)"),
}  # fmt: skip
"""Words for either side, besides the frame's names of its columns, and for ties."""


def winner_expression(read: Frame) -> dict[str, Any]:
    """Return the expression of winners: names of systems, or words in any case.

    A word counts where no system has it as its name in any case.
    """
    columns = [read.values[f"system_{side}"].cast(TEXT) for side in "ab"]
    systems = {str(name).casefold() for column in columns for name in pc.unique(column).to_pylist()}
    own = {side: read.names[f"system_{side}"] for side in "ab"}
    sides = {
        word.casefold(): side
        for side, words in WORDS.items()
        for word in (*words, own.get(side, side))
    }
    patterns = {rf"~(?i)^\s*{re.escape(word)}\s*$": word for word in sides.keys() - systems}
    return {"column": "winner", "map": {p: sides[word] for p, word in patterns.items()}}


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
        No row can be used, with the reasons.
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
        columns |= {**pair, "preference": winner if winner in answers else preference}
        unused |= OF_PAIRS
    else:
        columns |= {"segment": segment, "system": system, "score": score}
        unused |= dict.fromkeys(PAIRS, OF_SYSTEMS)
    if of_pairs and segment in names:
        columns["segment"] = segment
    read = read_roles("rank", frame, columns, unused, {"document": document})
    _check_types(read)
    if of_pairs:
        values = dict(read.values)
        values["winner"] = values.pop("preference")
        if "segment" not in columns:
            values["segment"] = pa.array([str(n) for n in range(read.n_rows)])
        read = Frame(read.kind, read.names, values)
    kind = "pairwise" if of_pairs else "scalar"
    of_scale = {"scale": list(scale)} if scale is not None and not of_pairs else {}
    gold = build_frame(
        read, ("system_rankings", "system_comparisons"), kind=kind,
        task=of_scale | dict(task or {}), settings=settings,
        fields={"winner": winner_expression(read)} if of_pairs else {},
    )  # fmt: skip
    headline = pc.field("headline")
    rows = gold.table("system_rankings").filter(headline)
    method = rows["method"][0].as_py() if rows.num_rows else "none"
    every = gold.restore("system_rankings", f"method {COLUMNS}", order="method rank system")
    return gold.result(
        "ranking", f"{rows.num_rows:,} systems by {method}", method=method, all_methods=every,
        ranking=gold.restore("system_rankings", COLUMNS, headline, order="rank system"),
        comparisons=gold.restore("system_comparisons", COMPARISON_COLUMNS, headline),
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
