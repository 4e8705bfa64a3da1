"""Which figures a release gets: those that its rows allow, of the right rows."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS
from annot_pipeline.report.release_figures import (
    comparison_figures,
    difference_figures,
    judge_figures,
    prevalence_figures,
    ranking_figures,
    score_figures,
)
from studies.simulators.score_exports import write_score_campaign
from studies.simulators.scores import ScoreSimulation, simulate_scores
from tests.conftest import Staged, stage_file
from tests.report.figure_reader import Figure

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def assessed(tmp_path_factory: pytest.TempPathFactory) -> Staged:
    folder = tmp_path_factory.mktemp("assessed")
    write_score_campaign(simulate_scores(ScoreSimulation(n_hits=40, n_judges=20)), folder)
    return stage_file(
        EXAMPLES / "direct_assessment",
        f"store={folder / 'store'}",
        f"gold={folder / 'gold'}",
        f"sources.0.path={folder / 'exports/night-*.csv'}",
        "privacy.pseudonymize=false",
    )


def texts(svg: str) -> list[str]:
    return re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg)


@pytest.mark.slow
def test_rankings_in_order_with_their_clusters(assessed):
    drawn = ranking_figures(assessed.table("system_rankings"))
    assert [figure.title for figure in drawn] == [
        "Ranking by adjusted, cs-en", "Ranking by adjusted, de-en",
    ]  # fmt: skip
    rows = [r for r in assessed.rows("system_rankings")
            if r["task"] == "cs-en" and r["headline"]]  # fmt: skip
    rows.sort(key=lambda row: row["rank"])
    shown = [text for text in texts(drawn[0].svg) if text.startswith("system-")]
    assert shown == [row["system"] for row in rows]
    assert any("adjusted" in text for text in texts(drawn[0].svg))


def test_comparisons_in_the_same_order(assessed):
    comparisons, rankings = assessed.table("system_comparisons"), assessed.table("system_rankings")
    drawn = comparison_figures(comparisons, 0.05, rankings)
    assert [figure.title for figure in drawn] == [
        "Systems compared by adjusted, p after Holm, cs-en",
        "Systems compared by adjusted, p after Holm, de-en",
    ]  # fmt: skip
    ranked = ranking_figures(rankings)
    for comparison, ranking in zip(drawn, ranked, strict=True):
        names = [
            [t.partition(". ")[2] or t for t in texts(f.svg) if "system-" in t]
            for f in (comparison, ranking)
        ]
        assert names[0] == names[1]


def ranks(method, parts, *, headline=True, reasons=(None,), task="t") -> list[dict[str, Any]]:
    """Rows of a ranking, part by part, the best first."""
    systems = [(n, place, name) for n, part in enumerate(parts, 1)
               for place, name in enumerate(part, 1)]  # fmt: skip
    return [
        {
            "task": task, "method": method, "system": name, "rank": place,
            "headline": headline, "score": -float(place), "reason": reasons[at % len(reasons)],
            "component": n if len(parts) > 1 else None, "n_segments": 1, "n_judgments": 1,
        }
        for at, (n, place, name) in enumerate(systems)
    ]  # fmt: skip


def pairs(method, parts, *, task="t") -> list[dict[str, Any]]:
    """Comparisons of these: p is known, and so is the difference, within a part only."""
    place = {name: (n, at) for n, part in enumerate(parts) for at, name in enumerate(part)}
    rows = []
    for a, b in permutations(place, 2):
        together = place[a][0] == place[b][0]
        gap = place[b][1] - place[a][1]
        rows.append(
            {
                "task": task, "method": method, "system_a": a, "system_b": b,
                "difference": 10.0 * gap if together else None, "a_beats_b": together and gap > 0,
                "p_adjusted": (0.01 if gap > 0 else 0.99) if together else None,
            }
        )  # fmt: skip
    return rows


def rankings_of(*rows) -> pa.Table:
    return pa.Table.from_pylist([r for part in rows for r in part], SYSTEM_RANKINGS.schema)


def comparisons_of(*rows) -> pa.Table:
    return pa.Table.from_pylist([r for part in rows for r in part], SYSTEM_COMPARISONS.schema)


PARTS = [["d", "a", "f"], ["c", "b"]]


def test_parts_share_no_figure_of_ranks():
    drawn = ranking_figures(rankings_of(ranks("wins", PARTS)))
    assert [figure.title for figure in drawn] == [
        "Ranking by wins, t, part 1 of 2", "Ranking by wins, t, part 2 of 2",
    ]  # fmt: skip
    assert [Figure(figure.svg).words("system") for figure in drawn] == PARTS
    (whole,) = ranking_figures(rankings_of(ranks("wins", [["x", "y"]])))
    assert whole.title == "Ranking by wins, t"


def test_matrix_and_ranking_are_of_one_method_in_one_order():
    rankings = rankings_of(
        ranks("z_mean", [["a", "b", "c", "d", "f"]], headline=False), ranks("adjusted", PARTS)
    )
    table = comparisons_of(pairs("z_mean", [["a", "b", "c", "d", "f"]]), pairs("adjusted", PARTS))
    (drawn,) = comparison_figures(table, 0.05, rankings)
    assert drawn.title == "Systems compared by adjusted, p after Holm, t"
    figure = Figure(drawn.svg)
    names = [name.partition(". ")[2] for name in figure.words("row")]
    assert names == [name for part in PARTS for name in part]
    assert figure.words("wins") == ["2", "1", "0", "1", "0"]
    assert figure.note.endswith("Empty cells: not compared.")
    assert ranking_figures(rankings)[0].title.startswith("Ranking by adjusted, t")
    assert comparison_figures(table, 0.05, rankings.slice(0, 0)) == []


def test_a_ranking_without_intervals_says_why():
    reasons = ("one <b> & two", "rare", "one <b> & two", None)
    rows = ranks("wins", [["a", "b", "c", "d"]], reasons=reasons)
    (drawn,) = ranking_figures(rankings_of(rows))
    assert Figure(drawn.svg).words("note") == ["No intervals: one <b> & two"]
    assert "<b>" not in drawn.svg
    rows[3] |= {"ci_low": -5.0, "ci_high": -3.0}
    (drawn,) = ranking_figures(rankings_of(rows))
    assert Figure(drawn.svg).words("note") == [
        "Lines: 95% intervals, the mean of the other",
        "systems held fixed.",
        "Hollow points: no interval for 3 systems.",
    ]


def test_the_order_of_rows_changes_nothing():
    rows, compared = ranks("wins", PARTS, reasons=("x", "y")), pairs("wins", PARTS)
    rankings, turned = rankings_of(rows), rankings_of(rows[::-1])
    assert ranking_figures(rankings) == ranking_figures(turned)
    one = comparison_figures(comparisons_of(compared), 0.05, rankings)
    assert one == comparison_figures(comparisons_of(compared[::-1]), 0.05, rankings)


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
        (
            "system_comparisons",
            lambda t: comparison_figures(t, 0.05, assessed.table("system_rankings")),
        ),
        ("judges", lambda t: judge_figures(t, 0.05)),
        ("judges", lambda t: difference_figures(t, assessed.table("control_pairs"))),
        ("prevalence", prevalence_figures),
        ("scores", score_figures),
    ):
        assert draw(assessed.table(table).slice(0, 0)) == []
