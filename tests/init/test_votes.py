"""Guessed campaigns: counts of votes without judges, where columns are unambiguous."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.conftest import stage_file

BY_AFFIX = "photo_id,n_cat,n_dog,n_total\na,4,1,5\nb,0,3,3\nc,2,2,4\n"
BY_SUFFIX = "photo_id,cat_votes,dog_votes\na,4,1\nb,0,3\nc,2,2\n"
BY_TOTAL = "photo_id,count,cat,dog,class,caption\na,5,4,1,0,x y\nb,3,0,3,1,z\nc,4,2,2,0,x\n"
BY_ROW = "photo_id,label,count\na,cat,4\na,dog,1\nb,cat,0\nb,dog,3\nc,dog,2\nc,cat,2\n"
BY_KEY = "".join(
    json.dumps({"photo_id": item, "label_counter": votes, "entropy": 0.5}) + "\n"
    for item, votes in {
        "a": {"cat": 4, "dog": 1},
        "b": {"dog": 3},
        "c": {"cat": 2, "dog": 2},
    }.items()
)
VOTES = [("a", "cat", 4), ("a", "dog", 1), ("b", "dog", 3), ("c", "cat", 2), ("c", "dog", 2)]


def guess(folder: Path, text: str, name: str = "votes.csv") -> Path:
    (folder / "exports").mkdir()
    export = folder / "exports" / name
    export.write_text(text, encoding="utf-8")
    (folder / "campaign.yaml").write_text(guess_campaign([export], folder), encoding="utf-8")
    return folder


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (BY_AFFIX, "votes.csv"), (BY_SUFFIX, "votes.csv"), (BY_TOTAL, "votes.csv"),
        (BY_ROW, "votes.csv"), (BY_KEY, "votes.jsonl"),
    ],
)  # fmt: skip
def test_counts_are_mapped_to_votes(tmp_path: Path, text: str, name: str) -> None:
    folder = guess(tmp_path, text, name)
    [source] = load_campaign(folder).settings.sources
    assert "judge" not in source.fields
    assert "no judge can be measured" in " ".join((folder / "campaign.yaml").read_text().split())
    rows: list[dict[str, Any]] = stage_file(folder).rows("label_distributions")
    assert [(row["item"], row["label"], row["votes"]) for row in rows] == VOTES


@pytest.mark.parametrize(
    "text",
    [
        "id,label,n\na,cat,4\nb,dog,3\n",  # n may count all answers
        "id,label,n\na,cat,4\na,cat,3\na,dog,3\n",
        "id,cat,dog\na,4,1\nb,0,3\n",
        "id,n_cat,n_dog,n_fox\na,4,x,1\nb,0,3,1\n",
        "id,n_cat,n_dog,n_fox\na,4,-1,1\nb,0,3,1\n",
        "id,n_cat,n_dog,n_fox\na,4,,1\nb,0,3,1\n",
        "id,n_cat,n_dog\na,4,1\na,0,3\n",  # which item is which?
        "id,count,cat,dog,fox\na,5,4,1,0\nb,3,0,3,0\n",  # fox may be none of the labels
        "town,19 votes,23 votes,people\na,4,1,70\na,0,3,80\nb,1,2,90\n",  # people name nothing
    ],
)
def test_what_may_be_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        guess(tmp_path, text)
    assert re.search("who judged|counts of votes", str(raised.value))


def test_counts_beside_judges_are_no_votes(tmp_path: Path) -> None:
    rows = [
        f"i{i},w{j},{'yes' if (i + j) % 3 else 'no'},{i % 4}" for i in range(9) for j in range(4)
    ]
    folder = guess(tmp_path, "item,worker,label,count\n" + "\n".join([*rows, ""]))
    [source] = load_campaign(folder).settings.sources
    assert "judge" in source.fields
    assert "votes" not in source.fields


def test_hostile_classes_stay_data(tmp_path: Path) -> None:
    text = 'id,"n_{k}: [x]","n_#\'quote""",n_yes\na,4,1,0\nb,0,3,1\n'
    rows = stage_file(guess(tmp_path, text)).rows("label_distributions")
    assert {row["label"] for row in rows} == {"{k}: [x]", "#'quote\"", "yes"}


def test_how_many_gave_the_majority_is_no_label(tmp_path: Path) -> None:
    rows = [f"i{n},{n % 4},{3 - n % 4},{max(n % 4, 3 - n % 4)}" for n in range(12)]
    folder = guess(tmp_path, "id,votes_yes,votes_no,num_majority_votes\n" + "\n".join([*rows, ""]))
    [source] = load_campaign(folder).settings.sources
    assert source.each == {"k": ("yes", "no")}


def test_columns_of_the_judges_whom_others_count(tmp_path: Path) -> None:
    header = "case_id,gold,label_1,label_2,label_3,label_4,count_yes,count_no"
    rows = []
    for n in range(20):
        said = ["yes" if (n + k) % 3 else "no" for k in range(4)]
        said[n % 4] = ""
        rows.append(",".join([f"i{n}", "yes", *said, *(str(said.count(v)) for v in ("yes", "no"))]))
    folder = guess(tmp_path, "\n".join([header, *rows, ""]))
    [source] = load_campaign(folder).settings.sources
    assert source.each == {"rater": ("label_1", "label_2", "label_3", "label_4")}
    assert "votes" not in source.fields
    assert {"item", "judge", "label", "truth"} <= {*source.fields}


def test_two_columns_together_may_name_what_was_counted(tmp_path: Path) -> None:
    text = "character, type, count_1, count_2\n"
    text += "".join(f"{c},{t},{n},{3 - n}\n" for n, c in enumerate("abc") for t in ("old", "new"))
    campaign = guess_campaign([guess(tmp_path, text) / "exports" / "votes.csv"], tmp_path)
    assert 'item: {join: [character, " type"], sep: ":"}' in campaign
    assert 'votes: " count_{k}"' in campaign
