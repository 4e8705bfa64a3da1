"""Comparisons and labels: a plan, its files, what platforms give back, and a build."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.stages.planning.hit_plan import Question
from tests.conftest import Built, build_file, stage_file
from tests.hits.platforms import RESULTS, Row, Worked, files, plan, slot, write

pytestmark = pytest.mark.slow

WHICH = 'which/"one"? 日本'
ADEQUATE = "=adequate; ${text_1}"
GOOD = "Outputs scored"
LABELS = ('=yes, "it\'s" <b>', "2", "${text_1} 😀", "1")
HOSTILE = ('"quoted", and; more', "=HYPERLINK(1)", "<b>\\u0041</b>", "${text_b_2}", "%2F/é 😀")
JUDGES = ("A2", "A3")


def outputs(segment: int) -> list[Row]:
    named = f"{HOSTILE[segment % 5]} {segment}"
    return [
        {"item": f"{named}/{system}", "system": system, "segment": named, "text": f"{system}!"}
        for system in HOSTILE[:4]
    ]


def compared(segment: int) -> list[Row]:
    """One to three pairs of four outputs; some of them turned around."""
    a, b, c, d = outputs(segment)
    pairs = [(a, b), (d, c), (c, a)][: 1 + segment % 3]
    return [
        slot(first["item"], item_b=second["item"], text=first["text"], text_b=second["text"],
             system=first["system"], system_b=second["system"], segment=first["segment"],
             source="a source")
        for first, second in pairs
    ]  # fmt: skip


def labelled(segment: int) -> list[Row]:
    return [slot(**shown) for shown in outputs(segment)[: 1 + segment % 4]]


def planned() -> pa.Table:
    return plan(
        (ADEQUATE, [labelled(n) for n in range(6)]),
        (WHICH, [compared(n) for n in range(7)]),
        (GOOD, [[slot(f"{GOOD} {n}.{k}", text="x") for k in range(3)] for n in range(2)]),
    )


QUESTIONS = [
    Question(ADEQUATE, ask="label", labels=LABELS),
    Question(WHICH, ask="compare"),
    Question(GOOD, (0.0, 100.0)),
]
TASKS = [
    {"name": "which*", "kind": "pairwise"},
    {"name": GOOD, "kind": "scalar", "scale": [0, 100]},
    {"name": "*", "kind": "categorical", "labels": [*LABELS]},
]


def said(judge: str, hit: Row, number: int, _criterion: int | None) -> float | str:
    """Every answer there is, in no order that the slots have."""
    turn = sum(map(ord, f"{judge}{hit['hit']}")) + number
    ask = hit.get("ask")
    if ask is None:
        return float(turn % 101)
    return ("b", "a", "tie")[turn % 3] if ask == "compare" else LABELS[turn % len(LABELS)]


def expected(table: pa.Table, judges: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    asked = {question.task: question.ask for question in QUESTIONS}
    actual: Counter[tuple[Any, ...]] = Counter()
    for row in table.to_pylist():
        ask = asked[row["task"]]
        hit = {"hit": row["hit"]} | ({} if ask == "score" else {"ask": ask})
        pair = (row["item"], row["system"], row["item_b"], row["system_b"])
        single = (row["item"], row["system"])
        what = (None, None, *pair) if ask == "compare" else (*single, None, None, None, None)
        for judge in judges:
            answer = said(judge, hit, row["slot"], None)
            answers = [answer if ask == kind else None for kind in ("score", "compare", "label")]
            place = (row["task"], row["hit"], str(row["slot"]), row["segment"], judge)
            actual[*place, *what, *answers] += 1
    return actual


def read(built: Built) -> Counter[tuple[Any, ...]]:
    names = ("task", "hit", "position", "segment", "judge", "item", "system", "item_a", "system_a",
             "item_b", "system_b", "score", "preference", "label")  # fmt: skip
    return Counter(tuple(row[name] for name in names) for row in built.rows("controlled"))


def campaign(folder: Path) -> Path:
    document = {
        "campaign": "choices",
        "sources": [{"path": "results/*", "format": "hits"}],
        "tasks": TASKS,
    }
    (folder / "results").mkdir(parents=True, exist_ok=True)
    path = folder / "campaign.yaml"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def give_back(folder: Path, platform: str, worked: Worked, **how: Any) -> None:
    ending, results = RESULTS[platform]
    document = write(planned(), QUESTIONS, folder / f"batch-{platform}", platform)
    assert document["warnings"] == []
    for number, path in enumerate(files(document, ending).values()):
        target = folder / "results" / f"{platform}-{number}{ending}"
        target.write_text(results(path, worked, **how), encoding="utf-8", newline="")


@pytest.mark.parametrize(
    ("platform", "how"), [(name, {}) for name in RESULTS] + [("mturk", {"packed": True})]
)
def test_every_slot_has_its_answer(platform: str, how: Any, tmp_path: Path) -> None:
    path = campaign(tmp_path)
    give_back(tmp_path, platform, Worked(JUDGES, said), **how)
    built = build_file(path)
    assert read(built) == expected(planned(), JUDGES)
    lineage = built.rows("lineage")
    assert {row["fate"] for row in lineage} == {"used"}
    assert len(lineage) == planned().num_rows * len(JUDGES)
    assert {row["ranking"] for row in built.rows("controlled")} == {None}
    kinds = {row["task"]: row["kind"] for row in built.rows("tasks")}
    assert kinds == {WHICH: "pairwise", ADEQUATE: "categorical", GOOD: "scalar"}


@pytest.mark.parametrize("platform", RESULTS)
def test_selection_probabilities_come_back(platform: str, tmp_path: Path) -> None:
    """Of pairs, labels and scores."""
    path = campaign(tmp_path)
    ending, results = RESULTS[platform]
    rows = planned().to_pylist()
    for n, row in enumerate(rows):
        row |= {"role": "sampled", "probability": (n + 1) / 300}
    table = pa.Table.from_pylist(rows, planned().schema)
    document = write(table, QUESTIONS, tmp_path / "batch", platform)
    for number, file in enumerate(files(document, ending).values()):
        target = tmp_path / "results" / f"{number}{ending}"
        target.write_text(results(file, Worked(JUDGES, said)), encoding="utf-8", newline="")
    read = {
        (row["hit"], row["position"], row["selection_probability"])
        for row in stage_file(path).rows("controlled")
    }
    assert read == {(row["hit"], str(row["slot"]), row["probability"]) for row in rows}


def test_all_kinds_in_one_file(tmp_path: Path) -> None:
    path = campaign(tmp_path)
    give_back(tmp_path, "jsonl", Worked(JUDGES, said))
    results = sorted((tmp_path / "results").iterdir())
    lines = [file.read_text(encoding="utf-8") for file in results]
    for file in results:
        file.unlink()
    (tmp_path / "results" / "all.jsonl").write_text("".join(lines), encoding="utf-8")
    assert read(build_file(path)) == expected(planned(), JUDGES)


def test_platforms_together(tmp_path: Path) -> None:
    """Each judge works elsewhere; labels of forms are numbers, those of lines are not."""
    path = campaign(tmp_path)
    judges = ("A1", *JUDGES)
    for platform, judge in zip(RESULTS, judges, strict=True):
        give_back(tmp_path, platform, Worked((judge,), said))
    assert read(build_file(path)) == expected(planned(), judges)


def test_a_word_that_nobody_offered_is_rejected(tmp_path: Path) -> None:
    path = campaign(tmp_path)

    def wrong(judge: str, hit: Row, number: int, criterion: int | None) -> float | str:
        if judge == "A3" and "ask" in hit and number == 1:
            return "equal"
        return said(judge, hit, number, criterion)

    give_back(tmp_path, "jsonl", Worked(JUDGES, wrong))
    built = build_file(path, "gates.rejected_share.error=1")
    reasons = Counter(row["reason"] for row in built.rows("lineage"))
    assert reasons["preference is not one of a, b, tie: 'equal'"] == 7
    assert sum(n for reason, n in reasons.items() if (reason or "").startswith("label is not")) == 6
    assert reasons[None] == 2 * planned().num_rows - 13
