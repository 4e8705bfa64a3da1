"""Figures are safe in a page whatever names are, and the same bytes every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest

from annot_pipeline.report.figures import (
    prevalence_svg,
)
from annot_pipeline.report.figures.plot import NARROWEST
from tests.report.figure_reader import SVG, Figure, digest, figures_of

ROOT = Path(__file__).parents[2]

HOSTILE = [
    "$\\frac{1}{0}$ $x_1",
    "</text></svg><script>alert(1)</script>",
    "a\nb\r\nc\td",
    "\x00\x01\x1b[31m\ufffe\ud800",
    "\\input{/etc/passwd} \\n %s {0} {x}",
    "very " * 2000 + "long",
    "مرحبا بالعالم \u202egnp.exe",
    "机器翻译系统评测结果一二三四五六七八九十一二三四五六七八九十",
    "&amp; &lt; \" ' ]]> <!-- --> <![CDATA[",
    "url(#x) id='t0' t0 part-0 #010203",
    "_hidden",
    "",
]


@pytest.mark.slow
@pytest.mark.parametrize("order", [HOSTILE, HOSTILE[::-1]], ids=["forth", "back"])
def test_hostile_names_are_texts_and_nothing_else(order):
    plain = [f"harmless name {'x' * 60} {n}" for n in range(len(order))]  # as wide as they
    for (kind, svg), harmless in zip(
        figures_of(order).items(), figures_of(plain).values(), strict=True
    ):
        figure, tame = Figure(svg), Figure(harmless)
        assert "<script" not in svg, kind
        assert svg != harmless or kind == "control", kind
        shapes, harmless_shapes = (
            Counter(e.tag for e in f.root.iter() if e.tag not in (f"{SVG}g", f"{SVG}text"))
            for f in (figure, tame)
        )
        assert shapes == harmless_shapes, kind  # and made no element
        assert len(max(figure.texts, key=len)) < 120, kind
        assert not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff\u202e]", svg), kind
        svg.encode("utf-8")


def test_texts_are_verbatim():
    names = ["a$b$", "\\alpha", "<b>", "机器", "שלום", "fill: #010203"]
    figure = Figure(prevalence_svg(names, [0.1] * 6, [0.1] * 6))
    assert figure.words("label") == names


KNOWN_TAGS = {
    "html", "body", "svg", "g", "path", "text", "defs", "use", "style", "clippath", "rect", "image",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        assert not any(name.startswith("on") for name, _ in attrs)


@pytest.mark.slow
def test_a_page_finds_no_elements_in_names():
    for svg in figures_of(HOSTILE).values():
        actual = Page(f"<html><body>{svg}</body></html>").tags
        assert set(actual) <= KNOWN_TAGS
        assert actual["svg"] == 1


@pytest.mark.slow
def test_figures_of_one_kind_share_a_page():
    names = [f"name {n}" for n in range(12)]
    every = {svg for seed in (1, 2) for svg in figures_of(names, seed).values()}
    everything = [Figure(svg) for svg in every]
    ids = [i for figure in everything for i in figure.ids]
    assert len(ids) == len(set(ids)) > 0
    for figure in everything:
        assert set(figure.references) <= set(figure.ids), "nothing is dangling"


@pytest.mark.slow
def test_nothing_reaches_out_of_the_figure():
    for kind, svg in figures_of(["a", "b", "c"]).items():
        assert svg.count("<style") == 1
        assert all(rule.startswith("svg:root") for rule in re.findall(r"[>}]([^{}<]+)\{", svg))
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"<\?|<!|class=|<metadata|font-family: ", svg)
        images = re.findall(r'<image [^>]*href="([^"]*)"', svg)
        assert all(image.startswith("data:image/png;base64,") for image in images)
        assert bool(images) == (kind in ("confusion", "comparison", "wins"))


@pytest.mark.sampled
@pytest.mark.parametrize("length", [1, 80])
def test_a_phone_has_room_for_every_figure(length):
    for kind, svg in figures_of([f"{n}{'W' * length}" for n in range(12)]).items():
        assert Figure(svg).width <= NARROWEST, kind


def test_figures_say_what_they_are():
    for svg in figures_of(["a", "b", "c"]).values():
        figure = Figure(svg)
        assert figure.root.attrib["role"] == "img"
        assert len(figure.root.attrib["aria-label"]) > 20


# The same bytes every time


def test_twice_the_same_bytes():
    assert figures_of(HOSTILE[:4]) == figures_of(HOSTILE[:4])


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: digest(["a", "b", "c"]), range(8)))) == 1


HOSTILE_SETTINGS = """
text.usetex: True
svg.fonttype: path
svg.hashsalt: other
svg.id: mine
figure.dpi: 300
savefig.dpi: 10
savefig.bbox: tight
savefig.pad_inches: 3
savefig.facecolor: red
figure.autolayout: True
figure.constrained_layout.use: True
axes.grid: True
axes.unicode_minus: False
axes.xmargin: 0.4
axes.spines.top: True
axes.formatter.use_locale: True
font.family: monospace
font.size: 40
lines.linewidth: 9
lines.marker: x
patch.force_edgecolor: True
path.sketch: 3, 100, 10
xtick.minor.visible: True
xtick.direction: in
backend: no-such-backend
"""

PROGRAM = """
import logging, sys
logging.disable(logging.CRITICAL)
import annot_pipeline.report.figures
import annot_pipeline.report.report
assert not {"matplotlib", "jinja2"} & {*sys.modules}, "the modules are not cheap to import"
from tests.report.figure_reader import digest
print(digest(["a", "b", "$c$", "\\u7cfb"]))
assert "matplotlib.pyplot" not in sys.modules
"""


def run(folder: Path, **more: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder)} | more
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_settings_of_the_user_do_not_matter(tmp_path):
    (tmp_path / "matplotlibrc").write_text(HOSTILE_SETTINGS)
    actual = run(
        tmp_path, MATPLOTLIBRC=str(tmp_path / "matplotlibrc"), PYTHONHASHSEED="7",
        SOURCE_DATE_EPOCH="0", MPLBACKEND="",
    )  # fmt: skip
    assert actual == digest(["a", "b", "$c$", "系"])


def test_settings_of_the_process_stay():
    import matplotlib

    with matplotlib.rc_context({"text.usetex": True, "font.size": 33}):
        before = dict(matplotlib.rcParams)
        assert figures_of(["a", "b"])
        assert dict(matplotlib.rcParams) == before


@pytest.fixture(autouse=True)
def _no_warnings_of_matplotlib(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Neither of fonts that are not found, nor of anything else that it only logs."""
    yield
    assert [record.getMessage() for record in caplog.records] == []
