"""Guessed campaigns: rows that hold the answers of several judges whom no column names."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import OpenError, guess_campaign
from annot_pipeline.init.names import roles
from tests.init.conftest import Guess, write_csv
from tests.init.preset_exports import write

Guesses = Callable[..., Guess]
EMOTIONS = ("anger", "joy", "fear", "none")
VOTES = ((3, 1, 0, 1), (0, 5, 0, 0), (1, 0, 3, 1), (0, 0, 1, 4))


def counted(*totals: int) -> list[tuple[object, ...]]:
    rows = [
        (f"c{n}", f"text of {n}", *v, t) for n, (v, t) in enumerate(zip(VOTES, totals, strict=True))
    ]
    return [("id", "text", *EMOTIONS, "total"), *rows]


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as error:
        guess_campaign([path], path.parent)
    return str(error.value)


def test_columns_beside_their_total_are_votes(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = counted(5, 5, 5, 5)
    most = ["anger", "joy", "fear", "none"]
    table = [(*row, label) for row, label in zip(rows, most, strict=True)]
    actual = guess(write_csv(tmp_path / "v.csv", [(*header, "majority"), *table]))
    assert actual.settings.sources[0].each["k"] == EMOTIONS
    assert (actual.fields()["item"], actual.fields()["votes"]) == ("id", "{k}")
    assert "total is their sum in every row" in actual.notes


def test_columns_of_small_numbers_may_be_votes(tmp_path: Path) -> None:
    for name, total in (("no_sum", 6), ("sum", 5)):
        text = refusal(write_csv(tmp_path / f"{name}.csv", counted(5, 5, 5, total)))
        assert "Or counts of votes? Then each: {k: [anger, joy" in text


@pytest.mark.parametrize(
    "header",
    [
        ("id", "text", "q1", "q2", "q3", "q4", "total"),
        ("id", "text", *EMOTIONS, "total_score"),
        ("id", "text", "math", "english", "physics", "art", "total"),
    ],
)
def test_points_are_no_votes(tmp_path: Path, header: tuple[str, ...]) -> None:
    refusal(write_csv(tmp_path / "v.csv", [header, *counted(5, 5, 5, 5)[1:]]))


def labels_in_lists(*labels: list[str]) -> list[dict[str, Any]]:
    return [{"id": f"c{n}", "text": f"on {n}", "annotations": row} for n, row in enumerate(labels)]


@pytest.mark.slow
@pytest.mark.parametrize("column", ["annotations", "label"])
def test_places_in_a_list_of_labels(tmp_path: Path, guess: Guesses, column: str) -> None:
    rows = labels_in_lists(["yes", "no", "yes"], ["no", "no", "no"], ["yes", "no", "no"])
    rows = [{column if name == "annotations" else name: row[name] for name in row} for row in rows]
    actual = guess(write(tmp_path / "v.jsonl", rows))
    assert actual.fields()["label"] == "{a.value}"
    assert actual.used("judge") == {(f"{column} {n}",) for n in range(3)}
    assert actual.facts["fates"]["used"] == 9
    assert "no persons" in actual.notes
    assert "judges are places in the list" in actual.notes


def test_lists_without_a_repeated_label_may_be_of_one_judge(tmp_path: Path) -> None:
    path = write(tmp_path / "v.jsonl", labels_in_lists(["hot", "red"], ["red"], ["hot"]))
    assert "no column says who judged" in refusal(path)


@pytest.mark.parametrize(
    ("name", "role"),
    [("judge_model", "judge"), ("evaluator_model", "judge"), ("utterance", "item"),
     ("utterance_id", "item"), ("model", "system")],
)  # fmt: skip
def test_names_of_columns(name: str, role: str) -> None:
    assert role in roles(name)


@pytest.mark.parametrize("name", ["v.jsonl", "v.json", "v.csv"])
def test_a_refusal_ends_with_the_command_that_answers(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"a": f"x{n}", "b": n} for n in range(4)])
    assert f"do:      annot init {path} --judge " in refusal(path)


def test_lists_of_answers_of_judges_whom_nobody_names(tmp_path: Path, guess: Guesses) -> None:
    """Two lists of answers to the same questions are of other people each."""

    draw = random.Random(8)

    def told() -> dict[str, int]:
        return {"coherence": draw.randint(1, 5), "fluency": draw.randint(1, 5)}

    rows = [
        {
            "id": f"dm-{d}", "model_id": f"M{m}", "decoded": f"summary {d} of model {m}",
            "expert_annotations": [told() for _ in range(3)],
            "turker_annotations": [told() for _ in range(5)],
        }
        for d in range(15) for m in range(3)
    ]  # fmt: skip
    actual = guess(write(tmp_path / "aligned.jsonl", rows))
    assert actual.facts["fates"]["used"] == 45 * 8 * 2
    assert len(actual.used("judge")) == 8
    assert {"system", "segment", "score"} <= actual.fields().keys()
    assert "places in the list" in actual.notes


def by_worker(*, repeated: bool) -> dict[str, Any]:
    """Assignments of each worker, with ratings of systems and files; some a second time."""
    chance = random.Random(5)

    def ratings(n: int) -> list[dict[str, Any]]:
        return [
            {"system": f"s{k % 3}", "file": f"f{(n + k // 3) % 8}",
             "votes": {"clear": chance.randint(1, 5), "natural": chance.randint(1, 5)}}
            for k in range(12)
        ]  # fmt: skip

    return {
        f"w{n}": {
            "age": 20 + n % 3,
            "work": {
                f"a{n}": {"hit": f"h{n}", "state": ("ok", "late")[n % 2], "ratings": ratings(n)},
                f"b{n}": {"hit": f"g{n}", "state": "ok", "ratings": ratings(n + 4 - repeated)},
            },
        }
        for n in range(12)
    }


@pytest.mark.slow
def test_ratings_in_assignments_of_each_worker(tmp_path: Path, guess: Guesses) -> None:
    """The key of a record is the judge's; state, of a whole assignment, is no answer."""
    path = write(tmp_path / "v.json", by_worker(repeated=False))
    assert "--judge @key" in refusal(path)
    actual = guess(path, judge="@key")
    assert actual.used("task") == {("votes.clear",), ("votes.natural",)}
    assert len(actual.used("judge")) == 12
    assert actual.facts["fates"]["used"] == 2 * 12 * 24


