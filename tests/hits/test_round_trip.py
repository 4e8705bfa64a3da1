"""A plan, its files, what platforms give back, and a build: every slot has its judgment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.conftest import Built, build_file, stage_file
from tests.hits.platforms import (
    RESULTS,
    Row,
    Worked,
    files,
    hit_id,
    mturk_results,
    plan,
    question,
    slot,
    write,
)

pytestmark = pytest.mark.slow

MT = 'mt/en-de: "100 %", =a; ${text_1}'
DIALOGUE = "Dialoge\nzwei 😀"
CRITERIA = ("fluency", "=relevance; 'so'")
HOSTILE = (
    '"quoted", and; more', "=HYPERLINK(1)", "-5 | @x", "${text_2}", "<b>\\u0041</b>", "日本 😀",
    "a\tb\nc", "\U0001d7d9-1", "%2F/é",
)  # fmt: skip
JUDGES = ("A2CAREFUL", "A3CAREFUL", "A1CARELESS")


def hits_of(task: str, number: int) -> list[Row]:
    """Six slots: four outputs, a degraded copy and a repeat; or a reference."""

    def said(n: int) -> Row:
        segment = f"{HOSTILE[number % 9]} {number}"
        return {} if task == DIALOGUE else {"segment": segment, "system": f"{HOSTILE[n]} {n}"}

    names = [f"{HOSTILE[(number + n) % 9]} {number}.{n}" for n in range(4)]
    shown = [slot(name, text=f"{name}!", **said(n)) for n, name in enumerate(names)]
    if number % 2:
        last = slot(names[1], "ask_again", text=f"{names[1]}!", **said(1))
    else:
        last = slot(names[2], "good_reference", text="=the reference", **said(2))
    bad = slot(names[0], "bad_reference", text=f"{names[0]} degraded", **said(0))
    return [shown[0], shown[1], bad, shown[2], shown[3], last]


TASKS = {task: [hits_of(task, number) for number in range(8)] for task in (MT, DIALOGUE)}
QUESTIONS = [question(MT, scale=(0.0, 100.0)), question(DIALOGUE, *CRITERIA, scale=(-1.0, 1.0))]


def planned() -> pa.Table:
    return plan(*TASKS.items())


def drawn() -> pa.Table:
    """The same HITs as a sample: a probability for each slot, small ones among them."""
    rows = planned().to_pylist()
    for n, row in enumerate(rows):
        row |= {"role": "sampled", "probability": [1.0, 0.1 + n / 1000, 1 / 3e6][n % 3]}
    return pa.Table.from_pylist(rows, planned().schema)


def scored(judge: str, hit: Row, number: int, criterion: int | None) -> float:
    """The careful ones see what is degraded; the other one looks at nothing."""
    low, high = hit["scale"]
    shown = hit["slots"][number - 1]
    jitter = sum(map(ord, f"{hit['hit']}{number}{criterion}{judge}")) % 17 / 100
    share = 0.7 + jitter
    if judge == "A1CARELESS":
        share = 0.4 + jitter
    elif shown.get("control") == "bad_reference":
        share = 0.1 + jitter
    return round(low + share * (high - low), 3)


def expected(table: pa.Table, judges: tuple[str, ...]) -> Iterator[Row]:
    """Every answer that was given, by what the plan says."""
    asked = {q.task: q for q in QUESTIONS}
    for row in table.to_pylist():
        criteria: tuple[str | None, ...] = asked[row["task"]].criteria or (None,)
        slots = [r for r in table.to_pylist() if r["hit"] == row["hit"]]
        hit = {"hit": row["hit"], "scale": asked[row["task"]].scale, "slots": slots}
        for place, criterion in enumerate(criteria, start=1):
            for judge in judges:
                number = place if criterion else None
                score = scored(judge, hit, row["slot"], number)
                yield {**row, "criterion": criterion, "judge": judge, "score": score}


def campaign(folder: Path, **settings: Any) -> Path:
    document = {
        "campaign": "planned",
        "sources": [{"path": "results/*", "format": "hits"}],
        "tasks": [
            {"name": "mt*", "kind": "scalar", "scale": [0, 100]},
            {"name": "*", "kind": "scalar", "scale": [-1, 1],
             "criteria": {name: {} for name in CRITERIA}},
        ],
    }  # fmt: skip
    (folder / "results").mkdir(parents=True, exist_ok=True)
    path = folder / "campaign.yaml"
    path.write_text(json.dumps(document | settings), encoding="utf-8")
    return path


def give_back(
    folder: Path, platform: str, worked: Worked, name: str = "", table: Any = None, **how: Any
) -> None:
    """Plan, write, let judges work, and put what comes back where the campaign reads it."""
    ending, results = RESULTS[platform]
    table = planned() if table is None else table
    document = write(table, QUESTIONS, folder / f"batch-{platform}{name}", platform)
    assert document["warnings"] == []
    for number, path in enumerate(files(document, ending).values()):
        text = results(path, worked, **how)
        target = folder / "results" / f"{platform}-{number}{name}{ending}"
        target.write_text(text, encoding="utf-8", newline="")


def check(built: Built, judges: tuple[str, ...] = JUDGES) -> None:
    """Every slot has its judgment, controls have their pairs, and fates are right."""
    judgments = built.rows("controlled")
    keys = ("task", "hit", "item", "segment", "system", "control", "criterion", "judge", "score")
    actual = Counter((*(r[k] for k in keys), r["position"]) for r in judgments)
    wanted = list(expected(planned(), judges))
    assert actual == Counter((*(r[k] for k in keys), str(r["slot"])) for r in wanted)
    fates = {"bad_reference": "control", "good_reference": "control"}
    for row in judgments:
        careless = row["judge"] == "A1CARELESS"
        usual = fates.get(row["control"], "used")
        assert row["fate"] == ("judge_failed" if careless else usual), row["reason"]
    scores = {(r["judge"], r["hit"], r["position"], r["criterion"]): r["score"] for r in judgments}
    pairs = built.rows("control_pairs")
    n_criteria = {q.task: len(q.criteria) or 1 for q in QUESTIONS}
    assert len(pairs) == sum(16 * len(judges) * n for n in n_criteria.values())
    judge_of = {r["judgment_id"]: (r["judge"], r["position"]) for r in judgments}
    ordinary = {"bad_reference": "1", "ask_again": "2", "good_reference": "4"}
    for pair in pairs:
        judge, position = judge_of[pair["judgment_id"]]
        assert pair["reason"] is None
        assert position == {"bad_reference": "3"}.get(pair["control"], "6")
        place = (judge, pair["hit"], ordinary[pair["control"]], pair["criterion"])
        assert pair["ordinary_score"] == scores[place]
    assert {r["verdict"] for r in built.rows("judges")} == {"passed", "failed"}
    assert len(built.rows("lineage")) == len(wanted)


@pytest.mark.parametrize("platform", RESULTS)
def test_every_slot_has_its_judgment(platform: str, tmp_path: Path) -> None:
    path = campaign(tmp_path)
    give_back(tmp_path, platform, Worked(JUDGES, scored))
    built = build_file(path)
    check(built)
    row = next(r for r in built.rows("controlled") if r["judge"] == "A2CAREFUL")
    assert row["native_id"]
    day = "22" if platform == "label_studio" else "21"  # when it was edited, not created
    assert row["submitted_at"].isoformat().startswith(f"2026-11-{day}T")
    assert row["hit_seconds"] in (323, 236.5, 12.5)
    assert row["status"] == ("Submitted" if platform == "mturk" else None)


@pytest.mark.parametrize("platform", RESULTS)
def test_selection_probabilities_come_back(platform: str, tmp_path: Path) -> None:
    """As the field of the records, to the last digit; of other roles there is none."""
    path = campaign(tmp_path)
    give_back(tmp_path, platform, Worked(JUDGES[:1], scored), table=drawn())
    rows = stage_file(path).rows("controlled")
    read = {(r["hit"], r["position"]): r["selection_probability"] for r in rows}
    wanted = {(r["hit"], str(r["slot"])): r["probability"] for r in drawn().to_pylist()}
    assert read == wanted
    give_back(tmp_path, platform, Worked(JUDGES[:1], scored), "-plain", table=plain_draws())
    sampled = {row["hit"] for row in drawn().to_pylist()}
    plain = [r for r in stage_file(path).rows("controlled") if r["hit"] not in sampled]
    assert {r["selection_probability"] for r in plain} == {None}


def plain_draws() -> pa.Table:
    """Partners of EASL: their probability is that of one draw, and none of a sample."""
    rows = planned().to_pylist()
    for row in rows:
        row |= {"role": "partner", "probability": 0.5, "hit": hit_id(77 + int(row["hit"], 16))}
    rows.sort(key=lambda r: (r["task"], r["hit"], r["slot"]))
    return pa.Table.from_pylist(rows, planned().schema)


def test_all_platforms_together(tmp_path: Path) -> None:
    """Each judge works elsewhere; the same HITs come back from three sides."""
    path = campaign(tmp_path)
    for platform, judge in zip(RESULTS, JUDGES, strict=True):
        give_back(tmp_path, platform, Worked((judge,), scored))
    check(build_file(path))


def test_answers_in_one_cell(tmp_path: Path) -> None:
    """A form without flat answers gives them as JSON; the cell still names the slot."""
    path = campaign(tmp_path)
    give_back(tmp_path, "mturk", Worked(JUDGES, scored), packed=True)
    built = build_file(path)
    check(built)
    cells = {row["cell"] for row in built.rows("lineage")}
    assert {"Answer.taskAnswers#score_1", "Answer.taskAnswers#score_6_2"} <= cells


CELLS = {
    "mturk": {"Answer.score_3", "Answer.score_3_2"},
    "label_studio": {"/0/annotations/1#score_3", "/7/annotations/2#score_6_2"},
    "jsonl": {"scores[2]", "scores[5][1]"},
}


@pytest.mark.parametrize("platform", RESULTS)
def test_an_auditor_finds_the_cell(platform: str, tmp_path: Path) -> None:
    path = campaign(tmp_path)
    give_back(tmp_path, platform, Worked(JUDGES, scored))
    lineage = build_file(path).rows("lineage")
    assert {row["cell"] for row in lineage} >= CELLS[platform]
    rows = Counter((row["source_file"], row["source_row"]) for row in lineage)
    assert {number for _, number in rows} == set(range(1, 8 * len(JUDGES) + 1))
    assert set(rows.values()) == {6, 12}


@pytest.mark.slow
@pytest.mark.parametrize("platform", RESULTS)
@pytest.mark.parametrize("kept", ["all", "latest"])
def test_the_second_night_repeats_the_first(platform: str, kept: str, tmp_path: Path) -> None:
    """Results as of today hold yesterday's: the same answers are duplicates, none counts twice."""
    path = campaign(tmp_path)
    give_back(tmp_path, platform, Worked(JUDGES[:2], scored), "-night-1")
    first = build_file(path)
    assert set(Counter(r["fate"] for r in first.rows("lineage"))) == {"used", "control"}
    give_back(tmp_path, platform, Worked(JUDGES, scored), "-night-2")
    if kept == "latest":
        ending = RESULTS[platform][0]
        sources = [
            {"path": f"results/{platform}-{n}-*{ending}", "format": "hits", "files": "latest"}
            for n in range(2)
        ]
        check(build_file(campaign(tmp_path, sources=sources)))
        return
    second = build_file(path)
    fates = Counter(r["fate"] for r in second.rows("lineage"))
    n_first = len(list(expected(planned(), JUDGES[:2])))
    assert fates["duplicate"] == n_first
    assert fates["superseded"] == fates["rejected"] == 0
    assert fates.total() == n_first + len(list(expected(planned(), JUDGES)))
    assert fates["judge_failed"] == n_first // 2


