"""How frequent the classes of a task are, by several estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import numbers, steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, GREEN, GREY, SMALL, Color

KIND = "prevalence"

MOST_LABELS = 60
"""Classes drawn; of more, those of the highest prevalence."""

WIDTH, BAR, SPACE, TOP = 440.0, 12.0, 12.0, 44.0
"""Of the plot, of a bar, between the bars of two classes, and above the first, px."""


def prevalence_svg(
    labels: Sequence[object],
    prevalence: npt.ArrayLike,
    vote_share: npt.ArrayLike,
    plurality: npt.ArrayLike | None = None,
) -> str:
    """Draw the model's prevalence of each class next to its share of the votes.

    Passonneau & Carpenter 2013, Fig. 2: where the bars of a class differ, judges are biased.

    Parameters
    ----------
    labels
        ``(n_labels,)`` in class order.
    prevalence
        ``(n_labels,)`` share of items with this class, by the model.
    vote_share
        ``(n_labels,)`` share of raw labels.
    plurality
        ``(n_labels,)`` share of items whose most frequent label it is.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    estimates: list[tuple[str, str, Color, npt.ArrayLike]] = [
        ("prevalence", "model's prevalence", BLUE, prevalence),
        ("vote_share", "share of votes", GREY, vote_share),
    ]
    if plurality is not None:
        estimates.append(("plurality", "most frequent label", GREEN, plurality))
    columns = [numbers(values) for *_, values in estimates]
    if {len(column) for column in columns} != {len(labels)}:
        raise ValueError(f"{len(labels)} labels, but {[len(c) for c in columns]} shares")
    shares = np.stack(columns)
    shares[(shares < -1e-9) | (shares > 1 + 1e-9)] = np.nan
    if not np.isfinite(shares).any():
        return nothing_svg(KIND, "no class has a prevalence")
    notes = []
    classes = np.arange(len(labels))
    if len(labels) > MOST_LABELS:
        order = np.argsort(-np.nan_to_num(shares[0], nan=-1.0), kind="stable")
        classes = np.sort(order[:MOST_LABELS])
        notes.append(f"The {MOST_LABELS} most prevalent of {len(labels):,} classes are drawn.")
    names = [short(labels[n]) for n in classes.tolist()]
    shares = np.clip(shares[:, classes], 0, 1)

    x_left = 24 + px_of(*names)
    pitch = BAR * len(estimates) + SPACE
    bottom = TOP + pitch * len(names) + 4
    end = _round_up(float(np.nanmax(shares)))
    description = "Prevalence of the classes: " + ", ".join(
        f"{name} {share:.2f}" for name, share in zip(names[:20], shares[0], strict=False)
    )
    with new_sheet(KIND, x_left + WIDTH + 56, bottom + 52 + 16 * len(notes), description) as sheet:
        axes = sheet.axes(x_left, TOP, WIDTH, bottom - TOP, x=(0, end), y=(0, 1), lines="x")
        sheet.ticks(axes, "x", *steps(0, end), grid=True)
        sheet.key(12, 22, [("■", color, words) for _, words, color, _ in estimates])
        for row, name in enumerate(names):
            top = TOP + SPACE / 2 + 2 + pitch * row
            sheet.text(
                x_left - 10, top + BAR * len(estimates) / 2 + 4, name, anchor="right", part="label"
            )
            for position, (part, _, color, _) in enumerate(estimates):
                share, y = float(shares[position, row]), top + BAR * position
                if np.isnan(share):
                    sheet.text(x_left + 5, y + 9.5, "\u2013", size=SMALL, part="value")
                    continue
                length = WIDTH * share / end
                sheet.rectangles([(x_left, y + 1, length, BAR - 2)], color, part)
                sheet.text(x_left + length + 5, y + 9.5, f"{share:.3f}", size=10, part="value")
        sheet.text(x_left + WIDTH / 2, bottom + 38, "share", anchor="center")
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _round_up(largest: float) -> float:
    """Return the least end of an axis from 0 that is on a tick, at or above the largest share."""
    values, _ = steps(0, max(1.25 * largest, 1e-6))
    return next((value for value in values if value >= largest and value > 0), 1.0)
