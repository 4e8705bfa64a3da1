"""Figures on the pages of assets: one at least of every table that has any."""

from __future__ import annotations

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import MAKER, Build
from assets_defs.figures import FIGURES, figures_of


@pytest.fixture(scope="module")
def runs(full_build):
    folder = full_build.publication.release.folder.parents[1]
    return Build(load_campaign(folder)), full_build.runs


ELSEWHERE = {"segment_ranks", "comparison_times"}
"""Drawn where questions of adequacy or times of comparisons were asked for: tests of the report."""


@pytest.mark.parametrize("table", sorted(FIGURES.keys() - ELSEWHERE))
def test_every_table_has_figures(runs, table):
    build, of_stages = runs
    images = figures_of(build, of_stages[MAKER[table].name], table)
    assert images
    assert all(image.value.startswith("![") for image in images.values())
    assert all("data:image/svg+xml;base64," in image.value for image in images.values())
