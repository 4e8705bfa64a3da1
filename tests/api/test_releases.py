"""Releases from Python: tables, traces, diffs, and predictions scored against them."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pytest

import annot_pipeline as annot
from annot_pipeline.errors import ConfigError, InputError, StoreError
from annot_pipeline.storage.pointer import Pointer, read_pointer, write_pointer
from annot_pipeline.storage.releases import Releases
from tests.conftest import build_file

NAMES = {"item": "question", "judge": "worker", "label": "answer"}


@pytest.fixture(scope="module")
def gold(votes, tmp_path_factory):
    """Two releases of the votes, the second with 40 votes more."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "exports").mkdir()
    source = {"path": "exports/*.csv", "format": "csv", "fields": NAMES}
    campaign = {"campaign": "api", "privacy": {"pseudonymize": False}, "sources": [source]}
    (folder / "campaign.yaml").write_text(json.dumps(campaign))
    votes[:440].to_csv(folder / "exports" / "a.csv", index=False)
    build_file(folder)
    votes[440:].to_csv(folder / "exports" / "b.csv", index=False)
    build_file(folder)
    return folder / "gold"


def test_releases_and_tables(gold, votes):
    opened = annot.open(gold)
    assert opened.releases == ["v0001", "v0002"]
    assert repr(opened).startswith(f"Gold at {gold}: v0002 of 2; rows of tables: labels 120, ")
    assert opened.table("labels").equals(annot.load_gold(gold, "labels"))
    assert opened.table("labels", "v0001").num_rows == votes[:440]["question"].nunique()
    with pytest.raises(StoreError, match="no release yet"):
        annot.open(gold.parent / "exports")
    with pytest.raises(StoreError):
        opened.table("labels", "v0009")


def test_a_handle_stays_with_the_release_that_was_the_newest(gold, tmp_path):
    """A build publishes between two calls, and the first release is removed at last."""
    both, folder = shutil.copytree(gold, tmp_path / "both"), tmp_path / "gold"
    shutil.copytree(both / "v0001", folder / "v0001")
    pointer = read_pointer(both)
    write_pointer(folder, Pointer("v0001", {"v0001": pointer.manifests["v0001"]}))
    opened = annot.open(folder)
    (both / "v0002").rename(folder / "v0002")
    write_pointer(folder, pointer)
    first = annot.load_gold(folder, "judgments", "v0001")
    assert opened.table("judgments").equals(first)
    assert opened.release().version == "v0001"
    assert len(opened.soft_labels()) < len(annot.open(folder).soft_labels())
    assert not opened.diff("v0001").cells.num_rows
    assert opened.table("judgments", "v0002").num_rows > first.num_rows
    assert repr(opened).startswith(f"Gold at {folder}: v0001 of 2; ")
    Releases(folder).remove(["v0001"])
    with pytest.raises(StoreError, match="v0001 was the newest when gold was opened") as error:
        opened.table("labels")
    assert "annot.open opens the newest release" in str(error.value)
    assert annot.open(folder).release().version == "v0002"


def test_a_trace_names_the_rows(gold, votes):
    [document] = annot.open(gold).trace("1000")
    judgments = {row["judge"]: row["places"][0]["source_row"] for row in document["judgments"]}
    rows = votes[votes["question"] == 1000]
    assert judgments == {row.worker: row.Index + 1 for row in rows.itertuples()}


def test_a_diff_lists_cells_without_causes(gold):
    diff = annot.open(gold).diff("v0001", "v0002", tables=["labels"])
    assert not diff.causes_found
    added = {row["item"] for row in diff.cells.to_pylist() if row["change"] == "added"}
    new, old = (
        set(annot.load_gold(gold, "labels", v)["item"].to_pylist()) for v in ("v0002", "v0001")
    )
    assert added == new - old


def test_predictions_are_scored_as_the_command_scores_them(gold, tmp_path):
    labels = annot.open(gold).table("labels").to_pandas()
    predictions = labels[["item", "label"]].copy()
    wrong = predictions.index[:6]
    predictions.loc[wrong, "label"] = predictions.loc[wrong, "label"].map(
        {"0": "1", "1": "2", "2": "0"}
    )
    result = annot.score(predictions, gold, rounds=50)
    assert result["accuracy"] == pytest.approx(1 - 6 / len(labels))
    assert set(result.items["item"][:6]) == set(predictions.loc[wrong, "item"])
    assert result.items["distance"].is_monotonic_decreasing
    assert (result.items["predicted"] != result.items["label"]).sum() == 6
    assert set(result.by_class["label"]) == {"0", "1", "2"}
    from annot_pipeline.config.campaign_file import load_campaign
    from annot_pipeline.scoring import Options, score

    path = tmp_path / "predictions.csv"
    predictions.to_csv(path, index=False)
    command = score(load_campaign(gold.parent), path, Options(rounds=50)).document
    for part in ("tasks", "micro", "macro", "farthest"):
        assert result.document[part] == command[part]


