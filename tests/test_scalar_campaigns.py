"""Scores through the whole pipeline: judge control, z-scores, means, rankings, bad input.

Small campaigns whose numbers can be worked out by hand or by scipy. What cannot be used ends
as a reason in a table (lineage, set_aside, judges): never as NaN in a mean, nor as a pair of
judgments that do not belong together.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats

from annot_pipeline import load_gold
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import ConfigError, GateError
from tests.conftest import Built, build_file

SCALE = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
Row = dict[str, Any]


def as_csv(rows: Sequence[Mapping[str, Any]], names: Iterable[str] = ()) -> str:
    """Rows as an export; what a row does not name is blank."""
    text = io.StringIO(newline="")
    names = list(names) or list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def build_rows(
    folder: Path, rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]],
    *sets: str, items: Sequence[Mapping[str, Any]] = (), **settings: Any,
) -> Built:  # fmt: skip
    """Build rows (of one export, or by the name of the export), columns named as the fields."""
    exports = rows if isinstance(rows, Mapping) else {"a.csv": rows}
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    columns = dict.fromkeys(name for content in exports.values() for row in content for name in row)
    for name, content in exports.items():
        (folder / "exports" / name).write_text(
            as_csv(content, columns), encoding="utf-8", newline=""
        )
    document: Row = {
        "campaign": "small",
        "sources": [
            {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in columns}}
        ],
        "tasks": SCALE,
        "privacy": {"pseudonymize": False},
        "gates": {"rejected_share": {"error": None}},
        "agreement": {"bootstrap": 2},
    }
    if items:
        (folder / "items.csv").write_text(as_csv(items), encoding="utf-8", newline="")
        fields = {name: name for name in dict.fromkeys(name for row in items for name in row)}
        document["items"] = [{"path": "items.csv", "format": "csv", "fields": fields}]
    (folder / "campaign.yaml").write_text(json.dumps(document | settings), encoding="utf-8")
    built = build_file(folder, *sets)
    check_gold(built, folder / "gold")
    return built


def check_gold(built: Built, gold: Path) -> None:
    """What holds in every release: no NaN, and every judgment that counts is in the means."""
    for name in GOLD:
        for column in load_gold(gold, name).itercolumns():
            if pa.types.is_floating(column.type):
                assert not pc.any(pc.is_nan(column)).as_py(), name
                assert not pc.any(pc.is_inf(column)).as_py(), name
    lineage, scores = built.rows("lineage"), built.rows("scores")
    scalar = {t["task"] for t in built.rows("tasks") if t["kind"] == "scalar"}
    counted = Counter(row["fate"] for row in lineage if row["task"] in scalar)
    assert sum(row["n_judgments"] for row in scores) == counted["used"]
    aside = {
        (row["judgment_id"], row["left_out_of"]): row["reason"] for row in built.rows("set_aside")
    }
    known = {row["judgment_id"] for row in lineage}
    assert {judgment for judgment, _ in aside} <= known
    assert all(aside.values()), "every row says why"
    for row in scores:
        assert (row["raw_mean"] is None) == (row["n_judgments"] == 0)
        assert (row["unfiltered_mean"] is None) == (row["n_unfiltered"] == 0)


@pytest.fixture
def build(tmp_path: Path) -> Any:
    """`build_rows` in a folder of its own; each call is another campaign."""
    count = iter(range(1000))

    def build_next(rows: Any, *sets: str, **settings: Any) -> Built:
        return build_rows(tmp_path / f"campaign{next(count)}", rows, *sets, **settings)

    return build_next


def fates(built: Built, *key: str) -> dict[Any, tuple[str, str | None]]:
    """Fate and reason of each record, by item or other columns of lineage."""
    names = key or ("item",)
    return {
        tuple(row[n] for n in names) if len(names) > 1 else row[names[0]]: (
            row["fate"],
            row["reason"],
        )
        for row in built.rows("lineage")
    }


def by(rows: Iterable[Row], *names: str) -> dict[Any, Row]:
    found: dict[Any, Row] = {}
    for row in rows:
        key = tuple(row[name] for name in names) if len(names) > 1 else row[names[0]]
        assert key not in found
        found[key] = row
    return found


def gates(built: Built) -> dict[str, Any]:
    return {gate.name: gate for run in built.runs.values() for gate in run.gates}


def z_of(scores: Sequence[float]) -> list[float]:
    return [(score - fmean(scores)) / stdev(scores) for score in scores]


# --- scores --------------------------------------------------------------------------------

NO_NUMBERS = {
    "85,5": "score is not a number: '85,5'",
    "70%": "score is not a number: '70%'",
    "NaN": "score is not a number: 'NaN'",
    "nan": "score is not a number: 'nan'",
    "inf": "score is not a number: 'inf'",
    "-Infinity": "score is not a number: '-Infinity'",
    "1e400": "score is too large: '1e400'",
    "-1e400": "score is too large: '-1e400'",
    "1e16": "score is too large: '1e16'",
    "0x1F": "score is not a number: '0x1F'",
    "1_000": "score is not a number: '1_000'",
    "1 0": "score is not a number: '1 0'",
    "eighty": "score is not a number: 'eighty'",
    "½": "score is not a number: '½'",
    "²": "score is not a number: '²'",
    "--5": "score is not a number: '--5'",
    "5.5.5": "score is not a number: '5.5.5'",
    "1e": "score is not a number: '1e'",
    ".": "score is not a number: '.'",
    "=5+5": "score is not a number: '=5+5'",
    "'50": 'score is not a number: "\'50"',
    "None": "score is not a number: 'None'",
    "true": "score is not a number: 'true'",
    "": "score is blank",
    "  ": "score is blank",
    "-0.0001": "score is outside the scale: -0.0001",
    "100.0001": "score is outside the scale: 100.0001",
    "101": "score is outside the scale: 101.0",
    "-1": "score is outside the scale: -1.0",
    "1e15": "score is outside the scale: 1000000000000000.0",
}
NUMBERS = {
    "+85": 85, " 85 ": 85, "\t85": 85, "85\n": 85, "\u00a085": 85, "８５": 85, "٨٥": 85,  # noqa: RUF001
    "085": 85, "85.": 85, ".5": 0.5, "8.5e1": 85, "8.5E+01": 85, "-0": 0, "0": 0, "100": 100,
    "1e-320": 0, "33.333333333333336": 100 / 3,
}  # fmt: skip


def test_scores_are_numbers_or_reasons(build: Any) -> None:
    """One campaign: every odd score is a record with its reason, and no mean feels it."""
    rows = [{"item": f"i{n}", "judge": "ann", "score": n} for n in range(10)]
    rows += [{"item": f"no{n}", "judge": "odd", "score": text} for n, text in enumerate(NO_NUMBERS)]
    rows += [{"item": f"yes{n}", "judge": "odd", "score": text} for n, text in enumerate(NUMBERS)]
    built = build(rows)
    found = fates(built)
    assert {text: found[f"no{n}"] for n, text in enumerate(NO_NUMBERS)} == {
        text: ("rejected", reason) for text, reason in NO_NUMBERS.items()
    }
    scores = by(built.rows("scores"), "item")
    assert scores.keys() == {row["item"] for row in rows if not row["item"].startswith("no")}
    for n, (text, number) in enumerate(NUMBERS.items()):
        assert found[f"yes{n}"] == ("used", None), text
        assert scores[f"yes{n}"]["raw_mean"] == pytest.approx(number), text
    judge = by(built.rows("judges"), "judge")["odd"]
    assert judge["n_judgments"] == len(NUMBERS)
    assert judge["mean"] == pytest.approx(fmean(NUMBERS.values()))
    assert judge["sd"] == pytest.approx(stdev(NUMBERS.values()))


def test_without_a_declared_scale_all_numbers_count(build: Any) -> None:
    given = [-1e15, -5, 0, 7.5, 1e15]
    rows = [{"item": f"i{n}", "judge": "ann", "score": score} for n, score in enumerate(given)]
    rows.append({"item": "x", "judge": "ann", "score": "1.1e15"})
    built = build(rows, tasks=[{"name": "*", "kind": "scalar"}])
    assert fates(built)["x"] == ("rejected", "score is too large: '1.1e15'")
    assert [row["raw_mean"] for row in built.rows("scores")] == given
    (judge,) = built.rows("judges")
    assert judge["share_at_ends"] is None, "nobody knows the ends"
    statistics = {row["statistic"] for row in built.rows("agreement")}
    assert "inter_kappa_z_5" in statistics
    assert not [name for name in statistics if "kappa_raw" in name], "no scale to cut"


@pytest.mark.parametrize(
    ("scale", "error"),
    [
        ([100, 0], "tasks.0.scale: [100.0, 0.0] does not rise; write [lowest, highest]"),
        ([5, 5], "tasks.0.scale: [5.0, 5.0] does not rise; write [lowest, highest]"),
        ([0], "tasks.0.scale.1: is missing"),
        ([0, "high"], "tasks.0.scale.1: input should be a valid number (found 'high')"),
        ([0, "1e400"], "tasks.0.scale.1: input should be a valid number (found '1e400')"),
    ],
)
def test_scales_that_are_none(scale: Any, error: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([{"item": "i", "judge": "a", "score": 1}], tasks=[SCALE[0] | {"scale": scale}])
    assert error in str(caught.value)


# --- judges without z ----------------------------------------------------------------------


def test_a_constant_judge_has_no_z(build: Any) -> None:
    """Also of a constant like 70.1, whose mean in floating point is not exactly 70.1."""
    constants = list(product([70, 70.1, 0.1, 33.3, 100 / 3, 0, 99.99], [2, 3, 7]))
    rows = [{"item": f"i{k}", "judge": "ann", "score": 10 * k} for k in range(7)]
    rows += [
        {"item": f"i{k}", "judge": f"{constant} {n}", "score": constant}
        for constant, n in constants
        for k in range(n)
    ]
    built = build(rows)
    judges = by(built.rows("judges"), "judge")
    aside = Counter(
        (row["judge"], row["left_out_of"], row["reason"]) for row in built.rows("set_aside")
    )
    for constant, n in constants:
        judge = judges[f"{constant} {n}"]
        assert (judge["mean"], judge["sd"]) == (constant, 0)
        assert judge["no_z_reason"] == f"all {n} scores are equal"
        assert aside.pop((judge["judge"], "z_scores", judge["no_z_reason"])) == n
    assert not aside
    scores = by(built.rows("scores"), "item")
    z = z_of([10 * k for k in range(7)])
    for k in range(7):
        given = [10 * k, *(constant for constant, n in constants if k < n)]
        assert scores[f"i{k}"]["z_mean"] == pytest.approx(z[k]), "of ann alone"
        assert scores[f"i{k}"]["raw_mean"] == pytest.approx(fmean(given))
        assert scores[f"i{k}"]["n_judgments"] == len(given)
    assert gates(built)["rows_without_z"].value == pytest.approx(1 - 7 / len(rows))


def test_a_judge_with_one_judgment(build: Any) -> None:
    rows = [{"item": f"i{k}", "judge": "ann", "score": 10 * k} for k in range(3)]
    built = build([*rows, {"item": "i0", "judge": "once", "score": 50}])
    judge = by(built.rows("judges"), "judge")["once"]
    assert (judge["mean"], judge["sd"], judge["n_judgments"]) == (50, None, 1)
    assert judge["no_z_reason"].endswith("; 2 are needed")
    scores = by(built.rows("scores"), "item")
    assert scores["i0"]["raw_mean"] == 25
    assert scores["i0"]["z_mean"] == pytest.approx(-1), "of ann alone"
    assert [row["item"] for row in built.rows("set_aside")] == ["i0"]


def test_items_of_judges_without_z_alone(build: Any) -> None:
    built = build([{"item": "i", "judge": "once", "score": 50}])
    (row,) = built.rows("scores")
    assert (row["raw_mean"], row["z_mean"], row["n_judgments"]) == (50, None, 1)


@pytest.mark.parametrize("controls", ["include", "exclude"])
def test_controls_count_for_z_or_not(controls: str, build: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "control": "", "score": s}
        for k, s in enumerate([20, 40, 90])
    ]
    rows += [{"item": "b", "judge": "ann", "control": "bad_reference", "score": 10}]
    rows += [{"item": "b", "judge": "bad", "control": "bad_reference", "score": s} for s in (1, 2)]
    built = build(rows, standardize={"controls": controls})
    judges = by(built.rows("judges"), "judge")
    scores = by(built.rows("scores"), "item")
    z = z_of([20, 40, 90, 10] if controls == "include" else [20, 40, 90])
    assert [scores[f"i{k}"]["z_mean"] for k in range(3)] == pytest.approx(z[:3])
    assert "b" not in scores
    if controls == "include":
        assert judges["bad"]["no_z_reason"] is None
    else:
        assert judges["bad"]["no_z_reason"] == "0 ordinary scores; 2 are needed"


# --- controls and their pairs --------------------------------------------------------------

NONE = "no ordinary judgment of the same output"
OTHER = "the ordinary judgment of the same output is by another judge"
TWO = "2 ordinary judgments of the same output by the same judge"
EITHER = "control_of is an item, and the native id of another judgment"


def alike(n: int, control: str = "bad_reference") -> str:
    return f"{n} {control} judgments of the same output by the same judge"


def of(segment: str = "s", score: Any = 60, **more: Any) -> Row:
    """An ordinary judgment; `bad` is its degraded copy."""
    return {"judge": "ann", "hit": "h", "system": "x", "segment": segment, "score": score} | more


def bad(segment: str = "s", score: Any = 20, **more: Any) -> Row:
    return of(segment, score, control="bad_reference") | more


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
    "names with blanks": ([of(system="x "), bad()], [NONE]),
    "names with a slash": ([of("a/b", system="c"), bad("a", system="b/c")], [NONE]),
    "names with a separator": ([of("a\x1fb", system="c"), bad("a", system="b\x1fc")], [NONE]),
    "names that differ in case": ([of(system="X"), bad()], [NONE]),
}  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """One campaign, a task a case; a judge of each task is another one."""
    rows = [
        {"item": item_of(row)} | row | {"task": name, "judge": f"{row['judge']} of {name}"}
        for name, (given, _) in PAIRS.items()
        for row in given
    ]
    # the pair of one, but in another task
    rows.append({"item": "s/x"} | of(task="other") | {"judge": "ann of no pair"})
    folder = tmp_path_factory.mktemp("pairs") / "campaign"
    return build_rows(folder, rows, quality={"scope": "task"}, ranking={"bootstrap": 0})


def item_of(row: Row) -> str:
    """What the item is where no item is mapped."""
    parts = (row["segment"], row["system"])
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


@pytest.mark.parametrize("name", PAIRS)
def test_what_a_control_is_compared_with(name: str, pairs: Built) -> None:
    """Found pairs: the score of the ordinary judgment; else why there is none, in set_aside too."""
    expected = PAIRS[name][1]
    rows = [row for row in pairs.rows("control_pairs") if row["task"] == name]
    found = [row["reason"] or row["ordinary_score"] for row in rows]
    assert sorted(map(str, found)) == sorted(
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


def test_pairs_of_several_criteria_are_by_criterion(pairs: Built) -> None:
    rows = [row for row in pairs.rows("control_pairs") if row["task"] == "of each criterion"]
    assert {row["criterion"]: (row["ordinary_score"], row["score"]) for row in rows} == {
        "fluency": (61, 20),
        "adequacy": (62, 21),
    }


def test_unpaired_controls_are_a_gate(pairs: Built) -> None:
    gate = gates(pairs)["unpaired_controls"]
    controls = [row for row in pairs.rows("control_pairs") if row["control"] == "bad_reference"]
    expected = Counter(row["reason"] for row in controls if row["reason"])
    assert expected[NONE] > 10
    assert expected[OTHER] == 4
    assert gate.value == pytest.approx(expected.total() / len(controls))
    assert gate.level == "warn"
    for reason, n in expected.items():
        assert f"{n} x {reason}" in gate.detail


@pytest.mark.parametrize(("contrast", "kinds"), [("paired", {"b"}), ("difference", {"b", "a"})])
def test_controls_that_the_test_does_not_pair_are_not_missed(
    contrast: str, kinds: set[str], build: Any
) -> None:
    rows = [of("t"), bad("b"), of("a", control="ask_again"), of("g", control="good_reference")]
    test = "paired_t" if contrast == "paired" else "welch"
    built = build(rows, quality={"test": test, "contrast": contrast})
    aside = [row for row in built.rows("set_aside") if row["left_out_of"] == "judge_control"]
    assert {row["item"] for row in aside} == {f"{kind}/x" for kind in kinds}
    assert all(row["reason"] == NONE for row in built.rows("control_pairs"))


def test_a_corrected_ordinary_judgment(build: Any) -> None:
    """The pair is the answer that counts; the superseded one is no second ordinary judgment."""
    exports = {"1.csv": [of(), bad()], "2.csv": [of(score=75)], "3.csv": [of(score=75)]}
    built = build(exports)
    (pair,) = built.rows("control_pairs")
    assert (pair["ordinary_score"], pair["reason"]) == (75, None)
    assert Counter(row["fate"] for row in built.rows("lineage")) == Counter(
        ["superseded", "duplicate", "control", "used"]
    )


def test_a_corrected_control(build: Any) -> None:
    (pair,) = build({"1.csv": [of(), bad()], "2.csv": [bad(score=5)]}).rows("control_pairs")
    assert (pair["score"], pair["ordinary_score"], pair["reason"]) == (5, 60, None)


@pytest.mark.parametrize(
    "quality", [{"test": "none"}, {"test": "welch", "contrast": "pooled"}, {"test": "known_answer"}]
)
def test_tests_without_pairs_miss_none(quality: Row, build: Any) -> None:
    built = build([of(), bad("t"), of("u", control="ask_again")], quality=quality)
    assert built.rows("set_aside") == []
    assert gates(built)["unpaired_controls"].value == 0


def test_a_control_of_no_kind_is_a_rejected_record(build: Any) -> None:
    built = build([of(), bad(), bad("t", control="BAD"), bad("u", control="Bad_reference")])
    assert fates(built)["t/x"] == (
        "rejected",
        "control is not one of none, ask_again, bad_reference, good_reference, known_answer, "
        "adjudication: 'BAD'",
    )
    assert fates(built)["u/x"][0] == "rejected"


# --- judge control -------------------------------------------------------------------------

CAREFUL = [(72, 31), (55, 20), (81, 40), (64, 66), (90, 35), (47, 12), (76, 52), (58, 49)]
CARELESS = [(50, 52), (61, 58), (40, 47), (55, 55), (70, 66), (33, 41), (48, 44), (59, 62)]
AGAIN = [(70, 66), (52, 60), (85, 80), (61, 61), (88, 92), (45, 51), (74, 77), (57, 50)]


def hit_of(
    judge: str, pairs: Sequence[tuple[float, float]], again: Any = (), **more: Any
) -> list[Row]:
    """Rows of a judge: (ordinary score, degraded copy's), and (ordinary, asked again)."""
    rows = []
    for n, (first, second) in enumerate(pairs):
        rows += [of(f"s{n}", first), bad(f"s{n}", second)]
    for n, (first, second) in enumerate(again):
        rows += [of(f"a{n}", first), of(f"a{n}", second, control="ask_again")]
    return [row | {"judge": judge} | more for row in rows]


def expected_test(
    test: str, contrast: str, pairs: Sequence[tuple[float, float]], again: Any, signed: bool
) -> tuple[float, float, float]:
    """statistic (of t-tests), effect, p by scipy."""
    d2 = [a - b for a, b in pairs]
    d1 = [a - b if signed else abs(a - b) for a, b in again]
    if contrast == "paired":
        if test == "paired_t":
            found = stats.ttest_rel(*zip(*pairs, strict=True), alternative="greater")
        else:
            found = stats.wilcoxon(
                d2,
                alternative="greater",
                correction=True,
                method="asymptotic",
                zero_method="wilcox",
            )
        return found.statistic, fmean(d2), found.pvalue
    first, second = d2, d1
    if contrast == "pooled":
        first = [a for a, _ in pairs] + [a for a, _ in again]
        second = [b for _, b in pairs]
    if test == "welch":
        found = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    else:
        found = stats.mannwhitneyu(
            first, second, alternative="greater", use_continuity=True, method="asymptotic"
        )
    return found.statistic, fmean(first) - fmean(second), found.pvalue


@pytest.mark.parametrize(
    ("test", "contrast", "signed"),
    [
        ("paired_t", "paired", False),
        ("signed_rank", "paired", False),
        ("welch", "pooled", False),
        ("mann_whitney", "pooled", False),
        ("welch", "difference", False),
        ("mann_whitney", "difference", False),
        ("welch", "difference", True),
        ("mann_whitney", "difference", True),
    ],
)
def test_every_test_of_every_contrast(test: str, contrast: str, signed: bool, build: Any) -> None:
    """Statistic, effect, p and verdict as scipy has them."""
    judges = {"careful": CAREFUL, "careless": CARELESS}
    rows = [row for name, given in judges.items() for row in hit_of(name, given, AGAIN)]
    built = build(rows, quality={"test": test, "contrast": contrast, "signed": signed})
    found = by(built.rows("judges"), "judge")
    for name, given in judges.items():
        statistic, effect, p = expected_test(test, contrast, given, AGAIN, signed)
        judge = found[name]
        assert judge["effect"] == pytest.approx(effect)
        assert judge["p_value"] == judge["p_adjusted"] == pytest.approx(p)
        assert judge["verdict"] == ("passed" if p < 0.05 else "failed")
        assert judge["dropped"] == (p >= 0.05)
        assert (judge["test"], judge["contrast"], judge["n_pairs"]) == (test, contrast, 8)
        assert (judge["n_bad_reference"], judge["n_ask_again"]) == (8, 8)
        if test in ("paired_t", "welch"):
            assert judge["statistic"] == pytest.approx(statistic)
    assert found["careful"]["verdict"] == "passed"
    assert found["careless"]["verdict"] == "failed"
    kept = {row["judge"]: row["fate"] for row in built.rows("lineage") if row["item"] == "s0/x"}
    assert kept["careless"] == "judge_failed"
    (reason,) = {row["reason"] for row in built.rows("lineage") if row["judge"] == "careless"}
    assert reason == f"judge control: failed ({test}, p = {found['careless']['p_value']:.4g})"
    scores = by(built.rows("scores"), "item")["s0/x"]
    assert (scores["raw_mean"], scores["unfiltered_mean"]) == (72, 61)


PAIRED_ONLY = "compares pairs; with contrast: {} write test: welch or mann_whitney"
TWO_SAMPLES = (
    "compares two samples; write contrast: pooled (all ordinary scores against all degraded ones) "
    "or difference (d2 against d1)"
)
REFUSED = {
    (test, contrast): f"{test} {why.format(contrast)}"
    for tests, contrasts, why in (
        (("paired_t", "signed_rank"), ("pooled", "difference"), PAIRED_ONLY),
        (("welch", "mann_whitney"), ("paired",), TWO_SAMPLES),
    )
    for test, contrast in product(tests, contrasts)
}


@pytest.mark.parametrize(("test", "contrast"), REFUSED)
def test_tests_that_do_not_fit_the_contrast(test: str, contrast: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([of()], quality={"test": test, "contrast": contrast})
    assert str(caught.value).splitlines()[1] == f"  quality: {REFUSED[test, contrast]}"


@pytest.mark.parametrize(
    ("quality", "error"),
    [
        ({"signed": True}, "quality: signed belongs to contrast: difference"),
        ({"test": "t_test"}, "quality.test: 't_test' is not allowed"),
        ({"contrast": "pairs"}, "quality.contrast: 'pairs' is not allowed"),
        (
            {"min_pairs": 1},
            "quality.min_pairs: input should be greater than or equal to 2 (found '1')",
        ),
        ({"alpha": 0}, "quality.alpha: input should be greater than 0 (found '0')"),
        ({"alpha": 1}, "quality.alpha: input should be less than 1 (found '1')"),
        ({"correction": "bonferroni"}, "quality.correction: 'bonferroni' is not allowed"),
        ({"scope": "judge"}, "quality.scope: 'judge' is not allowed"),
        ({"undetermined": "pass"}, "quality.undetermined: 'pass' is not allowed"),
        ({"known_accuracy": 1}, "quality.known_accuracy: input should be less than 1 (found '1')"),
        ({"tests": "none"}, "quality.tests: unknown key"),
    ],
)
def test_settings_that_are_none(quality: Row, error: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([of()], quality=quality)
    assert error in str(caught.value)


def test_no_test(build: Any) -> None:
    built = build(hit_of("careless", CARELESS), quality={"test": "none"})
    (judge,) = built.rows("judges")
    assert (judge["verdict"], judge["verdict_reason"]) == ("untested", "quality.test is none")
    assert (judge["test"], judge["contrast"], judge["p_value"], judge["n_pairs"]) == (
        None,
        None,
        None,
        0,
    )
    assert not judge["dropped"]


@pytest.mark.parametrize("undetermined", ["keep", "drop"])
def test_a_judge_with_too_few_controls(undetermined: str, build: Any) -> None:
    rows = [*hit_of("careful", CAREFUL), *hit_of("one", CAREFUL[:1]), of(judge="none")]
    built = build(rows, quality={"undetermined": undetermined})
    judges = by(built.rows("judges"), "judge")
    assert judges["careful"]["verdict"] == "passed"
    dropped = undetermined == "drop"
    for name, n in (("one", 1), ("none", 0)):
        judge = judges[name]
        assert judge["verdict"] == "undetermined", "a campaign with controls asks them of everyone"
        assert judge["verdict_reason"] == f"{n} pairs, 2 are needed"
        assert (judge["dropped"], judge["n_pairs"], judge["p_value"]) == (dropped, n, None)
    fate = fates(built, "item", "judge")["s/x", "none"]
    why = "judge control: undetermined (0 pairs, 2 are needed)"
    assert fate == (("judge_failed", why) if dropped else ("used", None))
    assert gates(built)["judges_undetermined"].value == pytest.approx(2 / 3)
    assert gates(built)["few_controls"].value == 1, "8 pairs are few, too"


@pytest.mark.parametrize(("min_pairs", "verdict"), [(8, "passed"), (9, "undetermined")])
def test_how_many_pairs_are_enough(min_pairs: int, verdict: str, build: Any) -> None:
    (judge,) = build(hit_of("ann", CAREFUL), quality={"min_pairs": min_pairs}).rows("judges")
    assert judge["verdict"] == verdict


def test_a_campaign_without_controls_tests_nobody(build: Any) -> None:
    built = build([of(), of("t", judge="bob")], quality={"undetermined": "drop"})
    for judge in built.rows("judges"):
        assert (judge["verdict"], judge["dropped"]) == ("untested", False)
        assert judge["verdict_reason"] == "no controls for this test"


def test_references_alone_are_no_controls_for_the_paired_test(build: Any) -> None:
    rows = [of(), of(control="good_reference", score=90), of(control="ask_again", score=60)]
    (judge,) = build(rows).rows("judges")
    assert (judge["verdict"], judge["n_good_reference"], judge["n_ask_again"]) == ("untested", 1, 1)
    assert (judge["mean_good_reference"], judge["mean_ordinary"]) == (90, 60)


ZERO_VARIANCE = {
    "everything one score": ([(70.1, 70.1)] * 5, "failed"),
    "always ten points lower": ([(60, 50), (80, 70), (30, 20)], "passed"),
    "always ten points higher": ([(50, 60), (70, 80), (20, 30)], "failed"),
    "always a tenth lower, as decimals": ([(0.3, 0.2), (0.8, 0.7), (0.2, 0.1)], "passed"),
}


@pytest.mark.parametrize("test", ["paired_t", "signed_rank"])
@pytest.mark.parametrize("name", ZERO_VARIANCE)
def test_no_variance_is_decided_by_the_means(name: str, test: str, build: Any) -> None:
    pairs, verdict = ZERO_VARIANCE[name]
    if test == "signed_rank":
        pairs = pairs * 5  # three pairs can never be significant by ranks
        pairs = [(a, b) for a, b in pairs]
    (judge,) = _all_judges(build, hit_of("ann", pairs), {"test": test})
    assert judge["verdict"] == verdict
    if test == "paired_t" and "decimals" not in name:
        assert judge["verdict_reason"] == "the scores do not vary: decided by the means"
        assert judge["p_value"] == (0 if verdict == "passed" else 1)
        assert judge["statistic"] in (None, 0)


def _all_judges(build: Any, rows: list[Row], quality: Row) -> list[Row]:
    """Judges, with one more who passes, so that something is left to publish."""
    built = build([*rows, *hit_of("careful", CAREFUL * 2, AGAIN)], quality=quality)
    judges: list[Row] = built.rows("judges")
    assert by(judges, "judge")["careful"]["verdict"] == "passed"
    return [row for row in judges if row["judge"] != "careful"]


@pytest.mark.parametrize(
    ("correction", "passing"), [("none", 4), ("holm", 1), ("benjamini_hochberg", 3)]
)
def test_corrections_over_judges(correction: str, passing: int, build: Any) -> None:
    """Adjusted by hand (Holm) and by scipy; undetermined judges are no tests."""
    shifts = {"j1": 40, "j2": 21, "j3": 20.5, "j4": 15, "j5": 2, "j6": 0}
    noise = [-14, 17, -25, 22, 5, -9, 30, -26]
    rows = [
        row
        for name, shift in shifts.items()
        for row in hit_of(name, [(50 + n, 50 + n - shift - d) for n, d in enumerate(noise)])
    ]
    rows += hit_of("few", CAREFUL[:1])
    built = build(rows, quality={"correction": correction}, tasks=[{"name": "*", "kind": "scalar"}])
    judges = by(built.rows("judges"), "judge")
    assert judges["few"]["p_adjusted"] is None
    p = [
        stats.ttest_1samp([shift + d for d in noise], 0, alternative="greater").pvalue
        for shift in shifts.values()
    ]
    adjusted = p
    if correction == "holm":  # p rises from judge to judge
        assert p == sorted(p)
        adjusted = [min(1, max(p[i] * (6 - i) for i in range(n + 1))) for n in range(6)]
    elif correction == "benjamini_hochberg":
        adjusted = stats.false_discovery_control(p, method="bh").tolist()
    assert [judges[name]["p_value"] for name in shifts] == pytest.approx(p)
    assert [judges[name]["p_adjusted"] for name in shifts] == pytest.approx(adjusted)
    verdicts = [judges[name]["verdict"] for name in shifts]
    assert verdicts == ["passed"] * passing + ["failed"] * (6 - passing)


def test_scope_campaign_or_task(build: Any) -> None:
    """A judge careful in one task and careless in another."""
    rows = [*hit_of("ann", CAREFUL, task="t1"), *hit_of("ann", CARELESS, task="t2")]
    rows += [
        *hit_of("bob", CAREFUL, task="t2"),
        of(task="t3", judge="ann"),
        of(task="t3", judge="bob"),
    ]
    rows += [of(task="t4", judge="eve")]
    whole = by(build(rows).rows("judges"), "task", "judge")
    p = stats.ttest_rel(*zip(*CAREFUL, *CARELESS, strict=True), alternative="greater").pvalue
    for task in ("t1", "t2", "t3"):
        assert whole[task, "ann"]["p_value"] == pytest.approx(p)
        assert whole[task, "ann"]["n_pairs"] == 16
        assert whole[task, "ann"]["verdict"] == "passed"
    assert whole["t4", "eve"]["verdict"] == "untested", "her task has no controls"
    built = build(rows, quality={"scope": "task", "undetermined": "drop"})
    each = by(built.rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in each.items()} == {
        ("t1", "ann"): "passed",
        ("t2", "ann"): "failed",
        ("t2", "bob"): "passed",
        ("t3", "ann"): "untested",
        ("t3", "bob"): "untested",
        ("t4", "eve"): "untested",
    }
    assert each["t1", "ann"]["p_value"] == pytest.approx(
        stats.ttest_rel(*zip(*CAREFUL, strict=True), alternative="greater").pvalue
    )
    fate = fates(built, "task", "item", "judge")
    assert fate["t1", "s0/x", "ann"][0] == "used"
    assert fate["t2", "s0/x", "ann"][0] == "judge_failed"
    assert fate["t3", "s/x", "ann"][0] == "used"


@pytest.mark.parametrize(("test", "contrast"), [("paired_t", "paired"), ("welch", "pooled")])
def test_a_judge_tested_over_tasks_of_different_scales(
    test: str, contrast: str, build: Any
) -> None:
    """In hundredths of each scale, so that the widest does not decide alone."""
    rows = hit_of("ann", CAREFUL, task="wide") + hit_of(
        "ann", [(1 + a / 25, 1 + b / 25) for a, b in CARELESS], task="narrow"
    )
    tasks = [{"name": "narrow", "kind": "scalar", "scale": [1, 5]}, *SCALE]
    quality = {"test": test, "contrast": contrast}
    (narrow, wide) = build(rows, tasks=tasks, quality=quality).rows("judges")
    _, effect, p = expected_test(test, contrast, CAREFUL + CARELESS, (), False)
    assert narrow["effect"] == wide["effect"] == pytest.approx(effect)
    assert narrow["p_value"] == wide["p_value"] == pytest.approx(p)
    with pytest.raises(ConfigError) as caught:
        build(rows, tasks=[tasks[0], {"name": "*", "kind": "scalar"}], quality=quality)
    assert "judges cannot be tested over tasks of different scales" in str(caught.value)
    each = build(rows, tasks=[tasks[0], {"name": "*", "kind": "scalar"}],
                 quality=quality | {"scope": "task"}).rows("judges")  # fmt: skip
    assert {row["task"]: row["verdict"] for row in each} == {"narrow": "failed", "wide": "passed"}


def test_a_judge_who_fails_fails_in_all_tasks_of_the_campaign(build: Any) -> None:
    rows = [*hit_of("ann", CARELESS, task="t1"), of(task="t2", judge="ann")]
    rows += [*hit_of("bob", CAREFUL, task="t1"), of(task="t2", judge="bob", score=40)]
    built = build(rows)
    assert fates(built, "task", "item", "judge")["t2", "s/x", "ann"][0] == "judge_failed"
    row = by(built.rows("scores"), "task", "item")["t2", "s/x"]
    assert (row["raw_mean"], row["n_judgments"], row["unfiltered_mean"], row["n_unfiltered"]) == (
        40,
        1,
        50,
        2,
    )


@pytest.mark.parametrize("quality", [{}, {"undetermined": "drop"}])
def test_when_nobody_is_left(quality: Row, build: Any) -> None:
    pairs = CAREFUL[:1] if quality else CARELESS
    with pytest.raises(GateError) as caught:
        build(hit_of("ann", pairs), quality=quality)
    assert "nothing_used" in str(caught.value)
    assert "if all judges failed, check quality" in str(caught.value)


def test_controls_of_several_criteria(build: Any) -> None:
    """A criterion with quality: false takes no part in the test, but in z and scores it does."""
    rows = [row | {"criterion": "fluency"} for row in hit_of("ann", CAREFUL)]
    rows += [row | {"criterion": "fun"} for row in hit_of("ann", [(b, a) for a, b in CAREFUL])]
    tasks = [SCALE[0] | {"criteria": {"fluency": {}, "fun": {"quality": False}}}]
    (judge,) = build(rows, tasks=tasks).rows("judges")
    assert (judge["verdict"], judge["n_pairs"], judge["n_bad_reference"]) == ("passed", 8, 16)
    _, effect, p = expected_test("paired_t", "paired", CAREFUL, (), False)
    assert (judge["effect"], judge["p_value"]) == (pytest.approx(effect), pytest.approx(p))
    assert judge["mean"] == pytest.approx(fmean(x for pair in CAREFUL for x in pair))
    built = build([*rows, *hit_of("bob", CAREFUL, criterion="fun")], tasks=SCALE)
    assert by(built.rows("judges"), "judge")["bob"]["verdict"] == "passed"


@pytest.mark.parametrize(("test", "contrast"), [("paired_t", "paired"), ("mann_whitney", "pooled")])
def test_a_reversed_criterion_is_turned_before_the_test(
    test: str, contrast: str, build: Any
) -> None:
    """How robotic an output is: degraded copies get more."""
    turned = [(100 - a, 100 - b) for a, b in CAREFUL]
    rows = [row | {"criterion": "robotic"} for row in hit_of("ann", turned)]
    tasks = [SCALE[0] | {"criteria": {"robotic": {"reverse": True}}}]
    quality = {"test": test, "contrast": contrast}
    (judge,) = build(rows, tasks=tasks, quality=quality).rows("judges")
    _, effect, p = expected_test(test, contrast, CAREFUL, (), False)
    assert judge["verdict"] == "passed"
    assert (judge["effect"], judge["p_value"]) == (pytest.approx(effect), pytest.approx(p))
    assert judge["mean_ordinary"] == pytest.approx(fmean(a for a, _ in CAREFUL))
    assert judge["mean_bad_reference"] == pytest.approx(fmean(b for _, b in CAREFUL))


# --- systems -------------------------------------------------------------------------------

METHODS = ("filtered_mean", "raw_mean", "z_mean")


def outputs(scores: Mapping[str, Sequence[float]], judge: str = "ann", **more: Any) -> list[Row]:
    """A judge's scores of each system's outputs, for the segments s0, s1, ..."""
    return [
        {"judge": judge, "system": system, "segment": f"s{n}", "score": score} | more
        for system, given in scores.items()
        for n, score in enumerate(given)
    ]


def ranking(built: Built, method: str, task: str = "small") -> dict[str, Row]:
    rows = [r for r in built.rows("system_rankings") if (r["task"], r["method"]) == (task, method)]
    return by(rows, "system")


def comparisons(built: Built, method: str) -> dict[tuple[str, str], Row]:
    rows = [row for row in built.rows("system_comparisons") if row["method"] == method]
    return by(rows, "system_a", "system_b")


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    p = stats.mannwhitneyu(
        first, second, alternative="greater", use_continuity=True, method="asymptotic"
    ).pvalue
    return float(p)


def holm(p: Mapping[Any, float]) -> dict[Any, float]:
    adjusted, least = {}, 0.0
    for n, key in enumerate(sorted(p, key=p.__getitem__)):
        least = max(least, min(1.0, p[key] * (len(p) - n)))
        adjusted[key] = least
    return adjusted


FOUR = {
    "a": [90, 85, 88, 93, 79, 95],
    "b": [81, 84, 75, 87, 78, 83],
    "c": [80, 86, 74, 82, 77, 76],
    "d": [30, 35, 28, 41, 22, 39],
}


@pytest.mark.parametrize("correction", ["none", "holm"])
def test_rankings_as_worked_out_by_hand(correction: str, build: Any) -> None:
    """Two judges of different scales; a third, who likes degraded copies, gives the reverse."""
    turns = {"ann": lambda x: x, "bob": lambda x: x / 2 - 10, "eve": lambda x: 100 - x}
    raw = {
        judge: {s: [float(turn(x)) for x in xs] for s, xs in FOUR.items()}
        for judge, turn in turns.items()
    }
    degraded = {"ann": [10 + n for n in range(6)], "bob": [1 + n for n in range(6)]}
    copies = degraded | {"eve": [90 - n * n for n in range(6)]}
    rows = [row for judge, given in raw.items() for row in outputs(given, judge)]
    rows += [
        {
            "judge": judge,
            "system": "a",
            "segment": f"s{n}",
            "score": score,
            "control": "bad_reference",
        }
        for judge, scores in copies.items()
        for n, score in enumerate(scores)
    ]
    built = build(rows, ranking={"correction": correction, "bootstrap": 50})
    assert {j["judge"]: j["verdict"] for j in built.rows("judges")} == {
        "ann": "passed",
        "bob": "passed",
        "eve": "failed",
    }
    z = {}
    for judge, low in degraded.items():
        all_scores = [x for xs in raw[judge].values() for x in xs] + low
        m, sd = fmean(all_scores), stdev(all_scores)
        z[judge] = {s: [(x - m) / sd for x in xs] for s, xs in raw[judge].items()}
    kept = {judge: raw[judge] for judge in degraded}
    for method, given in zip(METHODS, (kept, raw, z), strict=True):
        cells = {s: [fmean(given[judge][s][n] for judge in given) for n in range(6)] for s in FOUR}
        order = sorted(FOUR, key=lambda s: -fmean(cells[s]))
        p = {(s, t): rank_sum(cells[s], cells[t]) for s, t in permutations(FOUR, 2)}
        adjusted = holm(p)
        decisive = adjusted if correction == "holm" else p
        wins = {s: sum(decisive[s, t] < 0.05 for t in FOUR if t != s) for s in FOUR}
        cluster, clusters = 1, {}
        for place, s in enumerate(order):  # WMT's rule: own wins = systems below
            clusters[s] = cluster
            cluster += wins[s] == len(order) - place - 1
        found = ranking(built, method)
        for s in FOUR:
            row = found[s]
            assert row["score"] == pytest.approx(fmean(cells[s]))
            assert (row["rank"], row["wins"]) == (order.index(s) + 1, wins[s]), (method, s)
            assert row["cluster"] == clusters[s], (method, s)
            assert (row["n_segments"], row["n_judgments"]) == (6, 6 * len(given))
            assert row["ci_low"] <= row["score"] <= row["ci_high"]
            assert row["rank_low"] <= row["rank"] <= row["rank_high"]
            assert row["reason"] is None
        pairs = comparisons(built, method)
        assert pairs.keys() == p.keys()
        for key, row in pairs.items():
            assert row["p_value"] == pytest.approx(p[key]), (method, key)
            assert row["p_adjusted"] == pytest.approx(adjusted[key]), (method, key)
            assert row["a_beats_b"] == (decisive[key] < 0.05)
            difference = fmean(cells[key[0]]) - fmean(cells[key[1]])
            assert row["difference"] == pytest.approx(difference)
    assert [ranking(built, "z_mean")[s]["cluster"] for s in "abcd"] == (
        [1, 2, 2, 3] if correction == "none" else [1, 1, 1, 2]
    )


def test_a_systems_score_is_the_mean_over_segments_not_judgments(build: Any) -> None:
    """A segment judged three times weighs no more; a repeat counts, a control does not."""
    rows = outputs({"x": [10, 40]}) + outputs({"x": [20]}, "bob") + outputs({"x": [60]}, "eve")
    rows += [
        of("s1", 60, control="ask_again"),
        of("s1", 100, control="good_reference"),
        bad("s1", 0),
    ]
    row = ranking(build(rows), "raw_mean")["x"]
    assert (row["score"], row["n_segments"], row["n_judgments"]) == (40, 2, 5)


def test_the_only_system_and_the_only_segment(build: Any) -> None:
    rows = [row | {"task": "one system"} for row in outputs({"x": [10, 40, 20]})]
    rows += [row | {"task": "one segment"} for row in outputs({"x": [10], "y": [40, 60]})]
    rows += [row | {"task": "one of both"} for row in outputs({"x": [10]})]
    built = build(rows)
    (x,) = ranking(built, "raw_mean", "one system").values()
    assert (x["rank"], x["wins"], x["cluster"], x["n_segments"]) == (1, 0, 1, 3)
    assert x["ci_low"] < x["score"] < x["ci_high"], "an interval needs no other system"
    assert x["reason"] == "the only system of the task: nothing to compare it with"
    few = ranking(built, "raw_mean", "one segment")
    assert few["x"]["reason"] == "fewer than two segments: no interval"
    assert (few["x"]["ci_low"], few["x"]["rank_low"]) == (None, None)
    assert (few["x"]["rank"], few["y"]["rank"], few["y"]["reason"]) == (2, 1, None)
    (alone,) = ranking(built, "raw_mean", "one of both").values()
    assert (alone["rank"], alone["score"], alone["ci_low"]) == (1, 10, None)
    tasks = Counter(row["task"] for row in built.rows("system_comparisons"))
    assert tasks == {"one segment": 2 * 4}, "nothing to compare in the others"


@pytest.mark.parametrize("rule", ["wmt", "all_beat_all", "min_wins"])
def test_equal_means_have_equal_ranks(rule: str, build: Any) -> None:
    """1 2 2 4, in the order of names, also where sums in another order differ in the last digit."""
    scores = {
        "d": [90.1, 90.2, 90.3, 95, 96],
        "b": [50.1, 50.2, 50.3, 60, 70],
        "c": [70, 50.3, 60, 50.2, 50.1],
        "a": [1, 2, 3, 4, 5],
    }
    built = build(outputs(scores), ranking={"cluster_rule": rule, "bootstrap": 20})
    for method in METHODS:
        rows = list(ranking(built, method).values())
        assert [row["system"] for row in rows] == ["a", "b", "c", "d"], "sorted by the key"
        assert [row["rank"] for row in rows] == [4, 2, 2, 1]
        assert rows[1]["score"] == pytest.approx(rows[2]["score"], abs=1e-12)
        assert [row["cluster"] for row in rows] == [3, 2, 2, 1]
        pair = comparisons(built, method)
        assert pair["b", "c"]["p_value"] == pair["c", "b"]["p_value"] > 0.5
        assert not pair["b", "c"]["a_beats_b"]


def test_all_scores_equal(build: Any) -> None:
    built = build(outputs({"x": [50] * 4, "y": [50] * 4}))
    for row in ranking(built, "raw_mean").values():
        assert (row["rank"], row["wins"], row["cluster"], row["score"]) == (1, 0, 1, 50)
        assert (row["ci_low"], row["ci_high"]) == (50, 50)
    for row in comparisons(built, "raw_mean").values():
        assert (row["p_value"], row["difference"], row["a_beats_b"]) == (1, 0, False)
    for row in ranking(built, "z_mean").values():
        assert (row["rank"], row["score"], row["cluster"], row["n_segments"]) == (None,) * 3 + (0,)
        assert row["reason"]


def test_a_system_judged_by_failed_judges_only(build: Any) -> None:
    rows = hit_of("careful", CAREFUL, system="x") + hit_of("careless", CARELESS, system="y")
    built = build(rows)
    assert ranking(built, "raw_mean")["y"]["score"] == pytest.approx(fmean(a for a, _ in CARELESS))
    for method in ("filtered_mean", "z_mean"):
        found = ranking(built, method)
        assert found["y"]["reason"] == "no judgment that counts for this method"
        assert found["y"]["n_segments"] == found["y"]["n_judgments"] == 0
        for name in ("rank", "score", "ci_low", "ci_high", "rank_low", "wins", "cluster"):
            assert found["y"][name] is None, name
        assert (found["x"]["rank"], found["x"]["cluster"]) == (1, 1)
        pair = comparisons(built, method)["x", "y"]
        assert (pair["p_value"], pair["p_adjusted"], pair["difference"]) == (None, None, None)
        assert not pair["a_beats_b"]


def test_rows_that_name_no_system_or_segment(build: Any) -> None:
    """Scored, but ranked only where there is a system; an item alone is its own segment."""
    rows = [
        {"item": "i1", "judge": "ann", "segment": "s1", "system": "x", "score": 10},
        {"item": "i2", "judge": "ann", "segment": "", "system": "x", "score": 30},
        {"item": "i2", "judge": "bob", "segment": "", "system": "x", "score": 50},
        {"item": "i3", "judge": "ann", "segment": "s1", "system": "", "score": 90},
        {"item": "i4", "judge": "ann", "segment": "", "system": " ", "score": 70},
        {"item": "i5", "judge": "ann", "segment": "s1", "system": "", "score": 0,
         "control": "bad_reference"},
        {"item": "i6", "judge": "ann", "segment": "s1", "system": "y", "score": 20},
    ]  # fmt: skip
    built = build(rows, quality={"test": "none"})
    found = ranking(built, "raw_mean")
    assert {s: (r["score"], r["n_segments"], r["n_judgments"]) for s, r in found.items()} == {
        "x": (25, 2, 3),
        "y": (20, 1, 1),
    }
    aside = [r for r in built.rows("set_aside") if r["left_out_of"] == "system_rankings"]
    assert [(row["item"], row["reason"]) for row in aside] == [
        ("i3", "no system is named"),
        ("i4", "no system is named"),
    ]
    assert by(built.rows("scores"), "item").keys() == {"i1", "i2", "i3", "i4", "i6"}


def test_items_without_systems_are_scored_but_not_ranked(build: Any) -> None:
    built = build([{"item": f"i{k}", "judge": "ann", "score": k} for k in range(4)])
    assert built.table("scores").num_rows == 4
    assert not built.rows("system_rankings")
    assert not built.rows("set_aside"), "nobody asked for a ranking"


def test_a_row_without_segment_or_system_where_they_make_the_item(build: Any) -> None:
    rows = outputs({"x": [10, 20]})
    rows += [
        of("", 30, judge="a"),
        of("s1", 40, judge="b", system=""),
        of(" ", 50, judge="c", system="\t"),
    ]
    found = fates(build(rows), "judge")
    assert all(found[judge] == ("rejected", "item is blank") for judge in "abc")


# --- agreement -----------------------------------------------------------------------------


def test_agreement_as_counted_by_hand(build: Any) -> None:
    """Bins of 20 points (an edge belongs above), and of 50; first showings between judges."""
    given = {"ann": [10, 50, 90], "bob": [15, 70, 95]}
    rows = [
        {"item": f"i{n}", "judge": judge, "hit": "h", "score": score}
        for judge, scores in given.items()
        for n, score in enumerate(scores)
    ]
    rows += [rows[n] | {"control": "ask_again", "score": score} for n, score in ((0, 20), (1, 55))]
    rows += [rows[2] | {"control": "bad_reference", "score": 0}]
    found = by(build(rows).rows("agreement"), "statistic")
    for name, share, k in (
        ("inter_{}_raw_5", 2 / 3, 5),
        ("inter_{}_raw_2", 1, 2),
        ("intra_{}_raw_5", 1 / 2, 5),
        ("intra_{}_raw_2", 1, 2),
    ):
        assert found[name.format("percent_agreement")]["value"] == pytest.approx(share)
        kappa = (share - 1 / k) / (1 - 1 / k)
        assert found[name.format("kappa")]["value"] == pytest.approx(kappa)
    assert found["inter_difference_mean"]["value"] == pytest.approx(fmean([5, 20, 5]))
    assert found["intra_difference_mean"]["value"] == pytest.approx(fmean([10, 5]))
    counts = {name: (row["n_items"], row["n_judges"]) for name, row in found.items()}
    assert counts["inter_kappa_raw_5"] == (3, 2)
    assert counts["intra_kappa_raw_5"] == (2, 1)
    assert not [name for name in found if name.endswith("_unfiltered")], "nobody failed"


def test_agreement_of_judges_kept_beside_that_of_all(build: Any) -> None:
    rows = hit_of("ann", CAREFUL) + hit_of("bob", [(a - 3, b) for a, b in CAREFUL])
    rows += hit_of("careless", CARELESS)
    found = by(build(rows).rows("agreement"), "statistic")
    assert found["inter_difference_mean"]["value"] == pytest.approx(3)
    assert found["inter_difference_mean"]["n_judges"] == 2
    apart = [abs(a - c) for (a, _), (c, _) in zip(CAREFUL, CARELESS, strict=True)]
    apart += [abs(a - 3 - c) for (a, _), (c, _) in zip(CAREFUL, CARELESS, strict=True)]
    everyone = found["inter_difference_mean_unfiltered"]
    assert everyone["value"] == pytest.approx(fmean([3] * 8 + apart))
    assert everyone["n_judges"] == 3


def test_agreement_that_nothing_can_be_said_of_is_null(build: Any) -> None:
    rows = [{"item": f"i{n}", "judge": f"j{n}", "score": 50} for n in range(3)]
    for row in build(rows).rows("agreement"):
        assert (row["value"], row["ci_low"], row["n_items"], row["n_judges"]) == (None, None, 0, 0)


# --- criteria ------------------------------------------------------------------------------


def test_an_items_score_is_the_mean_over_criteria(build: Any) -> None:
    """Whatever the number of judgments of each; z is by judge over all criteria."""
    given = [
        ("ann", "fluency", 10),
        ("bob", "fluency", 20),
        ("eve", "fluency", 60),
        ("ann", "fun", 90),
    ]
    rows = [
        {"item": "i", "judge": judge, "criterion": criterion, "score": score}
        for judge, criterion, score in given
    ]
    rows += [
        {"item": "j", "judge": j, "criterion": "fun", "score": s}
        for j, s in (("bob", 50), ("eve", 0))
    ]
    scores = by(build(rows).rows("scores"), "item")
    assert scores["i"]["raw_mean"] == (30 + 90) / 2
    z = {"ann": z_of([10, 90]), "bob": z_of([20, 50]), "eve": z_of([60, 0])}
    fluency = fmean(z[judge][0] for judge in z)
    assert scores["i"]["z_mean"] == pytest.approx((fluency + z["ann"][1]) / 2)
    assert scores["i"]["n_judgments"] == 4


def test_a_reversed_criterion_is_turned(build: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "criterion": criterion, "score": score}
        for k, (good, robotic) in enumerate([(5, 1), (3, 2), (1, 5)])
        for criterion, score in (("good", good), ("robotic", robotic))
    ]
    tasks = [
        {
            "name": "*",
            "kind": "scalar",
            "scale": [1, 5],
            "criteria": {"good": {}, "robotic": {"reverse": True}},
        }
    ]
    built = build(rows, tasks=tasks)
    assert [row["raw_mean"] for row in built.rows("scores")] == [5, 3.5, 1]
    (judge,) = built.rows("judges")
    assert judge["mean"] == pytest.approx(fmean([5, 5, 3, 4, 1, 1]))
    assert judge["share_at_ends"] == pytest.approx(4 / 6)


def test_a_reversed_criterion_needs_a_scale(build: Any) -> None:
    criteria = {"robotic": {"reverse": True}, "dull": {"reverse": True}, "good": {}}
    with pytest.raises(ConfigError) as caught:
        build([of(criterion="good")], tasks=[{"name": "*", "kind": "scalar", "criteria": criteria}])
    error = "tasks.0: to reverse robotic, dull, name scale: [lowest, highest]"
    assert error in str(caught.value)


def test_criteria_that_are_blank_or_not_declared(build: Any) -> None:
    names = {"good": None, "": "criterion is blank", " ": "criterion is blank",
             "Good": "criterion is not declared: 'Good'", "fun": "criterion is not declared: 'fun'",
             "x" * 200: f"criterion is not declared: '{'x' * 60}'"}  # fmt: skip
    rows = [
        {"item": f"i{n}", "judge": "ann", "criterion": name, "score": 10 * n}
        for n, name in enumerate(names)
    ]
    built = build(rows, tasks=[SCALE[0] | {"criteria": {"good": {}, "dull": {}}}])
    found = fates(built)
    for n, reason in enumerate(names.values()):
        assert found[f"i{n}"] == (("rejected", reason) if reason else ("used", None))
    assert by(build(rows).rows("scores"), "item").keys() == {f"i{n}" for n in range(6)}


# --- rejected assignments ------------------------------------------------------------------

STATUSES = {
    "Rejected": True, "rejected": True, "REJECTED": True, " Rejected ": True, "Approved": False,
    "Submitted": False, "": False, "not rejected": False, "Reject": False,
}  # fmt: skip


@pytest.mark.parametrize("policy", ["drop", "keep"])
def test_rejected_assignments(policy: str, build: Any) -> None:
    rows = [
        {"item": "i", "judge": f"j{n}", "status": status, "score": n}
        for n, status in enumerate(STATUSES)
    ]
    built = build(rows, quality={"rejected_assignments": policy}, gates={})
    found = fates(built, "judge")
    for n, (status, rejected) in enumerate(STATUSES.items()):
        reason = f"assignment was rejected: '{status}'"
        dropped = rejected and policy == "drop"
        assert found[f"j{n}"] == (("rejected", reason) if dropped else ("used", None)), status
    kept = [n for n, r in enumerate(STATUSES.values()) if not r or policy == "keep"]
    assert built.rows("scores")[0]["raw_mean"] == pytest.approx(fmean(kept))
    assert gates(built)["rejected_share"].value == 0, "no defect of the export"


# --- known answers -------------------------------------------------------------------------


def known(judge: str, answers: str, truths: str, task: str = "t", **more: Any) -> list[Row]:
    """A judge's answers, a letter each, to questions whose answers are known."""
    return [
        {"task": task, "judge": judge, "item": f"k{n}", "label": label, "truth": truth,
         "control": "known_answer"} | more
        for n, (label, truth) in enumerate(zip(answers, truths, strict=True))
    ]  # fmt: skip


def labels(judge: str, answers: str, task: str = "t") -> list[Row]:
    return [
        {"task": task, "judge": judge, "item": f"i{n}", "label": label}
        for n, label in enumerate(answers)
    ]


YES_NO = [{"name": "*", "kind": "categorical", "labels": ["n", "y"]}]
KNOWN = {"test": "known_answer"}


def wilson(right: int, n: int) -> tuple[float, float]:
    found = stats.binomtest(right, n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def test_judges_against_known_answers(build: Any) -> None:
    """By scipy's binomial test; whoever answers at random, or worse, fails."""
    judges = {
        "good": "yynyynynyn",
        "fair": "yynyynyyny",
        "random": "yyyyyyyyyy",
        "worse": "nnynnynyny",
    }
    rows = [row for j, answers in judges.items() for row in known(j, answers, judges["good"])]
    rows += [row for judge in [*judges, "unasked"] for row in labels(judge, "ynny")]
    built = build(rows, tasks=YES_NO, quality=KNOWN)
    found = by(built.rows("judges"), "judge")
    for judge, answers in judges.items():
        right = sum(a == b for a, b in zip(answers, judges["good"], strict=True))
        p = stats.binomtest(right, 10, 0.5, alternative="greater").pvalue
        row = found[judge]
        assert row["p_value"] == pytest.approx(p), judge
        assert row["verdict"] == ("passed" if p < 0.05 else "failed"), judge
        assert (row["n_known_answers"], row["n_pairs"], row["statistic"]) == (10, 10, right)
        assert row["known_answer_accuracy"] == pytest.approx(right / 10)
        assert row["effect"] == pytest.approx(right / 10 - 0.5)
        interval = row["known_answer_low"], row["known_answer_high"]
        assert interval == pytest.approx(wilson(right, 10), abs=1e-12)
        assert (row["test"], row["contrast"]) == ("known_answer", None)
    assert found["good"]["verdict"] == "passed"
    assert found["random"]["verdict"] == found["worse"]["verdict"] == "failed"
    assert found["unasked"]["verdict"] == "undetermined"
    assert found["unasked"]["known_answer_accuracy"] is None
    fate = fates(built, "judge", "item")
    assert fate["worse", "i0"] == ("judge_failed", "judge control: failed (known_answer, p = 1)")
    assert fate["good", "k0"] == ("control", "control item: known_answer")
    items = {row["item"] for row in built.rows("labels")}
    assert items == {"i0", "i1", "i2", "i3"}, "what is known is not inferred"
    assert by(built.rows("labels"), "item")["i0"]["n_judgments"] == 3 - (
        found["fair"]["verdict"] == "failed"
    )


def test_a_campaign_may_demand_more_than_chance(build: Any) -> None:
    rows = known("ann", "y" * 17 + "n" * 3, "y" * 20) + labels("ann", "yn") + labels("bob", "yn")
    judge, _ = build(rows, tasks=YES_NO, quality=KNOWN).rows("judges")
    assert judge["verdict"] == "passed"
    judge, _ = build(rows, tasks=YES_NO, quality=KNOWN | {"known_accuracy": 0.8}).rows("judges")
    p = stats.binomtest(17, 20, 0.8, alternative="greater").pvalue
    assert (judge["verdict"], judge["p_value"]) == ("failed", pytest.approx(p))


def test_one_known_answer_is_a_test(build: Any) -> None:
    """Of four classes, nobody can be told by one answer: failed, not undetermined."""
    rows = known("ann", "y", "y") + labels("ann", "yn") + labels("bob", "yn")
    tasks = [YES_NO[0] | {"labels": ["n", "y", "?", "-"]}]
    built = build(rows, tasks=tasks, quality=KNOWN)
    judge = by(built.rows("judges"), "judge")["ann"]
    assert (judge["verdict"], judge["p_value"], judge["effect"]) == ("failed", 0.25, 0.75)


def test_truth_of_the_record_or_of_the_item_table(build: Any) -> None:
    """The record's own truth wins; a question without any is set aside with the reason."""
    rows = known("ann", "yyyyyy", "      ") + labels("ann", "yn") + labels("bob", "yn")
    rows[0]["truth"] = "n"
    items = [
        {"item": "k0", "truth": "y"}, {"item": "k1", "truth": "y"}, {"item": "k1", "truth": "n"},
        {"item": "k2", "truth": "n"}, {"item": "k3", "truth": ""}, {"item": "k9", "truth": "y"},
    ]  # fmt: skip
    built = build(rows, items=items, tasks=YES_NO, quality=KNOWN)
    judge = by(built.rows("judges"), "judge")["ann"]
    assert (judge["n_known_answers"], judge["known_answer_accuracy"]) == (3, pytest.approx(1 / 3))
    aside = built.rows("set_aside")
    assert [(row["item"], row["left_out_of"], row["reason"]) for row in aside] == [
        (f"k{n}", "judge_control", "no truth is given for this question") for n in (3, 4, 5)
    ]
    assert built.facts("control_judges")["known_answers_without_truth"] == 3


def test_known_answers_without_any_truth(build: Any) -> None:
    rows = known("ann", "yyy", "   ") + labels("ann", "yn")
    built = build(rows, tasks=YES_NO, quality=KNOWN)
    (judge,) = built.rows("judges")
    assert (judge["n_known_answers"], judge["known_answer_accuracy"]) == (0, None)
    assert judge["verdict"] in ("untested", "undetermined")
    assert len(built.rows("set_aside")) == 3


def test_known_answers_that_nobody_asked_for(build: Any) -> None:
    rows = known("ann", "nnn", "yyy") + labels("ann", "yn")
    built = build(rows, tasks=YES_NO)
    (judge,) = built.rows("judges")
    assert (judge["verdict"], judge["dropped"]) == ("untested", False)
    assert (judge["known_answer_accuracy"], judge["n_known_answers"]) == (0, 3)
    assert gates(built)["unused_controls"].level == "warn"


def test_answers_are_compared_as_written(build: Any) -> None:
    tasks = [{"name": "*", "kind": "categorical", "labels": ["y", "Y", "y ", "n"]}]
    rows = known("ann", "yyyy", "yYny") + labels("ann", "yn")
    (judge,) = build(
        rows,
        tasks=tasks,
        quality=KNOWN | {"test": "known_answer"},
        gates={"nothing_used": {"error": None}},
    ).rows("judges")
    assert judge["known_answer_accuracy"] == 0.5


def test_a_campaign_of_labels_and_scores(build: Any) -> None:
    """One test for the campaign: judges of tasks without its controls stay untested."""
    tasks = [
        {"name": "t", "kind": "categorical", "labels": ["n", "y"]},
        {"name": "*", "kind": "scalar", "scale": [0, 100]},
    ]
    scores = [
        row | {"task": "da", "item": item_of(row), "judge": judge}
        for judge, pairs in (("ann", CAREFUL), ("bob", CARELESS))
        for row in hit_of(judge, pairs)
    ]
    rows = scores + labels("ann", "yn") + labels("bob", "ny") + labels("eve", "yy")
    rows += known("eve", "n" * 6, "y" * 6) + known("ann", "y" * 6, "y" * 6)
    by_pairs = by(build(rows, tasks=tasks).rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in by_pairs.items()} == {
        ("da", "ann"): "passed", ("da", "bob"): "failed", ("t", "ann"): "passed",
        ("t", "bob"): "failed", ("t", "eve"): "untested",
    }  # fmt: skip
    by_answers = by(build(rows, tasks=tasks, quality=KNOWN).rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in by_answers.items()} == {
        ("da", "ann"): "passed", ("da", "bob"): "undetermined", ("t", "ann"): "passed",
        ("t", "bob"): "undetermined", ("t", "eve"): "failed",
    }  # fmt: skip
    built = build(rows, tasks=tasks, quality=KNOWN | {"scope": "task"})
    by_task = by(built.rows("judges"), "task", "judge")
    assert by_task["da", "bob"]["verdict"] == by_task["da", "ann"]["verdict"] == "untested"
    assert {row["task"] for row in built.rows("labels")} == {"t"}
    assert {row["task"] for row in built.rows("scores")} == {"da"}
    kinds = defaultdict(set)
    for row in built.rows("agreement"):
        kinds[row["task"]].add(row["statistic"].removesuffix("_unfiltered"))
    assert "fleiss_kappa" in kinds["t"]
    assert "alpha_interval" in kinds["da"]
    assert not kinds["t"] & kinds["da"]


# --- names ---------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>", "two\nlines", "a\x1fb", "x" * 10_000, "=cmd()", "../../etc",
    "'; DROP TABLE judgments; --", "%2F", "a/b", '"], "x', "NULL", "nan", "\u202etxt", "🙈",
    "\x1b[31mred", "C:\\con", "{i}", "a,b;c\td", " blank ", "#1",
]  # fmt: skip


ONLINE = {"bounded_ra", "trueskill"}
NAMED = {"component", "reason"}
"""Columns in which names stand, or which count by names."""


def test_hostile_names_come_out_unchanged(build: Any) -> None:
    """As systems, segments, criteria, judges and tasks; numbers are those of plain names."""
    chance = random.Random(17)
    plain = [f"n{k:02}" for k in range(len(HOSTILE))]
    shape = [
        (chance.randrange(3), s, g, c, j, chance.randrange(101))
        for s, g, c in product(range(0, len(plain), 3), range(2), range(2))
        for j in chance.sample(range(len(plain)), 6)
    ]

    def built(names: list[str]) -> Built:
        rows = [
            {"task": names[t], "system": names[s], "segment": names[-1 - g], "criterion": names[c],
             "judge": names[j], "hit": names[t], "score": score}
            for t, s, g, c, j, score in shape
        ]  # fmt: skip
        drawn = {"bootstrap": 0, "online_rounds": 0}
        return build(rows, agreement={"bootstrap": 0}, ranking=drawn)

    hostile, tame = built(HOSTILE), built(plain)
    back = dict(zip(HOSTILE, plain, strict=True))
    for table in ("judges", "system_rankings", "system_comparisons"):
        key = GOLD[table].key
        found, expected = (
            # online methods take comparisons in the order of ids, which hang on the names
            {names: row for names, row in by(b.rows(table), *key).items() if not {*names} & ONLINE}
            for b in (hostile, tame)
        )
        named = {tuple(back.get(name, name) for name in names): row for names, row in found.items()}
        assert named.keys() == expected.keys(), table
        for names, row in expected.items():
            for column in row.keys() - {*key, *NAMED}:  # sums are in the order of names
                assert named[names][column] == pytest.approx(row[column], abs=1e-9), column
    scores = {(row["segment"], row["system"]): row["raw_mean"] for row in hostile.rows("scores")
              if row["task"] == HOSTILE[0]}  # fmt: skip
    assert {(back[g], back[s]): score for (g, s), score in scores.items()} == {
        (row["segment"], row["system"]): row["raw_mean"] for row in tame.rows("scores")
        if row["task"] == plain[0]
    }  # fmt: skip
    items = {row["item"] for row in hostile.rows("scores")}
    assert len(items) == len({row["item"] for row in tame.rows("scores")}), "none run together"


def test_a_name_too_long_to_be_one(build: Any) -> None:
    rows = [
        *outputs({"x": [1, 2, 3]}),
        of("s9", system="y" * 100_001),
        of("s9", judge="z" * 100_001),
    ]
    found = Counter(row["reason"] for row in build(rows).rows("lineage"))
    assert found == {
        None: 3,
        "system is longer than 100,000 bytes": 1,
        "judge is longer than 100,000 bytes": 1,
    }


# --- order ---------------------------------------------------------------------------------


def messy(chance: random.Random) -> list[Row]:
    """Two scalar tasks and one of labels, with controls, repeats and things that do not fit."""
    rows: list[Row] = []
    for task, judge in product(("da", "flu", "cat"), range(8)):
        for n in range(12):
            row = {"task": task, "judge": f"j{judge}", "hit": f"h{n % 3}", "native_id": len(rows),
                   "submitted_at": f"2024-05-{1 + n:02}"}  # fmt: skip
            if task == "cat":
                row |= {"item": f"i{n}", "label": chance.choice("yn")}
                if chance.random() < 0.2:
                    row |= {"control": "known_answer", "truth": chance.choice(["y", "n", ""])}
            else:
                segment, system = f"s{n % 4}", chance.choice(["x", "y", "z", ""])
                score = chance.choice(
                    [chance.randrange(101), 70.1, "n/a", 101, chance.uniform(0, 100)]
                )
                row |= {"segment": segment, "system": system, "item": f"{segment}/{system}",
                        "score": score, "criterion": chance.choice(["fluency", "fun"]),
                        "status": chance.choice(["Approved", "Rejected", "", ""])}  # fmt: skip
            rows.append(row)
            if task != "cat" and chance.random() < 0.6:
                kind = chance.choice(["bad_reference", "ask_again", "good_reference"])
                rows.append(
                    row | {"control": kind, "native_id": len(rows), "score": chance.randrange(60)}
                )
    return rows


MESSY_TASKS = [
    {"name": "cat", "kind": "categorical", "labels": ["n", "y"]},
    {
        "name": "*",
        "kind": "scalar",
        "scale": [0, 100],
        "criteria": {"fluency": {}, "fun": {"reverse": True, "quality": False}},
    },
]


@pytest.mark.parametrize(
    "settings",
    [
        {"quality": {"test": "paired_t", "undetermined": "drop", "alpha": 0.4}},
        {"quality": {"test": "mann_whitney", "contrast": "difference", "scope": "task"},
         "ranking": {"bootstrap": 20, "resample": "judges"}},
        {"quality": {"test": "known_answer", "alpha": 0.6, "correction": "benjamini_hochberg"},
         "standardize": {"controls": "exclude", "arithmetic": "wmt"}},
    ],
)  # fmt: skip
def test_order_and_files_and_keys_change_nothing(
    settings: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes of all tables but lineage, in any order and split into any files."""
    settings = {"ranking": {"bootstrap": 20}} | settings | {
        "tasks": MESSY_TASKS, "privacy": {"pseudonymize": True},
    }  # fmt: skip
    chance = random.Random(17)
    rows = messy(chance)
    whole = build_rows(tmp_path / "whole", rows, **settings)
    assert len({row["verdict"] for row in whole.rows("judges")}) >= 2
    assert {row["left_out_of"] for row in whole.rows("set_aside")} >= {"system_rankings"}
    for n in range(2):
        mixed = chance.sample(rows, len(rows))
        files: dict[str, list[Row]] = {f"{k}.csv": mixed[k::4] for k in range(4)}
        other = build_rows(tmp_path / f"mixed{n}", files, **settings)
        assert {k: v for k, v in other.hashes().items() if k != "lineage"} == {
            k: v for k, v in whole.hashes().items() if k != "lineage"
        }
    monkeypatch.setenv("ANNOT_KEY", "another key, and as long as it needs to be")
    other = build_rows(tmp_path / "key", rows, **settings)
    for table in GOLD:
        if table in ("set_aside", "lineage", "segment_ranks"):
            continue
        names = {
            "judges": ["judge"],
            "judge_confusion": ["judge"],
            "judgments": ["judge", "judgment_id", "hit", "ranking"],
        }.get(table, [])
        first, second = (without(b.rows(table), names) for b in (whole, other))
        assert first == second, table
        if not names:
            assert whole.hashes()[table] == other.hashes()[table], table
    aside = ["judge", "judgment_id"]
    assert without(whole.rows("set_aside"), aside) == without(other.rows("set_aside"), aside)


def test_repeats_in_a_file_in_any_order(build: Any) -> None:
    """Judgments that nothing but their answers tells apart: all count, in no order."""
    chance = random.Random(17)
    rows = outputs({s: xs * 2 for s, xs in FOUR.items()}) * 2
    rows = [row | {"segment": "s0", "score": row["score"] / 3} for row in rows]
    first = build(rows)
    assert sum(row["n_judgments"] for row in first.rows("scores")) == len(rows)
    other = build(chance.sample(rows, len(rows)))
    for name in ("lineage", "set_aside"):
        assert without(first.rows(name), ["source_row", "source_sha256"]) == without(
            other.rows(name), ["source_row", "source_sha256"]
        )
    assert {k: v for k, v in first.hashes().items() if k != "lineage"} == {
        k: v for k, v in other.hashes().items() if k != "lineage"
    }


def without(rows: list[Row], names: Sequence[str]) -> list[str]:
    """Rows without some columns, in an order of their own."""
    return sorted(repr({k: v for k, v in row.items() if k not in names}) for row in rows)


def test_messy_input_as_worked_out_in_python(build: Any) -> None:
    """Means, z and pairs of random campaigns, from the rows themselves."""
    for seed in range(4):
        rows = messy(random.Random(seed))
        built = build(rows, tasks=MESSY_TASKS, quality={"alpha": 0.4}, ranking={"bootstrap": 0})
        failed = {row["judge"] for row in built.rows("judges") if row["dropped"]}
        counted: list[tuple[Row, float]] = []
        for row in rows:
            fits = isinstance(row.get("score"), (int, float)) and row["score"] <= 100
            if row["task"] != "cat" and fits and row["status"] != "Rejected":
                counted.append(
                    (row, 100 - row["score"] if row["criterion"] == "fun" else row["score"])
                )
        given = defaultdict(list)
        for row, score in counted:
            given[row["task"], row["judge"]].append(score)
        judges = by(built.rows("judges"), "task", "judge")
        for key, scores in given.items():
            assert judges[key]["mean"] == pytest.approx(fmean(scores))
            assert judges[key]["sd"] == pytest.approx(stdev(scores))
        cells: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
        for row, score in counted:
            if row.get("control") in (None, "ask_again") and row["judge"] not in failed:
                of_judge = given[row["task"], row["judge"]]
                z = (score - fmean(of_judge)) / stdev(of_judge)
                cells[row["task"], row["item"]][row["criterion"]].append((score, z))
        found = by(built.rows("scores"), "task", "item")
        for key, by_criterion in cells.items():
            for place, name in enumerate(("raw_mean", "z_mean")):
                means = [
                    fmean(value[place] for value in values) for values in by_criterion.values()
                ]
                assert found[key][name] == pytest.approx(fmean(means)), (key, name)
        assert {k for k, row in found.items() if row["n_judgments"]} == set(cells)
        check_pairs(built, [row | {"score": score} for row, score in counted])


def check_pairs(built: Built, counted: list[Row]) -> None:
    """Every pair is of one judge, HIT, criterion and output, and the only one there is."""

    def place(row: Row) -> tuple[Any, ...]:
        output = (row["segment"], row["system"]) if row["system"] else row["item"]
        return row["task"], row["judge"], row["hit"], row["criterion"], output

    there = Counter((place(row), row.get("control", "none")) for row in counted)
    score = {(place(row), row.get("control", "none")): row["score"] for row in counted}
    expected = Counter(
        round(score[where, "none"], 9)
        for (where, control), n in there.items()
        if control != "none" and n == 1 and there[where, "none"] == 1
    )
    pairs = built.rows("control_pairs")
    assert (
        Counter(round(row["ordinary_score"], 9) for row in pairs if not row["reason"]) == expected
    )
    assert len(pairs) == sum(n for (_, control), n in there.items() if control != "none")


# --- what went wrong once ------------------------------------------------------------------

UNIT = [{"name": "*", "kind": "scalar", "scale": [0, 1]}]


def test_rounding_breaks_no_ties_of_the_signed_rank_test(build: Any) -> None:
    """The same judgments on two scales have the same p."""
    tenths = [(3, 1), (2, 4), (9, 7), (6, 8), (7, 5), (5, 3), (4, 2), (8, 6)]
    p = []
    for points in (10, 1):
        pairs = [(a * points / 10, b * points / 10) for a, b in tenths]
        rows = [*hit_of("ann", pairs), *hit_of("careful", [(points, 0)] * 20)]
        tasks = [{"name": "*", "kind": "scalar", "scale": [0, points]}]
        built = build(rows, tasks=tasks, quality={"test": "signed_rank"})
        p.append(by(built.rows("judges"), "judge")["ann"]["p_value"])
    assert p[0] == pytest.approx(p[1])


@pytest.mark.parametrize("test", ["welch", "mann_whitney"])
def test_rounding_lets_no_judge_pass(test: str, build: Any) -> None:
    """Degraded copies as far off as repeats: a tenth, each time."""
    rows = hit_of("ann", [(0.8, 0.7)] * 5, [(0.8, 0.9)] * 5)
    rows += hit_of("careful", [(0.9, 0.1 + n / 100) for n in range(20)], [(0.5, 0.5)] * 20)
    built = build(rows, tasks=UNIT, quality={"test": test, "contrast": "difference"})
    assert by(built.rows("judges"), "judge")["ann"]["verdict"] == "failed"


def test_a_verdict_is_of_one_task_and_judge(build: Any) -> None:
    rows = hit_of("b\x1fc", CARELESS, task="a") + hit_of("c", CAREFUL, task="a\x1fb")
    rows += [row | {"score": row["score"] - 1} for row in hit_of("careful", CAREFUL, task="a")]
    fate = fates(build(rows, quality={"scope": "task"}), "task", "judge", "item")
    assert fate["a", "b\x1fc", "s0/x"][0] == "judge_failed"
    assert fate["a\x1fb", "c", "s0/x"][0] == "used"


def test_a_reversed_criterion_on_a_scale_of_decimals(build: Any) -> None:
    tasks = [SCALE[0] | {"scale": [0.1, 0.7], "criteria": {"robotic": {"reverse": True}}}]
    for low, high in ((0.1, 0.7), (0.2, 1.1), (-2, -1.8)):
        tasks[0]["scale"] = [low, high]
        built = build(
            [of(criterion="robotic", score=low), of("t", high, criterion="robotic")], tasks=tasks
        )
        assert [row["raw_mean"] for row in built.rows("scores")] == [high, low]
        assert built.rows("judges")[0]["share_at_ends"] == 1


@pytest.mark.parametrize("field", ["hit", "native_id", "position"])
def test_ids_of_many_digits(field: str, build: Any) -> None:
    rows = [
        of(f"s{n}", submitted_at="2024-01-01", position=n) | {field: "7" * n} for n in (1, 5000)
    ]
    (judge,) = build(rows).rows("judges")
    assert judge["longest_constant_run"] == 2


def test_an_assignment_rejected_in_a_later_export(build: Any) -> None:
    rows = [{"item": f"i{k}", "judge": "ann", "score": k, "status": "Submitted"} for k in range(3)]
    later = [row | {"status": "Rejected"} for row in rows[:2]]
    built = build({"night-1.csv": rows, "night-2.csv": later})
    assert [row["item"] for row in built.rows("scores") if row["n_judgments"]] == ["i2"]


def test_two_controls_of_one_judgment_however_they_name_it(build: Any) -> None:
    first = [of(native_id="7"), bad(native_id="8"), bad("t", native_id="9", control_of="7")]
    second = [
        of("t", item="i", hit="g"), bad("u", item="b", control_of="i"),
        bad("v", item="c", hit="k", control_of="i"),
    ]  # fmt: skip
    for rows in (first, second):
        built = build(rows)
        assert [row["reason"] for row in built.rows("control_pairs")] == [alike(2)] * 2
        assert built.rows("judges")[0]["n_pairs"] == 0


def test_known_answers_that_all_lack_their_truth_leave_judges_undetermined(build: Any) -> None:
    rows = known("ann", "yyy", "   ") + labels("ann", "yn")
    built = build(rows, tasks=YES_NO, quality=KNOWN)
    (judge,) = built.rows("judges")
    assert judge["verdict"] == "undetermined"
    assert gates(built)["unused_controls"].level == "warn"


def test_a_truth_that_is_no_class_of_the_task(build: Any) -> None:
    rows = known("ann", "y" * 6, "Y" * 6) + labels("ann", "yn")
    built = build(rows, tasks=YES_NO, quality=KNOWN, gates={"nothing_used": {"error": None}})
    (judge,) = built.rows("judges")
    assert judge["n_known_answers"] == 0
    assert {row["reason"] for row in built.rows("set_aside")} == {
        "the truth is not a declared class: 'Y'"
    }


def test_controls_that_no_test_of_their_task_takes(build: Any) -> None:
    known_score = [of(), of("t", 70, control="known_answer")]
    degraded_label = [
        {"item": "i", "judge": "ann", "label": "y"},
        {"item": "j", "judge": "ann", "label": "n", "control": "bad_reference"},
    ]
    for rows, tasks, item in ((known_score, SCALE, "t/x"), (degraded_label, YES_NO, "j")):
        for quality in (KNOWN, {}):
            aside = build(rows, tasks=tasks, quality=quality).rows("set_aside")
            assert [(row["item"], row["left_out_of"]) for row in aside] == [(item, "judge_control")]


def test_an_item_has_the_segment_and_system_that_any_row_names(build: Any) -> None:
    rows = [{"item": "i", "judge": "ann", "segment": "", "system": "", "score": 10}]
    rows += [{"item": "i", "judge": "bob", "segment": "s", "system": "x", "score": 30}]
    (row,) = build(rows).rows("scores")
    assert (row["segment"], row["system"]) == ("s", "x")


def test_systems_of_the_item_table_are_ranked(build: Any) -> None:
    rows = [{"item": i, "judge": "ann", "score": s} for i, s in (("a", 10), ("b", 30))]
    items = [{"item": i, "segment": "s", "system": f"sys-{i}"} for i in "ab"]
    built = build(rows, items=items)
    assert {row["system"] for row in built.rows("system_rankings")} == {"sys-a", "sys-b"}


def test_rejected_assignments_are_no_defect_of_an_export(build: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "score": k, "status": status}
        for k, status in enumerate(["Approved", "Rejected"] * 5)
    ]
    found = gates(build(rows, gates={}))
    assert found["rejected_share"].value == found["rejected_share_by_export"].value == 0


@pytest.mark.parametrize("status", ["Rejected\t", "rejected\r\n"])
def test_a_status_with_other_blanks(status: str, build: Any) -> None:
    rows = [of(), of("t", status=status)]
    assert fates(build(rows))["t/x"][0] == "rejected"


def test_scores_next_to_nothing(build: Any) -> None:
    tiny = ["1e-320", "2e-320", "4e-320"]
    rows = [{"item": f"i{k}", "judge": "ann", "score": score} for k, score in enumerate(tiny)]
    built = build(rows)
    assert [row["raw_mean"] for row in built.rows("scores")] == pytest.approx([0, 0, 0])


def test_a_scale_wider_than_numbers_go(build: Any) -> None:
    with pytest.raises(ConfigError):
        build([of()], tasks=[SCALE[0] | {"scale": [-1e308, 1e308]}])
