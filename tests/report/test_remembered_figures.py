"""Figures of equal values are drawn once; a report is the same with and without them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from annot_pipeline.report.figures.prevalence import prevalence_svg
from annot_pipeline.report.figures.remembered import remembered, remembering
from tests.conftest import KEY, build_file
from tests.survival.nights import write_campaign


@remembered
def figure_svg(values: object, *, title: str = "") -> str:
    drawn.append(title)
    return f"<svg>{values} {title}</svg>"


drawn: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_drawn():
    drawn.clear()


def test_equal_values_are_drawn_once(tmp_path):
    values = np.arange(3.0)
    for _ in range(2):
        with remembering(tmp_path):
            assert figure_svg(values, title="é") == "<svg>[0. 1. 2.] é</svg>"
    assert drawn == ["é"]
    with remembering(tmp_path):
        figure_svg(values + 1, title="é")
        figure_svg(values, title="b")
    assert drawn == ["é", "é", "b"]
    assert len([*tmp_path.iterdir()]) == 2, "the first was not asked for"
    figure_svg(values, title="b")
    assert drawn[-2:] == ["b", "b"], "nothing is remembered outside"


@pytest.mark.parametrize("damage", [b"", b"<svg>", b"0" * 64 + b"\n<svg>other</svg>"])
def test_a_damaged_file_is_drawn_again(tmp_path, damage):
    with remembering(tmp_path):
        figure_svg(1, title="a")
    [path] = tmp_path.iterdir()
    path.write_bytes(damage)
    with remembering(tmp_path):
        assert figure_svg(1, title="a") == "<svg>1 a</svg>"
    assert drawn == ["a", "a"]


def test_a_figure_of_the_report_is_the_same_text(tmp_path):
    values = (["yes", "no"], np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    expected = prevalence_svg(*values)
    for _ in range(2):
        with remembering(tmp_path):
            assert prevalence_svg(*values) == expected


@pytest.mark.slow
def test_a_report_is_the_same_with_figures_of_before(tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    figures = folder / "store/figures"
    names = {path.name for path in figures.iterdir()}
    assert names
    shutil.copytree(folder, tmp_path / "without")
    shutil.rmtree(tmp_path / "without/store/figures")
    pages = []
    for campaign in (folder, tmp_path / "without"):
        build_file(campaign, "easl.gamma=.2")  # no figure shows it
        page = (campaign / "gold/v0002/report.html").read_text()
        start = page.index("<svg")
        pages.append([part.split("</svg>")[0] for part in page[start:].split("<svg")[1:]])
    assert pages[0] == pages[1]
    assert names & {path.name for path in figures.iterdir()}, "some were read"
