"""Forms of public exports that evidence tells apart; see docs/research/public_exports.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from annot_pipeline.init.names import roles
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def asked(path: Path, **by_role: str) -> tuple[str, str]:
    """The open field, and the question."""
    answers = {role: tuple(columns.split(",")) for role, columns in by_role.items()}
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role=answers)
    question = caught.value.questions[0]
    return question.role, question.text


def test_a_column_of_answers_is_no_judge_whatever_it_is_called(tmp_path: Path) -> None:
    """Like its neighbours, it holds few values and NA."""
    answers = ("1", "-1", "NA")
    rows = [("sentence_id", "sentence", "baseline", "expert", "crowd_score")]
    rows += [(f"s{i}", f"sentence {i // 2}", answers[i % 3], answers[i % 5 % 3], f"{i % 9 / 9:.2f}")
             for i in range(60)]  # fmt: skip
    assert asked(write_csv(tmp_path / "v.csv", rows))[0] == "judge"


def test_what_no_blank_cell_names_is_the_segment(tmp_path: Path, guess: Guesses) -> None:
    """Anchors have no file of their own, but signal and condition name each of them."""
    rows = [("signal", "condition", "ratings", "participants", "file")]
    for signal in range(6):
        for condition in ("codec", "other", "anchor"):
            numbers = [(7 * signal + 13 * j + len(condition)) % 101 for j in range(5)]
            file = "" if condition == "anchor" else f"stimuli/{signal}/{condition}_16k.wav"
            listed = (f'"{json.dumps(one)}"' for one in (numbers, [*range(5)]))
            rows.append((f"signal_{signal}", condition, *listed, file))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["segment"] == "signal"
    assert actual.fields()["system"] == "condition"
    assert actual.facts["fates"]["used"] == 6 * 3 * 5


def test_columns_of_one_form_are_a_task_each(tmp_path: Path, guess: Guesses) -> None:
    rows = [("annotator", "task_id", "run_success", "run_side_effect", "run_optimality")]
    rows += [
        (f"a{j}", f"t{i}", ("yes", "no")[(i + j) % 3 % 2], ("low", "high")[(i * j) % 4 % 2],
         ("1. bad", "2. fair", "3. good")[(i * i + j) % 5 % 3])
        for i in range(20) for j in range(3)
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    tasks = {("run_success",), ("run_side_effect",), ("run_optimality",)}
    assert actual.used("task") == tasks


def test_answers_that_each_fit_one_item_are_asked_about(tmp_path: Path, guess: Guesses) -> None:
    rows = [("worker", "item", "answer")]
    rows += [(f"w{j}", f"i{i}", f"word {i} {(i + j) % 2}") for i in range(40) for j in range(4)]
    path = write_csv(tmp_path / "v.csv", rows)
    role, text = asked(path)
    assert role == "label"
    assert "80 of 80 answers in answer are given to one item only" in text
    assert guess(path, label="answer").fields()["label"] == "answer"


QUESTIONS = ("Which of these two sentences do you think is more correct?",
             "How often do you eat it?", "Do you ever gamble?")  # fmt: skip


def test_a_named_person_a_row_is_a_survey(tmp_path: Path, guess: Guesses) -> None:
    """A column a question, of different scales; a second header line names nobody."""
    rows = [("RespondentID", *QUESTIONS, "Household Income"), ("", *["Response"] * 4)]
    rows += [(1000 + i, "AB"[i % 2], ("never", "often", "daily")[i % 3], ("yes", "no")[i % 5 % 2],
              ("low", "high")[i % 2]) for i in range(30)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows, "\t"), rejected=3)
    assert {task for (task,) in actual.used("task")} == {*QUESTIONS}
    assert len(actual.used("judge")) == 30


def test_names_that_are_sentences_say_no_role() -> None:
    assert not roles("In your opinion, which sentence is more correct?")
    assert "item" in roles("sentence")


@pytest.mark.parametrize("name", ["turkerid", "workerid", "RATERID"])
def test_id_may_stand_without_a_gap(name: str) -> None:
    assert "judge" in roles(name)


def test_the_unnamed_column_of_a_matrix_names_its_items(tmp_path: Path, guess: Guesses) -> None:
    rows = [("", *(f"Subject{j}" for j in range(5)))]
    rows += [(f"video {i}", *((i * j) % 40 / 2 for j in range(5))) for i in range(30)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["item"] == ""
    assert ("video 7",) in actual.used("item")


def test_a_comment_before_the_rows_names_the_columns(tmp_path: Path, guess: Guesses) -> None:
    path = tmp_path / "v.csv"
    rows = [f"p{i}\tA{j}X{j}\ta{1 + (i + j) % 3 % 2}" for i in range(30) for j in range(4)]
    path.write_text("\n".join(["# made by us", "# #id    turkerid    label", *rows]))
    actual = guess(path)
    assert actual.fields() == {"judge": "turkerid", "item": "id", "label": "label"}


def test_relevance_judgments_of_trec(tmp_path: Path, guess: Guesses) -> None:
    """Topic, 0, document, grade: no column names the assessor; topic and document the item."""
    rows = [
        (t, 0, f"doc{(7 * t + d) % 90}x", (t + d) % 5 % 3) for t in range(12) for d in range(25)
    ]
    path = write_csv(tmp_path / "qrels.txt", rows, " ")
    assert asked(path)[0] == "judge"
    actual = guess(path, judge="=nist")
    join = ({"column": "document"}, {"column": "topic"})
    assert actual.fields()["item"] == {"join": join, "sep": ":"}
    assert actual.fields()["label"] == "label"
    assert actual.facts["fates"]["used"] == 300


def test_the_item_of_votes_is_whole(tmp_path: Path) -> None:
    """A prompt with another text in each row is less than what was judged."""
    rows = [("pairID", "promptID", "sentence2", "label")]
    rows += [(f"p{i}", f"q{i // 2}", f"a hypothesis of some length that is the {i}th", "abc"[i % 3])
             for i in range(40)]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    [draft] = caught.value.beliefs
    assert {r["role"]: r["expression"] for r in draft["roles"]}["item"] == "pairID"


@pytest.mark.parametrize("answer", ["{}", "item{}"])
def test_best_and_worst_of_a_tuple(tmp_path: Path, guess: Guesses, answer: str) -> None:
    """Named by the item, or by its column; the other columns hold the same words."""
    rows = [("tuple", "annotator", "item1", "item2", "item3", "item4", "BestItem", "WorstItem")]
    for place in range(40):
        words = [f"w{(place + 3 * step) % 13}" for step in range(4)]
        best, worst = place % 4, (place + 1 + place % 3) % 4
        ends = [words[n] if answer == "{}" else str(n + 1) for n in (best, worst)]
        rows.append((f"t{place}", f"a{place % 3}", *words, *map(answer.format, ends)))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].each["item"].items == ("item1", "item2", "item3", "item4")
    assert actual.used("score") == {("1",), ("-1",), ("0",)}
    assert actual.task_kinds == {"*": "scalar"}


def test_best_and_worst_of_two_is_a_comparison(tmp_path: Path, guess: Guesses) -> None:
    rows = [("HITId", "WorkerId", "Input.id", "Input.system1", "Input.system2",
             "Answer.best_clear", "Answer.worst_clear")]  # fmt: skip
    rows += [(f"h{i}", f"w{j}", f"d{i}", f"s{i % 3}", f"s{(i + 1) % 3}", *("AB", "BA")[(i + j) % 2])
             for i in range(12) for j in range(3)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.task_kinds == {"*": "pairwise"}
    assert actual.used("preference") == {("a",), ("b",)}


def test_what_a_person_says_of_themselves_is_no_answer(tmp_path: Path, guess: Guesses) -> None:
    """Even if some people say it in two ways."""
    rows = [("User ID", "Meme ID", "Leaning", "offends")]
    rows += [
        (f"u{j}", f"m{i}", "left" if j % 2 or (j == 0 and i > 9) else "right", (i * i + j) % 5 % 2)
        for i in range(24) for j in range(12)
    ]  # fmt: skip
    assert guess(write_csv(tmp_path / "v.csv", rows)).fields()["label"] == "offends"


def form(n_judges: int) -> list[tuple[object, ...]]:
    """A form of four columns, of which two differ in the few items that several people saw."""
    rows: list[tuple[object, ...]] = [("reviewer", "post_id", *(f"topic_{n}" for n in range(5)))]
    for i in range(60):
        for j in range(n_judges if i < 12 else 1):
            rare = int(i == 20), int(i == 30)
            rows.append((f"r{(i + j) % 5}", f"p{i}", i % 2, (i + j) % 2, (i // 2 + j) % 2, *rare))
    return rows


def test_rare_columns_of_a_form_are_answers_too(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = form(4)
    rows = [(*row[:2], (int(str(row[2])) + n) % 2, *row[3:]) for n, row in enumerate(rows)]
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert len(actual.used("task")) == 5


def test_a_form_that_few_items_tell_is_asked_about(tmp_path: Path) -> None:
    """Where hardly an item has two judges, what never differs may be an answer as well."""
    header, *rows = form(2)
    header = ("reviewer", "post_id", "closed", "framed", "scaled", "free", "legible")
    path = write_csv(tmp_path / "v.csv", [header, *rows])
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    [question] = caught.value.questions
    assert question.role == "label"
    [columns] = question.options[0].by_role.values()
    assert {*columns} == {*header[2:]}


def test_sides_and_a_letter_for_same(tmp_path: Path, guess: Guesses) -> None:
    """Half of the answers are s; a and b alone are a little less than half."""
    rows = [("HITId", "WorkerId", "Input.query", "Input.docA", "Input.docB", "Answer.radio")]
    rows += [(f"h{i}", f"w{j}", f"q{i % 3}", f"d{i % 7}", f"d{(i + 1) % 7}", "sabs"[(i + j) % 4])
             for i in range(21) for j in range(5)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.task_kinds == {"*": "pairwise"}
    assert actual.used("preference") == {("a",), ("b",), ("tie",)}


def test_criteria_are_tasks(tmp_path: Path, guess: Guesses) -> None:
    rows = [("art_id", "ann", "criteriaID", "annotation")]
    rows += [(i, f"A{j}", c, (i + j + len(c)) % 4) for i in range(20) for j in range(3)
             for c in ("Bias", "Type", "Lede", "Headline")]  # fmt: skip
    assert len(guess(write_csv(tmp_path / "v.csv", rows)).used("task")) == 4


def test_rows_without_ids_may_be_anybodys(tmp_path: Path) -> None:
    rows = [("design", "property", "material", "response")]
    rows += [(f"d{i % 3}", f"c{i % 2}", f"m{i % 4}", i % 11) for i in range(96)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    assert {"judge": ("anonymous",)} in [o.by_role for o in caught.value.questions[0].options]


def test_huge_numbers_are_no_answers(tmp_path: Path) -> None:
    """Nor where their column is called answer."""
    rows = [("question", "answer", "solvable", "fitting")]
    rows += [(f"what is {i} times {i}?", i**4, i % 2, i // 2 % 2) for i in range(40)]
    path = write_csv(tmp_path / "v.csv", rows)
    assert asked(path, judge="=me")[0] == "label"


def test_a_huge_number_typed_once_hides_no_scores(tmp_path: Path, guess: Guesses) -> None:
    """111,111 for 100; the other answer of each output is noted."""
    head = [f"{name}{k}" for name in ("natur", "check", "sys") for k in (1, 2)]
    rows: list[tuple[object, ...]] = [("worker", "text_id", *head)]
    rows += [
        (f"w{j}", f"t{i}", (7 * i + 5 * j) % 101, (11 * i + 3 * j) % 101,
         "ok" if (i * j) % 3 else "missing", "ok" if (i + j) % 3 else "missing", "a", "b")
        for i in range(140) for j in range(5)
    ]  # fmt: skip
    rows[9] = (*rows[9][:2], 111_111, *rows[9][3:])
    draft = guess(write_csv(tmp_path / "v.csv", rows))
    assert draft.fields()["score"] == "natur{i}"
    assert "another answer? give it as --label or --score, too: check" in draft.notes


def test_one_judge_judges_each_thing_once(tmp_path: Path, guess: Guesses) -> None:
    rows = [("id", "prompt", "rating")]
    rows += [(f"i{i}", f"a prompt for several answers, {i // 3}".replace(",", ""), i % 4)
             for i in range(60)]  # fmt: skip
    assert guess(write_csv(tmp_path / "v.csv", rows), judge="=me").fields()["item"] == "id"


def test_systems_of_several_outputs_are_not_the_system(tmp_path: Path, guess: Guesses) -> None:
    rows = [("judge", "document", "first.model", "second.model", "first.score", "second.score")]
    rows += [(f"j{j}", f"d{i}", f"m{i % 3}", f"m{(i + 1) % 3}", (i + j) % 5 + 1, (i * j) % 5 + 1)
             for i in range(20) for j in range(3)]  # fmt: skip
    assert "system" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


SYSTEMS = ("full", "no_docs", "no_code")


def panel(n_rows: int = 120) -> list[dict[str, object]]:
    """One model's comparisons of two systems on tickets; the part is the pair's, not the row's."""
    rows = []
    for n in range(n_rows):
        a, b = SYSTEMS[n % 3], SYSTEMS[(n + 1 + n % 2) % 3]
        won = {
            c: (a, b)[(n * k + n // 5) % 3 % 2] for k, c in enumerate(("all", "depth", "style"), 1)
        }
        rows.append({
            "ticket_key": f"T-{n // 6}", "shown_a": a, "shown_b": b, "question": f"q{a[:4]}{b[:4]}",
            "judge_model": "claude-sonnet-4-6", "winner": won.pop("all"), "per_criterion": won,
        })  # fmt: skip
    return rows


def test_criteria_within_an_object_are_a_source_each(tmp_path: Path, guess: Guesses) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in panel()))
    actual = guess(path)
    tasks = {("winner",), ("per_criterion.depth",), ("per_criterion.style",)}
    assert actual.used("task") == tasks
    assert actual.facts["fates"]["used"] == 3 * 120


