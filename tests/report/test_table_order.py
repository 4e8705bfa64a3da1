"""Tables of the report: rankings by rank, judges without a column that says what another does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.contracts import SYSTEM_RANKINGS
from annot_pipeline.report.render import column, constant_columns
from annot_pipeline.report.sections.judges import _table
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
    row = dict.fromkeys(("bias_label", "bias", "test"))
    return row | {
        "judge": name, "task": "t", "n_judgments": 9, "verdict": "passed", "verdict_reason": None,
        "dropped": False, "random": random, "p_value": p, "p_adjusted": adjusted,
    }  # fmt: skip


@pytest.mark.parametrize(("adjusted", "is_shown"), [(0.2, False), (0.4, True)])
def test_a_corrected_p_is_shown_where_it_differs(adjusted, is_shown):
    rows = [judge("a", 0.2, adjusted, random=False), judge("b", 0.3, 0.3, random=True)]
    heads = [head.name for head in _table(rows)[0]]
    assert ("p adjusted" in heads) is is_shown
    assert "p" in heads


def test_who_looks_random_is_in_the_table_though_all_do_that_it_begins_with():
    columns, rows = _table([judge(f"j{n}", None, None, random=True) for n in range(4)])
    [at] = [n for n, head in enumerate(columns) if head.name == "looks random"]
    assert {row[at] for row in rows} == {"looks random"}
    assert at not in constant_columns(columns, rows)
    assert constant_columns([column("judge"), column(("task", "choose"))], [["a", "t"]] * 3) == [1]
