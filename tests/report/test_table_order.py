"""Tables of the report: rankings by rank, judges without a column that says what another does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD, SYSTEM_RANKINGS
from annot_pipeline.report.release_figures import FEW_TASKS, accuracy_figures
from annot_pipeline.report.render import column, constant_columns, render_html
from annot_pipeline.report.sections.judges import MOST_OF_JUDGE, MOST_ROWS, _by_concern, _rows
from annot_pipeline.report.sections.rankings import ranking_rows


def ranked(task: str, method: str, *systems: str) -> list[dict[str, Any]]:
    return [
        {"task": task, "method": method, "system": system, "headline": method == "wins",
         "rank": rank, "n_judgments": 9}
        for rank, system in enumerate(systems, 1)
    ]  # fmt: skip


def test_rankings_of_all_methods_are_by_rank_the_headline_first():
    rows = [*ranked("t", "easl", "a", "c", "b"), *ranked("t", "wins", "c", "b", "a")]
    rows += ranked("s", "wins", "z", "y")
    table = pa.Table.from_pylist(sorted(rows, key=lambda row: row["system"]))
    empty = SYSTEM_RANKINGS.empty()
    whole = pa.concat_tables([empty, table.select([])], promote_options="default")
    columns = {
        name: table[name] if name in table.schema.names else pa.nulls(len(rows), type_)
        for name, type_ in zip(whole.schema.names, whole.schema.types, strict=True)
    }
    actual = [
        (row["system"], row["task"], row["method"], row["rank"])
        for row in ranking_rows(pa.table(columns))["rows"]
    ]
    assert actual == [
        ("z", "s", "wins", 1), ("y", "s", "wins", 2), ("c", "t", "wins", 1), ("b", "t", "wins", 2),
        ("a", "t", "wins", 3), ("a", "t", "easl", 1), ("c", "t", "easl", 2), ("b", "t", "easl", 3),
    ]  # fmt: skip


def judge(name: str, p: float | None, adjusted: float | None, *, random: bool) -> dict[str, Any]:
    row = dict.fromkeys(GOLD["judges"].schema.names)
    return row | {
        "judge": name, "task": "t", "n_judgments": 9, "verdict": "passed", "verdict_reason": None,
        "dropped": False, "random": random, "p_value": p, "p_adjusted": adjusted,
    }  # fmt: skip


def judges_html(listed: list[dict[str, Any]]) -> str:
    facts: dict[str, Any] = dict.fromkeys(
        ("verdicts", "pseudonymize", "by_labels", "families", "ids", "accuracy_drawings",
         "control_drawings", "confusion_drawings"), ()
    )  # fmt: skip
    facts |= {"rows": _rows(listed), "n_rows": len(listed), "n_confused_tasks": 0}
    return render_html("judges.html", facts)


@pytest.mark.parametrize(("adjusted", "is_shown"), [(0.2, False), (0.4, True)])
def test_a_corrected_p_is_shown_where_it_differs(adjusted, is_shown):
    rows = [judge("a", 0.2, adjusted, random=False), judge("b", 0.3, 0.3, random=True)]
    html = judges_html(rows)
    assert (">p adjusted</th>" in html) is is_shown
    assert ">p</th>" in html


def test_who_looks_random_is_in_the_table_though_all_do_that_it_begins_with():
    html = judges_html([judge(f"j{n}", None, None, random=True) for n in range(4)])
    assert html.count(">looks random</td>") == 4
    assert constant_columns([column("judge"), column(("task", "choose"))], [["a", "t"]] * 3) == [1]


def test_a_judge_of_many_tasks_leaves_room_for_the_others_of_concern():
    one = judge("one", 0.2, 0.2, random=False) | {"dropped": True, "n_judgments": 99}
    rows = [one | {"task": f"t{n:03}"} for n in range(500)]
    rows += [judge(f"random {n:02}", 0.2, 0.2, random=True) for n in range(50)]
    rows += [judge(f"fine {n:03}", 0.2, 0.2, random=False) for n in range(300)]
    shown = [row["judge"] for row in _by_concern(rows)]
    n_of_one = MOST_ROWS - 50
    assert shown == ["one"] * n_of_one + [f"random {n:02}" for n in range(50)]
    others = [row | {"task": f"s{n}"} for row in rows[500:550] for n in range(9)]
    by_judge = Counter(row["judge"] for row in _by_concern([*rows, *others]))
    assert by_judge.pop("one") > MOST_OF_JUDGE
    assert by_judge == {f"random {n:02}": MOST_OF_JUDGE for n in range(50)}


def test_accuracy_is_drawn_of_the_tasks_with_most_judges_to_doubt():
    rows = [
        judge(f"j{n}", 0.2, 0.2, random=False)
        | {"task": task, "accuracy": None if task == "scores" else 0.9, "chance_accuracy": 0.5}
        for task in ("a", "b", "c", "d", "e", "scores")
        for n in range(3)
    ]
    drawn = accuracy_figures(rows, Counter({"scores": 3, "e": 2, "c": 1}))
    assert [figure.title.rpartition(", ")[2] for figure in drawn] == ["e", "c", "a"][:FEW_TASKS]
