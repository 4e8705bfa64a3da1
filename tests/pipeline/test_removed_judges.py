"""Manifest and data card name the judges whose answers do not count, by the rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pipeline.test_careless_judges import (
    DROP,
    HEAD,
    NAMES,
    coin,
    constant,
    crowd,
    flooded,
    night,
)


def page(built: Any) -> str:
    text: str = (built.publication.release.folder / "README.md").read_text(encoding="utf-8")
    return text


def facts(built: Any) -> dict[str, Any]:
    document: dict[str, Any] = built.publication.release.manifest["facts"]
    return document


def test_judges_and_judgments_by_test(build_campaign) -> None:
    judges = crowd(10, 0.8, 0.9)
    judges |= {f"const{k}": constant for k in range(3)} | {f"rand{k}": coin for k in range(2)}
    rows, _ = night(17, 120, judges, 8)
    built = build_campaign({"a.csv": HEAD + rows}, DROP, **NAMES)
    n = {kind: rows.count(f",{kind}") for kind in ("const", "rand")}
    removed = facts(built)["removed_judges"]
    assert removed == {
        "constant": {"judges": 3, "judgments": n["const"]},
        "chance": {"judges": 2, "judgments": n["rand"]},
    }
    assert sum(n.values()) == facts(built)["fates"]["judge_failed"]
    text = page(built)
    assert (
        "Judges whose answers do not count: "
        f"3 by constant answers ({n['const']} judgments), 2 by chance ({n['rand']} judgments).\n"
    ) in text
    assert "Judges of labels without a verdict by controls are tested by the answers" in text
    assert "paired_t" not in text.partition("## Who was filtered")[2].partition("\n## ")[0]


def test_measured_judges_count(build_campaign) -> None:
    rows, _ = night(17, 120, crowd(10, 0.8, 0.9) | {"const": constant}, 8)
    built = build_campaign({"a.csv": HEAD + rows}, "quality.labels=measure", **NAMES)
    assert facts(built)["removed_judges"] == {}
    failed = "Judges who failed but whose answers count (`quality.labels: measure`): 1."
    assert failed in page(built)
    assert "Judges whose answers do not count" not in page(built)


def test_suspected_judges_have_a_rule_of_their_own(build_campaign) -> None:
    before, _ = night(17, 180, crowd(12), 5)
    flood, _ = night(18, 60, flooded("constant", 12), 6, start=180)
    exports = {"a.csv": HEAD + before, "b.csv": HEAD + flood}
    built = build_campaign(exports, DROP, "quality.suspected=drop", **NAMES)
    assert facts(built)["removed_judges"]["suspected"] == {"judges": 12, "judgments": 360}
    assert (
        "12 by one answer throughout on items that no other judge judged (360 judgments)"
    ) in page(built)


@pytest.mark.parametrize(("undetermined", "rules"), [("keep", {}), ("drop", {"undetermined": 1})])
def test_known_answers_and_undetermined_judges(
    build_campaign, undetermined: str, rules: dict[str, int]
) -> None:
    """Judge a is right 20 of 20 times, b never, c has one known answer."""
    export = "item,judge,label,control,truth\n"
    for name, n, label in (("a", 20, "x"), ("b", 20, "y"), ("c", 1, "x")):
        export += "".join(f"i{k},{name},{label},known_answer,x\n" for k in range(n))
        export += f"o1,{name},y,none,\no2,{name},x,none,\n"
    fields = {name: name for name in ("item", "judge", "label", "control", "truth")}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    quality = {"test": "known_answer", "undetermined": undetermined}
    built = build_campaign({"a.csv": export}, **NAMES, sources=sources, quality=quality)
    removed = facts(built)["removed_judges"]
    assert removed.pop("known_answer") == {"judges": 1, "judgments": 22}
    assert {rule: n["judges"] for rule, n in removed.items()} == rules
    assert "1 by known answers (22 judgments)" in page(built)
