"""Roles by evidence: what cells hold decides, whatever columns are called."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def listening_test(*header: str, systems: int = 6) -> list[tuple[object, ...]]:
    """20 people, 12 sources, some systems; every person rates all."""
    draw = random.Random(2)
    rows = [
        (f"P{p:02}", f"song{s}", f"alg{a}", min(100, max(0, int(draw.gauss(20 + 10 * a + s, 12)))))
        for p in range(20) for s in range(12) for a in range(systems)
    ]  # fmt: skip
    return [header, *rows]


def question(path: Path, **by_role: str) -> OpenError:
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role={r: (v,) for r, v in by_role.items()})
    return caught.value


def test_scores_of_systems_by_what_they_hold(tmp_path: Path, guess: Guesses) -> None:
    rows = listening_test("Listener", "Source", "Algorithm", "Ratingscore")
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert fields == {
        "judge": "Listener", "segment": "Source", "system": "Algorithm", "score": "Ratingscore",
    }  # fmt: skip


def test_names_that_say_nothing_are_asked_about(tmp_path: Path, guess: Guesses) -> None:
    path = write_csv(tmp_path / "v.csv", listening_test("who", "track", "kind", "val"))
    asked = question(path)
    assert asked.questions[0].role == "judge"
    assert "--judge who" in map(str, asked.questions[0].options)
    assert question(path, judge="who").questions[0].role == "item"
    actual = guess(path, judge="who", segment="track", system="kind")
    assert actual.fields()["score"] == "val"


def test_what_made_the_item_is_no_judge(tmp_path: Path) -> None:
    rows = [("model", "question", "answer", "accuracy", "solvable")]
    rows += [(f"m{n % 3}", f"what is {n}?", f"{n}.0", n % 2, n % 3 % 2) for n in range(12)]
    assert "answers in accuracy, solvable" in str(question(write_csv(tmp_path / "v.csv", rows)))


def test_a_constant_of_the_judge_and_a_description_are_no_answers(
    tmp_path: Path, guess: Guesses
) -> None:
    rows = [("rater", "clip", "handed", "length", "verdict_text")]
    rows += [
        (f"r{j}", f"c{i}", "LR"[j % 2], i % 4, ("ok", "bad")[(i * j) % 3 == 0])
        for i in range(20) for j in range(5)
    ]  # fmt: skip
    assert guess(write_csv(tmp_path / "v.csv", rows)).fields() == {
        "judge": "rater", "item": "clip", "label": "verdict_text",
    }  # fmt: skip


def test_a_rubric_has_a_task_a_column(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(1)
    rows = [("essay", "grader", "organization", "grammar", "content")]
    for e in range(40):
        level = [draw.randint(2, 5) for _ in range(3)]
        rows += [
            (f"e{e}", f"g{g}", *(str(v + draw.choice((-1, 0, 0, 1))) for v in level))  # type: ignore[list-item]
            for g in range(3)
        ]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.used("task") == {("organization",), ("grammar",), ("content",)}
    assert actual.task_kinds == {"*": "scalar"}, "near answers on six steps are scores"


def test_an_id_is_no_answer(tmp_path: Path, guess: Guesses) -> None:
    rows = [("bbcid", "system", "summary", "is_factual", "worker_id")]
    rows += [
        (10_000_000 + i, s, f"a long summary of what was said in {i} by {s}",
         ("yes", "no")[(i + j) % 3 == 0], f"w{j}")
        for i in range(30) for s in ("x", "y", "z") for j in range(3)
    ]  # fmt: skip
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert fields == {
        "judge": "worker_id", "segment": "bbcid", "system": "system", "label": "is_factual",
    } | ({"text": "summary"} if "text" in fields else {})  # fmt: skip


def test_two_questions_about_one_item_are_two_tasks(tmp_path: Path, guess: Guesses) -> None:
    rows = [("experiment", "subject", "url", "rating")]
    rows += [
        (e, f"s{j}", f"u{i}", (i * 7 + j * 3 + 50 * (e == "quality")) % 100)
        for e in ("interference", "quality") for i in range(9) for j in range(3)
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert (actual.fields()["task"], actual.fields()["score"]) == ("experiment", "rating")
    asked = [(("arm" if n == 0 else r[0]), *r[1:]) for n, r in enumerate(rows)]
    error = question(write_csv(tmp_path / "w.csv", asked))
    assert "arm tells these answers apart" in str(error)


@pytest.mark.parametrize("column", ["worker_id_anon", "worker_unique_ids", "assigned_to"])
def test_variants_of_names_of_judges(tmp_path: Path, guess: Guesses, column: str) -> None:
    rows = [(column, "ref_id", "sys_id", "human_score")]
    rows += [
        (j, i, s, 40 + 5 * j + i * (s == "A")) for i in range(9) for s in "AB" for j in range(3)
    ]
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert fields == {
        "judge": column, "segment": "ref_id", "system": "sys_id", "score": "human_score"
    }  # fmt: skip


def test_judges_in_columns_of_winners(tmp_path: Path, guess: Guesses) -> None:
    rows = [("question_id", "model_1", "model_2", "winner1", "winner2", "winner3")]
    rows += [
        (str(n), "m-a", "m-b", *(("model_1", "model_2", "tie")[(n + j) % 3] for j in range(3)))
        for n in range(6)
    ]  # type: ignore[misc]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.used("judge") == {("winner1",), ("winner2",), ("winner3",)}
    assert len(actual.judgments) == 18


def test_pairs_of_documents_in_hits(tmp_path: Path, guess: Guesses) -> None:
    rows = [("HITId", "WorkerId", "Input.query", "Input.docA", "Input.docB", "Answer.radio")]
    rows += [(h, w, f"q{h % 2}", f"d{h}", f"d{h + 1}", "abs"[(h + w) % 3])  # type: ignore[misc]
             for h in range(6) for w in range(3)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["preference"]["map"] == {"a": "a", "b": "b", "s": "tie"}
    assert actual.fields()["segment"] == "Input.query"
    assert actual.task_kinds == {"*": "pairwise"}


def test_spellings_of_one_boolean_are_one_answer(tmp_path: Path, guess: Guesses) -> None:
    for judge, spelled in (("b", ("True", "False")), ("c", ("1", "0"))):
        rows = [("id", "judge", "toxic"), *((f"i{n}", judge, spelled[n % 2]) for n in range(20))]
        write_csv(tmp_path / "in" / f"{judge}.csv", rows)
    actual = guess(tmp_path / "in")
    assert actual.used("label") == {("yes",), ("no",)}
    assert "task" not in actual.fields(), "a file is a judge's"


def test_keys_are_judges_only_where_a_column_names_them(tmp_path: Path, guess: Guesses) -> None:
    """Shares of labels, beside lists of judges, are no answers of judges called 0 and 1."""
    rows = {
        str(n): {
            "text": f"on {n}", "annotators": "Ann1,Ann2,Ann3", "annotations": f"{n % 2},1,0",
            "soft_label": {"0": 0.5, "1": 0.5},
        }
        for n in range(20)
    }  # fmt: skip
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(rows))
    assert guess(path).used("judge") == {("Ann1",), ("Ann2",), ("Ann3",)}


def test_objects_by_judge(tmp_path: Path, guess: Guesses) -> None:
    rows = {
        str(n): {
            "annotators": "Ann1,Ann2",
            "annotations": {"Ann1": n % 3, "Ann2": (n + n // 4) % 3},
        }
        for n in range(20)
    }
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(rows))
    actual = guess(path)
    assert actual.fields()["judge"] == {"value": "{k}"}
    assert len(actual.used("judge", "item")) == 40


def test_the_system_is_not_the_item_where_sources_tell_its_outputs_apart(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    """A listening test: the number of a trial names each output, too, and is no better name."""
    rows: list[tuple[object, ...]] = [("Listener", "Age", "Source", "Algorithm", "Rating", "Trial")]
    for listener in range(8):
        trial = 0
        for source in ("drums", "speech", "piano", "guitar"):
            for k, codec in enumerate(("hidden", "anchor", "A", "B", "C")):
                trial += 1
                score = (97, 22, 58, 71, 66)[k] + (7 * listener + 3 * trial) % 11 - 5
                rows.append((f"L{listener:02}", 20 + listener, source, codec, score, trial))
    actual = guess(write_csv(tmp_path / "listen.csv", rows))
    fields = actual.fields()
    assert (fields["judge"], fields["system"], fields["segment"]) == (
        "Listener", "Algorithm", "Source",
    )  # fmt: skip
    assert "item" not in fields
    assert actual.facts["fates"]["used"] == 160


def test_columns_of_ranks_are_one_ranking(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    draw = random.Random(4)
    rows: list[tuple[object, ...]] = [("annotator", "prompt_id", "rank_gpt", "rank_b", "rank_c")]
    rows += [(f"a{j}", f"p{i}", *draw.sample([1, 2, 3], 3)) for i in range(15) for j in range(3)]
    actual = guess(write_csv(tmp_path / "ranks.csv", rows))
    fields = actual.fields()
    assert (fields["segment"], fields["rank"]) == ("prompt_id", "rank_{system}")
    assert actual.used("system") == {("gpt",), ("b",), ("c",)}
    assert [task.kind for task in actual.settings.tasks] == ["ranking"]


def test_columns_of_steps_are_scores(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    steps = [("grader", "essay", "clarity", "style"), *((f"g{i % 3}", f"e{i // 3}", 1 + i % 5,
             1 + (i + i // 7) % 5) for i in range(60))]  # fmt: skip
    assert guess(write_csv(tmp_path / "steps.csv", steps)).settings.tasks[0].kind == "scalar"


def test_lists_within_elements_of_lists(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    draw = random.Random(6)

    def turn(number: int) -> dict[str, object]:
        ratings = [{"rater": f"r{k}", "toxic": draw.choice(["yes", "no"])} for k in range(3)]
        return {"turn": number, "text": "so " * number, "ratings": ratings}

    conversations = [{"id": f"c{i}", "turns": [turn(n) for n in range(3)]} for i in range(10)]
    path = tmp_path / "nested.json"
    path.write_text(json.dumps({"meta": {"v": 1}, "conversations": conversations}))
    actual = guess(path)
    assert actual.facts["fates"]["used"] == 90
    assert len(actual.used("item")) == 30
    assert actual.used("judge") == {("r0",), ("r1",), ("r2",)}
    assert actual.used("label") == {("yes",), ("no",)}


def test_a_survey_of_steps_is_scores_of_persons(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows: list[tuple[object, ...]] = [("ResponseId", "Age", "img01", "img02", "img03")]
    rows += [(f"R_{i}", 20 + i, *(draw.randint(1, 7) for _ in range(3))) for i in range(30)]
    path = write_csv(tmp_path / "survey.csv", rows)
    with pytest.raises(OpenError) as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    person = next(o for o in question.options if o.by_role.get("judge") == ("ResponseId",))
    text = guess_campaign([path], tmp_path, by_role=person.by_role)
    assert 'score: "{question}"' in text
    assert "scale: [1, 7]" in text
    assert "judge: ResponseId" in text


def test_an_id_is_the_persons_where_items_have_one_and_words_hide_no_question(
    tmp_path: Path, guess: Guesses
) -> None:
    """A question may be called as properties of people are; the order of items is no answer."""
    draw = random.Random(4)
    header = ("id", "tweet.id", "hate.speech", "offensive.language", "language", "order")
    rows = [
        (p, t, draw.randint(0, 1), draw.randint(0, 1), p % 2, draw.randint(0, 1))
        for p in range(40) for t in sorted(draw.sample(range(60), 12))
    ]  # fmt: skip
    path = write_csv(tmp_path / "tweets.csv", [header, *rows])
    [asked] = question(path).questions
    assert asked.role == "judge"
    assert asked.options[0].by_role == {"judge": ("id",)}
    actual = guess(path, judge="id")
    assert actual.settings.sources[0].each == {"question": ("hate.speech", "offensive.language")}
    assert actual.fields()["item"] == "tweet.id"


def test_an_item_that_an_answer_names_is_asked_about_where_an_id_tells_answers_apart(
    tmp_path: Path, guess: Guesses
) -> None:
    header = ("user", "task_id", "query_id", "page_id", "relevance")
    draw = random.Random(6)
    rows = [
        (u, t, q, p, draw.randint(0, 3))
        for u in range(12) for t in range(4) for q in range(3) for p in range(2)
    ]  # fmt: skip
    path = write_csv(tmp_path / "pages.csv", [header, *rows])
    first = question(path).questions[0].options[0].by_role
    assert first == {"item": ("task_id", "query_id", "page_id")}
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role={"item": ("task_id", "query_id")})
    [asked] = caught.value.questions
    assert "page_id tells these answers apart" in asked.text
    assert {"item": ("task_id", "query_id"), "ignore": ("page_id",)} in [
        option.by_role for option in asked.options
    ]
    whole = guess(path, item="task_id,query_id,page_id")
    assert whole.facts["fates"]["used"] == len(rows)


def test_conditions_that_are_called_answers_are_none(tmp_path: Path, guess: Guesses) -> None:
    """Every judge meets each post of each category."""
    draw = random.Random(9)
    header = ("annID", "postCategory", "postId", "toyou", "toany")
    rows = [
        (a, c, p, draw.randint(1, 5), draw.randint(1, 5))
        for a in range(30) for c in ("rude", "plain", "kind") for p in range(6)
    ]  # fmt: skip
    path = write_csv(tmp_path / "posts.csv", [header, *rows])
    [asked] = question(path).questions
    assert asked.options[0].by_role == {"item": ("postId", "postCategory")}
    actual = guess(path, item="postId,postCategory")
    assert actual.settings.sources[0].each == {"question": ("toyou", "toany")}


def test_an_output_a_row_where_nothing_names_it(tmp_path: Path, guess: Guesses) -> None:
    """Numbers such as those of metrics name no output."""
    draw = random.Random(3)
    rows = [("gpt-4", f"m{n % 6}", draw.random(), draw.choice((0, 0.5, 1))) for n in range(72)]
    path = write_csv(tmp_path / "r.csv", [("Judge", "Model", "overlap", "Correctness"), *rows])
    offered = [o.by_role for q in question(path).questions for o in q.options]
    assert {"item": ("row",)} in offered
    assert not any("overlap" in columns for roles in offered for columns in roles.values())
    actual = guess(path, item="row", score="Correctness")
    assert actual.facts["fates"]["used"] == 72


def test_judges_in_lists_within_objects_are_offered(tmp_path: Path, guess: Guesses) -> None:
    """A path names the list, deep as it is."""
    documents = [
        {"meta": {"uid": f"d{n}"}, "review": {"rounds": [
            {"who": {"name": who}, "verdict": {"tone": "kind" if (n * k) % 2 else "rude"}}
            for k, who in enumerate(("ada", "bea", "cy"))
        ]}}
        for n in range(20)
    ]  # fmt: skip
    path = tmp_path / "nested.json"
    path.write_text(json.dumps({"project": "p", "documents": documents}), encoding="utf-8")
    asked = question(path).questions[0]
    assert asked.options[0].by_role == {"judge": ("who.name",)}
    actual = guess(path, judge="who.name")
    assert actual.settings.sources[0].each["a"].model_dump(by_alias=True)["json"] == "rounds"
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}
    assert actual.facts["fates"]["used"] == 60


def test_a_column_that_every_thing_comes_in_once_is_asked_about_where_nobody_is_named(
    tmp_path: Path, guess: Guesses
) -> None:
    """Its outputs would be one item, answered by as many people as there are systems."""
    draw = random.Random(11)
    rows = [
        (f"Team {s}", f"s{n}", "ab"[n % 2], *(draw.randrange(1001) / 10 for _ in range(3)))
        for n in range(30) for s in ("Oslo", "Prag", "Rom", "Bern", "Kyiv", "Riga", "Linz", "Graz")
    ]  # fmt: skip
    header = ("entry_code", "sample_id", "domain", "Correctness", "Fluency", "Relevance")
    path = write_csv(tmp_path / "w.csv", [header, *rows])
    first = question(path).questions[0].options
    assert first[-1].by_role == {"judge": ("domain",)}  # the sample determines it
    asked = question(path, judge="anonymous").questions[0]
    assert {"system": ("entry_code",), "segment": ("sample_id",)} in [
        option.by_role for option in asked.options
    ]
    whole = {"judge": "anonymous", "system": "entry_code", "segment": "sample_id"}
    scores = "Correctness,Fluency,Relevance"
    actual = guess(path, **whole, score=scores)
    assert len(actual.used("system", "segment")) == 240
    for things in (whole, {"judge": "anonymous", "item": "sample_id,entry_code"}):
        by_role = {role: tuple(names.split(",")) for role, names in things.items()}
        with pytest.raises(OpenError) as caught:
            guess_campaign([path], tmp_path, by_role=by_role)
        [asked] = caught.value.questions  # the domain is no answer: the sample determines it
        assert asked.options[0].by_role == {"score": tuple(scores.split(","))}


def test_an_item_that_has_outputs_of_several_systems_is_their_segment(
    tmp_path: Path, guess: Guesses
) -> None:
    draw = random.Random(12)
    rows = [
        (f"{n}", system, f"{system} says {n}", draw.choice(("yes", "no")), f"w{j}")
        for n in range(20) for system in ("TranS2S", "BERTS2S", "PtGen") for j in range(3)
    ]  # fmt: skip
    header = ("bbcid", "system", "summary", "is_factual", "worker_id")
    actual = guess(write_csv(tmp_path / "x.csv", [header, *rows]), item="bbcid")
    assert len(actual.used("system", "segment")) == 60


def test_sides_that_are_columns_of_whole_texts_are_no_systems(tmp_path: Path) -> None:
    draw = random.Random(13)
    rows = [
        (f"arg{n}_arg{n + 1}", draw.choice(("a1", "a2")), f"I think {n} " * 30, f"No {n} " * 40)
        for n in range(40)
    ]  # fmt: skip
    path = write_csv(tmp_path / "u.csv", [("pair", "label", "a1", "a2"), *rows])
    error = question(path)
    assert "a1 and a2 hold whole texts" in error.problems[0].what
    again = question(path, judge="anonymous").problems[0].do
    assert again.count("--judge") == 1


def test_one_judge_for_all_rows_is_asked_about_unless_surely_called_so(
    tmp_path: Path, guess: Guesses
) -> None:
    answers = [(f"i{n}", ("yes", "no")[n % 3 == 0]) for n in range(30)]
    rows = [("expert_name", "item", "label"), *(("bob", *answer) for answer in answers)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError, match="all rows are of one judge") as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    assert [*map(str, question.options)] == ["--judge expert_name", "--judge anonymous"]
    assert guess(path, judge="expert_name").used("judge") == {("bob",)}