def test_what_tells_repeated_ratings_apart_is_asked(tmp_path: Path) -> None:
    """Labels of whole assignments would be complete without a question."""
    path = write(tmp_path / "v.json", by_worker(repeated=True))
    with pytest.raises(ConfigError, match="tells these answers apart"):
        guess_campaign([path], tmp_path, by_role={"judge": ("@key",)})


def test_documents_of_one_judge_are_asked_about(tmp_path: Path, guess: Guesses) -> None:
    """Without the document, the judge would label each system and prompt many times."""
    chance = random.Random(6)
    documents = [
        {"id": f"d{n}", "samples": [
            {"model": f"m{k % 4}", "prompt": f"p{k // 4}", "label": chance.choice(["good", "bad"])}
            for k in range(8)
        ]}
        for n in range(20)
    ]  # fmt: skip
    path = write(tmp_path / "v.json", documents)
    with pytest.raises(ConfigError, match="id tells these answers apart"):
        guess_campaign([path], tmp_path, by_role={"judge": ("=ann",)})
    actual = guess(path, judge="=ann", item="model,prompt,id")
    assert len(actual.used("item")) == actual.facts["fates"]["used"] == 160


def test_winners_without_systems_are_labels(tmp_path: Path, guess: Guesses) -> None:
    """A list of runs of each judge on a pair that nobody names the sides of."""
    chance = random.Random(7)
    rows = [
        {"sample": f"q{n}", "judge_model": f"gpt-4-{j}", "pairwise": [
            {"winner": chance.choice("AB"), "run_index": k} for k in range(4)
        ]}
        for n in range(15) for j in range(2)
    ]  # fmt: skip
    path = write(tmp_path / "v.json", rows)
    assert "run_index tells these answers apart" in refusal(path)
    actual = guess(path, item="sample,run_index")
    assert actual.used("label") == {("A",), ("B",)}
    assert actual.facts["fates"]["used"] == 120


def test_a_text_beside_which_another_differs_is_not_the_item(
    tmp_path: Path, guess: Guesses
) -> None:
    chance = random.Random(8)
    rows = [
        (f"post {n % 25} asks for some help in a few words",
         f"reply {n % 33} to it is a sentence too", chance.randint(0, 2))
        for n in range(40)
    ]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", [("seeker_post", "response_post", "level"), *rows])
    with pytest.raises(ConfigError, match="no column says what was judged") as error:
        guess_campaign([path], tmp_path, by_role={"judge": ("anonymous",)})
    text = str(error.value)
    assert text.index("--item row") < text.index("--item seeker_post")
    assert len(guess(path, judge="=ann").used("item")) == 40  # both together, of one judge


