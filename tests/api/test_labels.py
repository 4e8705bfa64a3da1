"""Labels of frames: equal to crowd-kit, to a release, and in the user's own terms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import annot_pipeline as annot
from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams

NAMES = {"item": "question", "judge": "worker", "label": "answer"}


@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # by crowd-kit
def test_dawid_skene_labels_as_crowd_kit_does(votes):
    """The methods are held against it to the digit (tests/methods/labels); here the codes are."""
    from crowdkit.aggregation import DawidSkene

    ours = annot.dawid_skene(votes, **NAMES, params=DawidSkeneParams(start="votes"))
    theirs = DawidSkene(n_iter=1000).fit_predict(
        votes.rename(columns={"question": "task", "answer": "label"})
    )
    same = ours.labels.set_index("question")["answer"] == theirs
    assert same.sum() >= 0.97 * len(theirs)


@pytest.mark.slow
def test_infer_labels_are_those_of_a_release(votes, stage_campaign):
    ours = annot.infer_labels(votes, **NAMES)
    built = stage_campaign(
        {"a.csv": votes.to_csv(index=False)},
        sources=[{"path": "exports/a.csv", "format": "csv", "fields": NAMES}],
    )
    released = {row["item"]: row for row in built.rows("labels")}
    for row in ours.labels.to_dict("records"):
        same = released[str(row["question"])]
        assert row["probability"] == same["probability"]
        assert (str(row["answer"]), row["certain"]) == (same["label"], same["certain"])
    assert len(ours.labels) == len(released)


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_a_frame_comes_back_as_the_kind_that_came_in(votes, infer):
    by_pandas = infer(votes, **NAMES)
    by_polars = infer(pl.from_pandas(votes), **NAMES)
    by_lazy = infer(pl.from_pandas(votes).lazy(), **NAMES)
    by_arrow = infer(pa.Table.from_pandas(votes), **NAMES)
    by_stream = infer(Stream(votes), **NAMES)
    assert isinstance(by_pandas.labels, pd.DataFrame)
    assert isinstance(by_polars.labels, pl.DataFrame)
    assert isinstance(by_arrow.labels, pa.Table)
    frames = (by_polars.labels, by_lazy.labels)
    for labels in (*(frame.to_pandas() for frame in frames), by_arrow.labels.to_pandas()):
        pd.testing.assert_frame_equal(labels, by_pandas.labels)
    assert by_stream.labels.equals(by_arrow.labels)
    assert list(by_pandas.labels)[:3] == ["question", "answer", "probability"]
    assert by_pandas.labels["question"].dtype == by_pandas.labels["answer"].dtype == np.int64
    assert set(by_pandas.confusion.columns) >= {"worker", "true_label", "observed_label"}
    assert by_pandas.confusion["observed_label"].dtype == np.int64


class Stream:
    """What has the Arrow PyCapsule interface and nothing else."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.Table.from_pandas(self.frame).__arrow_c_stream__(requested_schema)


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_order_of_rows_and_names_change_nothing(votes, infer):
    ours = infer(votes, **NAMES)
    shuffled = votes.sample(frac=1, random_state=1).rename(columns={"question": "q"})
    other = infer(shuffled, item="q", judge="worker", label="answer")
    pd.testing.assert_frame_equal(other.labels.rename(columns={"q": "question"}), ours.labels)


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_rows_without_an_answer_do_not_count_and_are_listed(votes, infer):
    holes = votes.astype({"answer": float, "question": "object"})
    holes.loc[3, "answer"] = np.nan
    holes.loc[7, "question"] = None
    with pytest.warns(UserWarning, match="2 of 480 rows do not count"):
        result = infer(holes, **NAMES)
    assert result.excluded["row"].tolist() == [3, 7]
    assert set(result.excluded["fate"]) == {"rejected"}
    assert result.n_judgments == 478
    whole = infer(votes.drop(index=[3, 7]), **NAMES)
    assert result.labels["probability"].tolist() == whole.labels["probability"].tolist()


@pytest.mark.slow
def test_categories_booleans_dates_and_an_index(votes):
    categories = votes.assign(answer=votes["answer"].map({0: "no", 1: "yes", 2: "?"}))
    categories["answer"] = categories["answer"].astype("category")
    assert set(annot.dawid_skene(categories, **NAMES).labels["answer"]) == {"no", "yes", "?"}
    flags = votes.assign(answer=votes["answer"] > 0)
    assert annot.infer_labels(flags, **NAMES).labels["answer"].dtype == bool
    indexed = votes.set_index("question")
    pd.testing.assert_frame_equal(
        annot.infer_labels(indexed, **NAMES).labels, annot.infer_labels(votes, **NAMES).labels
    )


