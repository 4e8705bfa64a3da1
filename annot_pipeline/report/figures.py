"""Figures as SVG text, drawn without a plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any

WIDTH, HEIGHT, MARGIN = 640, 320, 48
FLOOR = 1e-9
"""Smallest gap that is drawn, nats."""


def convergence_svg(fits: Sequence[Mapping[str, Any]]) -> str:
    """Gap of the log posterior to its final value, by iteration, a line a task.

    Parameters
    ----------
    fits
        Rows of ``label_fits``: ``task`` and ``trace`` (log posterior by iteration, nats).
    """
    curves = {
        fit["task"]: [log10(max(fit["trace"][-1] - v, FLOOR)) for v in fit["trace"][:-1]]
        for fit in fits
    }
    longest = max((len(curve) for curve in curves.values()), default=0)
    top = max((max(curve) for curve in curves.values() if curve), default=0.0)
    bottom = log10(FLOOR)

    def x(step: int) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * step / max(longest - 1, 1)

    def y(value: float) -> float:
        return MARGIN + (HEIGHT - 2 * MARGIN) * (top - value) / max(top - bottom, 1e-9)

    lines = [
        f'<polyline fill="none" stroke="hsl({360 * n // max(len(curves), 1)},60%,45%)" '
        'stroke-opacity=".7" points="'
        + " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(curve))
        + f'"><title>{escape(task)}</title></polyline>'
        for n, (task, curve) in enumerate(curves.items())
    ]
    axis = f"{MARGIN},{MARGIN} {MARGIN},{HEIGHT - MARGIN} {WIDTH - MARGIN},{HEIGHT - MARGIN}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12" fill="#777">'
        f'<polyline fill="none" stroke="#777" points="{axis}"/>{"".join(lines)}'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">iteration (to {longest})'
        f'</text><text x="{MARGIN}" y="{MARGIN - 16}">gap to the final log posterior, nats, '
        f"log scale (10^{top:.0f} to 10^{bottom:.0f})</text></svg>"
    )
