"""Exports with several questions in a row: a source and a task for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess
from tests.init.preset_exports import ANSWERS, MAJORITY, figure_eight, judged_rows, majority, write

Guesses = Callable[..., Guess]
HUES = {"rock": "red", "gas": "blue"}


def of_two(task: str, other: str) -> dict[tuple[str, str], str]:
    """Return the majorities of two questions, the second about hues."""
    return {(task, i): label for i, label in MAJORITY.items()} | {
        (other, i): HUES[label] for i, label in MAJORITY.items()
    }


def check_two(actual: Guess, task: str, other: str) -> None:
    assert majority(actual) == of_two(task, other)
    assert len(actual.settings.sources) == 2
    assert "2 questions, a source each" in actual.notes
    used = actual.used("task", "judge", "item")
    assert len(used) == 16, "each question has all answers, none is taken for a repeat"


def test_figure_eight(tmp_path: Path, guess: Guesses) -> None:
    rows = figure_eight(kind=lambda r: r.label, hue=lambda r: HUES[r.label])
    check_two(guess(write(tmp_path / "full.csv", rows)), "kind", "hue")


@pytest.mark.slow
def test_figure_eight_takes_questions_with_gold_alone(tmp_path: Path, guess: Guesses) -> None:
    rows = figure_eight(
        kind=lambda r: r.label, kind_gold=lambda r: "rock" if r.item == "ceres" else "",
        mood=lambda r: f"m{r.n % 2}",
    )  # fmt: skip
    actual = guess(write(tmp_path / "full.csv", rows))
    assert actual.fields()["label"] == "kind"
    assert len(actual.settings.sources) == 1


@pytest.mark.slow
def test_crowdtruth_relations_in_brackets(tmp_path: Path, guess: Guesses) -> None:
    chosen = {"rock": "[CAUSES]\n[TREATS]", "gas": "[NONE]"}
    actual = guess(write(tmp_path / "crowdtruth.csv", figure_eight(rel=lambda r: chosen[r.label])))
    expected = {"[CAUSES]": "rock", "[TREATS]": "rock", "[NONE]": "gas"}
    assert majority(actual) == {
        (f"rel:{option}", i): "yes" if label == wanted else "no"
        for option, wanted in expected.items()
        for i, label in MAJORITY.items()
    }


def test_label_studio(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        id=lambda r: r.item, kind=lambda r: r.label, hue=lambda r: HUES[r.label],
        comment=lambda r: f"what {r.judge} thinks of {r.item}, at some length, is not a label",
        annotator=lambda r: r.judge, annotation_id=lambda r: 70 + r.n,
        updated_at=lambda r: f"2026-03-0{r.n + 1}", lead_time=lambda r: 2 + r.n % 2,
    )  # fmt: skip
    check_two(guess(write(tmp_path / "min.json", rows)), "kind", "hue")


def test_label_studio_with_labels_and_scores(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        id=lambda r: r.item, kind=lambda r: r.label, fluency=lambda r: 10 * r.n + 0.5,
        annotator=lambda r: r.judge, annotation_id=lambda r: 70 + r.n,
        updated_at=lambda r: f"2026-03-0{r.n + 1}",
    )  # fmt: skip
    actual = guess(write(tmp_path / "min.json", rows))
    assert actual.task_kinds == {"kind": "categorical", "fluency": "scalar"}
    assert {t.name: t.scale for t in actual.settings.tasks}["fluency"] == (0, 100)
    assert len(actual.used("task", "judge", "item", "score")) == 16


def test_toloka(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        **{
            "INPUT:image": lambda r: r.item,
            "OUTPUT:kind": lambda r: r.label,
            "OUTPUT:hue": lambda r: HUES[r.label],
            "OUTPUT:why": lambda r: f"because {r.judge} sees that {r.item} looks quite like {r.n}",
            "GOLDEN:hue": lambda r: "red" if r.item == "ceres" else "",
            "ASSIGNMENT:worker_id": lambda r: r.judge,
        }
    )
    actual = guess(write(tmp_path / "assignments.tsv", rows))
    expected = of_two("kind", "hue")
    del expected["hue", "ceres"]  # a test question
    assert majority(actual) == expected
    assert actual.facts["fates"]["control"] == 2


@pytest.mark.slow
def test_potato(tmp_path: Path, guess: Guesses) -> None:
    options = {f"kind:::{o}": lambda r, o=o: "1" if r.label == o else "" for o in HUES}
    hues = {f"hue:::{h}": lambda r, h=h: h if HUES[r.label] == h else "" for h in HUES.values()}
    rows = judged_rows(
        user=lambda r: r.judge, instance_id=lambda r: r.item, **options, **hues,
        **{
            "kind:::other": lambda r: f"no idea what {r.item} is" if r.n % 2 else "",
            "why:::text_box": lambda r: f"{r.judge} says so of {r.item} and does not say why",
            "sure:::slider": lambda r: str(10 * r.n + 5),
        },
    )  # fmt: skip
    actual = guess(write(tmp_path / "annotated_instances.tsv", rows))
    assert actual.task_kinds == {"kind": "categorical", "hue": "categorical", "sure": "scalar"}
    labels = {key: label for key, label in majority(actual).items() if key[0] != "sure"}
    assert labels == of_two("kind", "hue")
    assert "kind:::other holds text: left out" in actual.notes
    assert len(actual.used("task", "judge", "item")) == 24


def test_potato_with_texts_alone_is_asked_about(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = judged_rows(
        user=lambda r: r.judge, instance_id=lambda r: r.item,
        **{"why:::text_box": lambda r: f"{r.judge} says so of {r.item} and does not say why"},
    )  # fmt: skip
    with pytest.raises(ConfigError, match="Which question should become labels"):
        guess_campaign([write(tmp_path / "annotated.tsv", rows)], tmp_path)


def test_argilla(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {
            "id": i,
            "kind.responses": [*judged.values()], "kind.responses.users": [*judged],
            "hue.responses": [HUES[label] for label in judged.values()],
            "hue.responses.users": [*judged],
        }
        for i, judged in ANSWERS.items()
    ]  # fmt: skip
    check_two(guess(write(tmp_path / "argilla.jsonl", rows)), "kind", "hue")


def test_label_studio_preferences_beside_choices_are_left_out(
    tmp_path: Path, guess: Guesses
) -> None:
    results = [
        {"from_name": "kind", "type": "choices", "value": {"choices": ["rock"]}},
        {"from_name": "side", "type": "pairwise", "value": {"selected": "left"}},
    ]
    annotation = {"id": 1, "completed_by": 7, "created_at": "2026-03-01T10:00:00Z"}
    tasks = [{"id": 1, "data": {"t": "x"}, "annotations": [annotation | {"result": results}]}]
    actual = guess(write(tmp_path / "project.json", tasks))
    assert actual.used("task", "label") == {("kind", "rock")}
    assert "left out: side, which hold preferences or rankings" in actual.notes


def test_scores_in_an_object_are_asked_about_where_each_thing_is_met_once(tmp_path: Path) -> None:
    rows = [
        {"item": f"q{n}", "judge": f"j{n % 3}", "overall_score": 60 + n,
         "scores": {"clarity": 50 + (n * 7) % 40, "style": 50 + (n * 11) % 40}}
        for n in range(12)
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    by_role = {"judge": ("judge",), "item": ("item",)}
    with pytest.raises(OpenError, match="Which are answers") as caught:
        guess_campaign([path], tmp_path, by_role=by_role)
    chosen = caught.value.questions[0].options[0].by_role
    assert chosen == {"score": ("overall_score", "scores.clarity", "scores.style")}


def test_a_second_answer_in_words_is_asked_about(tmp_path: Path) -> None:
    """Both differ within things and within judges; the name of only one says that it answers."""
    how = ("plain facts", "facts and opinion", "opinion")
    rows = [
        {"sentence_id": f"s{s}", "annotator": f"w{w}", "label": "ab"[(s * w + s) % 2],
         "factual": how[(s + w * w) % 3]}
        for s in range(20) for w in range(6)
    ]  # fmt: skip
    with pytest.raises(OpenError, match="Which are answers") as caught:
        guess_campaign([write(tmp_path / "v.csv", rows)], tmp_path)
    assert caught.value.questions[0].options[0].by_role == {"label": ("label", "factual")}