def test_what_the_pair_says_already_is_no_segment(tmp_path: Path, guess: Guesses) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in panel()))
    assert guess(path).fields()["segment"] == "ticket_key"


def test_what_lost_is_no_second_question(tmp_path: Path, guess: Guesses) -> None:
    """Nor is a number beside it the truth, whatever it is called."""
    rows = [("user_id", "key1", "key2", "chosen_key", "unchosen_key", "chosen_key_correct")]
    for n in range(120):
        pair = ("abcdef"[n % 6], "abcdef"[(n + 1 + n // 60) % 6])
        won = n // 5 % 2
        rows.append((f"u{n % 5}", *pair, pair[won], pair[1 - won], str(n % 4)))
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert fields["winner"] == "chosen_key"
    assert "truth" not in fields


@pytest.mark.parametrize(("name", "a"), [("clip1 wins", "True"), ("is clip2 better", "False")])
def test_whether_one_side_won(tmp_path: Path, guess: Guesses, name: str, a: str) -> None:
    rows: list[tuple[object, ...]] = [("clip1", "clip2", name, "id")]
    rows += [(f"a{n}.wav", f"b{n}.wav", bool(n % 3), f"s{n % 9}") for n in range(90)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    assert {"judge": ("id",)} in [o.by_role for o in caught.value.questions[0].options]
    actual = guess(path, judge="id")
    assert actual.fields()["preference"]["map"][a] == "a"
    assert actual.used("preference") == {("a",), ("b",)}


def test_a_name_in_every_row_is_the_judge_before_an_id_in_some(
    tmp_path: Path, guess: Guesses
) -> None:
    """Who was not logged in has a name only; a subject is what was looked at."""
    rows = [("row_id", "user_id", "user_name", "subject_ids", "val")]
    rows += [(n, "" if n % 5 < 2 else n % 5, f"name {n % 5}", n // 5, ("Yes!", "No.")[n // 3 % 2])
             for n in range(200)]  # fmt: skip
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["judge"], fields["item"]) == ("user_name", "subject_ids")


def test_a_subject_in_hardly_two_rows_is_no_judge(tmp_path: Path) -> None:
    rows = [("subject_ids", "classification_id", "choice", "how_many")]
    rows += [(n, 90_000 + n, "abc"[n % 3], n % 4) for n in range(120)]
    assert asked(write_csv(tmp_path / "v.csv", rows))[0] == "judge"


def test_sessions_are_offered_as_judges(tmp_path: Path) -> None:
    rows = [("uid", "applicant_id", "session_id", "hired")]
    rows += [(f"{n:x}y", n % 12, f"s{n // 12}X{n // 12}", n % 5 % 2) for n in range(240)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    assert {"judge": ("session_id",)} in [o.by_role for o in caught.value.questions[0].options]


def test_an_id_is_the_item_of_one_judge_and_an_objects_scores_are_all_answers(
    tmp_path: Path, guess: Guesses
) -> None:
    rows = [
        {"run_id": f"run {n}", "judge_model": "claude-sonnet-5", "cost_usd": n / 7,
         "scores": {c: {"score": 5 - (n * k) % 3 * (k > 1), "evidence": f"because of {n} and {c}"}
                    for k, c in enumerate(("solid", "contract", "restraint"), 1)}}
        for n in range(8)
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    actual = guess(path)
    assert actual.fields()["item"] == "run_id"
    assert len(actual.used("task")) == 3


def test_the_id_of_a_question_is_no_task_and_answers_start_alike(
    tmp_path: Path, guess: Guesses
) -> None:
    criteria = ("resolution", "accuracy", "empathy", "policy")
    rows = [("question_id", "style", *(f"judge_{c}" for c in criteria))]
    rows += [(n // 3, ("formal", "plain", "warm")[n % 3], *((n * k) % 4 + 1 for k in (1, 2, 3, 5)))
             for n in range(90)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows), judge="=gpt", item="question_id,style")
    assert actual.used("task") == {(f"judge_{c}",) for c in criteria}


def test_the_only_column_is_the_answer(tmp_path: Path, guess: Guesses) -> None:
    """Names of models say which won."""
    path = tmp_path / "v.txt"
    names = ("CHATGPT", "CHATGPT", "CHATGPT", "VICUNA13B", "TIE")
    path.write_text("".join(f"{names[n % 5]}\n" for n in range(80)))
    assert asked(path)[0] == "judge"
    assert guess(path, judge="=me", item="row").fields()["label"] == "c1"


def test_all_answers_are_offered_together(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [("worker", "id", *"abcde", "global", "first", "last")]
    rows += [
        (f"w{n % 3}", n // 3, *("ABC"[(n * k) % 7 % 3] for k in range(1, 6)),
         *((n * k + n // k) % 23 for k in (3, 7, 9))) for n in range(90)
    ]  # fmt: skip
    with pytest.raises(OpenError) as caught:
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert any({*"abcde"} <= {*o.by_role.get("label", ())} and len(o.by_role.get("score", ())) == 3
               for o in caught.value.questions[0].options)  # fmt: skip


def test_two_systems_that_other_columns_name_are_compared(tmp_path: Path, guess: Guesses) -> None:
    """The same two in all rows; their scores are no answers of their own."""
    rows = [("question_id", "topic", "question", "base_score", "tuned_score", "winner")]
    rows += [(f"Q{n}", "ab"[n % 2], f"what is {n}?", n * 7 % 50, n * 9 % 50,
              ("tuned", "base", "tie")[n % 7 % 3]) for n in range(30)]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows), judge="=gpt")
    fields = actual.fields()
    assert (fields["system_a"], fields["system_b"]) == ({"value": "base"}, {"value": "tuned"})
    assert fields["segment"] in ("question_id", "question")
    assert actual.facts["fates"]["used"] == 30


def test_anonymous_assessors_judge_documents_of_topics(tmp_path: Path, guess: Guesses) -> None:
    rows = [(t, 0, f"doc{d}x", (t + d) % 5 % 3) for t in range(9) for d in range(t, t + 20)]
    path = write_csv(tmp_path / "qrels.txt", rows, " ")
    assert len(guess(path, judge="anonymous").used("item")) == 180


def test_the_model_that_judged_is_no_system(tmp_path: Path, guess: Guesses) -> None:
    rows = [("rater", "model", "item_id", "score")]
    rows += [(r, f"{r}-2026-01", f"i{n}", (n * k) % 5 + 1) for n in range(30)
             for k, r in enumerate(("anna", "berta"), 1)]  # fmt: skip
    assert "system" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


def test_fractions_of_each_item_look_like_means(tmp_path: Path) -> None:
    rows = [("filename", "healthiness", "appeal", "sweetness")]
    rows += [(f"{n}.png", *(round((n * k) % 97 / 1.3, 2) for k in (3, 5, 7))) for n in range(80)]
    assert "this looks like a table of means" in asked(write_csv(tmp_path / "v.csv", rows))[1]


def test_counts_of_nothing_named_are_asked_about(tmp_path: Path) -> None:
    rows = [("option", "votes"), ("mGPT", 20), ("xBERT", 3), ("Llama", 4)]
    path = write_csv(tmp_path / "votes.csv", rows)
    assert asked(path, votes="votes", label="option")[0] == "item"


@pytest.mark.parametrize("between", [".", ","])
def test_numbered_columns_of_numbers_are_asked_about_as_one(
    tmp_path: Path, guess: Guesses, between: str
) -> None:
    """Of fine scales hardly any value stands in two columns."""
    rows = [("stimulus", "VP01", "VP02", "VP03", "VP04")]
    rows += [
        (f"s{i}", *(f"{1 + (7 * i + k * k) % 4}{between}{(3 * i * k + k) % 10}" for k in range(4)))
        for i in range(12)
    ]
    path = write_csv(tmp_path / "v.csv", rows, delimiter=";")
    role, text = asked(path)
    assert role == "judge"
    assert "answers in VP01, VP02, VP03, VP04." in text
    actual = guess(path, each="VP01,VP02,VP03,VP04", judge="each")
    assert actual.task_kinds == {"*": "scalar"}
    assert actual.facts["fates"]["used"] == 48
    assert {float(score) for (score,) in actual.used("score")} == {
        float(value.replace(",", ".")) for row in rows[1:] for value in row[1:]
    }


def test_what_judges_of_one_thing_differ_in_is_no_truth(tmp_path: Path, guess: Guesses) -> None:
    rows = [("id", "grader", "complete", "correct")]
    rows += [
        (f"i{i}", f"g{g}", ("yes", "no")[(i + g) % 3 == 0], ("yes", "no")[(i * g + g) % 4 == 0])
        for i in range(20) for g in range(3)
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.used("task") == {("complete",), ("correct",)}
    assert actual.facts["fates"]["used"] == 120


def trials(path: Path, answers: str = "response") -> Path:
    """Each of 12 people sees each stimulus with each prompt, and is told whether he was right."""
    header = ("participant", "stimulus", "prompt", "key", f"{answers}", f"{answers}_right", "took")
    rows = [
        (f"p{p}", f"s{s}", f"q{q}", key := ("left", "right")[(s + q) % 2],
         typed := key if (p + s + q) % 5 else "left", int(typed == key), (p * 97 + s * 31 + q) / 7)
        for p in range(12) for s in range(4) for q in range(4)
    ]  # fmt: skip
    return write_csv(path, [header, *rows])


def test_an_item_that_judges_answer_again_and_again_is_asked_about(
    tmp_path: Path, guess: Guesses
) -> None:
    path = trials(tmp_path / "v.csv")
    role, text = asked(path, judge="participant", item="stimulus", label="response")
    assert (role, "4.0 times on average, and prompt" in text) == ("item", True)
    more = {"judge": "participant", "label": "response", "item": "stimulus,prompt"}
    assert len(guess(path, **more).used("item")) == 16


def test_whether_an_answer_was_right_is_no_answer_and_times_are_asked_about(tmp_path: Path) -> None:
    path = trials(tmp_path / "v.csv", "chosen")
    role, text = asked(path, judge="participant", item="stimulus,prompt")
    assert role == "label"
    assert "chosen, took all differ" in text


def test_keys_of_models_are_judges_of_what_a_system_made_though_some_calls_failed(
    tmp_path: Path, guess: Guesses
) -> None:
    models = ("anthropic/claude-sonnet-4.5", "google/gemini-2.5-flash")

    def scores(n: int, model: str) -> dict[str, object]:
        if n == 7 and model == models[1]:
            return {"error": "timeout"}
        return {c: (n * k + len(model)) % 8 + 2 for k, c in enumerate(("novel", "clear"), 1)}

    rows = [
        {"id": f"{topic}_{condition}_{n % 5}", "topic": topic, "condition": condition, "rep": n % 5,
         "scores": {model: scores(n, model) for model in models}}
        for n, (topic, condition) in enumerate(
            (t, c) for t in ("bias", "code") for c in ("plain", "guided", "free") for _ in range(5))
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    actual = guess(path)
    assert actual.used("judge") == {(model,) for model in models}
    assert actual.used("task") == {("novel",), ("clear",)}
    named = {field: actual.fields()[field] for field in ("item", "system", "segment")}
    assert named == {"item": "id", "system": "condition", "segment": "topic"}
    assert set(actual.task_kinds.values()) == {"scalar"}  # from 2, and not each step in each


def test_an_id_may_come_before_its_word(tmp_path: Path, guess: Guesses) -> None:
    rows = [("id_user", "id_item", "mos")]
    rows += [(f"S{j}", f"v{i}", (i * j) % 5 + 1) for j in range(8) for i in range(9)]
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["judge"], fields["item"]) == ("id_user", "id_item")


def test_ids_of_people_come_first_though_another_id_names_them(tmp_path: Path) -> None:
    rows = [("time taken a", "hash", "ID", "sentence", "Answer")]
    rows += [
        (900 + 13 * j, f"c7c95b{j}", f"60d3a{j}", f"The cat sat on mat {i}", (i * j) % 7 + 1)
        for j in range(9) for i in range(12)
    ]  # fmt: skip
    with pytest.raises(OpenError) as caught:
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    [first, *_] = caught.value.questions[0].options
    assert first.by_role["judge"][0] in ("ID", "hash")


def test_an_id_with_much_of_a_persons_data_is_offered_first(tmp_path: Path) -> None:
    own = ("age", "device", "education", "gender", "language")
    rows = [("uuid", "page_id", "q1", "q2", "q3", *own)]
    rows += [
        (f"0d{j}-a", f"{p}-1", *((j * p * k) % 7 + 1 for k in (2, 3, 5)),
         *(f"{word} {j % n}" for n, word in enumerate(own, 3)))
        for j in range(24) for p in (j % 6, (j + 1) % 6)
    ]  # fmt: skip
    with pytest.raises(OpenError) as caught:
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    offered = [option.by_role for option in caught.value.questions[0].options]
    assert next(o for o in offered if "each" not in o) == {"judge": ("uuid",)}


def test_scores_within_lists_come_before_means_of_them(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"query": f"what is {q}?", "metrics": {"mrr": 1 / (q + 1.5), "ndcg": q / 37, "map": q / 41},
         "retrieved": [{"passage": f"p{q}-{k}", "judge_score": (q * k) % 4} for k in range(5)]}
        for q in range(1, 30)
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    actual = guess(path, judge="=gpt")
    assert len(actual.settings.sources) == 1
    assert "judge_score" in str(actual.fields())


def test_an_id_of_a_system_comes_before_its_output(tmp_path: Path, guess: Guesses) -> None:
    places = [f"{a}{b}" for a in (1, 2) for b in (1, 2, 3)]
    rows = [
        {"HITId": f"h{h}", "WorkerId": f"w{w}", "AssignmentId": f"{h}{w}",
         "AssignmentStatus": "Approved"}
        | {f"Input.sys{p}": f"I do not know {h} {p}" for p in places}
        | {f"Input.sysid{p}": f"beam_{int(p) % 4}.json_{h}" for p in places}
        | {f"Answer.fluent{p}": ("No", "Yes")[(h * w + int(p)) % 2] for p in places}
        for h in range(5) for w in range(3)
    ]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", [[*rows[0]], *([*r.values()] for r in rows)])
    system = guess(path).fields().get("system")
    assert system in (None, {"column": "Input.sysid{i}"}, "Input.sysid{i}")


def test_rows_are_no_items_of_lists_within_them(tmp_path: Path) -> None:
    rows = [
        {"id": n, "category": "xyz"[n % 3],
         "turns": [{"turn": k, "winner": "AB"[n * k % 2], "raw": f"of the reason {n}, for {k}"}
                   for k in (1, 2)]}
        for n in range(20)
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path, by_role={"judge": ("=gpt",)})
    offered = [option.by_role for option in caught.value.questions[0].options]
    assert {"item": ("id",)} in offered
    assert {"item": ("row",)} not in offered
