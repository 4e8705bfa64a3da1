"""Gates that look at the previous release: worked examples."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.gates import declared
from annot_pipeline.methods.numerics.intervals import change_intervals
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.stages.gold import compare
from annot_pipeline.stages.gold.compare import agreement_changes, prevalence_changes

GATES = (
    "agreement_fall", "prevalence_drift", "label_flips", "unseen_judges", "corrected_judgments",
    "reinstated_judges",
)  # fmt: skip


def export(n_items, label, judges=("a", "b", "c"), start=0):
    rows = [
        f"i{n:03d},{judge},{label(n)}\n" for n in range(start, start + n_items) for judge in judges
    ]
    return "item,judge,label\n" + "".join(rows)


def gate(built, name):
    (stage,) = (gate.stage for gate in declared.GATES if gate.name == name)
    (actual,) = (gate for gate in built.runs[stage].gates if gate.name == name)
    return actual


def test_newcombe_1998_table_2():
    """Method 10: 56/70 against 48/80, difference .2, interval .0524 to .3339."""
    changes = change_intervals(
        [48 / 80], wilson_interval([48], [80]), [56 / 70], wilson_interval([56], [70])
    )
    assert changes.change[0] == pytest.approx(0.2)
    assert changes.low[0] == pytest.approx(0.0524, abs=5e-5)
    assert changes.high[0] == pytest.approx(0.3339, abs=5e-5)
    assert changes.beyond.tolist() == [True]


def test_an_interval_by_hand():
    """Each side adds up in squares: .3 and .4 make .5; without ends the figures are exact."""
    changes = change_intervals([0.9], ([0.5], [1.2]), [0.0], ([-0.4], [0.3]))
    assert changes.low[0] == pytest.approx(-0.9 - 0.5)
    assert changes.high[0] == pytest.approx(-0.9 + math.hypot(0.4, 0.3))
    exact = change_intervals([0.9, 0.9], ([math.nan] * 2,) * 2, [0.8, 0.9], ([math.nan] * 2,) * 2)
    assert exact.low.tolist() == exact.high.tolist() == exact.change.tolist()
    assert exact.beyond.tolist() == [True, False]


STATISTICS = pa.schema(
    [(name, pa.string()) for name in ("task", "statistic", "reason")]
    + [(f"{when}{end}", pa.float64()) for when in ("released", "now")
       for end in ("", "_low", "_high")]
    + [("items", pa.int64())]
)  # fmt: skip


def statistics(*rows, reason=None):
    names = ("task", "statistic", "released", "released_low", "released_high",
             "now", "now_low", "now_high")  # fmt: skip
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) | {"items": 40, "reason": reason} for row in rows],
        STATISTICS,
    )


def test_a_fall_within_the_intervals_is_none():
    _, falls = agreement_changes(
        statistics(
            ("t", "fleiss_kappa", 0.8, 0.7, 0.9, 0.7, 0.6, 0.8),  # .1, and .14 is allowed
            ("t", "cohen_kappa", 0.8, 0.7, 0.9, 0.6, 0.5, 0.7),  # .2
            ("t", "alpha_nominal", 0.8, 0.7, 0.9, 0.5, 0.4, 0.6),  # .3
            ("t", "alpha_interval", 0.5, 0.4, 0.6, 0.8, 0.7, 0.9),  # a rise
            ("t", "percent_agreement", 0.9, 0.89, 0.91, 0.1, 0.0, 0.2),  # says little
        )
    )
    assert [row["name"] for row in falls] == ["t alpha_nominal", "t cohen_kappa"]
    assert falls[0]["change"] == pytest.approx(-0.3)
    assert falls[0]["high"] == pytest.approx(-0.3 + math.hypot(0.1, 0.1))


def test_a_fall_without_an_interval_is_none_but_from_full_agreement():
    row = ("t", "cohen_kappa", 0.8, 0.7, 0.9, 0.3, None, None)
    assert agreement_changes(statistics(row))[1] == []
    before = ("t", "cohen_kappa", 0.8, None, None, 0.3, 0.2, 0.4)
    assert agreement_changes(statistics(before))[1] == []
    off = statistics(row, reason="no interval: agreement.bootstrap is 0")
    assert len(agreement_changes(off)[1]) == 1
    full = ("t", "cohen_kappa", 1.0, None, None, 0.3, 0.2, 0.4)
    assert len(agreement_changes(statistics(full))[1]) == 1


def test_classes_that_moved_alike_stand_by_name():
    """The shares of two classes move by as much, but for the last digit of a float."""
    items = {"task": "t", "released_items": 200, "now_items": 200}
    rows = [
        items | {"label": label, "released": released, "now": now}
        for label, released, now in (("yes", 1 - 4 / 20, 1 - 13 / 20), ("no", 4 / 20, 13 / 20))
    ]
    _, shifts = prevalence_changes(pa.Table.from_pylist(rows))
    assert [shift["name"] for shift in shifts] == ["t no", "t yes"]


def test_a_shift_of_few_items_is_none():
    rows = [
        {
            "task": "t",
            "label": "x",
            "released": share,
            "released_items": n,
            "now": 0.5,
            "now_items": n,
        }
        for share, n in ((0.3, 10), (0.3, 100))
    ]
    table, shifts = prevalence_changes(pa.Table.from_pylist(rows))
    assert len(shifts) == 1
    assert shifts[0]["low"] == pytest.approx(0.0645, abs=5e-4)
    assert table["change"].to_pylist() == pytest.approx([0.2, 0.2])


def test_a_first_release_has_nothing_to_compare_with(stage_campaign):
    built = stage_campaign({"a.csv": export(4, lambda n: "xy"[n % 2])})
    for name in GATES:
        actual = gate(built, name)
        assert (actual.level, actual.value) == ("pass", 0)
        assert actual.detail == "no release to compare with"


def mean_probability(built, version, label):
    """What the published distributions of a release say, independent of the table prevalence."""
    folder = built.publication.release.folder.parent / version
    rows = pq.read_table(folder / "label_distributions.parquet").to_pylist()
    shares = [row["probability"] for row in rows if row["label"] == label]
    return sum(shares) / len(shares)


@pytest.mark.slow
def test_drift_flips_and_unseen_judges(build_campaign, start_campaign, stage_campaign):
    """40 items, half x; then 20 of them are y, and 60 new ones by new judges are y too.

    Judges who answer y whatever they see tell little of their items: of labels y grows from .5 to
    .9, of probabilities to .86.
    """
    start_campaign({"a.csv": export(40, lambda n: "xy"[n % 2])})
    changed = {
        "a.csv": export(40, lambda n: "y" if n < 20 else "xy"[n % 2]),
        "b.csv": export(60, lambda _: "y", ("d", "e"), start=40),
    }
    stopped_by = ("suspected_labels", "doubtful_items", "label_flips", "corrected_judgments")
    unstopped = [f"gates.{name}.error=1" for name in stopped_by]
    built = build_campaign(changed, *unstopped)
    assert gate(built, "suspected_labels").value == 0.6
    assert gate(built, "doubtful_items").value == 1
    flips = gate(built, "label_flips")
    assert (flips.level, flips.value) == ("warn", 10 / 40)
    assert flips.detail == "small 10 of 40: i000, i002, i004, i006, i008"
    corrected = gate(built, "corrected_judgments")
    assert (corrected.level, corrected.value) == ("warn", 30 / 120)
    assert corrected.detail == "small 30 of 120 in exports/a.csv"
    unseen = gate(built, "unseen_judges")
    assert (unseen.level, unseen.value) == ("pass", 120 / 240)
    assert unseen.detail == "small 2 judges, 120 of 240 judgments"
    drift = gate(built, "prevalence_drift")
    assert drift.level == "warn"
    before, after = (mean_probability(built, version, "y") for version in ("v0001", "v0002"))
    assert drift.value == pytest.approx(after - before, abs=1e-12)
    assert (before, after) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.86, abs=0.01))
    assert drift.detail.startswith("small ")
    again = stage_campaign(changed)
    assert {gate(again, name).value for name in GATES} == {0}


def test_one_export_with_swapped_labels_stops_the_build(start_campaign, stage_campaign):
    """However many exports there are: 40 of 540 labels flip, all of one export."""
    many = {f"{k}.csv": export(100, lambda n: "xy"[n % 2], start=100 * k) for k in range(5)}
    start_campaign(many | {"z.csv": export(40, lambda n: "xy"[n % 2], start=900)})
    built = stage_campaign(many | {"z.csv": export(40, lambda n: "yx"[n % 2], start=900)})
    assert gate(built, "label_flips").value == 40 / 540
    actual = gate(built, "corrected_judgments")
    assert (actual.level, actual.detail) == ("error", "small 120 of 120 in exports/z.csv")
    late = {"zz-corrections.csv": export(40, lambda n: "yx"[n % 2], start=900)}
    z = {"z.csv": export(40, lambda n: "xy"[n % 2], start=900)}
    corrected = stage_campaign(many | z | late)
    assert gate(corrected, "label_flips").value == 40 / 540
    assert gate(corrected, "corrected_judgments").value == 0  # a file of corrections


@pytest.mark.slow
def test_a_class_that_is_new_or_gone_has_changed(start_campaign, stage_campaign):
    start_campaign({"a.csv": export(40, lambda n: "xy"[n % 2])})
    drift = gate(stage_campaign({"a.csv": export(40, lambda n: "xz"[n % 2])}), "prevalence_drift")
    assert drift.value == pytest.approx(0.5, abs=0.01)
    assert "small y -0.5" in drift.detail
    assert "small z +0.5" in drift.detail


@pytest.mark.slow
def test_judges_of_other_names_are_not_compared(start_campaign, stage_campaign):
    start_campaign({"a.csv": export(40, lambda n: "xy"[n % 2])})
    named = stage_campaign(
        {"a.csv": export(40, lambda n: "xy"[n % 2])}, "privacy.pseudonymize=false"
    )
    unseen = gate(named, "unseen_judges")
    assert (unseen.level, unseen.value) == ("pass", 0)
    assert "other names" in unseen.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label_flips", {"a.csv": export(40, lambda n: "yx"[n % 2])}),
        ("prevalence_drift", {"a.csv": export(40, lambda _: "x")}),
        ("unseen_judges", {"a.csv": export(40, lambda n: "xy"[n % 2], ("d", "e"))}),
        ("agreement_fall", {
            "a.csv": export(40, lambda n: "xy"[n % 2]),
            "b.csv": export(40, lambda n: "xy"[n // 2 % 2], ("d", "e", "f"))}),
    ],
)  # fmt: skip
def test_an_error_level_keeps_the_release_that_stands(build_campaign, start_campaign, name, change):
    folder = start_campaign({"a.csv": export(40, lambda n: "xy"[n % 2])})
    never = {gate: {"error": None} for gate in (*GATES, "vanished_judgments", "doubtful_items")}
    with pytest.raises(GateError, match=name):
        build_campaign(change, gates=never | {name: {"error": 0}})
    latest = folder / "gold" / "latest.json"
    assert '"v0001"' in latest.read_text()
    assert not (latest.parent / "v0002").exists()
    assert build_campaign(change, gates=never).publication.release.version == "v0002"


@pytest.mark.slow
def test_levels_below_0_always_fail(build_campaign):
    levels = {name: {"error": -1} for name in GATES}
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": export(2, lambda _: "x")}, gates=levels)
    assert all(f"{name}: " in str(error.value) for name in GATES)


YES = {"a.csv": export(30, lambda n: "yes" if n % 2 else "no")}
ANOTHER_SPELLING = YES | {"b.csv": export(30, lambda n: "Yes" if n % 2 else "no", start=30)}


@pytest.mark.slow
def test_labels_that_the_release_did_not_have(build_campaign, stage_campaign):
    """Another spelling silently becomes a class; where classes are declared, it is rejected."""
    assert gate(build_campaign(YES), "new_classes").detail == "no release to compare with"
    new = gate(stage_campaign(ANOTHER_SPELLING), "new_classes")
    assert (new.level, new.value, new.detail) == ("warn", 1, "small: 'Yes'")


@pytest.mark.slow
def test_labels_that_the_release_has_are_not_new(build_campaign, stage_campaign):
    build_campaign(YES)
    assert gate(build_campaign(ANOTHER_SPELLING), "new_classes").level == "warn"
    assert gate(stage_campaign(ANOTHER_SPELLING), "new_classes").level == "pass"


@pytest.mark.slow
def test_the_drift_of_models_asks_for_no_judgments_of_people(build_campaign, monkeypatch):
    released, asked = compare._released, []

    def logged(release, name):
        if release:
            asked.append(name)
        return released(release, name)

    build_campaign({"a.csv": export(4, lambda n: "ab"[n % 2])})
    monkeypatch.setattr(compare, "_released", logged)
    built = build_campaign({"a.csv": export(4, lambda n: "ab"[n % 2])})
    assert asked.count("labels") == 3, "changes, what vanished, whom to doubt"
    assert asked.count("judgments") == 1, "what is asked of groups of tasks"
    assert built.rows("model_drift") == []


@pytest.mark.slow
def test_judges_who_pass_since_the_newest_release_are_named(start_campaign, stage_campaign):
    """A judge answers against the others; an export on another scale hides that."""
    fields = {name: name for name in ("segment", "system", "judge", "score")}
    rows = [
        (n, judge, 100 - n if judge == "d" and n < 40 else n) for n in range(80) for judge in "abcd"
    ]
    head = "segment,system,judge,score\n"
    first, second = (
        head + "".join(f"s{n // 4},{'wxyz'[n % 4]},{j},{score * by:g}\n" for n, j, score in some)
        for some, by in ((rows[:160], 1), (rows[160:], 0.01))
    )
    settings = {
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "privacy": {"pseudonymize": False},
    }
    start_campaign({"a.csv": first}, **settings, quality={"test": "consistency"})

    def reinstated(text, **quality):
        exports = {"a.csv": first} | ({"b.csv": text} if text else {})
        quality = {"test": "consistency"} | quality
        return gate(stage_campaign(exports, **settings, quality=quality), "reinstated_judges")

    warned = reinstated(second)
    assert (warned.level, warned.value, warned.detail) == ("warn", 1, "d (80 judgments)")
    assert "1 judge with a failed test in v0001 and a passed one now (" in warned.headline
    assert reinstated("").level == "pass"
    assert reinstated(second, alpha=0.04).value == 0
