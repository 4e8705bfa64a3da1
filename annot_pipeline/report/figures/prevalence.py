"""How frequent the classes of a task are, by several estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import BLUE, GREEN, GREY, numbers, short
from annot_pipeline.report.figures.plot import key_above, nothing_svg, row_plot
from annot_pipeline.report.figures.remembered import remembered

MOST_LABELS = 60
"""Classes drawn; of more, those of the highest prevalence."""


@remembered
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
    estimates = [("model's prevalence", BLUE, prevalence), ("share of votes", GREY, vote_share)]
    if plurality is not None:
        estimates.append(("most frequent label", GREEN, plurality))
    columns = [numbers(values) for *_, values in estimates]
    if {len(column) for column in columns} != {len(labels)}:
        raise ValueError(f"{len(labels)} labels, but {[len(c) for c in columns]} shares")
    shares = np.stack(columns)
    shares[(shares < -1e-9) | (shares > 1 + 1e-9)] = np.nan
    if not np.isfinite(shares).any():
        return nothing_svg("prevalence", "no class has a prevalence")
    order = np.argsort(-np.nan_to_num(shares[0], nan=-1.0), kind="stable")
    classes = np.sort(order[:MOST_LABELS])
    names = [short(labels[n]) for n in classes.tolist()]
    shares = np.clip(shares[:, classes], 0, 1)
    notes = []
    if len(names) < len(labels):
        notes.append(f"The {MOST_LABELS} most prevalent of {len(labels):,} classes are drawn.")
    description = "Prevalence of the classes: " + ", ".join(
        f"{name} {share:.2f}" for name, share in zip(names[:20], shares[0], strict=False)
    )
    bar = 0.75 / len(estimates)
    with row_plot(
        "prevalence", names, description, pitch=16 * len(estimates), right=60, top=52,
        x_label="share", notes=notes, part="label",
    ) as plot:  # fmt: skip
        for n, (name, color, _) in enumerate(estimates):
            rows = np.arange(len(names)) + bar * (n - (len(estimates) - 1) / 2)
            plot.ax.barh(rows, shares[n], bar * 0.9, color=color, label=name, gid="bar")
            for y, share in zip(rows.tolist(), shares[n].tolist(), strict=True):
                words = "\u2013" if np.isnan(share) else f"{share:.3f}"
                plot.ax.annotate(
                    words, (np.nan_to_num(share), y), (5, 0), textcoords="offset pixels",
                    va="center", fontsize=10, gid="value",
                )  # fmt: skip
        plot.ax.set_xlim(0, max(1.1 * float(np.nanmax(shares)), 1e-6))
        key_above(plot.ax, 2)
        return plot.svg()
