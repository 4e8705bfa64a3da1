"""What frames may be: lazy ones are run once, numbers sort as numbers, and errors are ours."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import annot_pipeline as annot
from annot_pipeline.errors import AnnotError, ConfigError, InputError

NAMES = {"item": "question", "judge": "worker", "label": "answer"}


def lazies(votes: pd.DataFrame) -> dict[str, object]:
    """Return frames that give their rows in another order each time they are run."""
    frame = pl.from_pandas(votes).lazy()
    connection = duckdb.connect()
    connection.register("votes", votes)
    reader = pa.Table.from_pandas(votes, preserve_index=False).to_reader()
    return {
        "polars unique": frame.unique(),
        "polars group_by": frame.group_by("question", "worker").agg(pl.col("answer").first()),
        "duckdb": connection.sql("select * from votes order by random()"),
        "reader": reader,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["polars unique", "polars group_by", "duckdb", "reader"])
def test_what_is_lazy_is_run_once(votes, name):
    expected = annot.dawid_skene(votes, **NAMES).labels
    result = annot.dawid_skene(lazies(votes)[name], **NAMES).labels
    labels = result if isinstance(result, pa.Table) else result.to_arrow()
    pd.testing.assert_frame_equal(labels.to_pandas(), expected)
    agreement = annot.agreement(lazies(votes)[name], **NAMES)
    assert agreement["alpha_nominal"] == annot.agreement(votes, **NAMES)["alpha_nominal"]


def test_a_lazy_split_keeps_rows_together(votes):
    whole = annot.split(votes, item="question").set_index("question")["split"].to_dict()
    shuffled = annot.split(lazies(votes)["duckdb"], item="question").to_pandas()
    assert [whole[q] for q in shuffled["question"]] == shuffled["split"].tolist()


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_numbers_sort_as_numbers(votes, infer):
    frame = votes.assign(
        question=(votes["question"] - 1000) * 7, answer=votes["answer"].map({0: 1, 1: 2, 2: 10})
    )
    result = infer(frame, **NAMES)
    assert result.labels["question"].is_monotonic_increasing
    assert result.classes == result.prevalence["answer"].tolist() == [1, 2, 10]
    assert list(result.soft_labels())[1:] == ["1", "2", "10"]
    first = result.distributions["answer"][:3].tolist()
    assert first == [1, 2, 10]


@pytest.mark.parametrize(
    "measure", [annot.dawid_skene, annot.infer_labels, annot.agreement, annot.judges]
)
def test_warnings_point_at_the_line_of_the_caller(votes, measure):
    once_more = pd.concat([votes, votes[:1].assign(answer=0)])
    with pytest.warns(UserWarning, match="1 time a judge answered") as caught:
        measure(once_more, **NAMES)
    assert {Path(warning.filename) for warning in caught} == {Path(__file__)}


@pytest.mark.slow
def test_settings_of_the_task(votes):
    twice = pd.concat([votes, votes.assign(answer=0)])
    with pytest.warns(UserWarning, match=r"480 times a judge answered .* more than once"):
        annot.agreement(twice, **NAMES)
    with pytest.warns(UserWarning, match="480 times a judge answered"):
        annot.dawid_skene(twice, **NAMES)
    some = pd.concat([votes, votes[:10].assign(answer=0)])
    with pytest.warns(UserWarning, match="20 of 490 rows do not count"):
        rejected = annot.infer_labels(some, **NAMES, task={"repeats": "reject"})
    assert set(rejected.excluded["fate"]) == {"rejected"}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: annot.infer_labels(f, **NAMES, settings={"tasks": []}), "pass task="),
        (lambda f: annot.infer_labels(f, **NAMES, settings=[1]), "is a list"),
        (lambda f: annot.infer_labels(f, **NAMES, settings={"seed": np.int64(1)}), "int64"),
        (lambda f: annot.dawid_skene(f, **NAMES, labels=[0, 1, 2, 1]), "names a class twice"),
        (lambda f: annot.dawid_skene(f["answer"]), "is a Series"),
        (lambda f: annot.dawid_skene(f.set_axis([0, 1, 2], axis=1), item=0), "rename columns to"),
        (lambda f: annot.split(f, item="question", shares={"a": float("nan"), "b": 1}), "shares"),
        (lambda f: annot.split(f, item="question", shares=[0.5, 0.5]), "shares"),
        (lambda f: annot.soft_labels(f.assign(probability=1), item="question", label="answer"),
         "select one task"),
        (lambda f: annot.score(f, f, item="question", label="answer"), "is a DataFrame"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(votes, call, says):
    with pytest.raises(AnnotError, match=says):
        call(votes)


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_blanks_are_missing(votes, infer):
    blanks = votes.astype({"answer": str})
    blanks.loc[[1, 5], "answer"] = ["", "  "]
    with pytest.warns(UserWarning, match="2 of 480 rows do not count"):
        assert infer(blanks, **NAMES).classes == ["0", "1", "2"]


def test_systems_of_two_types(battles):
    mixed = battles.assign(left=battles["left"].str[1:].astype(int))
    with pytest.raises(InputError, match="systems have two types"):
        annot.rank(mixed, system_a="left", system_b="right", judge="worker", preference="winner")


def test_scored_items_join_predictions(votes):
    gold = annot.infer_labels(votes, **NAMES)
    predictions = gold.labels[["question", "answer"]].assign(
        unrelated=[[1]] * len(gold.labels), mixed=[1, "a"] * (len(gold.labels) // 2)
    )
    predictions[7] = 1
    items = annot.score(predictions, gold, item="question", label="answer", rounds=0).items
    joined = items.merge(predictions, on="question")
    assert len(joined) == len(predictions)
    assert items["predicted"].dtype == predictions["answer"].dtype
    more = pd.concat([predictions, predictions[:1].assign(question=7)])
    with pytest.warns(UserWarning, match="1 of 121 predictions are about no item of gold: 7"):
        annot.score(more, gold, item="question", label="answer", rounds=0)
    with pytest.raises(ConfigError, match="item="):
        annot.score(predictions.rename(columns={"question": "x"}), gold, label="answer")
