"""Preferences from the name of the winner, or from how strongly one side is preferred."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Source
from annot_pipeline.contracts import PREFERENCES
from annot_pipeline.errors import shorten
from annot_pipeline.stages.ingest.expressions import Values, evaluate, first_reason, for_each_value
from annot_pipeline.stages.ingest.record_cells import RecordCells, reason_where

TIE = "tie"
SIDES = (("a", "system_a", "item_a"), ("b", "system_b", "item_b"))


def derive_preference(
    fields: dict[str, pa.Array], cells: RecordCells, source: Source, path: str
) -> list[pa.Array | None]:
    """Set ``preference`` where ``winner`` or ``strength`` is mapped; return reasons against it.

    ``strength`` becomes how strongly a is preferred, from 0 (b) to 1 (a). ``winner`` is a name of
    one of both sides; any other text goes through ``match`` and ``map``, as words for ties.
    """
    if "winner" in fields:
        words = evaluate(source.fields["winner"], cells, path=path, field="winner")
        fields["preference"], reasons = _by_winner(fields, words)
        return [reasons]
    if source.strength is not None:
        fields["strength"], reasons = _in_unit_range(fields["strength"], *source.strength)
        fields["preference"] = _by_strength(fields["strength"])
        return [reasons]
    return []


def _by_winner(fields: dict[str, pa.Array], words: Values) -> tuple[pa.Array, pa.Array | None]:
    """Return the side whose system or item is the winner, or the preference that a word means."""
    winner = fields["winner"]
    won = {}
    for side, *names in SIDES:
        is_winner = pa.repeat(False, len(winner))
        for name in names:
            if name in fields:
                same = pc.fill_null(pc.equal(winner, fields[name]), False)
                is_winner = pc.or_(is_winner, same)
        won[side] = is_winner
    both = pc.and_(won["a"], won["b"])
    neither = pc.and_(pc.invert(pc.or_(won["a"], won["b"])), pc.is_valid(winner))
    nothing = pa.scalar(None, pa.string())
    side = pc.if_else(won["a"], pa.scalar("a"), pc.if_else(won["b"], pa.scalar("b"), nothing))
    by_word = pc.if_else(
        neither, pc.if_else(_is_preference(words.array), words.array, nothing), side
    )
    is_unknown = pc.and_(neither, pc.is_null(by_word))
    texts = for_each_value(winner, lambda value: f"winner is neither side: {shorten(value or '')}")
    unknown = pc.if_else(is_unknown, texts.array, nothing) if pc.any(is_unknown).as_py() else None
    reason = first_reason(reason_where(both, "winner is the name of both sides"), unknown)
    return pc.if_else(both, nothing, by_word), reason


def _is_preference(words: pa.Array) -> pa.Array:
    return pc.is_in(words, pa.array(PREFERENCES, pa.string()))


def _in_unit_range(
    strength: pa.Array, b_end: float, a_end: float
) -> tuple[pa.Array, pa.Array | None]:
    values = strength.to_numpy(zero_copy_only=False).astype(np.float64)
    share = (values - b_end) / (a_end - b_end)
    outside = ~np.isnan(values) & ((share < 0) | (share > 1))
    inside = pa.array(share, mask=np.isnan(share) | outside)
    if not outside.any():
        return inside, None
    allowed = f"{min(b_end, a_end):g} to {max(b_end, a_end):g}"
    reasons = [
        f"strength is outside {allowed}: {value:g}" if is_outside else None
        for value, is_outside in zip(values, outside, strict=True)
    ]
    return inside, pa.array(reasons, pa.string())


def _by_strength(share: pa.Array) -> pa.Array:
    side = pc.if_else(pc.greater(share, 0.5), pa.scalar("a"), pa.scalar("b"))
    return pc.if_else(pc.equal(share, 0.5), pa.scalar(TIE), side)
