"""annot hits --design validate: people's first answers, the sample, and estimates."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from tests.conftest import build_file, stage_file

N = 900
FIRST = 60
SAMPLE = {"path": "selection_probabilities.csv", "format": "csv", "fields": {
    "task": "task", "item": "item", "selection_probability": "selection_probability"}}  # fmt: skip
ITEMS = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
SOURCES = {
    "label": {"item": "item", "judge": "judge", "label": "answer"},
    "score": {"item": "item", "system": {"value": "s"}, "judge": "judge", "score": "answer"},
    "compare": {"item_a": "item", "item_b": "item_b", "system_a": {"value": "x"},
                "system_b": {"value": "y"}, "judge": "judge", "preference": "answer"},
}  # fmt: skip
TASKS = {
    "label": {"name": "*", "kind": "categorical", "labels": ["bad", "good"]},
    "score": {"name": "*", "kind": "scalar", "scale": [0, 100]},
    "compare": {"name": "*", "kind": "pairwise"},
}
MODELS = ("gpt-4", "llama")


def answers(ask: str) -> dict[str, list[str]]:
    """What people and two models say of each item; models mostly err where they differ."""
    rng = np.random.default_rng(7)
    truth = rng.random(N) < 0.3
    is_hard = rng.random(N) < 0.2
    is_wrong = rng.random(N) < np.where(is_hard, 0.5, 0.03)
    called = truth ^ is_wrong
    other = np.where(is_hard, ~called, called)
    if ask == "score":
        shift = rng.normal(0, 6, (3, N))
        values = [
            np.clip(40 + 30 * v + s, 0, 100)
            for v, s in zip((truth, called, other), shift, strict=True)
        ]
        return dict(
            zip(("people", *MODELS), [[f"{x:.1f}" for x in v] for v in values], strict=True)
        )
    words = ("bad", "good") if ask == "label" else ("a", "b")
    rows = [[words[0] if x else words[1] for x in v] for v in (truth, called, other)]
    return dict(zip(("people", *MODELS), rows, strict=True))


def write(folder: Path, ask: str, *, first: int = FIRST, **settings: Any) -> Path:
    """Models judged all items, a person a random sample of them."""
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    (folder / "results").mkdir(exist_ok=True)
    said = answers(ask)
    judged = np.sort(np.random.default_rng(1).choice(N, first, replace=False)).tolist()
    with (folder / "exports" / "a.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["item", "item_b", "judge", "answer"])
        for judge, items in (*((m, range(N)) for m in MODELS), ("ann", judged)):
            values = said["people" if judge == "ann" else judge]
            out.writerows([f"i{n:03}", f"j{n:03}", judge, values[n]] for n in items)
    with (folder / "items.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["item", "text"])
        out.writerows(
            [f"{side}{n:03}", f"text {side} number {n}"] for n in range(N) for side in "ij"
        )
    document = {
        "campaign": "small",
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": SOURCES[ask]}],
        "items": [ITEMS],
        "tasks": [TASKS[ask]],
        "judges": [{"name": name, "kind": "model"} for name in MODELS],
        "next_hits": {"design": "validate", "upload": "jsonl"},
        "quality": {"test": "none"},
    } | settings  # fmt: skip
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def build_labels(folder: Path) -> None:
    build_file(write(folder, "label"))


@pytest.fixture
def labelled(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    """The campaign of labels with its release, which tests share."""
    return copy_campaign(build_labels, tmp_path / "campaign")


def hits(capsys: pytest.CaptureFixture[str], folder: Path, *more: object) -> dict[str, Any]:
    status = main([str(a) for a in ("hits", folder, "--json", *more)])
    out = capsys.readouterr()
    assert status == 0, out.err
    document: dict[str, Any] = json.loads(out.out)
    return document


def judge(document: dict[str, Any], ask: str, target: Path) -> list[dict[str, Any]]:
    """Ann answers all HITs of a batch; a pair may be shown the other way round."""
    said = answers(ask)["people"]
    lines = []
    for file in (file for task in document["tasks"] for file in task["files"]):
        for line in Path(file["path"]).read_text().splitlines():
            hit = json.loads(line)
            given = []
            for slot in hit["annot_hit"]["slots"]:
                answer = said[int(slot["item"][1:])]
                if ask == "compare" and slot["item"].startswith("j"):
                    answer = {"a": "b", "b": "a"}[answer]
                given.append(float(answer) if ask == "score" else answer)
            key = "scores" if ask == "score" else "answers"
            lines.append(json.dumps(hit | {"judge": "ann", key: given}))
    target.write_text("\n".join(lines) + "\n")
    plan: list[dict[str, Any]] = pq.read_table(document["plan"]).to_pylist()
    return plan


def with_results(folder: Path, document: dict[str, Any], ask: str, name: str = "1") -> None:
    """Put what came back, and the sample, where the campaign reads it."""
    judge(document, ask, folder / "results" / f"{name}.jsonl")
    (folder / "selection_probabilities.csv").write_bytes(
        Path(document["selection_probabilities"]).read_bytes()
    )
    campaign = json.loads((folder / "campaign.yaml").read_text())
    campaign["sources"] = [campaign["sources"][0], {"path": "results/*.jsonl", "format": "hits"}]
    campaign["items"] = [campaign["items"][0], SAMPLE]
    (folder / "campaign.yaml").write_text(json.dumps(campaign))


def sample_rows(document: dict[str, Any]) -> list[dict[str, str]]:
    with Path(document["selection_probabilities"]).open(newline="") as file:
        return list(csv.DictReader(file))


def widths(built: Any, model: str) -> dict[tuple[Any, ...], float]:
    keys = ("quantity", "criterion", "system", "label")
    return {
        tuple(row[key] for key in keys): row["ci_high"] - row["ci_low"]
        for row in built.rows("estimates")
        if row["method"] == "prediction_powered" and row["judge"] == model
        and row["ci_low"] is not None
    }  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("ask", SOURCES)
@pytest.mark.slow
def test_the_widest_interval_halves(ask: str, tmp_path: Path, capsys: Any) -> None:
    """People answer the batch, and the build has an interval half as wide, as was told."""
    folder = write(tmp_path / "campaign", ask)
    before = build_file(folder)
    document = hits(capsys, folder)
    assert (document["design"], document["done"]) == ("validate", False)
    sample = document["validation"]["small"]
    now = widths(before, sample["model"])
    key = ("quantity", "criterion", "system", "label")
    planned_widths = {
        tuple(e[k] for k in key): (e["width"], e["expected_width"]) for e in sample["estimands"]
    }
    assert planned_widths
    for name, (width, _) in planned_widths.items():
        assert width == pytest.approx(now[name]), name
    plan = pq.read_table(document["plan"]).to_pylist()
    assert plan == before.rows("next_hits"), "the batch is the asset"
    asked = [row for row in plan if row["role"] == "sampled"]
    assert len(asked) == sample["asked"] == sum(s["asked"] for s in sample["strata"])
    systems = {e["system"] for e in sample["estimands"]}
    assert systems == {"label": {None}, "score": {"s"}, "compare": {"x", "y"}}[ask]
    if ask == "compare":
        assert {row["item"][0] for row in asked} == {"i", "j"}, "which is first is drawn"
    with_results(folder, document, ask)
    after_build = stage_file(folder)
    after = widths(after_build, sample["model"])
    widest = max(now[name] for name in planned_widths)
    for name, (_, expected) in planned_widths.items():
        assert after[name] == pytest.approx(expected, rel=0.25), name
        assert after[name] < 0.6 * widest
    reasons = {row["reason"] for row in after_build.rows("estimates") if row["method"] == "people"}
    assert not any("selection_probability" in (reason or "") for reason in reasons)
    # every item of people has its joined probability, by record and by table
    listed = {
        row["item"]: row["selection_probability"] for row in after_build.rows("item_probabilities")
    }
    assert len(listed) == N
    for row in after_build.rows("controlled"):
        if row["selection_probability"] is not None:
            pair = " | ".join(sorted(filter(None, (row["item_a"], row["item_b"]))))
            assert row["selection_probability"] == listed[row["item"] or pair]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param("label", marks=pytest.mark.slow),
        pytest.param("score", marks=pytest.mark.slow),
        "compare",
    ],
)
def test_a_second_batch_joins_the_first(ask: str, tmp_path: Path, capsys: Any) -> None:
    folder = write(tmp_path / "campaign", ask)
    build_file(folder)
    first = hits(capsys, folder)
    with_results(folder, first, ask)
    build_file(folder)
    second = hits(capsys, folder)
    asked = {(row["item"], row["item_b"]) for row in pq.read_table(first["plan"]).to_pylist()}
    again = {(row["item"], row["item_b"]) for row in pq.read_table(second["plan"]).to_pylist()}
    assert not {frozenset(pair) for pair in asked} & {frozenset(pair) for pair in again}
    before, after = (
        {row["item"]: float(row["selection_probability"])
         for row in sample_rows(d)}
        for d in (first, second)
    )  # fmt: skip
    assert before.keys() == after.keys()
    assert all(after[item] > before[item] or before[item] == 1 for item in before)


@pytest.mark.slow
def test_the_same_build_gives_the_same_batch(labelled: Path, capsys: Any) -> None:
    first = hits(capsys, labelled)
    files = {p.name: p.read_bytes() for p in Path(first["folder"]).iterdir()}
    assert {"selection_probabilities.csv", "plan.parquet", "hits-small.jsonl"} == files.keys()
    assert hits(capsys, labelled) == first
    assert {p.name: p.read_bytes() for p in Path(first["folder"]).iterdir()} == files
    assert hits(capsys, labelled, "--set", "seed=18")["folder"] != first["folder"]


def test_probabilities_are_those_of_both_samples(labelled: Path, capsys: Any) -> None:
    document = hits(capsys, labelled)
    shares = {s["drawn"] / s["items"] for s in document["validation"]["small"]["strata"]}
    rows = sample_rows(document)
    read = {round(float(row["selection_probability"]), 12) for row in rows}
    assert read == {round(1 - (1 - FIRST / N) * (1 - share), 12) for share in shares}
    plan = pq.read_table(document["plan"]).to_pylist()
    by_item = {row["item"]: float(row["selection_probability"]) for row in rows}
    assert all(row["probability"] == by_item[row["item"]] for row in plan)


@pytest.mark.slow
def test_a_first_sample_without_people(tmp_path: Path, capsys: Any) -> None:
    """Models alone: 100 items in proportion, and a probability for all others."""
    folder = write(tmp_path / "campaign", "label", first=0)
    build_file(folder)
    document = hits(capsys, folder)
    sample = document["validation"]["small"]
    assert 90 <= sample["asked"] == sample["drawn"] <= 100
    shares = [s["probability"] for s in sample["strata"]]
    assert max(shares) - min(shares) < 0.02
    assert {e["width"] for e in sample["estimands"]} == {None}
    assert sample["drawn_to_halve"] is None
    assert any("a first sample" in note for note in document["notes"])
    with_results(folder, document, "label")
    built = stage_file(folder)
    model = {r["judge"] for r in built.rows("estimates") if r["method"] == "prediction_powered"}
    expected = {e["label"]: e["expected_width"] for e in sample["estimands"]}
    for name in model:
        for key, width in widths(built, name).items():
            assert width < expected[key[-1]] * 1.1, "a model helps"


@pytest.mark.slow
def test_items_that_were_chosen_count_for_themselves(tmp_path: Path, capsys: Any) -> None:
    judges = {"declared": [{"name": n, "kind": "model"} for n in MODELS], "people_items": "chosen"}
    folder = write(tmp_path / "campaign", "label", judges=judges)
    build_file(folder)
    document = hits(capsys, folder)
    assert any("are not a random sample" in note for note in document["notes"])
    rows = sample_rows(document)
    certain = [row["item"] for row in rows if float(row["selection_probability"]) == 1]
    assert len(certain) == FIRST
    with_results(folder, document, "label")
    built = stage_file(folder)
    assert widths(built, "gpt-4"), "the estimates are corrected now"


def test_a_limit_says_what_would_halve(labelled: Path, capsys: Any) -> None:
    document = hits(capsys, labelled, "--set", "next_hits.items=40")
    sample = document["validation"]["small"]
    assert sample["drawn"] <= 40 < sample["drawn_to_halve"]
    assert not sample["halves"]
    needed = f"{sample['drawn_to_halve']:,} items drawn halve the widest interval"
    assert f"small: {needed}; next_hits.items is 40" in document["notes"]
    whole = hits(capsys, labelled)["validation"]["small"]
    assert whole["halves"]
    assert whole["drawn"] == sample["drawn_to_halve"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"judges": []},
         "no judge is declared as a model; write judges: [{name: ..., kind: model}]"),
        ({"judges": [{"name": "claude-*", "kind": "model"}]},
         "no judge that is declared as a model judged it"),
        ({"tasks": [{"name": "*", "kind": "categorical"}], "first": N},
         "people judged all items that the model judged"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(settings: Any, says: str, tmp_path: Path, capsys: Any) -> None:
    folder = write(tmp_path / "campaign", "label", **settings)
    build_file(folder, "gates.unused_judge_settings.error=null")
    capsys.readouterr()
    status = main(["hits", str(folder), "--set", "gates.unused_judge_settings.error=null"])
    out = capsys.readouterr()
    assert status == (0 if "all items" in says else 2)
    assert says in out.out + out.err
    assert not (folder / "hits").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "says"),
    [
        pytest.param(FIRST, "selection_probabilities.csv of the batch", marks=pytest.mark.slow),
        (0, "other items it is not: list selection_probabilities.csv of the last batch"),
    ],
)
def test_the_sample_is_not_listed(first: int, says: str, tmp_path: Path, capsys: Any) -> None:
    """The results came back. Without earlier answers, records say enough for estimates."""
    folder = write(tmp_path / "campaign", "label", first=first)
    build_file(folder)
    document = hits(capsys, folder)
    with_results(folder, document, "label")
    campaign = json.loads((folder / "campaign.yaml").read_text())
    campaign["items"].pop()
    (folder / "campaign.yaml").write_text(json.dumps(campaign))
    built = build_file(folder)
    assert bool(widths(built, "gpt-4")) == (first == 0)
    assert main(["hits", str(folder)]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.slow
def test_items_that_only_another_model_judged(tmp_path: Path, capsys: Any) -> None:
    """They cannot be drawn, and the next batch is planned without them."""
    folder = write(tmp_path / "campaign", "label", first=0)
    export = folder / "exports" / "a.csv"
    lines = export.read_text().splitlines()
    other_lines = [line for line in lines if not (line.startswith("i00") and "gpt-4" in line)]
    export.write_text("\n".join(other_lines))
    build_file(folder)
    document = hits(capsys, folder)
    sample = document["validation"]["small"]
    assert (sample["model"], sample["items"]) == ("llama", N)
    lines = [line for line in other_lines if not (line.startswith("i01") and "llama" in line)]
    export.write_text("\n".join(lines))
    build_file(folder)
    document = hits(capsys, folder)
    assert document["validation"]["small"]["items"] == N - 10
    with_results(folder, document, "label")
    build_file(folder)
    assert hits(capsys, folder)["validation"]["small"]["asked"] > 0