def test_probabilities_and_inferred_labels(votes):
    inferred = annot.infer_labels(votes, **NAMES)
    soft = inferred.soft_labels().rename(columns={name: f"p_{name}" for name in "012"})
    result = annot.score(soft, inferred, item="question", rounds=0)
    assert result["accuracy"] == 1
    shares = inferred.soft_labels()[["0", "1", "2"]].to_numpy()
    entropy = -(shares * np.log(np.maximum(shares, 1e-9))).sum(axis=1).mean()
    assert result["log_loss"] == pytest.approx(entropy)
    assert "mean probability" in result.plot()
    alone = annot.dawid_skene(votes, **NAMES)
    assert (
        annot.score(alone.labels, alone, item="question", label="answer", rounds=0)["accuracy"] == 1
    )
    with pytest.raises(ConfigError, match="use infer_labels"):
        annot.score(soft, annot.agreement(votes, **NAMES), item="question")
    with pytest.raises(InputError, match="no row is about an item of gold"):
        annot.score(soft.assign(question="x"), inferred, item="question")


# --- splits ----------------------------------------------------------------------------------


def test_a_split_never_changes(votes):
    whole = annot.split(votes, item="question")
    part = annot.split(votes[100:200], item="question")
    assert part["split"].tolist() == whole["split"][100:200].tolist()
    assert (whole.groupby("question")["split"].nunique() == 1).all()
    place = int(hashlib.sha256(b"\0" + b"1000").hexdigest()[:14], 16) / 16**14
    part = "train" if place < 0.8 else "dev" if place < 0.9 else "test"
    assert whole.set_index("question")["split"].to_dict()[1000] == part
    assert annot.split(pl.from_pandas(votes), item="question")["split"].to_list() == (
        whole["split"].tolist()
    )
    salted = annot.split(votes, item="question", salt="2")
    assert salted["split"].tolist() != whole["split"].tolist()


def test_shares_are_met():
    frame = pd.DataFrame({"item": range(20_000)})
    counts = annot.split(frame, shares={"a": 0.5, "b": 0.3, "c": 0.2})["split"].value_counts()
    assert counts["a"] / 20_000 == pytest.approx(0.5, abs=0.02)
    assert counts["c"] / 20_000 == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("frame", "options", "says"),
    [
        ({"item": [1]}, {"shares": {"a": 0.5}}, "that sum to 1"),
        ({"item": [1], "split": ["a"]}, {}, 'has a column "split"'),
        ({"item": [1, None]}, {}, "is missing in 1 rows"),
        ({"x": [1]}, {}, 'column "item" not found'),
    ],
)
def test_bad_splits(frame, options, says):
    with pytest.raises(ConfigError, match=says):
        annot.split(pd.DataFrame(frame), **options)


# --- soft labels -----------------------------------------------------------------------------


@pytest.mark.slow
def test_soft_labels_of_a_release_are_what_experts_decided(build_campaign, tmp_path):
    votes = "item,judge,label,control\n" + "".join(
        f"i{n},w{judge},{'ab'[(n + (judge == n % 4)) % 2]},none\n"
        for n in range(12)
        for judge in range(4)
    )
    fields = {name: name for name in ("item", "judge", "label", "control")}
    source = {"path": "exports/a.csv", "format": "csv", "fields": fields}
    build_campaign({"a.csv": votes + "i1,lea,a,adjudication\n"}, sources=[source])
    gold = annot.open(tmp_path / "campaign" / "gold")
    soft = gold.soft_labels().to_pandas().set_index("item")
    assert soft.loc["i1"].to_dict() == {"a": 1, "b": 0}
    assert np.allclose(soft.sum(axis=1), 1)
    published = gold.table("label_distributions").to_pandas()
    row = published[(published["item"] == "i2") & (published["label"] == "a")].iloc[0]
    assert soft.loc["i2", "a"] == row["probability"]
    with pytest.raises(ConfigError, match="no such task with labels"):
        gold.soft_labels("other")
