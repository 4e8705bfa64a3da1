"""The study on coverage, as `python -m studies coverage` runs it."""

from __future__ import annotations

import csv
import io

import pytest

from annot_pipeline.errors import ConfigError
from studies.coverage_study import run_coverage
from studies.params import RankingCoverage
from tests.studies.study_runs import silent

HEADLINES = ("adjusted", "bradley_terry")


def rows_of(result) -> list[dict[str, str]]:
    [table] = result.tables
    return list(csv.DictReader(io.StringIO(table.csv().decode())))


def test_methods_of_a_design_see_the_same_draws_and_the_seed_decides():
    params = RankingCoverage(repeats=3, design="panel 10 x 20")
    rows = rows_of(run_coverage(params, silent))
    assert [row["method"] for row in rows] == ["adjusted", "adjusted_scaled", "z_mean, rank-sum"]
    assert rows == rows_of(run_coverage(params, silent))
    other = RankingCoverage(repeats=3, design="panel 10 x 20", seed=18)
    assert rows[0] != rows_of(run_coverage(other, silent))[0]
    assert {row["replications"] for row in rows} == {"3"}
    assert rows[2]["coverage"] == "", "rank-sum tests have no intervals"


def test_settings_that_fit_no_design_are_refused():
    with pytest.raises(ConfigError) as caught:
        RankingCoverage(repeats=1, design="panels")
    assert "repeats: is 1" in str(caught.value)
    assert "design: is panels" in str(caught.value)
    assert "panel 10 x 20; " in str(caught.value)


@pytest.mark.slow
def test_what_is_confirmed_holds():
    """300 replications; bounds are those of docs/methods.md."""
    result = run_coverage(RankingCoverage(repeats=300), silent)
    rows = [row for row in rows_of(result) if row["method"] in HEADLINES]
    assert len(rows) == 23
    for row in rows:
        assert 0.92 < float(row["coverage"]) < 0.985, row
        assert float(row["size"]) <= 0.07, row
        if float(row["confirmed"]) > 0:
            assert float(row["familywise"]) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5, row
        assert float(row["false_boundary"]) <= 0.02, row
    by_design = {(row["design"], row["method"]): row for row in rows_of(result)}
    for design in {row["design"] for row in rows if row["method"] == "adjusted"}:
        if design == "one system each" or float(by_design[design, "adjusted"]["confirmed"]) < 0.05:
            continue  # z-scores of judges of one system each say nothing of systems
        adjusted, rank_sum = (
            float(by_design[design, method]["power_at_size"])
            for method in ("adjusted", "z_mean, rank-sum")
        )
        assert adjusted > rank_sum - 0.04, design
