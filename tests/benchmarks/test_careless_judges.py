"""The table of what tests of judges of labels do, on a few answers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.careless_judges import (
    majority_right,
    public_sets,
    set_row,
    shares_failed,
    simulated,
    simulated_preferences,
)


def test_majority_counts_ties_in_parts_and_no_answer_as_wrong() -> None:
    answers = [("i", "a", "x"), ("i", "b", "x"), ("i", "c", "y"), ("j", "a", "x"), ("j", "b", "y")]
    assert majority_right(answers, {"i": "x", "j": "y", "k": "x"}) == pytest.approx(1.5 / 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rows do not count:UserWarning")
def test_a_judge_of_one_answer_is_removed() -> None:
    """Three judges are right on 40 items; the fourth always says 0, right on half of them."""
    truths = {f"i{n}": str(n % 2) for n in range(40)}
    answers = [(item, judge, truth) for item, truth in truths.items() for judge in "abc"]
    answers += [(item, "d", "0") for item in truths]
    cells = set_row("small", answers, truths)
    assert cells == [
        "small", "4", "1 (1 constant)", "25.0%", "0", "0.500", "1.000",
        "1.000, 1.000 (+0.000)", "1.000, 1.000 (+0.000)",
    ]  # fmt: skip


def test_sets_are_read_as_they_lie(tmp_path: Path) -> None:
    (tmp_path / "barzan").mkdir()
    (tmp_path / "barzan" / "label.csv").write_text("item,worker,label\n1,w,0\n")
    (tmp_path / "barzan" / "truth.csv").write_text("item,truth\n1,1\n")
    (tmp_path / "llmbar").mkdir()
    with gzip.open(tmp_path / "llmbar" / "judgments.csv.gz", "wt") as file:
        file.write("run,item,order,winner,truth\n")
        file.write("D/Natural/evaluators/m/p,0,as_written,2,1\n")
        file.write("D/Natural/evaluators/m/p,0,swapped,1,1\n")
        file.write("D/Natural/evaluators/m/p,1,as_written,,1\n")
    assert [*public_sets(tmp_path)] == [
        ("Barzan", [("1", "w", "0")], {"1": "1"}),
        ("LLMBar Natural", [("0", "m/p", "2")], {"0": "1", "1": "1"}),
    ]


def test_simulated_random_judges_fail_more_often() -> None:
    rng = np.random.default_rng(5)
    answers = simulated(rng, 80, 10, 4)
    assert len(answers) == 800
    shares = shares_failed(answers)
    assert shares["random"] > shares["good"] + 0.4


def test_of_many_preferences_who_does_not_look_fails() -> None:
    answers = simulated_preferences(np.random.default_rng(3), 200, 5, 0.0)
    kinds = ("careful", "random", "reversed", "left")
    failed = shares_failed(answers, kinds, are_preferences=True)
    assert failed == {"careful": 0, "random": 1, "reversed": 1, "left": 1}
