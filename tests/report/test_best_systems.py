"""Best systems of a task in report and data card: by component, and for whom they hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.report.release_figures import best_systems
from tests.comparison_campaigns.compared import preferences
from tests.report.report_pages import rows, section
from tests.scalar_campaigns.judged import Row, build_rows

EFFECTS = {"left0": 12.0, "left1": 0.0, "right0": 10.0, "right1": 9.5, "lone": 3.0}
PANELS = {"left": "abcde", "right": "fghij", "lone": "klmno"}
"""Judges by the systems that they score: no judge scores systems of two panels."""


def scores(task: str, judges: str, systems: list[str]) -> list[Row]:
    rng = np.random.default_rng(len(systems))
    tastes = {(judge, system): rng.normal(0, 2) for judge in judges for system in systems}
    return [
        {
            "task": task, "judge": judge, "system": system, "segment": f"g{segment}",
            "score": round(50 + EFFECTS[system] + tastes[judge, system] + rng.normal(0, 5), 2),
        }
        for judge in judges for system in systems for segment in range(25)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    few = scores("few", "abc", ["left0", "left1"])
    apart = [
        row
        for panel, judges in PANELS.items()
        for row in scores("apart", judges, [name for name in EFFECTS if name.startswith(panel)])
    ]
    built = build_rows(tmp_path_factory.mktemp("best"), few + apart)
    return built.publication.release.folder


@pytest.fixture(scope="module")
def best(release) -> list[list[str]]:
    """Return the cells of the report's table of best systems, without markup."""
    html = (release / "report.html").read_text(encoding="utf-8")
    table = html.split("<caption>Best systems by task")[1].split("</table>")[0]
    body = table.split("<tbody>")[1]
    return [
        [re.sub("<[^<>]*>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
        for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("component", "best", "which"),
    [
        ([("a", 1, 1), ("b", 2, 1), ("c", 3, 3)], ["a", "b"], "not shown to be worse"),
        ([("a", 1, None), ("b", 2, 1), ("c", 3, 3)], ["a", "b"], "not shown to be worse"),
        ([("a", 1, None), ("b", 1, None), ("c", 3, None)], ["a", "b"], "first, without tests"),
        ([("a", 1, None)], ["a"], "alone"),
    ],
)
def test_best_systems_of_a_component(component, best, which):
    """The first system counts though it has no tests: no other can have beaten it."""
    ranked = [dict(zip(("system", "rank", "rank_low"), row, strict=True)) for row in component]
    systems, words = best_systems(ranked)
    assert systems == best
    assert words.startswith(which)


@pytest.mark.slow
def test_each_component_has_its_best_systems(best, release):
    apart = [row for row in best if row[0] == "apart"]
    assert [(row[1], row[2], row[3]) for row in apart] == [
        ("1", "left0", "not shown to be worse than any other"),
        ("2", "lone", "alone"),
        ("3", "right0, right1", "not shown to be worse than any other"),
    ]
    html = (release / "report.html").read_text(encoding="utf-8")
    assert "systems of different components cannot be compared" in html


@pytest.mark.slow
def test_the_card_says_it_too(release):
    card = section((release / "README.md").read_text(encoding="utf-8"), "Rankings of systems")
    shown = rows(card)
    assert [(row[0], row[4], row[8]) for row in shown] == [
        ("apart", "left0", "1"),
        ("apart", "lone", "2"),
        ("apart", "right0, right1", "3"),
        ("few", "left0", ""),
    ]
    assert [row[6].endswith("points for these judges only") for row in shown] == [
        False, False, False, True
    ]  # fmt: skip
    assert "systems of different components cannot be compared" in card
    assert "documents instead of segments" in card


PAIRS = "judge,segment,a,b,won\n" + "".join(
    f"j{n % 3},s{n},{'xy'[n % 2]},{'yx'[n % 2]},{'left' if n % 4 else 'right'}\n" for n in range(12)
)


def test_a_release_of_comparisons_alone_has_three_commands_and_no_empty_column(build_campaign):
    release = preferences(build_campaign, PAIRS).publication.release
    html = (release.folder / "report.html").read_text(encoding="utf-8")
    first = html.partition('<pre class="command"><code>')[2].partition("</code>")[0]
    assert [line.split()[1] for line in first.splitlines()] == ["verify", "serve", "items"]
    for caption in ("Best systems by task", "Tasks"):
        table = html.split(f"<caption>{caption}")[1].split("</table>")[0]
        heads = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", table)
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", table.split("<tbody>")[1])
        assert len(cells) == len(heads)
        assert all(cells), dict(zip(heads, cells, strict=True))
