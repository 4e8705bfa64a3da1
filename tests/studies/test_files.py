"""Files of a study: all or none, and the same bytes every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from annot_pipeline.methods.comparisons.bounded_ra import outcome_probabilities
from annot_pipeline.methods.comparisons.trueskill import surprisal_of_tie, surprisal_of_win
from studies.item_study import run_item_study
from studies.params import ItemStudy, SurprisalCurves
from studies.surprisal_curves import surprisal_curves
from tests.studies.study_runs import SMALL, SMALL_SYSTEMS, contents, rows, run, silent


def test_items(tmp_path: Path) -> None:
    document = run("lexical", tmp_path, **SMALL)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "examples.csv", "gains.csv", "reaches.csv", "scores.csv", "study.html",
    ]  # fmt: skip
    assert sorted(document) == [
        "files", "findings", "folder", "next", "notes", "numbers", "parameters", "study",
    ]  # fmt: skip
    assert document["next"] == f"open {tmp_path / 'study.html'}"
    assert document["parameters"]["n_items"] == 20
    assert document["parameters"]["reach"] == [3, 6]
    assert sorted(map(Path, document["files"])) == sorted(tmp_path.iterdir())
    json.dumps(document, allow_nan=False)
    curves = rows(tmp_path / "curves.csv")
    assert list(curves[0]) == [
        "task", "measure", "method", "judgments_per_item", "mean", "low", "high",
        "undefined_repetitions", "undefined_rounds",
    ]  # fmt: skip
    assert len(curves) == 2 * 6 * 4
    assert [row["judgments_per_item"] for row in curves[:4]] == ["1", "2", "3", "4"]
    gains = rows(tmp_path / "gains.csv")
    # five methods against DA, and EASL against the control
    assert len(gains) == 2 * 6 * 4
    assert {(row["method"], row["compared_with"]) for row in gains} == {
        ("EASL", "DA"), ("random", "DA"), ("RA", "DA"), ("TrueSkill", "DA"), ("Thurstone", "DA"),
        ("EASL", "random"),
    }  # fmt: skip
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
    assert list(scores[0]) == [
        "task", "item", "oracle", "DA", "EASL", "random", "RA", "TrueSkill", "Thurstone",
    ]  # fmt: skip
    assert [row["item"] for row in scores] == [f"item-{n:02d}" for n in range(1, 21)]
    examples = rows(tmp_path / "examples.csv")
    assert list(examples[0]) == ["task", "item", "gold", "DA", "RA", "EASL"]
    by_item = {row["item"]: row for row in scores}
    for row in examples:
        for column, name in (("gold", "oracle"), ("DA", "DA"), ("RA", "RA"), ("EASL", "EASL")):
            assert float(row[column]) == pytest.approx(
                100 * float(by_item[row["item"]][name]), abs=0.0501
            )


def test_systems(tmp_path: Path) -> None:
    document = run("systems", tmp_path, **SMALL_SYSTEMS)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "gains.csv", "reaches.csv", "scores.csv", "study.html",
    ]  # fmt: skip
    curves = rows(tmp_path / "curves.csv")
    assert {row["judgments_per_system"] for row in curves} == {"10", "20", "30", "40", "50", "60"}
    assert {row["method"] for row in curves} == {"DA", "EASL", "random"}
    assert (
        "DA has no correlation at 100 judgments per system or 300 judgments per system"
        in (document["findings"][1])
    )
    assert (
        "Intervals over fewer than 10 repetitions are too narrow: ask for more."
        in (document["notes"])
    )


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
    p_win, _, p_tie = outcome_probabilities(np.array([-0.5]), np.zeros(1), 0.5)
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


@pytest.mark.slow
def test_threads_change_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from studies.registry import run_study; "
        f"run_study('lexical', {SMALL!r}, None, None, Path(sys.argv[1]), lambda _: None)"
    )
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        command = [sys.executable, "-c", code, str(tmp_path / threads)]
        subprocess.run(command, check=True, env=environment)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_more_repetitions_leave_the_first_ones_as_they_are() -> None:
    few, more = (
        run_item_study("lexical", ItemStudy(**SMALL | {"repeats": n}), None, silent) for n in (2, 3)
    )
    assert (few.correlations.value == more.correlations.value[:, :2]).all()
    assert (few.correlations.rounds == more.correlations.rounds[:, :2]).all()
    once = run_item_study("lexical", ItemStudy(**SMALL | {"repeats": 1}), None, silent)
    for method, scores in once.final().items():
        assert (scores == more.final()[method]).all()
        rho = spearmanr(scores.round(9), once.truth).statistic
        place = more.correlations.methods.index(method)
        assert more.correlations.value[0, 0, place, -1] == pytest.approx(rho)
