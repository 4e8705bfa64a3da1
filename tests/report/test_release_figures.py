"""Which figures a release gets: those that its rows allow, of the right rows."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from annot_pipeline.report.release_figures import (
    comparison_figures,
    confusion_figures,
    difference_figures,
    judge_figures,
    prevalence_figures,
    ranking_figures,
    score_figures,
)
from annot_pipeline.simulate.score_exports import write_score_campaign
from annot_pipeline.simulate.scores import ScoreSimulation, simulate_scores
from tests.conftest import Built, build_file

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def assessed(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("assessed")
    write_score_campaign(simulate_scores(ScoreSimulation(n_hits=40, n_judges=20)), folder)
    return build_file(
        EXAMPLES / "direct_assessment",
        f"store={folder / 'store'}",
        f"gold={folder / 'gold'}",
        f"sources.0.path={folder / 'exports/night-*.csv'}",
        "privacy.pseudonymize=false",
    )


def texts(svg: str) -> list[str]:
    return re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg)


def test_rankings_in_order_with_their_clusters(assessed):
    drawn = ranking_figures(assessed.table("system_rankings"))
    assert [figure.title for figure in drawn] == ["Ranking, cs-en", "Ranking, de-en"]
    rows = [r for r in assessed.rows("system_rankings")
            if r["task"] == "cs-en" and r["method"] == "z_mean"]  # fmt: skip
    rows.sort(key=lambda row: row["rank"])
    shown = [text for text in texts(drawn[0].svg) if text.startswith("system-")]
    assert shown == [row["system"] for row in rows]
    assert any("z_mean" in text for text in texts(drawn[0].svg))


def test_scores_are_spread_over_their_scale(assessed):
    drawn = score_figures(assessed.table("scores"))
    assert [figure.title for figure in drawn] == [
        "Scores of items, cs-en", "Scores of items, de-en",
    ]  # fmt: skip
    assert "EASL, the mean" in texts(drawn[0].svg)
    report = (assessed.publication.release.folder / "report.html").read_text()
    assert "Scores of items" in report


def test_comparisons_in_the_same_order(assessed):
    drawn = comparison_figures(assessed.table("system_comparisons"), 0.05)
    ranked = ranking_figures(assessed.table("system_rankings"))
    for comparison, ranking in zip(drawn, ranked, strict=True):
        names = [
            [t for t in texts(f.svg) if t.startswith("system-")] for f in (comparison, ranking)
        ]
        assert names[0][: len(names[1])] == names[1]


def test_judges_with_their_best_and_worst(assessed):
    (control,) = judge_figures(assessed.table("judges"), 0.05)
    assert control.title == "p against seconds a judgment"
    drawn = difference_figures(assessed.table("judges"), assessed.table("control_pairs"))
    assert [figure.title for figure in drawn] == [
        "Differences of the judge with the smallest p",
        "Differences of the judge with the largest p",
    ]
    tested = {r["judge"]: r["p_value"] for r in assessed.rows("judges")}
    by_p = sorted(tested, key=lambda judge: (tested[judge], judge))
    assert by_p[0] in texts(drawn[0].svg)
    assert by_p[-1] in texts(drawn[1].svg)


def test_nothing_is_drawn_of_nothing(assessed):
    for table, draw in (
        ("system_rankings", ranking_figures),
        ("system_comparisons", lambda t: comparison_figures(t, 0.05)),
        ("judges", lambda t: judge_figures(t, 0.05)),
        ("judges", lambda t: difference_figures(t, assessed.table("control_pairs"))),
        ("prevalence", prevalence_figures),
        ("scores", score_figures),
    ):
        assert draw(assessed.table(table).slice(0, 0)) == []


def test_labels_have_theirs(build_campaign):
    rows = [(f"i{n}", judge, "xyz"[n % 3]) for n in range(12) for judge in ("ann", "bob")]
    text = "item,judge,label\n" + "".join(",".join(row) + "\n" for row in rows)
    built = build_campaign({"a.csv": text}, privacy={"pseudonymize": False})
    (prevalence,) = prevalence_figures(built.table("prevalence"))
    assert {"x", "y", "z"} <= set(texts(prevalence.svg))
    confusion: pa.Table = built.table("judge_confusion")
    (drawn,) = confusion_figures(confusion, built.table("judges"), built.table("prevalence"))
    assert {"ann", "bob"} <= set(texts(drawn.svg))
    report = (built.publication.release.folder / "report.html").read_text()
    assert report.count("<svg") == 2
