"""Files of a study: all or none, and the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.bounded_ra import tie_probability, win_probability
from annot_pipeline.methods.comparisons.trueskill import surprisal_of_tie, surprisal_of_win
from studies.params import SurprisalCurves
from studies.surprisal_curves import surprisal_curves
from tests.studies.study_runs import SMALL, SMALL_SYSTEMS, contents, rows, run


def test_items(tmp_path: Path) -> None:
    document = run("lexical", tmp_path, **SMALL)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "examples.csv", "gains.csv", "reaches.csv", "scores.csv", "study.html",
    ]  # fmt: skip
    assert sorted(map(Path, document["files"])) == sorted(tmp_path.iterdir())
    json.dumps(document, allow_nan=False)
    curves = rows(tmp_path / "curves.csv")
    assert len(curves) == 2 * 6 * 4
    assert [row["judgments_per_item"] for row in curves[:4]] == ["1", "2", "3", "4"]
    gains = rows(tmp_path / "gains.csv")
    assert len(gains) == 2 * 6 * 4  # five methods against DA, and EASL against the control
    by_name = {(r["measure"], r["method"], r["judgments_per_item"]): r for r in curves}
    for row in gains:
        ours, theirs = (
            float(by_name[row["measure"], row[key], row["judgments_per_item"]]["mean"])
            for key in ("method", "compared_with")
        )
        assert float(row["difference"]) == pytest.approx(ours - theirs, abs=2e-6)
        assert row["interval_over"] == "repetitions"
        assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    reaches = rows(tmp_path / "reaches.csv")
    assert len(reaches) == 2 * 2 * 6
    assert {row["judgments_per_item"] for row in reaches if row["da_judgments"] == "6"} == {""}
    scores = rows(tmp_path / "scores.csv")
    assert [row["item"] for row in scores] == [f"item-{n:02d}" for n in range(1, 21)]
    examples = rows(tmp_path / "examples.csv")
    by_item = {row["item"]: row for row in scores}
    for row in examples:
        for column, name in (("gold", "oracle"), ("DA", "DA"), ("RA", "RA"), ("EASL", "EASL")):
            assert float(row[column]) == pytest.approx(
                100 * float(by_item[row["item"]][name]), abs=0.0501
            )


def test_systems(tmp_path: Path) -> None:
    run("systems", tmp_path, **SMALL_SYSTEMS)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "gains.csv", "reaches.csv", "scores.csv", "study.html",
    ]  # fmt: skip
    curves = rows(tmp_path / "curves.csv")
    assert {row["judgments_per_system"] for row in curves} == {"10", "20", "30", "40", "50", "60"}
    assert {row["method"] for row in curves} == {"DA", "EASL", "random"}


def test_surprisal(tmp_path: Path) -> None:
    document = run("surprisal", tmp_path, points=5, limit=2)
    table = rows(tmp_path / "surprisal.csv")
    assert [float(row["t"]) for row in table] == [-2, -1, 0, 1, 2]
    for row in table:
        t = float(row["t"])
        v, w = surprisal_of_win(t, 0.5)
        v_tie, w_tie = surprisal_of_tie(t, 0.5)
        expected = {"v_win": v, "w_win": w, "v_tie": v_tie, "w_tie": w_tie}
        for name, value in expected.items():
            assert float(row[name]) == pytest.approx(float(value), rel=1e-5, abs=1e-9)
    bounded = rows(tmp_path / "surprisal_bounded.csv")
    assert [float(row["difference"]) for row in bounded] == [-1, -0.5, 0, 0.5, 1]
    gap = np.array([-0.5])
    p_win, p_tie = win_probability(gap, 0.5), tie_probability(gap, 0.5)
    assert float(bounded[1]["win"]) == pytest.approx(1 - p_win[0], rel=1e-5)
    assert float(bounded[1]["tie"]) == pytest.approx(1 - p_tie[0], rel=1e-5)
    assert len(document["findings"]) == 2
    assert (tmp_path / "study.html").read_text().count("<svg") == 2
    even = surprisal_curves(SurprisalCurves())
    np.testing.assert_allclose(even.v_tie, -even.v_tie[::-1], atol=1e-12)


@pytest.mark.slow
def test_files_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("lexical", tmp_path, **SMALL)
    before = contents(tmp_path)
    written = []
    real = Path.write_bytes

    def full_disk(path: Path, data: bytes) -> int:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        run("lexical", tmp_path, **SMALL | {"seed": 4})
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [("lexical", SMALL), ("political", SMALL), ("systems", SMALL_SYSTEMS), ("surprisal", {})],
)
def test_twice_the_same_bytes(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    run(name, tmp_path / "a", **settings)
    first = contents(tmp_path / "a")
    run(name, tmp_path / "a", **settings)
    run(name, tmp_path / "b" / "deeper", **settings)
    assert contents(tmp_path / "a") == first == contents(tmp_path / "b" / "deeper")
    if name != "surprisal":
        run(name, tmp_path / "c", **settings | {"seed": 18})
        assert contents(tmp_path / "c")["curves.csv"] != first["curves.csv"]