def batch(*, systems: bool) -> list[tuple[object, ...]]:
    """Rows of a batch without workers: three explanations of a story, or one of each system."""
    chance = random.Random(9)
    header = ("Input.story_id", "Input.system", "Input.explanation", "Answer.wrong", "Answer.vague")
    rows = [
        (f"s{n % 20}", f"m{k}" * systems, f"explanation {k} of story {n % 20} in a few words",
         chance.randint(0, 1), 0)
        for n in range(100) for k in [n // 20 % 3]
    ]  # fmt: skip
    return [header, *rows]


def test_the_explanation_that_was_shown_is_no_remark_of_a_judge(
    tmp_path: Path, guess: Guesses
) -> None:
    path = write_csv(tmp_path / "v.csv", batch(systems=False))
    with pytest.raises(ConfigError, match="no column says what was judged"):
        guess_campaign([path], tmp_path, by_role={"judge": ("anonymous",)})
    fields = guess(write_csv(path, batch(systems=True)), judge="anonymous").fields()
    assert (fields["system"], fields["segment"]) == ("Input.system", "Input.story_id")


def test_a_question_of_a_batch_that_all_answer_alike_is_one(tmp_path: Path, guess: Guesses) -> None:
    path = write_csv(tmp_path / "v.csv", batch(systems=True))
    assert guess(path, judge="anonymous").used("task") == {("wrong",), ("vague",)}


def test_what_a_question_of_two_systems_is_about_is_no_answer(
    tmp_path: Path, guess: Guesses
) -> None:
    chance = random.Random(5)
    rows = [
        (f"q{q}", f"m{m}", "abcd"[q % 7 % 4], "efgh"[q % 5 % 4], chance.randint(0, 9))
        for q in range(60) for m in range(2)
    ]  # fmt: skip
    header = ("question_id", "model", "category", "difficulty", "judge_score")
    path = write_csv(tmp_path / "v.csv", [header, *rows])
    actual = guess(path, judge="=ann")
    assert (actual.fields()["score"], "label" in actual.fields()) == ("judge_score", False)


def by_question(*, named: bool) -> list[dict[str, Any]]:
    """Answers of systems to the questions of a passage, with the reviews of each."""
    chance = random.Random(8)

    def reviews(system: str, n: int) -> list[dict[str, Any]]:
        more = {"system": system} if named else {}
        return [
            {"worker": f"w{(n + k) % 5}", "rating": chance.randint(0, 100), **more,
             "notes": [{"note": "wrong"}] * chance.randint(1, 3)}
            for k in range(3)
        ]  # fmt: skip

    return [
        {"passage": f"p{n}", "questions": {
            f"q{n}-{q}": {s: {"text": f"{s} {n} {q}", "reviews": reviews(s, n)} for s in "xyz"}
            for q in range(4)
        }}
        for n in range(10)
    ]  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
def test_systems_by_name_within_questions_by_name(
    named: bool, tmp_path: Path, guess: Guesses
) -> None:
    """Notes, of which some reviews have one, are no answers."""
    records = by_question(named=named)
    actual = guess(write(tmp_path / "v.jsonl", records))
    ratings = {
        (review["worker"], str(review["rating"]))
        for record in records for outputs in record["questions"].values()
        for output in outputs.values() for review in output["reviews"]
    }  # fmt: skip
    assert actual.used("judge", "score") == ratings
    assert actual.facts["fates"]["used"] == 10 * 4 * 3 * 3
    assert len(actual.used("item")) == 10 * 4 * 3


def test_statements_and_their_answers_by_number(tmp_path: Path, guess: Guesses) -> None:
    """The number stands in the middle of a name; nobody is named."""
    header = ["event", *(f"statement_{n}" for n in range(1, 4)), *(f"S{n}Yes" for n in (1, 2, 3))]
    rows = [
        [f"e{n // 3}", *(f"text {k} of {n // 3}" for k in range(3)),
         *("pn"[(n * k) % 2] for k in range(3))]
        for n in range(30)
    ]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", [header, *rows])
    with pytest.raises(ConfigError, match="--item statement_"):
        guess_campaign([path], tmp_path, by_role={"judge": ("anonymous",)})
    actual = guess(path, judge="anonymous", item="statement_")
    assert actual.used("item", "label") == {
        (f"text {k} of {n // 3}", "pn"[(n * k) % 2]) for n in range(30) for k in range(3)
    }
    assert actual.facts["fates"]["used"] == 90


def test_a_list_that_belongs_to_a_person_is_no_answer(tmp_path: Path) -> None:
    papers = [["CNN", "Times"], ["Post", "CNN", "CNN"], ["Times", "Post"], ["CNN", "Sun"]]
    rows = [
        {"record_id": f"r{p}x", "sentence_id": f"s{s}", "verdict": "ab"[(p * s + s) % 2],
         "age": 20 + p, "gender": "mf"[p % 2], "followed": str(papers[p % 4])}
        for p in range(12) for s in range(20)
    ]  # fmt: skip
    path = write(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    assert "places in a list" not in (caught.value.draft or "")
    asked = caught.value.questions[0]
    assert (asked.role, asked.options[0].by_role) == ("judge", {"judge": ("record_id",)})


def test_counts_of_which_one_is_always_the_most_are_no_votes(tmp_path: Path) -> None:
    rows = [(f"t{n}", f"text of {n}", 100 + 7 * n, 1 + n % 3) for n in range(20)]
    header = ("id", "text", "n_characters", "n_citations")
    assert "Who" in refusal(write_csv(tmp_path / "v.csv", [header, *rows]))
    votes = [(*row[:2], 1 + n % 3, 1 + n % 4) for n, row in enumerate(rows)]
    path = write_csv(tmp_path / "v.csv", [("id", "text", "n_yes", "n_no"), *votes])
    assert 'votes: "n_{k}"' in guess_campaign([path], tmp_path)
