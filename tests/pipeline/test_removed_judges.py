"""Manifest and data card name the judges whose answers do not count, by the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
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


@pytest.mark.slow
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
    assert "Judges of labels and preferences without a verdict by controls are tested" in text
    assert "paired_t" not in text.partition("## Who was filtered")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_measured_judges_count(build_campaign) -> None:
    rows, _ = night(17, 120, crowd(10, 0.8, 0.9) | {"const": constant}, 8)
    built = build_campaign({"a.csv": HEAD + rows}, "quality.labels=measure", **NAMES)
    assert facts(built)["removed_judges"] == {}
    failed = "Judges who failed but whose answers count (`quality.labels: measure`): 1."
    assert failed in page(built)
    assert "Judges whose answers do not count" not in page(built)


@pytest.mark.slow
def test_suspected_judges_have_a_rule_of_their_own(build_campaign) -> None:
    before, _ = night(17, 180, crowd(12), 5)
    flood, _ = night(18, 60, flooded("constant", 12), 6, start=180)
    exports = {"a.csv": HEAD + before, "b.csv": HEAD + flood}
    built = build_campaign(exports, DROP, "quality.suspected=drop", **NAMES)
    assert facts(built)["removed_judges"]["suspected"] == {"judges": 12, "judgments": 360}
    assert ("12 by suspicions that the data cannot resolve (360 judgments)") in page(built)


@pytest.mark.slow
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


# --- annot status --------------------------------------------------------------------------


def status_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what status says of judges, as a document and as text."""
    document = status(load_campaign(folder))["release"]["judges"]
    capsys.readouterr()
    assert main(["status", str(folder)]) == 0
    return document, capsys.readouterr().out.splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize("scope", ["campaign", "task"])
def test_status_names_judges_of_concern(build_campaign, tmp_path, capsys, scope: str) -> None:
    judges = crowd(10, 0.8, 0.9) | {f"const{k}": constant for k in range(2)} | {"rand": coin}
    rows, _ = night(17, 120, judges, 8)
    exports = {"a.csv": HEAD + rows, "b.csv": HEAD + night(3, 9, {"one": coin}, 1, start=400)[0]}
    build_campaign(exports, "quality.labels=measure", **NAMES, quality={"scope": scope})
    document, lines = status_of(tmp_path / "campaign", capsys)
    start = "" if scope == "campaign" else "small "
    assert document == {
        "verdicts": {"passed": 0, "failed": 0, "undetermined": 0, "untested": 14},
        "label_verdicts": {"passed": 10, "failed": 3, "undetermined": 0, "untested": 1},
        "failed": {"chance": [f"{start}rand"], "constant": [f"{start}const0", f"{start}const1"]},
        "random": [],
        "suspected": [],
    }
    at = lines.index("judges by the others' answers: passed 10, failed 3, untested 1")
    assert lines[at + 1 : at + 3] == [
        f"  failed: chance {start}rand; constant {start}const0, {start}const1",
        "  see verdict and verdict_reason in the table judges",
    ]


@pytest.mark.slow
def test_status_of_judges_who_look_random(build_campaign, tmp_path, capsys) -> None:
    random_rows, _ = night(17, 200, flooded("random", 24), 6)
    build_campaign({"a.csv": HEAD + random_rows}, DROP, **NAMES)
    document, lines = status_of(tmp_path / "campaign", capsys)
    assert document["failed"] == {}
    assert len(document["random"]) >= 15
    first, more = ", ".join(document["random"][:5]), len(document["random"]) - 5
    assert f"  look random, not failed: {first} and {more} more" in lines


@pytest.mark.slow
def test_status_of_suspected_judges(build_campaign, tmp_path, capsys) -> None:
    flood, _ = night(18, 60, flooded("constant", 12), 6, start=180)
    exports = {"a.csv": HEAD + night(17, 180, crowd(12), 5)[0], "b.csv": HEAD + flood}
    build_campaign(exports, DROP, "quality.suspected=drop", **NAMES)
    document, lines = status_of(tmp_path / "campaign", capsys)
    assert document["suspected"] == [f"new{k:02}" for k in range(12)]
    assert not {*document["random"]} & {*document["suspected"]}
    assert any(
        line.startswith("  suspected, the data cannot show who is right: new00, new01, ")
        for line in lines
    )


@pytest.mark.slow
def test_status_names_pseudonyms_alone(build_campaign, tmp_path, capsys) -> None:
    judges = {f"worker-{name}": answer for name, answer in crowd(10, 0.8, 0.9).items()}
    rows, _ = night(17, 120, judges | {"worker-const": constant}, 8)
    built = build_campaign({"a.csv": HEAD + rows}, DROP)
    document, lines = status_of(tmp_path / "campaign", capsys)
    assert "worker-" not in "\n".join(lines) + str(document)
    failed = {row["judge"] for row in built.rows("judges") if row["verdict"] == "failed"}
    assert {*document["failed"]["constant"]} == failed


@pytest.mark.slow
def test_a_campaign_without_tests_says_nothing_of_judges(build_campaign, tmp_path, capsys) -> None:
    build_campaign({"a.csv": HEAD + "i1,a,pos\ni2,b,neg\n"}, **NAMES)
    assert not [
        line for line in status_of(tmp_path / "campaign", capsys)[1] if line.startswith("judges")
    ]
