"""Match quality is drawn as images that hold what they are given, and nothing else."""

from __future__ import annotations

import base64
import struct
from io import BytesIO
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt
import pytest

from studies.figures.match_quality import match_quality_svg
from tests.report.figure_reader import SVG, Figure
from tests.studies.figures.test_experiment_figures import texts

NAN = float("nan")


def images(figure: Figure, part: str = "matrix") -> list[tuple[Element, npt.NDArray[np.uint8]]]:
    from PIL import Image

    actual = []
    for group in figure.parts(part):
        for image in group.iter(f"{SVG}image"):
            _, _, data = image.attrib["href"].partition("data:image/png;base64,")
            pixels = Image.open(BytesIO(base64.b64decode(data))).convert("RGBA")
            actual.append((image, np.asarray(pixels)))
    return actual


def values_of(figure: Figure, pixels: npt.NDArray[np.uint8], end: float) -> npt.NDArray[np.float64]:
    """What the colours stand for, by the colour bar; NaN where nothing is painted."""
    ((_, bar),) = images(figure, "scale")
    place = {tuple(color): n / (bar.shape[1] - 1) for n, color in enumerate(bar[0].tolist())}
    return np.array(
        [[end * place[tuple(p)] if p[3] else NAN for p in row] for row in pixels.tolist()]
    )


def test_matrices_have_the_colours_of_the_bar():
    rng = np.random.default_rng(0)
    first, second = np.full((40, 40), 0.3), 0.6 * rng.random((40, 40))
    second[3, 5] = NAN
    figure = Figure(match_quality_svg([("iteration 0", first), ("iteration 3", second)]))
    assert figure.words("panel") == ["iteration 0", "iteration 3"]
    bar = [text.text for text in texts(figure, "tick") if text.get("text-anchor") == "middle"]
    assert bar == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
    (left, one), (right, two) = images(figure)
    assert values_of(figure, one, 0.6) == pytest.approx(first, abs=1.2 / 254)
    assert values_of(figure, two, 0.6) == pytest.approx(second, abs=1.2 / 254, nan_ok=True)
    assert float(right.attrib["x"]) > float(left.attrib["x"]) + float(left.attrib["width"])
    assert left.attrib["y"] == right.attrib["y"]
    assert float(left.attrib["width"]) == float(left.attrib["height"]) == 280  # 7 px an item
    assert left.get("image-rendering") == "pixelated"
    assert left.get("preserveAspectRatio") == "none"
    assert figure.tips() == [
        "iteration 0: from 0.3 to 0.3, mean 0.3",
        f"iteration 3: from {np.nanmin(second):.3g} to {np.nanmax(second):.3g}, "
        f"mean {np.nanmean(second):.3g}",
    ]
    assert figure.words("note") == ["Empty: pairs without a match quality."]
    assert {"1", "40"} <= set(figure.words("tick"))


def test_large_matrices_become_means_of_blocks():
    matrix = np.zeros((1000, 1000))
    matrix[:500, 500:] = 0.5
    matrix[990:, :10] = NAN
    matrix[0, :3] = [0.2, NAN, 0.4]
    figure = Figure(match_quality_svg([("iteration 9", matrix)]))
    ((image, pixels),) = images(figure)
    assert pixels.shape[:2] == (300, 300)
    actual = values_of(figure, pixels, 0.5)
    assert actual[:150, 150:] == pytest.approx(np.full((150, 150), 0.5), abs=0.01)
    assert actual[150:, 150:].max() == 0
    assert np.isnan(actual[-1, 0])
    assert actual[0, 0] == pytest.approx(0.6 / 8, abs=0.002)  # of 3 x 3 pairs, one is missing
    assert image.get("image-rendering") is None
    assert figure.words("note")[0] == "Means of blocks of up to 4 × 4 pairs are drawn."  # noqa: RUF001
    assert len(figure.svg) < 100_000


def test_images_hold_pixels_and_nothing_else():
    figure = Figure(match_quality_svg([("a", np.eye(3))]))
    for part in ("matrix", "scale"):
        for group in figure.parts(part):
            data = base64.b64decode(group[-1].attrib["href"].partition(",")[2])
            kinds, at = [], 8
            while at < len(data):
                (length,) = struct.unpack(">I", data[at : at + 4])
                kinds.append(data[at + 4 : at + 8].decode())
                at += 12 + length
            assert kinds == ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]


def test_many_matrices():
    figure = Figure(match_quality_svg([(n, [[n / 20]]) for n in range(14)], title="Fig. 8"))
    assert len(images(figure)) == 12
    assert len({image.attrib["y"] for image, _ in images(figure)}) == 3
    assert figure.words("note") == ["The first 12 of 14 matrices are drawn."]