def test_a_later_answer_and_a_rejected_assignment(tmp_path: Path) -> None:
    path = campaign(tmp_path)
    give_back(tmp_path, "mturk", Worked(JUDGES, scored), "-1")

    def better(judge: str, hit: Row, number: int, criterion: int | None) -> float:
        return float(min(scored(judge, hit, number, criterion) + 0.01, hit["scale"][1]))

    def status(judge: str, _hit: Row) -> Row:
        return {"AssignmentStatus": "Rejected" if judge == "A3CAREFUL" else "Approved"}

    give_back(tmp_path, "mturk", Worked(JUDGES[:2], better, status), "-2")
    lineage = build_file(path).rows("lineage")
    n = len(list(expected(planned(), JUDGES[:1])))
    fates = Counter((r["fate"], (r["reason"] or "").partition(":")[0]) for r in lineage)
    assert fates["rejected", "assignment was rejected"] == n
    assert sum(count for (fate, _), count in fates.items() if fate == "superseded") == 2 * n


def test_ids_are_not_those_of_another_round(tmp_path: Path) -> None:
    """The same items in another batch are other judgments, by the same judge, too."""
    path = campaign(tmp_path)
    give_back(tmp_path, "mturk", Worked(JUDGES, scored))
    other = planned().to_pylist()
    for row in other:
        row["hit"] = hit_id(99 + int(row["hit"], 16))
    table = pa.Table.from_pylist(sorted(other, key=lambda r: (r["task"], r["hit"], r["slot"])))
    document = write(table.cast(planned().schema), QUESTIONS, tmp_path / "next", "mturk")
    for number, uploaded in enumerate(files(document, ".csv").values()):
        text = mturk_results(uploaded, Worked(JUDGES, scored))
        (tmp_path / "results" / f"next-{number}.csv").write_text(text, encoding="utf-8")
    fates = Counter(r["fate"] for r in build_file(path).rows("lineage"))
    assert fates["duplicate"] == fates["rejected"] == 0
