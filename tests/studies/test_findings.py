"""Sentences on a study say what its tables say."""

from __future__ import annotations

from pathlib import Path

from tests.studies.study_runs import SMALL, rows, run


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
