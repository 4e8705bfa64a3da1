"""Doubtful items are listed with the reasons, in the order of doubt."""

from __future__ import annotations

import csv
import json
import re

import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.items import REASONS, list_items
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.storage.releases import Releases

EXPORT = "item,judge,label,text\n" + "".join(
    f"i{i},w{j},{answer},text {i}\n"
    for i, answers in enumerate(["aaaa"] * 8 + ["bbbb"] * 8 + ["aabb", "abbb", "a"])
    for j, answer in enumerate(answers)
)
ITEMS = [{"path": "exports/*.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}]


@pytest.fixture
def campaign(start_campaign):
    return load_campaign(start_campaign({"a.csv": EXPORT}, items=ITEMS))


def items(campaign, **chosen):
    return list_items(campaign, **chosen)["item"].to_pylist()


def test_the_least_probable_label_comes_first_with_votes_and_reasons(campaign):
    rows = {row["item"]: row for row in list_items(campaign).to_pylist()}
    assert len(rows) == 19
    assert {*list(rows)[:2]} == {"i16", "i18"}
    assert rows["i16"]["votes"] == "a x2, b x2"
    assert "split votes" in rows["i16"]["reasons"]
    assert "one judge" in rows["i18"]["reasons"]
    assert rows["i17"]["votes"] == "b x3, a x1"
    assert (rows["i0"]["label"], rows["i0"]["runner_up"]) == ("a", "b")
    assert rows["i0"]["text"] == "text 0"
    probabilities = [row["probability"] for row in rows.values()]
    assert probabilities == sorted(probabilities)


def test_a_terminal_of_80_columns_shows_reasons_and_runners_up(campaign, capsys, monkeypatch):
    monkeypatch.setattr("annot_pipeline.cli.render.terminal_columns", lambda: 80)
    assert main(["items", str(campaign.folder), "--rows", "99"]) == 0
    _, heads, *lines = capsys.readouterr().out.splitlines()
    assert "reasons" in heads.split()
    [row] = [row for row in list_items(campaign).to_pylist() if row["item"] == "i16"]
    shown = f"{row['runner_up']} ({row['runner_up_probability']:.2g})"
    [line] = [line for line in lines if line.startswith("  i16 ")]
    assert re.search(rf" {re.escape(shown)} +a x2, b", line), line
    assert not any("no room" in line for line in lines)


def test_items_are_chosen_by_task_label_judge_and_reason(campaign):
    assert set(items(campaign, reason="split votes")) == {"i16"}
    assert set(items(campaign, reason="one judge")) == {"i18"}
    assert "i0" not in items(campaign, label="b")
    judges = set(list_items(campaign)["item"].to_pylist())
    assert set(items(campaign, uncertain=True)) <= judges
    (judge,) = {
        row["judge"]
        for row in Releases.for_campaign(campaign).get().table("judgments").to_pylist()
        if row["item"] == "i18"
    }
    assert "i18" in items(campaign, judge=judge)
    (task,) = set(list_items(campaign)["task"].to_pylist())
    assert items(campaign, task=task) == items(campaign)
    assert all(isinstance(items(campaign, reason=reason), list) for reason in REASONS)


@pytest.mark.parametrize(
    ("chosen", "title"),
    [
        ({"reason": "uncertan"}, "an unknown reason"),
        ({"task": "zz", "uncertain": True}, "an unknown task"),
        ({"judge": "nobody"}, "an unknown judge"),
    ],
)
def test_what_the_release_does_not_have_is_refused(campaign, chosen, title):
    with pytest.raises(ConfigError, match=title):
        list_items(campaign, **chosen)


def test_the_name_that_is_like_it_is_said(campaign, capsys):
    (task,) = set(list_items(campaign)["task"].to_pylist())
    assert main(["items", str(campaign.folder), "--uncertain", "--task", f"{task}x"]) == 2
    error = capsys.readouterr().err
    assert f"allowed: {task}" in error
    assert f"did you mean {task}?" in error


def test_the_command_writes_a_queue(campaign, tmp_path, capsys):
    queue = tmp_path / "queue.csv"
    assert main(["items", str(campaign.folder), "--rows", "2", "-o", str(queue)]) == 0
    assert "19 items, the most doubtful first" in capsys.readouterr().out
    with queue.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 19
    assert {row["item"]: row["votes"] for row in rows}["i16"] == "a x2, b x2"
    assert main(["items", str(campaign.folder), "--json", "--rows", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["n_items"], len(document["items"])) == (19, 1)


def test_no_row_asked_for_is_not_no_item(campaign, capsys):
    assert main(["items", str(campaign.folder), "--rows", "0"]) == 0
    shown = capsys.readouterr().out
    assert "no item fits" not in shown
    assert shown.startswith("next: -o FILE.csv writes all of them")


def test_a_label_that_no_item_has_is_refused_with_the_labels_there_are(campaign, capsys):
    assert main(["items", str(campaign.folder), "--label", "c"]) == 2
    message = capsys.readouterr().err
    assert "no such label" in message
    assert "a, b" in message


def test_a_spreadsheet_takes_no_cell_for_a_formula(start_campaign, tmp_path):
    """The csv is for people; Parquet, and the decisions that a build reads, hold what is there."""
    names = ["=1+1", "+1", "-1", "@x", "i5"]
    export = "item,judge,label\n" + "".join(
        f"{name},w{n},{'ab'[n % 2]}\n" for name in names for n in range(3)
    )
    campaign = start_campaign({"a.csv": export})
    for ending in ("csv", "parquet"):
        assert main(["items", str(campaign), "-o", str(tmp_path / f"queue.{ending}")]) == 0
    with (tmp_path / "queue.csv").open() as file:
        cells = [row["item"] for row in csv.DictReader(file)]
    assert sorted(cells) == sorted(["'=1+1", "'+1", "'-1", "'@x", "i5"])
    assert sorted(pq.read_table(tmp_path / "queue.parquet")["item"].to_pylist()) == sorted(names)


def test_items_without_a_judgment_that_counts_are_listed(start_campaign):
    """Also of a task all of whose answers were rejected."""
    text = "task,item,judge,label\n" + "".join(
        f"{task},{item},w{j},{label}\n"
        for task, item, label in [
            ("t", "i0", "a"),
            ("t", "i1", "b"),
            ("t", "i2", "c"),
            ("u", "k0", "c"),
        ]
        for j in range(3)
    )
    source = {"path": "exports/*.csv", "format": "csv", "fields": {
        name: name for name in ("task", "item", "judge", "label")}}  # fmt: skip
    tasks = [{"name": "*", "kind": "categorical", "labels": ["a", "b"]}]
    gates = {"rejected_share": {"error": 1}}
    folder = start_campaign({"a.csv": text}, sources=[source], tasks=tasks, gates=gates)
    loaded = load_campaign(folder)
    rows = list_items(loaded, reason="no judgment counts").to_pylist()
    assert [(row["task"], row["item"], row["label"]) for row in rows] == [
        ("t", "i2", None), ("u", "k0", None),
    ]  # fmt: skip
    assert items(loaded, task="u") == ["k0"]


@pytest.mark.slow
def test_scores_and_pairs_are_listed_by_how_far_judges_differ(start_campaign, capsys):
    scores = [("s", f"i{n}", "", "", f"w{j}", 50 + n + 20 * j * (n == 3), "")
              for n in range(5) for j in range(2)]  # fmt: skip
    pairs = [("p", "", *("xy" if judge == "w0" else "yx"), judge, "", won)
             for judge, won in (("w0", "a"), ("w1", "b"), ("w2", "a"))]  # fmt: skip
    names = ("task", "item", "item_a", "item_b", "judge", "score", "preference")
    text = "".join(",".join(map(str, row)) + "\n" for row in (names, *scores, *pairs))
    source = {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in names}}
    tasks = [{"name": "s", "kind": "scalar"}, {"name": "p", "kind": "pairwise"}]
    folder = start_campaign({"a.csv": text}, sources=[source], tasks=tasks)
    rows = {row["item"]: row for row in list_items(load_campaign(folder)).to_pylist()}
    assert next(iter(rows)) == "x | y"
    assert (rows["x | y"]["votes"], rows["x | y"]["n_judges"]) == ("x is better x2, y is better", 3)
    assert rows["i3"]["votes"] == "53, 73"
    assert (rows["i3"]["reasons"], rows["i3"]["label"]) == ("scores differ", None)
    assert main(["items", str(folder), "--reason", "scores differ"]) == 0
    assert "53, 73" in capsys.readouterr().out
    assert items(load_campaign(folder), uncertain=True) == []
