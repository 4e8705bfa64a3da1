"""A page of many tasks leaves none out, and says where it draws a few only."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from annot_pipeline.contracts import SYSTEM_RANKINGS
from annot_pipeline.report.contents import of_every_task
from annot_pipeline.report.release_figures import MOST_TASKS
from annot_pipeline.report.sections.rankings import MOST_ROWS, ranking_rows
from benchmarks.exports import Shape, write_campaign
from tests.conftest import build_file
from tests.report.report_pages import Page, build_into, csv_text, many_tasks_campaign

MOST_NODES, MOST_BYTES = 5_000, 400_000
TASKS = [f"task {letter}" for letter in "abcdefg"]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Seven tasks, two systems each; the second is better everywhere."""
    rows = [
        {"task": task, "segment": segment, "system": system, "judge": judge,
         "score": 40 + 30 * place + segment + ord(judge) % 3}
        for task in TASKS for segment in range(4) for place, system in enumerate("xy")
        for judge in "jkl"
    ]  # fmt: skip
    fields = {name: name for name in ("task", "segment", "system", "judge", "score")}
    built = build_into(tmp_path_factory.mktemp("many"), {"s.csv": csv_text(rows)}, {
        "campaign": "many", "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "ranking": {"bootstrap": 20, "online_rounds": 2}, "agreement": {"bootstrap": 20},
    })  # fmt: skip
    return (built.publication.release.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_task_has_its_best_systems_and_its_rows(html):
    def rows(caption: str) -> str:
        return Page(html).html.split(f"<caption>{caption}", 1)[1].split("</div>", 1)[0]

    assert re.findall(r'row">(task \w)', rows("Best systems by task")) == TASKS
    assert set(re.findall(r"<td>(task \w)</td>", rows("Rankings of systems"))) == set(TASKS)


@pytest.mark.slow
def test_figures_of_some_tasks_say_so_and_the_other_rankings_are_there_to_open(html):
    assert f"Figures of {MOST_TASKS} of 7 tasks" in html
    assert "<summary>Rankings of 1 more task, as figures</summary>" in html
    drawn = [title for title in re.findall(r"<figcaption>(.*?)</figcaption>", html)
             if title.startswith("Ranking by")]  # fmt: skip
    names = [title.partition(" <span")[0].rpartition(", ")[2] for title in drawn]
    assert names == TASKS
    assert not Page(html).open


@pytest.mark.sampled
@pytest.mark.parametrize("n_tasks", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_the_page_of_many_tasks_is_light_before_anything_is_opened(tmp_path: Path, n_tasks: int):
    release = many_tasks_campaign(tmp_path, n_tasks).publication.release
    html = (release.folder / "report.html").read_text(encoding="utf-8")
    assert len(html.encode()) <= MOST_BYTES
    waiting = re.sub(r"<(script|style)\b.*?</\1>", "<script>", html, flags=re.DOTALL)
    assert 1_000 < len(re.findall(r"<[a-z]", waiting)) <= MOST_NODES
    rows = re.search(r"<caption>Labels by probability.*?</div>", Page(html).html, re.DOTALL)[0]
    tasks = re.findall(r"row.>(word sense \d+)", rows)
    assert len(tasks) == len({*tasks}) == min(n_tasks, 200)
    assert f"word sense {n_tasks // 2:03}" in html


@pytest.mark.slow
def test_the_page_of_tasks_of_three_kinds_is_light_but_for_the_items_to_doubt(tmp_path: Path):
    sizes = Shape(labels=50_000, scores=40_000, comparisons=10_000, tasks=10, judges=60)
    release = build_file(write_campaign(tmp_path, sizes)).publication.release
    html = (release.folder / "report.html").read_text(encoding="utf-8")
    page, n = re.subn('id="doubt-data">[^<]*<', 'id="doubt-data"><', html)
    assert n == 1
    assert len(page.encode()) <= MOST_BYTES
    waiting = re.sub(r"<(script|style)\b.*?</\1>", "<script>", page, flags=re.DOTALL)
    assert 3_000 < len(re.findall(r"<[a-z]", waiting)) <= MOST_NODES


def rankings_of(n_tasks: int, n_systems: int) -> pa.Table:
    return pa.Table.from_pylist([
        {"task": f"t{task:04}", "method": "wins", "system": f"s{n}", "rank": n + 1,
         "headline": True, "rank_low": 1, "score": -1.0 * n, "cluster": 1, "n_judgments": 3,
         "wins": 0}
        for task in range(n_tasks) for n in range(n_systems)
    ], SYSTEM_RANKINGS.schema)  # fmt: skip


def test_tasks_share_the_rows_that_a_page_shows():
    shown = ranking_rows(rankings_of(10, 100))
    tasks = [row["task"] for row in shown["rows"]]
    assert {task: tasks.count(task) for task in set(tasks)} == {
        f"t{n:04}": MOST_ROWS // 10 for n in range(10)
    }
    assert shown["n_rows"] == 1_000
    little = rankings_of(2, 3)
    assert of_every_task(little, 10) is little
    assert of_every_task(rankings_of(9, 2), 4).num_rows == 4
