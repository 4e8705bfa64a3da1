"""Figures on the pages of assets: one at least of every table that has any."""

from __future__ import annotations

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import MAKER, STAGES, Build
from assets_defs.figures import FIGURES, figures_of
from tests.full_campaign import write_full_campaign


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    build = Build(load_campaign(write_full_campaign(tmp_path_factory.mktemp("full"))))
    return build, {stage.name: build.run_stage(stage) for stage in STAGES}


ELSEWHERE = {"segment_ranks", "comparison_times"}
"""Drawn where questions of adequacy or times of comparisons were asked for: tests of the report."""


@pytest.mark.parametrize("table", sorted(FIGURES.keys() - ELSEWHERE))
def test_every_table_has_figures(runs, table):
    build, of_stages = runs
    images = figures_of(build, of_stages[MAKER[table].name], table)
    assert images
    assert all(image.value.startswith("![") for image in images.values())
    assert all("data:image/svg+xml;base64," in image.value for image in images.values())
