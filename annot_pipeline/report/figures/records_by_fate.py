"""What became of the records of each export, as one bar an export."""

from __future__ import annotations

from collections.abc import Mapping

from annot_pipeline.report.figures.base import BLUE, GREEN, GREY, PURPLE, VERMILLION, VIOLET, short
from annot_pipeline.report.figures.plot import key_above, nothing_svg, row_plot, text_at_right
from annot_pipeline.report.figures.remembered import remembered

COLORS = {
    "used": BLUE, "control": GREEN, "adjudication": VIOLET, "judge_failed": PURPLE,
    "measured": "#0072a0", "superseded": "#b26a00", "duplicate": GREY, "rejected": VERMILLION,
    "filtered": "#8a8a8a", "not_asked": "#6f8b1f", "unscored": "#9a6a8a",
}  # fmt: skip
"""By fate."""


@remembered
def records_by_fate_svg(records: Mapping[tuple[str, str], int]) -> str:
    """Draw a bar for each export, as long as it has records, divided by their fates.

    Parameters
    ----------
    records
        Their numbers by (export, fate), in the order from the top and from the left.

    Raises
    ------
    ValueError
        If a number of records is negative.
    """
    if wrong := [key for key, n in records.items() if n < 0]:
        raise ValueError(f"numbers of records are not negative: {wrong[:5]}")
    exports, fates = ([*dict.fromkeys(key[end] for key, n in records.items() if n)]
                      for end in (0, 1))  # fmt: skip
    if not exports:
        return nothing_svg("records", "there are no records")
    totals = {fate: sum(n for (_, own), n in records.items() if own == fate) for fate in fates}
    words = [f"{short(fate.replace('_', ' '))} {n:,}" for fate, n in totals.items()]
    n_lines = -(-len(fates) // 2)
    description = f"Records by fate: {', '.join(words)}"
    names = [short(export, 36) for export in exports]
    with row_plot(
        "records", names, description, pitch=26, right=72, top=16 + 18 * n_lines,
        x_label="records", part="export",
    ) as plot:  # fmt: skip
        starts = [0] * len(exports)
        for fate, label in zip(fates, words, strict=True):
            counts = [records.get((export, fate), 0) for export in exports]
            plot.ax.barh(
                range(len(exports)), counts, 0.65, starts, color=COLORS.get(fate, GREY),
                label=label,
            )  # fmt: skip
            starts = [start + n for start, n in zip(starts, counts, strict=True)]
        for position, n in enumerate(starts):
            text_at_right(plot.ax, position, f"{n:,}", "total")
        plot.ax.set_xlim(0, max(starts))
        plot.ax.xaxis.set_major_formatter("{x:,.0f}")
        n_ticks = int(plot.ax.bbox.width / len(f"{max(starts):,} ") / 9)  # a digit has 8 px
        plot.ax.locator_params(axis="x", nbins=min(n_ticks, 4), integer=True)
        key_above(plot.ax, 2)
        return plot.svg()
