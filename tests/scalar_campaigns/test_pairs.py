"""Scores through the whole pipeline: controls and their pairs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conftest import Staged, stage_file
from tests.scalar_campaigns.judged import Row, alike, bad, by, fates, gates, item_of, of, write_rows

NONE = "no ordinary judgment of the same output"


OTHER = "the ordinary judgment of the same output is by another judge"


TWO = "2 ordinary judgments of the same output by the same judge"


EITHER = "control_of is an item, and the native id of another judgment"


# what is judged, and what each control is compared with: a score, or why with nothing
PAIRS: dict[str, tuple[list[Row], list[float | str]]] = {
    "its pair": ([of(), bad()], [60]),
    "no pair": ([of("t"), bad()], [NONE]),
    "nothing ordinary at all": ([bad()], [NONE]),
    "by another judge": ([of(judge="bob"), bad()], [OTHER]),
    "each judge's own": (
        [of(), bad(), of(judge="bob", score=70), bad(judge="bob", score=30)], [60, 70]
    ),
    "of two judges, one without the pair": (
        [of("t"), bad(), of(judge="bob", score=70), bad(judge="bob", score=30)], [OTHER, 70]
    ),
    "in another HIT": ([of(hit="g"), bad()], [NONE]),
    "by another judge in another HIT": ([of(judge="bob", hit="g"), bad()], [NONE]),
    "without HIT against with": ([of(hit=""), bad()], [NONE]),
    "without HIT": ([of(hit=""), bad(hit="")], [60]),
    "of another system": ([of(system="y"), bad()], [NONE]),
    "of another criterion": ([of(criterion="fluency"), bad(criterion="adequacy")], [NONE]),
    "of a criterion against of none": ([of(), bad(criterion="adequacy")], [NONE]),
    "of each criterion": (
        [of(criterion="fluency", score=61), of(criterion="adequacy", score=62),
         bad(criterion="fluency"), bad(criterion="adequacy", score=21)],
        [61, 62],
    ),
    "a degraded copy with an id of its own": ([of(item="i"), bad(item="i-degraded")], [60]),
    "two controls": ([of(), bad(native_id="1"), bad(score=30, native_id="2")], [alike(2)] * 2),
    "three controls": (
        [of(), *(bad(score=n, native_id=n) for n in (1, 2, 3))], [alike(3)] * 3
    ),
    "controls of two kinds": (
        [of(), bad(), of(score=58, control="ask_again"), of(score=99, control="good_reference")],
        [60, 60, 60],
    ),
    "asked again twice": (
        [of(), *(of(score=n, control="ask_again", native_id=n) for n in (1, 2))],
        [alike(2, "ask_again")] * 2,
    ),
    "two ordinary ones": ([of(native_id="1"), of(score=70, native_id="2"), bad()], [TWO]),
    "two ordinary ones of equal score": ([of(native_id="1"), of(native_id="2"), bad()], [TWO]),
    "two ordinary ones, one off the scale": (
        [of(native_id="1"), of(score=170, native_id="2"), bad()], [60]
    ),
    "an ordinary one off the scale": ([of(score=101), bad()], [NONE]),
    "an ordinary one of a rejected assignment": (
        [of(status="Rejected"), bad(status="Approved")], [NONE]
    ),
    "a control of a rejected assignment": ([of(), bad(status="Rejected")], []),
    "a control off the scale": ([of(), bad(score=-1)], []),
    "asked again is not ordinary": ([of(control="ask_again"), bad()], [NONE, NONE]),
    "by item, without segment": (
        [of(item="i", segment=""), bad(item="i", segment=""), of(item="j", segment="", score=9)],
        [60],
    ),
    "by item, without system": ([of(item="i", system=""), bad(item="i", system="")], [60]),
    "by item against by output": ([of(item="i"), bad(item="i", system="")], [NONE]),
    "by other items, without segment": (
        [of(item="i", segment=""), bad(item="j", segment="")], [NONE]
    ),
    # control_of
    "of an item": ([of("t", item="i"), bad(item="b", control_of="i")], [60]),
    "of an item, not of its own output": (
        [of("t", item="i"), of(item="j", score=70), bad(item="b", control_of="i")], [60]
    ),
    "of a segment/system": ([of("t"), bad(control_of="t/x")], [60]),
    "of an item in another HIT": (
        [of("t", item="i", hit="g"), bad(item="b", control_of="i")], [60]
    ),
    "of an item in this HIT and in another": (
        [of("t", item="i", hit="g"), of("t", item="i", score=70), bad(item="b", control_of="i")],
        [70],
    ),
    "of an item in two other HITs": (
        [of("t", item="i", hit="g"), of("t", item="i", hit="f"), bad(item="b", control_of="i")],
        [TWO],
    ),
    "of an item of another judge": (
        [of("t", item="i", judge="bob"), bad(item="b", control_of="i")], [OTHER]
    ),
    "of an item that is not there": ([of(item="i"), bad(item="b", control_of="k")], [NONE]),
    "of itself": ([of("t", item="i"), bad(item="b", control_of="b")], [NONE]),
    "of a control": (
        [of(item="i"), bad(item="b", native_id="1"), bad("t", item="c", control_of="1")], [60, NONE]
    ),
    "of a judgment": ([of("t", native_id="7"), bad(native_id="8", control_of="7")], [60]),
    "of a judgment in another HIT": (
        [of("t", native_id="7", hit="g"), bad(native_id="8", control_of="7")], [60]
    ),
    "of a judgment of another judge": (
        [of("t", native_id="7", judge="bob"), bad(native_id="8", control_of="7")], [OTHER]
    ),
    "of a judgment that is not there": ([of(native_id="7"), bad(control_of="9")], [NONE]),
    "of a judgment id that two have": (
        [of("t", native_id="7"), of("u", native_id="7"), bad(control_of="7")], [TWO]
    ),
    "of what is an item and a judgment id": (
        [of("t", item="7"), of("u", score=70, item="i", native_id="7"),
         bad(item="b", control_of="7")],
        [EITHER],
    ),
    "of what is the item and the id of one judgment": (
        [of("t", item="7", native_id="7"), bad(item="b", native_id="8", control_of="7")], [60]
    ),
    "of a judgment of another criterion": (
        [of("t", native_id="7", criterion="fluency"), bad(control_of="7", criterion="adequacy")],
        [NONE],
    ),
    "two controls of one item": (
        [of("t", item="i"), bad(item="b", control_of="i"), bad("u", item="c", control_of="i")],
        [alike(2)] * 2,
    ),
    # names that could run together
    "joined names": ([of('a","b', system="c"), bad("a", system='b","c')], [NONE]),
    "names with a blank": ([of("a b", system="c"), bad("a", system="b c")], [NONE]),
    "names with blanks around them": ([of(system="x "), bad()], [60]),
    "names with a slash": ([of("a/b", system="c"), bad("a", system="b/c")], [NONE]),
    "names with a separator": ([of("a\x1fb", system="c"), bad("a", system="b\x1fc")], [NONE]),
    "names that differ in case": ([of(system="X"), bad()], [NONE]),
}  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Staged:
    """One campaign, a task a case; a judge of each task is another one."""
    rows = [
        {"item": item_of(row)} | row | {"task": name, "judge": f"{row['judge']} of {name}"}
        for name, (given, _) in PAIRS.items()
        for row in given
    ]
    # the pair of one, but in another task
    rows.append({"item": "s/x"} | of(task="other") | {"judge": "ann of no pair"})
    folder = tmp_path_factory.mktemp("pairs") / "campaign"
    return stage_file(write_rows(folder, rows, quality={"scope": "task"}))


@pytest.mark.sampled
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.slow
def test_what_a_control_is_compared_with(name: str, pairs: Staged) -> None:
    """Found pairs: the score of the ordinary judgment; else why there is none, in set_aside too."""
    expected = PAIRS[name][1]
    rows = [row for row in pairs.rows("control_pairs") if row["task"] == name]
    actual = [row["reason"] or row["ordinary_score"] for row in rows]
    assert sorted(map(str, actual)) == sorted(
        str(float(e)) if not isinstance(e, str) else e for e in expected
    )
    for name_ in ("ordinary_id", "ordinary_score"):
        assert all((row["reason"] is None) == (row[name_] is not None) for row in rows)
    unpaired = [row for row in rows if row["control"] == "bad_reference" and row["reason"]]
    aside = [
        row
        for row in pairs.rows("set_aside")
        if row["task"] == name and row["left_out_of"] == "judge_control"
    ]
    assert Counter((row["judgment_id"], row["reason"]) for row in aside) == Counter(
        (row["judgment_id"], row["reason"]) for row in unpaired
    ), "controls that the test would compare, and no others"
    judge = by(pairs.rows("judges"), "task", "judge")[name, f"ann of {name}"]
    n_pairs = sum(
        row["control"] == "bad_reference"
        and not row["reason"]
        and row["judge_id"] == judge["judge"]
        for row in rows
    )
    assert judge["n_pairs"] == n_pairs
    if n_pairs < 2:
        assert judge["verdict"] in ("undetermined", "untested"), "one pair decides nothing"


def test_pairs_of_several_criteria_are_by_criterion(pairs: Staged) -> None:
    rows = [row for row in pairs.rows("control_pairs") if row["task"] == "of each criterion"]
    assert {row["criterion"]: (row["ordinary_score"], row["score"]) for row in rows} == {
        "fluency": (61, 20),
        "adequacy": (62, 21),
    }


def test_unpaired_controls_are_a_gate(pairs: Staged) -> None:
    controls = [row for row in pairs.rows("control_pairs") if row["control"] == "bad_reference"]
    gate = gates(pairs.run("judges"))["unpaired_controls"]
    expected = Counter(row["reason"] for row in controls if row["reason"])
    assert expected[NONE] > 10
    assert expected[OTHER] == 4
    assert gate.value == pytest.approx(expected.total() / len(controls))
    assert gate.level == "warn"
    for reason, n in expected.items():
        assert f"{n} x {reason}" in gate.detail


@pytest.mark.sampled
@pytest.mark.parametrize(("contrast", "kinds"), [("paired", {"b"}), ("difference", {"b", "a"})])
def test_controls_that_the_test_does_not_pair_are_not_missed(
    contrast: str, kinds: set[str], stage: Any
) -> None:
    rows = [of("t"), bad("b"), of("a", control="ask_again"), of("g", control="good_reference")]
    test = "paired_t" if contrast == "paired" else "welch"
    built = stage(rows, quality={"test": test, "contrast": contrast})
    aside = [row for row in built.rows("set_aside") if row["left_out_of"] == "judge_control"]
    assert {row["item"] for row in aside} == {f"{kind}/x" for kind in kinds}
    assert all(row["reason"] == NONE for row in built.rows("control_pairs"))


def test_a_corrected_ordinary_judgment(stage: Any) -> None:
    """The pair is the answer that counts; the superseded one is no second ordinary judgment."""
    exports = {"1.csv": [of(), bad()], "2.csv": [of(score=75)], "3.csv": [of(score=75)]}
    built = stage(exports)
    (pair,) = built.rows("control_pairs")
    assert (pair["ordinary_score"], pair["reason"]) == (75, None)
    assert Counter(row["fate"] for row in built.rows("lineage")) == Counter(
        ["superseded", "duplicate", "control", "used"]
    )


def test_a_corrected_control(stage: Any) -> None:
    (pair,) = stage({"1.csv": [of(), bad()], "2.csv": [bad(score=5)]}).rows("control_pairs")
    assert (pair["score"], pair["ordinary_score"], pair["reason"]) == (5, 60, None)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "quality", [{"test": "none"}, {"test": "welch", "contrast": "pooled"}, {"test": "known_answer"}]
)
def test_tests_without_pairs_miss_none(quality: Row, stage: Any) -> None:
    built = stage([of(), bad("t"), of("u", control="ask_again")], quality=quality)
    assert built.rows("set_aside") == []
    assert gates(built)["unpaired_controls"].value == 0


def test_a_control_of_no_kind_is_a_rejected_record(stage: Any) -> None:
    built = stage([of(), bad(), bad("t", control="BAD"), bad("u", control="Bad_reference")])
    assert fates(built)["t/x"] == (
        "rejected",
        "control is not one of none, ask_again, bad_reference, good_reference, known_answer, "
        "adjudication, audit: 'BAD'",
    )
    assert fates(built)["u/x"][0] == "rejected"
