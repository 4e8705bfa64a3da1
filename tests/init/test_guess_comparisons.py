"""Comparisons of two outputs, whatever their columns are called and their outcomes spelled."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import OpenError, guess_campaign
from annot_pipeline.init.comparisons import side_of
from annot_pipeline.init.views import Pair, pairs_among
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
SYSTEMS = ("alpaca", "bard", "claude", "dolly")


def battles(
    header: Sequence[str], outcomes: Sequence[object], n: int = 60
) -> list[tuple[object, ...]]:
    """Rows of judge, segment, two systems and an outcome, under such a header."""
    rows = [
        (
            f"j{k % 5}",
            f"p{k % 7}",
            SYSTEMS[k % 4],
            SYSTEMS[(k + 1 + k // 4 % 3) % 4],
            outcomes[k % len(outcomes)],
        )
        for k in range(n)
    ]
    return [header, *rows]


# --- the columns ---------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("header", "outcomes", "expected"),
    [
        (("judge", "question_id", "model_a", "model_b", "winner"),
         ("model_a", "model_b", "tie", "tie (bothbad)"), {"system_a": "model_a"}),
        (("worker", "prompt", "a", "b", "preference"), ("a", "b", "tie"), {"system_a": "a"}),
        (("worker", "segment", "A", "B", "Preferred"), ("A", "B", "Tie"), {"system_a": "A"}),
        (("rater", "src_id", "item_a", "item_b", "preferred"), ("item_a", "item_b", "equal"),
         {"item_a": "item_a"}),
        (("annotator", "doc_id", "system1Id", "system2Id", "better"), ("1", "2", "0"),
         {"system_a": "system1Id"}),
        (("user", "input", "leftModel", "rightModel", "vote"), ("left", "right", "both"),
         {"system_a": "leftModel"}),
        (("rater", "sid", "sys_first", "sys_second", "outcome"),
         ("First is better", "Second is better", "No preference: same"), {"system_a": "sys_first"}),
        (("rater", "sid", "player1", "player2", "result"), ("1.0", "2.0", "0.0"),
         {"system_a": "player1"}),
        (("evaluator", "prompt", "model_x", "model_y", "verdict"), ("X", "Y", "draw"),
         {"system_a": "model_x"}),
        (("judge", "prompt", "modela", "modelb", "verdict"), ("[[A>>B]]", "[[B>A]]", "[[A=B]]"),
         {"system_a": "modela"}),
        (("judge", "prompt", "output_1", "output_2", "label"), ("Output 1", "Output 2", "neither"),
         {"item_a": "output_1"}),
    ],
)  # fmt: skip
def test_pairs_of_any_naming(
    header: Sequence[str],
    outcomes: Sequence[str],
    expected: dict[str, str],
    tmp_path: Path,
    guess: Guesses,
) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", battles(header, outcomes)))
    fields = actual.fields()
    assert expected.items() <= fields.items()
    assert fields["judge"] == header[0]
    assert fields["preference"]["column"] == header[4]
    sides = {outcome: ("a", "b", "tie", "tie")[n] for n, outcome in enumerate(outcomes)}
    assert fields["preference"]["map"] == sides
    assert actual.task_kinds == {"*": "pairwise"}
    assert actual.facts["fates"]["used"] == 60
    assert actual.used("preference") == {("a",), ("b",), ("tie",)}


def test_json_lines_of_an_arena(tmp_path: Path, guess: Guesses) -> None:
    header = ("judge", "question_id", "model_a", "model_b", "winner")
    rows = [
        dict(zip(header, row, strict=True))
        | {"turn": 1, "tstamp": 1682351591.5 + n, "anony": True}
        | {f"conversation_{side}": [{"role": "user", "content": f"hi {n}"}] for side in "ab"}
        for n, row in enumerate(battles(header, ("model_a", "model_b", "tie (bothbad)"))[1:])
    ]
    path = tmp_path / "arena.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fields = guess(path).fields()
    assert (fields["system_a"], fields["system_b"]) == ("model_a", "model_b")
    assert fields["segment"] == "question_id"
    assert fields["submitted_at"] == "tstamp"


def test_ties_alone_are_comparisons(tmp_path: Path, guess: Guesses) -> None:
    rows = [(0, "A", "B", "tie", "u0"), (1, "A", "B", "tie", "u1"), (2, "A", "C", "tie", "u2")]
    path = write_csv(
        tmp_path / "v.csv", [("prompt", "model_a", "model_b", "winner", "user"), *rows]
    )
    actual = guess(path)
    assert actual.used("preference") == {("tie",)}
    assert actual.fields()["preference"]["map"] == {"model_a": "a", "model_b": "b", "tie": "tie"}
    assert "tie (3); no other so far" in actual.text
    options = {"preference": ("winner",), "segment": ("prompt",), "judge": ("user",)}
    sides = {"system_a": ("model_a",), "system_b": ("model_b",)}
    assert actual.text == guess_campaign(
        [path], tmp_path / "campaign folder", by_role=options | sides
    )


def test_options_of_a_comparison_whose_cells_name_no_side_are_refused(tmp_path: Path) -> None:
    rows = [(0, "A", "B", "foo", "u0"), (1, "A", "B", "bar", "u1"), (2, "A", "C", "foo", "u2")]
    path = write_csv(
        tmp_path / "v.csv", [("prompt", "model_a", "model_b", "winner", "user"), *rows]
    )
    options = {"preference": ("winner",), "segment": ("prompt",), "judge": ("user",)}
    with pytest.raises(OpenError, match="name neither side") as error:
        guess_campaign([path], tmp_path, by_role=options)
    assert str(error.value).count("--preference") == 1  # which was answered
    assert "--system-a COLUMN --system-b COLUMN" in str(error.value)


def test_what_an_option_calls_a_segment_is_no_text_of_itself(
    tmp_path: Path, guess: Guesses
) -> None:
    rows = [(n % 4, f"u{n // 4}", ("yes", "no", "no")[n % 3]) for n in range(12)]
    path = write_csv(tmp_path / "v.csv", [("prompt", "user", "label"), *rows])
    fields = guess(path, segment="prompt", judge="user", label="label").fields()
    assert (fields["item"], "text" in fields) == ("prompt", False)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "ranks", [("system1rank", "system2rank"), ("rank_a", "rank_b"), ("left_rank", "right_rank")]
)
def test_ranks_of_both(ranks: tuple[str, str], tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (*row[:4], k % 5 + 1, (k * k) % 5 + 1, k // 6)
        for k, row in enumerate(battles([], [""])[1:])
    ]
    header = ("judgeID", "segmentId", "system1Id", "system2Id", *ranks, "rankingID")
    fields = guess(write_csv(tmp_path / "v.csv", [header, *rows])).fields()
    assert (fields["rank_a"], fields["rank_b"]) == ranks
    assert (fields["system_a"], fields["system_b"]) == ("system1Id", "system2Id")
    assert fields["ranking"] == "rankingID"


@pytest.mark.sampled
@pytest.mark.parametrize(("slip", "n_rejected"), [("NA", 1), ("-1", 1), ("1.5", 1), ("0", 0)])
def test_a_slip_among_the_ranks_of_both(
    slip: str, n_rejected: int, tmp_path: Path, guess: Guesses
) -> None:
    rows = [(*row[:4], k % 5 + 1, (k * k) % 5 + 1) for k, row in enumerate(battles([], [""])[1:])]
    rows[7] = (*rows[7][:4], slip, 2)
    header = ("judge", "segment", "system1Id", "system2Id", "rank1", "rank2")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]), rejected=n_rejected)
    fields = actual.fields()
    assert (fields["rank_a"], fields["rank_b"]) == ("rank1", "rank2")
    assert (f"will be rejected: '{slip}' (1)" in actual.notes) == bool(n_rejected)


def test_what_won_and_what_lost(tmp_path: Path, guess: Guesses) -> None:
    rows = [row[:4] for row in battles([], [""])[1:]]
    path = write_csv(tmp_path / "v.csv", [("worker", "prompt", "winner", "loser"), *rows])
    actual = guess(path)
    assert actual.fields()["system_a"] == "winner"
    assert actual.used("preference") == {("a",)}


def test_a_third_column_makes_them_no_two(tmp_path: Path, guess: Guesses) -> None:
    rows = [(f"j{k % 5}", f"p{k // 5}", *SYSTEMS[:3], 1, 2 + k % 2, 3 - k % 2) for k in range(40)]
    header = ("worker", "segment", "sys1", "sys2", "sys3", "rank1", "rank2", "rank3")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.task_kinds == {"*": "ranking"}
    assert pairs_among(["sys1", "sys2", "sys3"]) == []
    assert pairs_among(["model_0", "model_1", "model_2"]) == []


# --- outcomes ------------------------------------------------------------------------------

PAIR = Pair(0, "model", "model_a", "model_b")


@pytest.mark.parametrize(
    ("value", "side"),
    [
        ("model_a", "a"), ("MODEL_B", "b"), ("Model A", "a"), (" a ", "a"), ("left", "a"),
        ("Response 2 is better", "b"), ("second", "b"), ("A is slightly better", "a"),
        ("tie", "tie"), ("tie (bothbad)", "tie"), ("Both are bad", "tie"), ("neither", "tie"),
        ("about the same", "tie"), ("A>B", "a"), ("[[B>>A]]", "b"), ("a < b", "b"), ("B<A", "a"),
        ("A=B", "tie"), (">", "a"), ("<<", "b"), ("1", "a"), ("2.0", "b"), ("0", "tie"),
        ("-1", None), ("3", None), ("1.5", None), ("A is worse", None), ("not A", None),
        ("a or b", None), ("c", None), ("x", None), ("skip", None), ("", None), ("yes", None),
        ("?", None), ("alpaca", None), ("no answer", None), ("a>c", None), ("><", None),
        ("[[C]]", "tie"), ("C", None), ("[[A]]", "a"),
    ],
)  # fmt: skip
def test_words_for_an_outcome(value: str, side: str | None) -> None:
    assert side_of(value, PAIR) == side


def test_x_and_y_are_sides_where_the_columns_are_named_so() -> None:
    axes = Pair(4, "model", "model_x", "model_y")
    assert [side_of(v, axes) for v in ("x", "Model Y", "y wins")] == ["a", "b", "b"]


def test_an_unknown_word_is_told(tmp_path: Path, guess: Guesses) -> None:
    outcomes = ("left", "right", "tie", "left", "right", "skip?")
    header = ("worker", "prompt", "left", "right", "winner")
    actual = guess(write_csv(tmp_path / "v.csv", battles(header, outcomes)), rejected=10)
    assert actual.fields()["preference"]["map"] == {"left": "a", "right": "b", "tie": "tie"}
    assert "winner also holds skip? (10): nothing says which side is meant" in actual.notes
    [(reason, n)] = [(r["reason"], r["records"]) for r in actual.facts["rejections"]] or [("", 0)]
    assert "skip?" in reason
    assert n == 10


@pytest.mark.sampled
@pytest.mark.parametrize("word", ["both bad", "neither", "tie (bothbad)", "Both are good", "none"])
def test_a_guessed_tie_is_told_beside_it(word: str, tmp_path: Path, guess: Guesses) -> None:
    header = ("worker", "prompt", "left", "right", "winner")
    path = write_csv(tmp_path / "v.csv", battles(header, ("left", "right", "tie", word)))
    actual = guess(path)
    [line] = [line for line in actual.text.splitlines() if "preference:" in line]
    assert actual.fields()["preference"]["map"][word] == "tie"
    told = f"guessed to mean a tie: {word!r} (deleting the entry rejects those rows)"
    assert told in line.partition("#")[2]


def test_plain_ties_are_no_guess(tmp_path: Path) -> None:
    header = ("worker", "prompt", "left", "right", "winner")
    for n, word in enumerate(("tie", "draw", "equal", "about the same")):
        path = write_csv(tmp_path / f"{n}.csv", battles(header, ("left", "right", word)))
        assert "guessed to mean" not in guess_campaign([path], tmp_path)


@pytest.mark.parametrize(
    "outcomes",
    [("good", "bad"), ("a", "c", "d"), ("A is worse", "b")],
)
def test_outcomes_that_name_no_two_sides_are_no_preference(
    outcomes: Sequence[str], tmp_path: Path
) -> None:
    header = ("worker", "prompt", "left", "right", "choice")
    path = write_csv(tmp_path / "v.csv", battles(header, outcomes))
    with pytest.raises(OpenError, match="tells these answers apart") as caught:
        guess_campaign([path], tmp_path)
    draft = caught.value.draft or ""
    assert "preference" not in draft
    assert "kind: categorical" in draft


@pytest.mark.parametrize("outcomes", [("0", "1"), ("-1", "0", "1")])
def test_numbers_that_name_no_two_sides_are_no_preference(
    outcomes: Sequence[str], tmp_path: Path
) -> None:
    header = ("worker", "prompt", "left", "right", "choice")
    path = write_csv(tmp_path / "v.csv", battles(header, outcomes))
    with pytest.raises(OpenError, match="which that left is") as caught:
        guess_campaign([path], tmp_path)
    assert {q.role for q in caught.value.questions} == {"strength"}


def test_classes_of_two_sentences_are_no_preference(tmp_path: Path, guess: Guesses) -> None:
    """0, 1, 2 beside two texts are entailment, neutral, contradiction."""
    rows = [
        (f"w{k % 5}", f"i{k // 5}", f"text {k // 5}", f"other {k // 5}", k % 3) for k in range(60)
    ]
    header = ("worker", "item_id", "text_a", "text_b", "label")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.task_kinds == {"*": "categorical"}
    assert actual.fields()["label"] == "label"


@pytest.mark.parametrize("tie", ["tie", "draw"])
def test_a_winner_by_name(tie: str, tmp_path: Path) -> None:
    """Also where systems are called as sides are."""
    for names in (SYSTEMS, ("A", "B", "C", "D")):
        rows = []
        for k in range(60):
            left, right = names[k % 4], names[(k + 1 + k // 4 % 3) % 4]
            rows.append((f"j{k % 5}", f"p{k % 7}", left, right, (left, right, tie)[k % 3]))
        path = write_csv(
            tmp_path / "v.csv", [("worker", "prompt", "left", "right", "winner"), *rows]
        )
        text = guess_campaign([path], tmp_path)
        expected = "winner" if tie == "tie" else "{column: winner, map: {draw: tie}}"
        assert f"      winner: {expected} " in text
        assert "preference:" not in text


def test_whole_texts_name_nothing(tmp_path: Path) -> None:
    rows = [
        (f"j{k % 5}", f"p{k % 7}", f"once {k} " * 60, f"twice {k} " * 60, "ab"[k % 2])
        for k in range(30)
    ]
    header = ("worker", "prompt", "response_a", "response_b", "preferred")
    path = write_csv(tmp_path / "v.csv", [header, *rows])
    with pytest.raises(ConfigError, match="hold whole texts: no column names what was compared"):
        guess_campaign([path], tmp_path)


# --- nobody is named -----------------------------------------------------------------------

HEADER = ("id", "prompt", "left", "right", "winner")


def anonymous(seed: int, n: int = 60) -> list[tuple[Any, ...]]:
    rows = battles(HEADER, ("left", "right", "tie"), n)
    return [
        HEADER,
        *((k, *row[1:4], ("left", "right")[(k * seed) % 3 % 2]) for k, row in enumerate(rows[1:])),
    ]


def test_comparisons_without_a_judge_ask_who_judged(tmp_path: Path, guess: Guesses) -> None:
    path = write_csv(tmp_path / "gpt-4.csv", anonymous(1))
    with pytest.raises(OpenError, match="no column says who judged"):
        guess_campaign([path], tmp_path)
    actual = guess(path, judge="file")
    assert actual.fields()["judge"] == {"value": "gpt-4"}
    assert "one judge, named after the file" in actual.notes
    assert actual.used("judge") == {("gpt-4",)}


def test_each_file_without_a_judge_is_a_judge(tmp_path: Path, guess: Guesses) -> None:
    """But for a file whose rows all stand in another one."""
    write_csv(tmp_path / "in/gpt-3.csv", anonymous(1))
    write_csv(tmp_path / "in/gpt-4.csv", anonymous(2))
    write_csv(tmp_path / "in/gpt-4-some.csv", anonymous(2)[:20])
    actual = guess(tmp_path / "in")
    assert actual.used("judge") == {("gpt-3",), ("gpt-4",)}
    assert actual.facts["fates"]["used"] == 120
    assert "left out: gpt-4-some.csv, all of whose rows stand in gpt-4.csv, too" in actual.notes
    assert actual.task_kinds == {"*": "pairwise"}


def test_files_of_other_names_are_asked_about(tmp_path: Path, guess: Guesses) -> None:
    write_csv(tmp_path / "in/one.csv", anonymous(1))
    write_csv(tmp_path / "in/two.csv", anonymous(2))
    with pytest.raises(OpenError, match=r"--judge file \(each of the 2 files is a judge"):
        guess_campaign([tmp_path / "in"], tmp_path)
    assert guess(tmp_path / "in", judge="file").used("judge") == {("one",), ("two",)}


def test_other_answers_still_need_a_judge(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "v.csv", [("item", "label"), *((k, "ab"[k % 2]) for k in range(9))])
    with pytest.raises(ConfigError, match="no column says who judged"):
        guess_campaign([path], tmp_path)


@pytest.mark.parametrize("values", [(-3, 0, 3), (0, 1)])
def test_numbers_for_both_sides_are_read_as_the_answer_says(
    tmp_path: Path, guess: Guesses, values: tuple[int, ...]
) -> None:
    header = ("judge", "prompt", "system_a", "system_b", "winner")
    path = write_csv(tmp_path / "v.csv", battles(header, values))
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    first, second, _ = caught.value.questions[0].options
    assert [option.by_role["strength"][1:] for option in (first, second)] == [
        (str(values[-1]), str(values[0])), (str(values[0]), str(values[-1]))
    ]  # fmt: skip
    actual = guess(path, **{role: ",".join(names) for role, names in second.by_role.items()})
    assert actual.facts["fates"]["used"] == 60
    assert actual.task_kinds == {"*": "pairwise"}
    if len(values) == 2:  # nothing says how much better
        assert actual.fields()["preference"]["map"] == {"0": "b", "1": "a"}
        assert actual.used("preference") == {("a",), ("b",)}
    else:
        assert actual.settings.sources[0].strength == (-3, 3)
        assert actual.used("preference", "strength") == {("a", "1"), ("tie", "0.5"), ("b", "0")}


@pytest.mark.parametrize("values", [(1.01, 1.5, 1.99), (-3, 0, 2), (1, 4, 7)])
def test_how_much_better_one_is_needs_the_ends_of_the_scale(
    tmp_path: Path, values: tuple[float, ...]
) -> None:
    path = write_csv(
        tmp_path / "graded.csv", battles(("judge", "prompt", "a", "b", "preference"), values)
    )
    with pytest.raises(ConfigError) as caught:
        guess_campaign([path], tmp_path)
    assert "Which number says that b is better without doubt" in str(caught.value)
    assert "--system-a a --system-b b --strength preference," in str(caught.value)


def test_a_question_id_is_what_systems_worked_on(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = battles(("rater", "qid", "left", "right", "winner"), ("left", "right", "tie"))
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields()["system_a"] == "left"
    assert actual.fields()["segment"] == "qid"


# --- sides under a stem that says nothing ---------------------------------------------------


def exchanged(verdicts: Sequence[object], **more: object) -> list[dict[str, object]]:
    """Rows of 14 segments, each compared in both orders under an unknown stem."""
    sides = (("base", "tuned"), ("tuned", "base"))
    return [
        {"id": f"mt-{n // 2}", "assistant_a": sides[n % 2][0], "assistant_b": sides[n % 2][1],
         "judge": f"gpt-{n % 2 + 4}", "verdict": verdicts[n % len(verdicts)], **more}
        for n in range(28)
    ]  # fmt: skip


def write_rows(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_sides_of_an_unknown_stem_are_systems_by_their_contents(
    tmp_path: Path, guess: Guesses
) -> None:
    actual = guess(write_rows(tmp_path / "v.jsonl", exchanged(("A", "B", "B"))))
    fields = actual.fields()
    assert (fields["system_a"], fields["system_b"]) == ("assistant_a", "assistant_b")
    assert fields["preference"] == {"column": "verdict", "map": {"A": "a", "B": "b"}}
    assert fields["segment"] == "id"
    assert actual.task_kinds == {"*": "pairwise"}


def test_a_winner_by_name_under_an_unknown_stem(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write_rows(tmp_path / "v.jsonl", exchanged(("base", "tuned", "tuned"))))
    assert actual.fields()["winner"] == "verdict"


@pytest.mark.parametrize(
    ("stem", "answer"), [("model", "rating"), ("assistant", "score"), ("assistant", "verdict")]
)
def test_ratings_of_two_systems_ask_what_numbers_mean(
    tmp_path: Path, stem: str, answer: str
) -> None:
    rows = [
        {"prompt_id": row["id"], f"{stem}_a": row["assistant_a"], f"{stem}_b": row["assistant_b"],
         "judge": row["judge"], answer: row["verdict"]}
        for row in exchanged((1, 3, 7, 4, 6))
    ]  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        guess_campaign([write_rows(tmp_path / "v.jsonl", rows)], tmp_path)
    sides = f"--system-a {stem}_a --system-b {stem}_b"
    assert f"{sides} --strength {answer}," in str(caught.value)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("stem", "contents"),
    [
        ("premise", [(f"it rains in {n}", f"it is wet in {n}") for n in range(7)]),
        ("sentence", [("it rains", "it snows"), ("it snows", "it rains")]),
        ("check", [("yes", "yes"), ("no", "yes"), ("yes", "no")]),
        ("lang", [("en", "de"), ("de", "en")]),
    ],
)
def test_two_columns_that_name_no_systems_stay_as_they_are(
    tmp_path: Path, guess: Guesses, stem: str, contents: Sequence[tuple[str, str]]
) -> None:
    rows = [
        {"item_id": f"i{k // 5}", f"{stem}1": first, f"{stem}2": second, "worker": f"w{k % 5}",
         "label": k % 7 % 5}
        for k in range(70) for first, second in [contents[k // 5 % len(contents)]]
    ]  # fmt: skip
    actual = guess(write_rows(tmp_path / "v.jsonl", rows))
    assert actual.task_kinds == {"*": "categorical"}
    assert actual.fields()["label"] == "label"


def test_the_id_of_a_prompt_is_no_task(tmp_path: Path, guess: Guesses) -> None:
    header = (
        "question_id", "prompt", "model_left", "model_right", "better_model", "annotator",
    )  # fmt: skip
    rows = [
        (f"q{k // 4}", f"tell me of {k // 4}", SYSTEMS[k % 2], SYSTEMS[2 + k % 2],
         ("left", "right", "tie")[k % 3], f"w{k % 4}")
        for k in range(48)
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert "task" not in actual.fields()
    assert actual.fields()["segment"] == "prompt"
    assert "not mapped: question_id (12 different)" in actual.notes


def test_one_side_that_is_always_the_baseline_is_a_side(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (f"j{n % 4}", f"u{n // 4}", ("tts1", "tts2")[n % 2], "human", "AB"[n % 3 > 0])
        for n in range(40)
    ]
    header = ("listener", "utterance", "voice_a", "voice_b", "choice")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.task_kinds == {"*": "pairwise"}
    assert (actual.fields()["system_a"], actual.fields()["system_b"]) == ("voice_a", "voice_b")
    assert {(side,) for side in ("a", "b")} == actual.used("preference")


# --- criteria, and two systems in one cell --------------------------------------------------


def criteria(*columns: tuple[str, Sequence[str]], n: int = 60) -> list[tuple[object, ...]]:
    """Rows of battles with some columns of values taken at random."""
    chance = random.Random(3)
    header = ("judge", "question_id", "model_a", "model_b", *(name for name, _ in columns))
    rows = battles(("judge", "question_id", "model_a", "model_b", ""), ("",), n)[1:]
    answers = [[chance.choice(words) for _, words in columns] for _ in range(n)]
    return [header, *((*row[:4], *own) for row, own in zip(rows, answers, strict=True))]


def test_each_criterion_of_a_comparison_is_a_task(tmp_path: Path, guess: Guesses) -> None:
    words = ("A", "B", "tie")
    rows = criteria(
        ("fluency", words), ("coherence", ("B", "B", "A", "tie")), ("overall", words[:2])
    )
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.used("task") == {("fluency",), ("coherence",), ("overall",)}
    assert actual.facts["fates"]["used"] == 3 * 60
    of_task = actual.judgments.filter(pc.equal(actual.judgments["task"], "coherence"))
    n_b = sum(row[5] == "B" for row in rows[1:])
    assert of_task["preference"].to_pylist().count("b") == n_b


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("other", ["gpt4_winner", "majority_winner", "gold_winner", "human_winner"])
def test_what_others_say_of_a_pair_is_no_criterion(
    other: str, tmp_path: Path, guess: Guesses
) -> None:
    sides = ("model_a", "model_b")
    rows = criteria(("winner", (*sides, "tie")), (other, sides))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.facts["fates"]["used"] == 60


def test_a_column_that_is_fixed_by_the_pair_is_no_criterion(tmp_path: Path, guess: Guesses) -> None:
    rows = criteria(("winner", ("model_a", "model_b", "tie")))
    fixed = [("model_a", "model_b")[len(str(row[2])) % 2] for row in rows[1:]]
    rows = [(*rows[0], "best"), *((*row, f) for row, f in zip(rows[1:], fixed, strict=True))]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.facts["fates"]["used"] == 60


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("between", [" vs ", " vs. ", ",", "|", "_", "json"])
def test_two_systems_in_one_cell(between: str, tmp_path: Path, guess: Guesses) -> None:
    rows = battles(("judge", "question_id", "models", "b", "winner"), ("A", "B", "tie"))[1:]
    cells = [
        (*row[:2], json.dumps(row[2:4]) if between == "json" else between.join(map(str, row[2:4])),
         row[4]) for row in rows
    ]  # fmt: skip
    header = ("judge", "question_id", "models", "winner")
    actual = guess(write_csv(tmp_path / "v.tsv", [header, *cells], delimiter="\t"))
    assert actual.used("system_a", "system_b") == {tuple(row[2:4]) for row in rows}
    assert actual.facts["fates"]["used"] == 60


def test_raters_of_pairs_in_one_cell_compare_them(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (n, f"{SYSTEMS[n % 4]}_{SYSTEMS[(n + 1) % 4]}", *((n + k) % 3 for k in range(3)))
        for n in range(40)
    ]
    header = ("id", "pair", "annotator1", "annotator2", "annotator3")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.facts["fates"]["used"] == 120
    ties = sum(value == 0 for row in rows for value in row[2:])
    assert actual.judgments["preference"].to_pylist().count("tie") == ties


def test_two_labels_in_each_cell_are_no_pair(tmp_path: Path) -> None:
    """Nothing beside them says which is better."""
    kinds = ("joy", "fear", "rage")
    rows = [
        {"id": f"t{n % 20}", "judge": f"j{n % 3}", "labels": [kinds[n % 3], kinds[(n + 1) % 3]]}
        for n in range(60)
    ]
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(OpenError, match="Which column does") as error:
        guess_campaign([path], tmp_path)
    assert "system_a" not in (error.value.draft or "")


def test_columns_that_name_one_of_two_in_a_cell_say_which_is_better(
    tmp_path: Path, guess: Guesses
) -> None:
    """The first is never the second of another pair."""
    chance = random.Random(4)
    pairs = [("base", "wide"), ("base", "deep"), ("plain", "wide"), ("plain", "deep")]
    rows = [
        (f"j{n % 3}", f"s{n // 3}", ",".join(pairs[n // 3 % 4]),
         *(chance.choice([*pairs[n // 3 % 4], "same"]) for _ in range(2)))
        for n in range(60)
    ]  # fmt: skip
    header = ("judge", "story", "options", "plot", "language")
    actual = guess(write_csv(tmp_path / "v.tsv", [header, *rows], delimiter="\t"))
    assert actual.used("task") == {("plot",), ("language",)}
    of_plot = actual.judgments.filter(pc.equal(actual.judgments["task"], "plot"))
    assert of_plot["preference"].to_pylist().count("tie") == sum(r[3] == "same" for r in rows)
    n_first = sum(row[3] == row[2].split(",")[0] for row in rows)
    assert of_plot["preference"].to_pylist().count("a") == n_first


def test_pairs_without_an_answer_are_what_options_say(tmp_path: Path, guess: Guesses) -> None:
    """As rows (query, better, worse) of preferences that are given as lists of pairs."""
    chance = random.Random(5)
    rows = [(n % 4 + 100, *chance.sample(range(1000, 1030), 2)) for n in range(200)]
    path = write_csv(tmp_path / "pairs.txt", rows, delimiter=" ")
    actual = guess(path, item_a="c2", item_b="c3", preference="=b", judge="=gpt")
    assert actual.used("preference") == {("b",)}
    assert actual.facts["fates"]["used"] == 200


def test_ids_whose_parts_stand_in_other_columns_are_no_pairs(
    tmp_path: Path, guess: Guesses
) -> None:
    topics, chance = ("flu", "burn", "rash"), random.Random(6)
    rows = [
        (f"{topics[n % 3]}_{('old', 'young')[n // 3 % 2]}", topics[n % 3], f"j{j}", mark)
        for n in range(6) for j in range(8) for mark in [chance.choice("abcde")]
    ]  # fmt: skip
    header = ("response_id", "disease", "reviewer", "rating")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields()["item"] == "response_id"
    assert actual.facts["fates"]["used"] == 48


def pairs_of_images(n: int = 240) -> list[tuple[int, int]]:
    draw = random.Random(7)
    return [tuple(draw.sample(range(20), 2)) for _ in range(n)]  # type: ignore[misc]


def test_numbers_for_sides_are_asked_about_and_the_answer_builds(
    tmp_path: Path, guess: Guesses
) -> None:
    """0 and 1 may each be the left one; what is answered is a campaign."""
    rows = [(a, b, int(a > b)) for a, b in pairs_of_images()]
    path = write_csv(tmp_path / "v.csv", [("left_id", "right_id", "choice"), *rows])
    with pytest.raises(OpenError, match="how much better one of two is") as caught:
        guess_campaign([path], tmp_path)
    chosen = caught.value.questions[0].options[0].by_role
    assert chosen["strength"] == ("choice", "1", "0")
    by_role = {role: ",".join(names) for role, names in chosen.items()}
    actual = guess(path, judge="anonymous", **by_role)
    assert actual.fields()["item_a"] == "left_id"
    assert actual.fields()["preference"] == {"column": "choice", "map": {"1": "b", "0": "a"}}
    assert actual.used("preference") == {("a",), ("b",)}


def test_pairs_of_a_file_without_header_are_asked_about(tmp_path: Path) -> None:
    rows = [
        (f"2018-11-{1 + k % 28} 09:{k % 60:02}:12", 1000 + k % 8, f"street{a}", f"street{b}",
         (a > b) - (a < b) if k % 5 else 0)
        for k, (a, b) in enumerate(pairs_of_images())
    ]  # fmt: skip
    with pytest.raises(OpenError, match="c5 holds numbers from -1 to 1") as caught:
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert caught.value.questions[0].options[1].by_role == {
        "system_a": ("c3",), "system_b": ("c4",), "strength": ("c5", "-1", "1"),
    }  # fmt: skip


def rated_pairs(*words: str) -> list[tuple[object, ...]]:
    """Each of eight people rates 30 pairs of their own, trial by trial."""
    draw = random.Random(3)
    rows: list[tuple[object, ...]] = [
        ("worker_id", "trial_no", "left_book", "right_book", "answer")
    ]
    pairs = [(one, other) for one in range(12) for other in range(12) if one != other]
    for person in range(8):
        for trial, (one, other) in enumerate(draw.sample(pairs, 30)):
            rating = 1 + (one + other + person) % 5
            said = words[trial % 7] if trial % 7 < len(words) else rating
            rows.append((f"w{person}x", trial, f"tt{one}", f"tt{other}", said))
    return rows


def test_ratings_of_pairs_are_not_of_the_trial(tmp_path: Path, guess: Guesses) -> None:
    path = write_csv(tmp_path / "v.csv", rated_pairs("close", "near", "far"))
    actual = guess(path, judge="worker_id", label="answer")
    assert actual.fields()["item"]["join"] == ({"column": "left_book"}, {"column": "right_book"})


def test_an_answer_may_be_of_both_and_not_say_which_is_better(
    tmp_path: Path, guess: Guesses
) -> None:
    path = write_csv(tmp_path / "v.csv", rated_pairs("DontKnow"))
    with pytest.raises(OpenError, match="answer holds numbers from 1 to 5") as caught:
        guess_campaign([path], tmp_path)
    chosen = caught.value.questions[0].options[-1].by_role
    actual = guess(path, **{role: ",".join(names) for role, names in chosen.items()})
    assert actual.task_kinds == {"*": "scalar"}
    assert actual.settings.sources[0].abstain == ("DontKnow",)


def test_choices_of_numbers_between_two_items_are_asked_about(
    tmp_path: Path, guess: Guesses
) -> None:
    """They may say how alike the two are, too."""
    draw = random.Random(8)
    rows: list[tuple[object, ...]] = [("rater", "option_a", "option_b", "choice")]
    for _ in range(60):
        first, second = draw.sample(range(30), 2)
        rows += [(f"r{k}", f"t{first}", f"t{second}", draw.randint(0, 2)) for k in range(3)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError, match="say which of them is better") as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    assert str(question.options[0]) == "--item-a option_a --item-b option_b --preference choice"
    actual = guess(path, item_a="option_a", item_b="option_b", preference="choice")
    assert actual.task_kinds == {"*": "pairwise"}
    assert actual.used("preference") == {("a",), ("b",), ("tie",)}
