"""A segment's graph of comparisons, its outputs in layers by their ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import BLUE, INK, SMALL, VERMILLION, px_of, short
from annot_pipeline.report.figures.plot import NARROWEST, new_plot, nothing_svg
from annot_pipeline.report.figures.remembered import remembered

MEANING = (
    "Arrows lead from the better output to the worse, dashed lines are ties. Outputs of a "
    "contradiction are red. f: outputs dominated minus outputs that dominate, all judges pooled."
)


ABREAST = 4
"""Outputs in a row: more of one rank take several rows, or a phone would not show them whole."""


@remembered
def segment_graph_svg(
    names: Sequence[object],
    edges: Sequence[tuple[int, int, int]],
    components: npt.ArrayLike,
    dominance: npt.ArrayLike,
    rank: npt.ArrayLike,
    *,
    segment: object = None,
) -> str:
    """Draw the graph of a segment: the dominant outputs above, f and the rank beside each.

    Pighin et al. 2012, Fig. 1. What lies on a cycle with a preference is a contradiction, and
    in its colour.

    Parameters
    ----------
    names
        ``(n_outputs,)``.
    edges
        Comparisons as (first, second, outcome): places in ``names``, and 1 where the first is
        better, -1 where the second is, 0 for a tie.
    components
        ``(n_outputs,)`` strongly connected component of each, any numbers.
    dominance, rank
        ``(n_outputs,)`` f, and its rank from 1, the best.
    segment
        Its name, for the title.

    Raises
    ------
    ValueError
        If lengths differ, or an edge is none.
    """
    from matplotlib.patches import FancyArrowPatch

    n = len(names)
    component, f, ranks = (np.asarray(v, np.int64) for v in (components, dominance, rank))
    if {n} != {component.size, f.size, ranks.size}:
        raise ValueError(f"{n} names, {component.size} components, {f.size} f, {ranks.size} ranks")
    if wrong := [e for e in edges if not {*e[:2]} <= {*range(n)} or abs(e[2]) > 1 or e[0] == e[1]]:
        raise ValueError(f"edges of {n} outputs with outcomes 1, 0, -1; got {wrong[:5]}")
    if not n:
        return nothing_svg("segment-graph", "the segment has no outputs")
    pairs = sorted({(a, b, o) if o > 0 or (o == 0 and a < b) else (b, a, -o) for a, b, o in edges})
    contradicts = {component[a] for a, b, o in pairs if o and component[a] == component[b]}
    by_rank = np.lexsort((component, ranks))
    ranked = np.split(by_rank, np.flatnonzero(np.diff(ranks[by_rank])) + 1)
    x, layers = np.zeros(n), np.zeros(n, np.int64)
    rows = (row for own in ranked for row in np.array_split(own, -(-own.size // ABREAST)))
    for layer, row in enumerate(rows):
        x[row] = np.arange(row.size) - (row.size - 1) / 2 + 0.17 * (layer % 2)
        layers[row] = layer
    across, minus = x.max() - x.min() + 1, str.maketrans("-", "\u2212")
    room = (NARROWEST - 32) / across - 26
    labels = [
        f"{short(name, max(7, room / px_of('x', size=SMALL)))}\n"
        f"f {str(own).translate(minus)}\nrank {own_rank}"
        for name, own, own_rank in zip(names, f.tolist(), ranks.tolist(), strict=True)
    ]
    column = 26 + px_of(*(label.split("\n")[0] for label in labels), "rank 00", size=SMALL)
    width, height = column * across, 84.0 * (layers.max() + 1)
    title = "" if segment is None else short(segment)
    order = ", ".join(label.replace("\n", " ") for label in labels)
    description = f"Comparisons of segment {title} and ranks by dominance: {order}"
    with new_plot("segment-graph", max(width, NARROWEST - 32), height, description, notes=[MEANING],
                  margins=(16, 16, 32, 16)) as plot:  # fmt: skip
        ax = plot.ax
        ax.set_axis_off()
        ax.set(xlim=(x.min() - 0.2, x.max() + 0.8), ylim=(layers.max() + 0.5, -0.5))
        ax.set_title(title, gid="title")
        for a, b, outcome in pairs:
            inside = component[a] == component[b] and component[a] in contradicts
            bend = 0.3 if layers[a] == layers[b] or inside else 0.1  # below the names
            bend = bend if x[b] > x[a] else -1.6 * bend
            ax.add_patch(FancyArrowPatch(
                (x[a], layers[a]), (x[b], layers[b]), arrowstyle="-|>" if outcome else "-",
                connectionstyle=f"arc3,rad={bend}", shrinkA=7, shrinkB=7, mutation_scale=12,
                linestyle="-" if outcome else "--", color=VERMILLION if inside else (INK, 0.7),
                gid="preference" if outcome else "tie",
            ))  # fmt: skip
        colors = [VERMILLION if own in contradicts else BLUE for own in component]
        ax.scatter(x, layers, 100, color=colors, zorder=3, linewidth=0)
        for at, layer, label in zip(x.tolist(), layers.tolist(), labels, strict=True):
            y, side = (-6, "top") if 0 < layer == layers.max() else (-3, "baseline")  # no arrows
            ax.annotate(label, (at, layer), (9, y), va=side, textcoords="offset pixels",
                        fontsize=SMALL, gid="output")  # fmt: skip
        return plot.svg()
