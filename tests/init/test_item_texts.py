"""The text that judgments carry of their item is mapped where it is that of the item."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.init.conftest import Guess
from tests.init.guessed import percent, yes_or_no

Guesses = Callable[..., Guess]
BASE = {"judge": "worker", "item": "item_id", "label": "label"}


def write(path: Path, column: str, cell: Callable[[int, int], str], judges: int = 3) -> Path:
    """Judgments of 10 items, with another column."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item_id", column, "worker", "label"])
        for i in range(10):
            rows.writerows([f"id{i}", cell(i, j), f"w{j}", yes_or_no(j, i)] for j in range(judges))
    return path


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("column", ["text", "body", "hypothesis", "model_output", "prompt"])
def test_a_column_of_texts_is_mapped(tmp_path: Path, guess: Guesses, column: str) -> None:
    actual = guess(write(tmp_path / "a.csv", column, lambda i, _: f"what is said in item {i}"))
    prompt = {"segment": "prompt"} if column == "prompt" else {}
    assert actual.fields() == BASE | {"text": column} | prompt
    assert "10 different; an item whose text changes is judged again" in actual.text
    assert "not mapped" not in actual.text


@pytest.mark.parametrize("column", ["text", "comment", "content"])
def test_the_id_of_a_text_is_the_item(tmp_path: Path, guess: Guesses, column: str) -> None:
    path = write(tmp_path / "a.csv", column, lambda i, _: f"This is text {i}")
    path.write_text(path.read_text("utf-8").replace("item_id", f"{column}_id"), "utf-8")
    assert guess(path).fields() == BASE | {"item": f"{column}_id", "text": column}


def test_so_is_one_whose_texts_have_changed_for_some(tmp_path: Path, guess: Guesses) -> None:
    def texts(item: int, judge: int) -> str:
        return f"text {item}" + " edited" * (item < 2 and judge == 2)

    actual = guess(write(tmp_path / "a.csv", "text", texts))
    assert actual.fields() == BASE | {"text": "text"}
    assert len(actual.used("item")) == 12


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("column", "cell"),
    [
        pytest.param("comment", lambda i, j: f"I think {i} {j}", id="comments of judges"),
        pytest.param("comment", lambda i, j: f"{i}" if j else f"no {i}", id="often another"),
        pytest.param("title", lambda _, __: "Is it toxic?", id="one question for all"),
        pytest.param("text", lambda i, j: "" if j else f"text {i}", id="mostly blank"),
        pytest.param("colour", lambda i, _: f"text {i}", id="another name"),
    ],
)
def test_what_is_no_text_of_the_item_is_not(
    tmp_path: Path, guess: Guesses, column: str, cell: Callable[[int, int], str]
) -> None:
    actual = guess(write(tmp_path / "a.csv", column, cell))
    assert actual.fields() == BASE
    assert f"not mapped: {column}" in actual.text


@pytest.mark.parametrize(("head", "item"), [("unit_id", "unit_id"), ("colour", "text")])
def test_a_text_is_the_item_where_no_id_is(
    tmp_path: Path, guess: Guesses, head: str, item: str
) -> None:
    path = write(tmp_path / "a.csv", "text", lambda i, _: f"text {i}")
    path.write_text(path.read_text().replace("item_id,", f"{head},"))
    assert guess(path).fields()["item"] == item


def test_sentences_of_a_document_are_items(tmp_path: Path, guess: Guesses) -> None:
    lines = ["document_id,sentence,worker,label"]
    lines += [f"d{i // 5},sentence {i},w{j},{yes_or_no(j, i)}" for i in range(20) for j in range(3)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert guess(path).fields()["item"] == "sentence"


def test_of_one_judgment_an_item_nothing_tells(tmp_path: Path, guess: Guesses) -> None:
    path = write(tmp_path / "a.csv", "text", lambda i, _: f"text {i}", judges=1)
    path.write_text(path.read_text().replace("id9,text 9,w0", "id9,text 9,w1"))
    assert "text" not in guess(path, judge="worker", item="item_id").fields()


def test_outputs_of_systems_are_texts_of_segment_and_system(tmp_path: Path, guess: Guesses) -> None:
    lines = ["segment,system,source,output,rater,score"]
    lines += [
        f"s{i},{system},source of {i},{system} says {i},r{j},{percent(j, i)}"
        for i in range(12) for system in ("a", "b") for j in range(2)
    ]  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert guess(path).fields() == {
        "judge": "rater", "system": "system", "segment": "segment", "score": "score",
        "text": "output",
    }  # fmt: skip


def test_comparisons_have_no_text(tmp_path: Path, guess: Guesses) -> None:
    lines = ["id,text,model_a,model_b,judge,winner"]
    lines += [
        f"q{i},question {i},x,y,j{j},{'model_a' if (i + j) % 3 else 'model_b'}"
        for i in range(12) for j in range(3)
    ]  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert "text" not in guess(path).fields()


def test_a_row_with_all_judgments_of_an_item(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"id": f"i{i}", "text": f"text {i}", "comment": f"seen {i}",
         "annotations": [{"annotator": f"w{j}", "label": yes_or_no(j, i)} for j in range(3)]}
        for i in range(10)
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    fields = guess(path).fields()
    assert (fields["item"], fields["text"]) == ("id", "text")
