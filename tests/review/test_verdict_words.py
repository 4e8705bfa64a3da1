"""`annot review`: verdicts and their words."""

from __future__ import annotations

import re

import pytest

from annot_pipeline.contracts import FATES
from annot_pipeline.review.assignments import shorten_reason
from tests.review.batches import (
    CAREFUL,
    CARELESS,
    FAILED,
    ONE_PAIR,
    TEN,
    UPSIDE_DOWN,
    batch,
    reviewed,
    sheet,
    ten_pairs,
    upload,
    work,
)

pytestmark = pytest.mark.slow


def test_a_row_of_several_tasks(make):
    """Rejected if one verdict is failed, approved only if all are passed."""
    fields = {
        "task": {"join": ["Input.set", {"value": "{t}"}], "sep": ""},
        "position": {"value": "{t}{i}{k}"},
    }
    fields["score"] = {"column": "Answer.Q1", "match": r"(?:^|[|;]){t}_{i}_{k}_(\d+)"}
    each = {"t": ["p", "q"], "i": ["none", "bad_reference"], "k": "0..2"}

    def both(p: str, q: str) -> str:
        return "|".join(f"{t}_{part}" for t, a in (("p", p), ("q", q)) for part in a.split("|"))

    rows = [
        work("both", both(CAREFUL, CAREFUL)),
        work("neither", both(CARELESS, UPSIDE_DOWN)),
        work("twice", both(CARELESS, CARELESS)),
        work("first", both(CAREFUL, CARELESS)),
        work("half", both(CAREFUL, ONE_PAIR)),
    ]
    folder = make(
        {"b.csv": batch(*rows)}, fields=fields, source={"each": each}, quality={"scope": "task"}
    )
    reviewed(folder)
    actual = {row["worker"]: row for row in sheet(folder)}
    assert {w: (r["recommendation"], r["verdict"]) for w, r in actual.items()} == {
        "both": ("approve", "passed"),
        "neither": ("reject", "failed"),
        "twice": ("reject", "failed"),
        "first": ("reject", "failed, passed"),
        "half": ("decide", "undetermined, passed"),
    }
    assert actual["first"]["reason"] == actual["twice"]["reason"] == FAILED
    assert actual["first"]["effect"] == "2.6666666666666665"  # of the task that was failed
    other = FAILED.replace("not scored reliably", "scored no").replace("0.24", "1")
    assert actual["neither"]["reason"] == f"xq: {other} xp: {FAILED}"
    order = ["half", "first", "twice", "neither", "both"]
    assert [row["worker"] for row in sheet(folder)] == order


@pytest.mark.parametrize(
    ("quality", "words"),
    [
        (
            {"test": "signed_rank"},
            "not scored reliably lower than their originals (Wilcoxon signed-rank test, p = 0.",
        ),
        (
            {"test": "welch", "contrast": "pooled"},
            "not scored reliably lower than ordinary items (Welch's t-test, p = 0.",
        ),
        ({"correction": "holm"}, "(paired t-test, p = 0.69 after correction, 10 pairs)."),
    ],
)
def test_words_of_each_test(make, quality, words):
    answers = {"careless": (1, -1, 2, -2, 1), "upside": (-30, -25, -35), "careful": (45, 55, 60)}
    rows = [work(name, ten_pairs(*differences)) for name, differences in answers.items()]
    folder = make({"b.csv": batch(*rows)}, quality=quality, source=TEN)
    reviewed(folder)
    (row,) = (row for row in sheet(folder) if row["worker"] == "careless")
    assert words in row["reason"]
    assert f'"{row["reason"]}"' in upload(folder)
    assert row["recommendation"] == "reject"


def test_words_of_the_difference_contrast(make):
    each = {"i": ["none", "bad_reference", "ask_again"], "k": "0..9"}
    again = "".join(f"|ask_again_{k}_{88 - 2 * k}" for k in range(10))
    rows = [
        work(name, ten_pairs(*differences) + again)
        for name, differences in (("careless", (3, -3)), ("careful", (45, 55, 60)))
    ]
    folder = make({"b.csv": batch(*rows)}, source={"each": each},
                  quality={"test": "mann_whitney", "contrast": "difference"})  # fmt: skip
    reviewed(folder)
    assert sheet(folder)[0]["worker"] == "careless"
    assert sheet(folder)[0]["reason"].startswith(
        "Control items: degraded copies were no further from their originals than repeated "
        "items were (Mann-Whitney test, p = "
    )


