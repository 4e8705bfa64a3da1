"""Sentences on a study say what its tables say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.findings import findings, verdict
from studies.item_study import run_item_study
from studies.params import ItemStudy
from studies.tables import measured
from tests.studies.study_runs import SMALL, rows, run, silent


def test_verdicts() -> None:
    assert verdict((0.1, 0.05, 0.2)) == "EASL is better"
    assert verdict((-0.1, -0.2, -0.05)) == "EASL is worse"
    assert verdict((0.1, -0.05, 0.2)) == "no detectable difference"
    assert verdict((float("nan"),) * 3) == "none"


def test_sentences_say_what_the_tables_say(tmp_path: Path) -> None:
    actual = run("lexical", tmp_path, **SMALL | {"context": 0.5})["findings"]
    curves, gains, reaches = (rows(tmp_path / f"{n}.csv") for n in ("curves", "gains", "reaches"))
    here = {"measure": "spearman", "judgments_per_item": "3"}

    def of(table: list[dict[str, str]], **cells: str) -> dict[str, str]:
        (row,) = [row for row in table if all(row[k] == v for k, v in cells.items())]
        return row

    easl, da = (float(of(curves, **here, method=m)["mean"]) for m in ("EASL", "DA"))
    gain = of(gains, **here, method="EASL", compared_with="DA")
    ends = [f"{float(gain[key]):+.3f}" for key in ("difference", "low", "high")]
    assert f"is {easl:.3f} for EASL and {da:.3f} for DA: EASL is better, {ends[0]}" in actual[0]
    assert f"({ends[1]} to {ends[2]})" in actual[0]
    needs = of(reaches, measure="spearman", method="EASL", da_judgments="3")
    assert f"EASL needs {float(needs['judgments_per_item']):.3g} (" in actual[1]
    assert actual[1].startswith("For what DA has at 3 judgments per item EASL needs")
    assert "at 6 judgments" not in actual[1]  # beyond four rounds


def test_sentences_on_many_tasks_count() -> None:
    tasks = [
        replace(
            run_item_study("lexical", ItemStudy(**SMALL | {"context": c}), None, silent),
            task=str(c),
        )
        for c in (0.0, 0.9)
    ]
    every = [measured(task, (3,), 17) for task in tasks]
    at, needs = findings(every, (3,), "item")
    better = [verdict(one_gain) for one in every for one_gain in [_gain(one)]].count(
        "EASL is better"
    )
    assert f"than DA in {better} of 2 tasks" in at
    assert better >= 1
    assert needs.startswith("For what DA has at 3 judgments per item EASL needs fewer in ")


def _gain(one: Any) -> tuple[float, float, float]:
    value, low, high = (
        float(part[0, one.task.correlations.methods.index("EASL"), 2])
        for part in vars(one.gains[0].difference).values()
    )
    return value, low, high
