"""Gates on what a release has and no export holds any more."""

from __future__ import annotations

import pytest

from annot_pipeline.errors import GateError
from tests.gates.test_drift import export, gate

NAMES = ("vanished_judgments", "vanished_items")
NEVER = {name: {"error": None} for name in NAMES}


def half(n):
    return "xy"[n % 2]


def test_an_export_that_shrank_is_not_published(build_campaign):
    """200 items, then 4 of them: 588 of 600 judgments are gone."""
    first = build_campaign({"a.csv": export(200, half)})
    with pytest.raises(GateError, match="vanished_items") as error:
        build_campaign({"a.csv": export(4, half)})
    assert "small 588 of 600" in str(error.value)
    assert "small 196 of 200: i004, i005, i006, i007, i008" in str(error.value)
    assert '"v0001"' in (first.publication.release.folder.parent / "latest.json").read_text()


def test_what_one_judge_withdraws_is_counted(build_campaign):
    """A third of the judgments, and no item."""
    build_campaign({"a.csv": export(40, half)})
    built = build_campaign({"a.csv": export(40, half, ("a", "b"))})
    found = gate(built, "vanished_judgments")
    assert (found.level, found.value, found.detail) == ("warn", 1 / 3, "small 40 of 120")
    assert (gate(built, "vanished_items").level, gate(built, "vanished_items").detail) == (
        "pass", "",
    )  # fmt: skip


def test_what_is_moved_repeated_or_corrected_has_not_vanished(build_campaign):
    build_campaign({"a.csv": export(40, half)})
    built = build_campaign(
        {"b.csv": export(40, half), "c.csv": export(40, lambda n: half(n // 2))},
        "gates.label_flips.error=null", "gates.agreement_fall.error=null",
    )  # fmt: skip
    assert [gate(built, name).value for name in NAMES] == [0, 0]


def test_judgments_of_other_names_are_not_compared_but_items_are(build_campaign):
    build_campaign({"a.csv": export(40, half)})
    built = build_campaign(
        {"a.csv": export(30, half)}, "privacy.pseudonymize=false", gates=NEVER
    )  # fmt: skip
    assert "other names" in gate(built, "vanished_judgments").detail
    assert gate(built, "vanished_items").value == 10 / 40


def test_few_items_are_no_alarm_unless_the_campaign_says_so(build_campaign):
    build_campaign({"a.csv": export(4, half)})
    (name,) = NAMES[1:]
    built = build_campaign({"a.csv": export(1, half)}, gates={NAMES[0]: {"minimum": 13}})
    assert [gate(built, name).value for name in NAMES] == [0, 0]
    build_campaign({"a.csv": export(4, half)})
    with pytest.raises(GateError, match=r"vanished_items: share .* worst task of 4 or more is 75"):
        build_campaign({"a.csv": export(1, half)}, gates={name: {"minimum": 4}})
