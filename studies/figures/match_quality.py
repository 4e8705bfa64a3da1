"""Which pairs of items are worth comparing, as rounds go on."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.report.figures.base import beyond, numbers, short
from annot_pipeline.report.figures.plot import new_plot, nothing_svg

MOST_PANELS, ACROSS = 12, 4
"""Matrices drawn, and in a row."""

MOST_PIXELS = 300
"""Of an image along a side; of more items, each pixel is the mean of a block."""


def match_quality_svg(
    panels: Sequence[tuple[object, npt.ArrayLike]], *, title: object = None
) -> str:
    """Match quality of every pair of items, a matrix an iteration, on one scale of colours.

    Sakaguchi & Van Durme 2018, Fig. 8. At first all pairs are alike; later those on the
    diagonal, of items that are near to each other, are the better matches. The matrices are
    images (PNG) within the figure: the same bytes for the same input and version of zlib.

    Parameters
    ----------
    panels
        Name, such as "iteration 3", and ``(n_items, n_items)`` match quality in [0, 1]. Rows,
        from top to bottom, and columns are items in the order of the oracle.
    title
        Of the figure.

    Raises
    ------
    ValueError
        If matrices are not square or not of one size, or hold values outside [0, 1].
    """
    matrices = [_matrix(name, values) for name, values in panels]
    if len({len(matrix) for matrix in matrices}) > 1:
        raise ValueError(f"matrices of different sizes: {[len(matrix) for matrix in matrices]}")
    images = matrices[:MOST_PANELS]
    if not any(np.isfinite(matrix).any() for matrix in images):
        return nothing_svg("match-quality", "no pair of items has a match quality")
    n = len(images[0])
    notes = ["Rows and columns: items in the order of the oracle."]
    if n > MOST_PIXELS:
        block = ceil(n / MOST_PIXELS)
        notes.append(f"Means of blocks of up to {block} × {block} pairs are drawn.")  # noqa: RUF001
    if any(np.isnan(matrix).any() for matrix in images):
        notes.append("Empty: pairs without a match quality.")
    if len(images) < len(panels):
        notes.append(f"The first {len(images)} of {len(panels)} matrices are drawn.")
    end = max(float(np.nanmax(m)) for m in images if np.isfinite(m).any()) or 1.0
    names = [short(name, 26) for name, _ in panels[: len(images)]]
    with new_plot(
        "match-quality", 200, 200, f"Match quality of the pairs of {n:,} items: {', '.join(names)}",
        margins=(56, 84, 60 if title else 36, 28), across=min(len(images), ACROSS),
        down=ceil(len(images) / ACROSS), gaps=(24, 52), notes=notes,
    ) as plot:  # fmt: skip
        if title is not None:
            plot.figure.suptitle(short(title, 60), x=0.02, ha="left", fontsize=13, gid="title")
        for ax in plot.panels.flat[len(images) :]:
            ax.set_axis_off()
        for name, matrix, ax in zip(names, images, plot.panels.flat, strict=False):
            image = ax.imshow(
                _blocks(matrix), vmin=0, vmax=end, interpolation="none",
                extent=(0.5, n + 0.5, n + 0.5, 0.5),
            )  # fmt: skip
            ax.set_title(name, gid="panel")
            ax.set(xticks=sorted({1, n}), yticks=sorted({1, n}))
            ax.spines[:].set_visible(True)
        width, height = plot.figure.get_size_inches() * 72
        box = plot.panels[0, -1].get_position()
        bar = plot.figure.add_axes((box.x1 + 16 / width, box.y0, 12 / width, 200 / height))
        plot.figure.colorbar(image, cax=bar)
        return plot.svg()


def _matrix(name: object, values: npt.ArrayLike) -> Floats:
    matrix = numbers(values)
    if matrix.size == 0:
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix {short(name)}: shape {matrix.shape} is not square")
    if wrong := beyond(values, 0, 1):
        raise ValueError(f"matrix {short(name)}: {len(wrong)} values outside [0, 1]: {wrong[:5]}")
    return matrix


def _blocks(matrix: Floats) -> Floats:
    """Reduce the matrix to the rows and columns of an image, each pixel the mean of a block."""
    n = len(matrix)
    if n <= MOST_PIXELS:
        return matrix
    starts = np.arange(MOST_PIXELS) * n // MOST_PIXELS
    is_defined = ~np.isnan(matrix)
    sums, counts = (
        np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
        for values in (np.where(is_defined, matrix, 0.0), is_defined.astype(np.float64))
    )
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