def test_words_of_no_difference_and_of_known_answers(make):
    rows = [work("same", re.sub(r"_\d+(\||$)", r"_50\1", CARELESS)), work("careful", CAREFUL)]
    folder = make({"b.csv": batch(*rows)})
    reviewed(folder)
    assert sheet(folder)[0]["reason"] == (
        "Control items: degraded copies were scored no lower than their originals "
        "(paired t-test, p = 1, 3 pairs)."
    )
    names = ["HITId", "AssignmentId", "WorkerId", "Q", "Answer.label", "Truth"]
    answers = [
        ["h", f"{worker}{n}", worker, f"q{n}", "yes" if n < n_right else "no", "yes"]
        for worker, n_right in (("good", 9), ("bad", 2))
        for n in range(9)
    ]
    fields = {"judge": "WorkerId", "native_id": "AssignmentId", "item": "Q", "truth": "Truth"}
    fields |= {"label": "Answer.label", "control": {"value": "known_answer"}}
    source = {"each": {}, "fields": fields}
    folder = make(
        {"b.csv": batch(*answers, head=names)},
        source=source, quality={"test": "known_answer"},
    )  # fmt: skip
    reviewed(folder)
    text = upload(folder)
    assert text.count('"x",""') == 9
    assert (
        text.count(
            '"","Control items: 2 of 9 questions with a known answer were answered right, too few '
            "(binomial test, p = 0.98)."
        )
        == 9
    )


def test_words_of_judges_who_are_compared_with_each_other(make):
    """Who agrees no better than chance is rejected; who breaks a rule of analyses is not."""
    names = ["HITId", "AssignmentId", "WorkerId", "Q", "Answer.score"]
    rows = [
        ["h", f"{worker}{n}", worker, f"q{n}", str(score)]
        for n in range(40)
        for worker, score in (
            ("careful", 2 * n), ("other", 2 * n + n % 3), ("third", 2 * n - n % 2 + 1),
            ("careless", 37 * n % 101),
        )
    ]  # fmt: skip
    fields = {"judge": "WorkerId", "native_id": "AssignmentId", "item": "Q"}
    fields |= {"score": "Answer.score", "control": {"value": "none"}}
    source = {"each": {}, "fields": fields}
    folder = make(
        {"b.csv": batch(*rows, head=names)}, source=source, quality={"test": "consistency"}
    )
    reviewed(folder)
    actual = {row["worker"]: row for row in sheet(folder)}
    assert {worker: row["recommendation"] for worker, row in actual.items()} == {
        "careful": "approve", "other": "approve", "third": "approve", "careless": "reject",
    }  # fmt: skip
    assert actual["careless"]["reason"].startswith(
        "Scores: they did not agree with those that others gave the same items (permutation test, "
        "p = 0."
    )
    assert actual["careless"]["reason"].endswith(", 40 items).")


def test_a_rule_for_analyses_rejects_no_work(make):
    each = {"i": ["none", "good_reference"], "k": "0..9"}
    answers = "|".join(f"{i}_{k}_{40 + k}" for i in each["i"] for k in range(10))
    folder = make(
        {"b.csv": batch(work("low", answers))}, source={"each": each},
        quality={"test": "reference_threshold"},
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    )  # fmt: skip
    reviewed(folder)
    (row,) = sheet(folder)
    assert (row["verdict"], row["recommendation"]) == ("failed", "decide")
    assert row["reason"] == (
        "failed (10 of 10 references below 90% of the scale, 15% are allowed), by a rule for "
        "analyses, not for payment"
    )


def test_without_a_test_a_person_decides(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, quality={"test": "none"})
    assert reviewed(folder)["decide"] == 1
    assert sheet(folder)[0]["reason"] == "quality.test is none"


def test_judges_who_are_dropped_have_verdicts(make):
    """quality.undetermined: drop lets judgments of undetermined judges fail, not their work."""
    folder = make(
        {"b.csv": batch(work("once", ONE_PAIR))},
        quality={"undetermined": "drop"},
    )
    reviewed(folder)
    assert sheet(folder)[0]["verdict"] == "undetermined"
    assert "judge_failed" in FATES


def test_work_that_passes_is_not_approved_where_no_answer_counts(make):
    rows = [work("careful", CAREFUL), work("careful", "", "Submitted")]
    rows[1][1] = "a-empty"
    folder = make({"b.csv": batch(*rows)})
    assert [reviewed(folder)[kind] for kind in ("approve", "decide")] == [1, 1]
    assert upload(folder) == batch(rows[0] + ["x", ""], rows[1] + ["", ""])


def test_a_long_reason_is_cut():
    short = shorten_reason("\x07é€" + "y" * 2_000, "latin-1")
    assert len(short) == 1_024
    assert short.startswith("?é?yy")
    assert short.endswith("y...")
