"""Which pairs of items are worth comparing, as rounds go on."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import bold_columns_in, short
from annot_pipeline.report.figures.scales import Numbers, beyond, numbers, round_up, steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import SMALL, SOFT

KIND = "match-quality"

MOST_PANELS, ACROSS = 12, 4
"""Matrices drawn, and in a row."""

PAGE = 960
"""Width that a row may take, px."""

MOST_PIXELS = 300
"""Of an image along a side; of more items, each pixel is the mean of a block."""

SHADES = 255
"""Colours from 0 to the end of the scale; one more stands for what is missing."""

LEFT, GAP, HEAD, FOOT = 44, 20, 28, 24
"""Left of a row, between two matrices, above and below each, px."""

SCALE = 260
"""Length of the colour bar, px."""


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
    if not any(np.isfinite(matrix).any() for matrix in matrices):
        return nothing_svg(KIND, "no pair of items has a match quality")
    n = len(matrices[0])
    images = matrices[:MOST_PANELS]
    notes = []
    if n > MOST_PIXELS:
        block = ceil(n / MOST_PIXELS)
        notes.append(f"Means of blocks of up to {block} × {block} pairs are drawn.")  # noqa: RUF001
    if any(np.isnan(matrix).any() for matrix in images):
        notes.append("Empty: pairs without a match quality.")
    if len(images) < len(panels):
        notes.append(f"The first {len(images)} of {len(panels)} matrices are drawn.")

    heading = "" if title is None else short(title, 60)
    top = 58 + (24 if heading else 0)
    across = min(len(images), ACROSS)
    side = _side(n, (PAGE - LEFT) // max(across, 3) - GAP)
    end = round_up(max(float(np.nanmax(m)) for m in images if np.isfinite(m).any()), 10)
    width = max(LEFT + across * (side + GAP), 480)
    bottom = top + ceil(len(images) / across) * (HEAD + side + FOOT)
    description = f"Match quality of the pairs of {n:,} items: " + ", ".join(
        short(name) for name, _ in panels[: len(images)]
    )
    with new_sheet(KIND, width, bottom + 36 + 16 * len(notes), description) as sheet:
        sheet.text(12, 20, heading, size=13, weight=700, part="title")
        palette = _palette()
        _scale(sheet, top - 48, end, palette)
        for position, ((name, _), matrix) in enumerate(zip(panels, images, strict=False)):
            x = LEFT + position % across * (side + GAP)
            y = top + HEAD + position // across * (HEAD + side + FOOT)
            heads = short(name, bold_columns_in(side))
            sheet.text(x, y - 8, heads, weight=700, part="panel")
            codes = _codes(_blocks(matrix), end)
            sheet.image(
                (x, y, side, side), _png(codes, palette), "matrix", sharp=side >= 2 * n,
                tip=_tip(heads, matrix),
            )  # fmt: skip
            sheet.rectangles([(x, y, side, side)], "none", "frame", edge=SOFT)
            _item_ticks(sheet, x, y, side, n, first=position % across == 0)
        middle = LEFT + (across * (side + GAP) - GAP) / 2
        sheet.text(
            middle, bottom + 14, "items in the order of the oracle", anchor="center", part="axis"
        )
        sheet.note(bottom + 36, notes)
        return sheet.svg()


def _matrix(name: object, values: npt.ArrayLike) -> Numbers:
    matrix = numbers(values)
    if matrix.size == 0:
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix {short(name)}: shape {matrix.shape} is not square")
    if wrong := beyond(values, 0, 1):
        raise ValueError(f"matrix {short(name)}: {len(wrong)} values outside [0, 1]: {wrong[:5]}")
    return matrix


def _side(n: int, most: int) -> int:
    """Return the side of a matrix, px: whole pixels for each item where two or more fit."""
    return n * (most // n) if most >= 2 * n else most


def _blocks(matrix: Numbers) -> Numbers:
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


def _codes(matrix: Numbers, end: float) -> npt.NDArray[np.uint8]:
    """Return the place of each value in the palette; 0 is missing."""
    shades = 1 + np.round((SHADES - 1) * np.minimum(matrix / end, 1))
    return np.where(np.isnan(matrix), 0, shades).astype(np.uint8)


def _palette() -> npt.NDArray[np.uint8]:
    """Return ``(SHADES + 1, 4)``: nothing, then from dark to bright.

    Viridis, for all kinds of eyes.
    """
    from matplotlib import colormaps

    colors = colormaps["viridis"](np.linspace(0, 1, SHADES), bytes=True)
    return np.concatenate([np.zeros((1, 4), dtype=np.uint8), colors])


def _png(codes: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8]) -> bytes:
    """Return an image of a byte a pixel and its palette, without date, name or anything else."""
    height, width = codes.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with 0: no filter
    rows[:, 1:] = codes
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette[:, :3].tobytes()),
        (b"tRNS", palette[:1, 3].tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _scale(sheet: Sheet, top: float, end: float, palette: npt.NDArray[np.uint8]) -> None:
    """Draw the colours from 0 to the end of the scale."""
    sheet.text(12, top + 10, "match quality", part="axis")
    x_left = 112
    shades = np.arange(1, SHADES + 1, dtype=np.uint8)[None]
    sheet.image((x_left, top, SCALE, 12), _png(shades, palette), "scale", sharp=False)
    sheet.rectangles([(x_left, top, SCALE, 12)], "none", "frame", edge=SOFT)
    for value, text in zip(*steps(0, end, 8), strict=True):
        x = x_left + SCALE * value / end
        sheet.line([x, x], [top + 12, top + 16], SOFT, "scale-tick")
        sheet.text(x, top + 28, text, size=SMALL, anchor="center", part="tick")


def _item_ticks(sheet: Sheet, x: float, y: float, side: float, n: int, *, first: bool) -> None:
    """Draw the numbers of the first and of the last item, along both sides."""
    last = f"{n:,}"
    sheet.text(x, y + side + 14, "1", size=SMALL, part="tick")
    if n > 1:
        sheet.text(x + side, y + side + 14, last, size=SMALL, anchor="right", part="tick")
    if first:
        sheet.text(x - 6, y + 10, "1", size=SMALL, anchor="right", part="tick")
        if n > 1:
            sheet.text(x - 6, y + side - 2, last, size=SMALL, anchor="right", part="tick")


def _tip(name: str, matrix: Numbers) -> str:
    if np.isnan(matrix).all():
        return f"{name}: no match quality"
    low, mean, high = np.nanmin(matrix), np.nanmean(matrix), np.nanmax(matrix)
    return f"{name}: from {low:.3g} to {high:.3g}, mean {mean:.3g}"