def test_classes_may_be_declared(votes):
    result = annot.dawid_skene(votes, **NAMES, labels=[2, 1, 0, 9])
    assert result.prevalence["answer"].tolist() == [2, 1, 0, 9]
    with pytest.raises(InputError, match="holds other labels") as error:
        annot.dawid_skene(votes, **NAMES, labels=[0, 1])
    assert "allowed: 0, 1" in str(error.value)


@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda f: f.rename(columns={"answer": "x"}), ConfigError, 'label=: column "answer" not'),
        (lambda f: pd.concat([f, f[["answer"]]], axis=1), ConfigError, '2 columns "answer"'),
        (lambda f: f[:0], InputError, "the frame has no rows"),
        (lambda f: f.assign(answer=[1, "a"] * 240), InputError, "values of several types"),
        (lambda f: f.assign(answer=[[1]] * 480), InputError, "holds list"),
        (lambda f: f.assign(answer=None), InputError, "no row can be used"),
        (lambda f: f.to_dict("records"), ConfigError, "is a list"),
        (lambda f: f.rename(columns={"question": "probability"}), ConfigError, "probability"),
    ],
)
def test_bad_frames(votes, infer, change, error, says):
    frame = change(votes)
    names = NAMES | ({"item": "probability"} if "probability" in str(says) else {})
    with pytest.raises(error, match=says):
        infer(frame, **names)


@pytest.mark.slow
def test_models_and_settings(votes):
    one_coin = annot.dawid_skene(votes, **NAMES, model="one_coin")
    assert one_coin.labels["probability"].between(0, 1).all()
    with pytest.raises(ConfigError, match="no such label model"):
        annot.dawid_skene(votes, **NAMES, model="x")
    mace = annot.infer_labels(votes, **NAMES, settings={"label_model": "mace"})
    plain = annot.infer_labels(votes, **NAMES)
    assert mace.labels["probability"].tolist() != plain.labels["probability"].tolist()
    with pytest.raises(ConfigError, match="did you mean label_model"):
        annot.infer_labels(votes, **NAMES, settings={"labelmodel": "mace"})


@pytest.mark.parametrize("infer", [annot.dawid_skene, annot.infer_labels])
def test_labels_without_a_model_are_warned_of(votes, infer):
    more = {"settings": {"dawid_skene": {"max_parameters": 1}}}
    if infer is annot.dawid_skene:
        more = {"params": DawidSkeneParams(max_parameters=1)}
    with pytest.warns(UserWarning, match="120 labels by majority vote alone: too many judges"):
        infer(votes, **NAMES, **more)


def test_a_fit_that_did_not_end_is_warned_of(votes):
    with pytest.warns(UserWarning, match="the label model did not converge"):
        annot.dawid_skene(votes, **NAMES, params=DawidSkeneParams(max_iterations=1))
    with pytest.raises(ConfigError, match="sets what no release sets"):
        annot.dawid_skene(votes, **NAMES, params=DawidSkeneParams(dependence=0.5))


def test_labels_by_models_are_less_certain_than_by_people(votes):
    models = {"judges": [{"name": "*", "kind": "model"}]}
    people = annot.infer_labels(votes, **NAMES).labels
    ours = annot.infer_labels(votes, **NAMES, settings=models).labels
    differ = people["probability"] < 0.999
    assert (ours["probability"] < people["probability"])[differ].mean() > 0.95
    assert (ours["answer"] == people["answer"]).mean() > 0.95


def test_soft_labels(votes):
    result = annot.infer_labels(votes, **NAMES)
    soft = result.soft_labels()
    assert list(soft) == ["question", "0", "1", "2"]
    assert np.allclose(soft[["0", "1", "2"]].sum(axis=1), 1)
    best = soft[["0", "1", "2"]].to_numpy().argmax(axis=1)
    assert (best == result.labels["answer"].to_numpy()).all()


def test_a_notebook_shows_rows_and_escapes_them(votes):
    names = votes.assign(question="<i>" + votes["question"].map(str))
    result = annot.infer_labels(names, **NAMES)
    page = result._repr_html_()
    assert "&lt;i&gt;1000" in page
    assert "<i>" not in page
    assert "110 more rows" in page
    assert repr(result).startswith("Result: 480 judgments")
    assert result.plot().count("<svg") == 1
    with pytest.raises(AttributeError):
        result.labels = None  # type: ignore[misc]
