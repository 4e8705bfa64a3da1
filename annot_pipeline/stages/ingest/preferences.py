"""Preferences from the name of the winner, or from how strongly one side is preferred."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Source
from annot_pipeline.errors import shorten
from annot_pipeline.stages.ingest.expressions import first_reason, for_each_value
from annot_pipeline.stages.ingest.record_fields import reason_where

TIE = "tie"
SIDES = (("a", "system_a", "item_a"), ("b", "system_b", "item_b"))


def derive_preference(fields: dict[str, pa.Array], source: Source) -> list[pa.Array | None]:
    """Set ``preference`` where ``winner`` or ``strength`` is mapped; return reasons against it.

    ``strength`` becomes how strongly a is preferred, from 0 (b) to 1 (a).
    """
    if "winner" in fields:
        fields["preference"], reasons = _by_winner(fields)
        return [reasons]
    if source.strength is not None:
        fields["strength"], reasons = _in_unit_range(fields["strength"], *source.strength)
        fields["preference"] = _by_strength(fields["strength"])
        return [reasons]
    return []


def _by_winner(fields: dict[str, pa.Array]) -> tuple[pa.Array, pa.Array | None]:
    """Return the side whose system or item is the winner; a tie is called so."""
    winner = fields["winner"]
    n = len(winner)
    won = {}
    for side, *names in SIDES:
        is_winner = pa.repeat(False, n)
        for name in names:
            if name in fields:
                same = pc.fill_null(pc.equal(winner, fields[name]), False)
                is_winner = pc.or_(is_winner, same)
        won[side] = is_winner
    both = pc.and_(won["a"], won["b"])
    neither = pc.invert(pc.or_(won["a"], won["b"]))
    is_tie = pc.and_(neither, pc.fill_null(pc.equal(winner, TIE), False))
    nothing = pa.scalar(None, pa.string())
    side = pc.if_else(won["a"], pa.scalar("a"), pc.if_else(won["b"], pa.scalar("b"), nothing))
    preference = pc.if_else(both, nothing, pc.if_else(is_tie, pa.scalar(TIE), side))
    is_unknown = pc.and_(pc.and_(neither, pc.invert(is_tie)), pc.is_valid(winner))
    texts = for_each_value(winner, lambda value: f"winner is neither side: {shorten(value or '')}")
    unknown = pc.if_else(is_unknown, texts.array, nothing) if pc.any(is_unknown).as_py() else None
    return preference, first_reason(unknown, reason_where(both, "winner is the name of both sides"))


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
