"""Predictions that cannot be scored: every fault is said, with its row, and nothing is guessed."""

from __future__ import annotations

import json
import re

import pytest

from tests.scoring.conftest import TWO_TASKS

ONE = {"mood": TWO_TASKS["mood"]}
HEAD = "item,p_yes,p_no\n"


@pytest.mark.parametrize(
    ("name", "text", "where", "what", "values"),
    [
        ("m.csv", HEAD + "a,0.9,0.1\nb,0.5,0.4\n", "row 2", "sum to 1", ["0.9"]),
        ("m.csv", HEAD + "a,0.9,-0.1\nb,0.5,0.5\n", "row 1", "below 0", ["-0.1"]),
        ("m.csv", HEAD + "a,90,10\nb,50,50\n", "rows 1, 2", "above 1", ["90", "50"]),
        ("m.csv", HEAD + "a,nan,0.1\nb,,1\nc,x,1\n", "rows 1, 2, 3", "not a number",
         ["nan", "", "x"]),
        ("m.csv", HEAD + "a,inf,0\n", "row 1", "not a number", ["inf"]),
        ("m.csv", HEAD + "b,1,0\na,1,0\na,0,1\na,0,1\n", "rows 3, 4", "another row", ["a"]),
        ("m.csv", HEAD + "a,1,0\n ,1,0\n", "row 2", "item is blank", []),
        ("m.csv", HEAD + "a,1,0\nb,1\n", "row 2", "cannot be split into columns",
         ["ragged row: 2 fields, the header has 3"]),
        ("m.csv", "item,label\na,yes\nb,\n", "row 2", "label is blank", []),
        ("m.csv", "item,label\na,Yes\nb,no\nc,Yes\n", "rows 1, 3", "no class", ["Yes"]),
        ("m.csv", "item,label,probability\na,yes,0.5\na,yes,0.5\n", "row 2", "this class already",
         ["a"]),
        ("m.csv", "item,label,probability\na,yes,0.5\na,meh,0.5\n", "row 2", "no class", ["meh"]),
        ("m.csv", "item,label,probability\na,yes,0.5\na,no,0.4\nb,no,1\n", "row 1", "sum to 1",
         ["0.9"]),
        ("m.jsonl", '{"item": "a", "yes": 1, "no": 0}\n{"item": "b", "yes": 1}\n', "row 2",
         "not a number", [""]),
    ],
)  # fmt: skip
def test_a_fault_is_said_with_its_rows(publish, scored, name, text, where, what, values):
    publish(ONE)
    status, actual, err = scored(name, text)
    assert status == 1
    (problem,) = [p for p in actual["error"]["problems"] if what in p["what"]]
    n_before = name == "m.csv"  # the header
    where = re.sub(r"\d+", lambda row: f"{row[0]} (line {int(row[0]) + n_before})", where)
    assert (problem["where"], problem["values"]) == (where, values)
    assert where in err
    assert "Traceback" not in err


def test_two_spellings_of_a_class_are_a_fault(publish, scored):
    publish({"tone": TWO_TASKS["tone"]})
    text = "item,label,probability\na,1,0.5\na,1.0,0.3\na,2,0.2\n"
    problems = scored("m.csv", text)[1]["error"]["problems"]
    assert [problem["what"] for problem in problems] == ["the item has this class already"]


def test_all_faults_are_said_at_once(publish, scored):
    publish(ONE)
    text = HEAD + "a,0.9,0.2\nb,-1,2\n,1,0\nc,x,1\nc,0,1\n"
    actual = scored("m.csv", text)[1]
    assert [p["where"] for p in actual["error"]["problems"]] == [
        "row 3 (line 4)", "row 5 (line 6)", "row 4 (line 5)", "row 2 (line 3)", "row 1 (line 2)",
    ]  # fmt: skip


def test_rows_that_cannot_be_read_are_named_with_reasons(publish, scored):
    """Lines count blank ones, rows do not."""
    publish(ONE)
    text = HEAD + "\na,1,0\n" + "".join(f"b{',1' * n}\n" for n in range(3, 12)) + "c,1,0\n"
    _, actual, err = scored("m.csv", text)
    [problem] = actual["error"]["problems"]
    assert problem["where"].startswith("rows 2 (line 4), 3 (line 5), ")
    assert problem["where"].endswith(" and 4 more")
    assert problem["values"][0] == "ragged row: 4 fields, the header has 3"
    assert "ragged row: 4 fields, the header has 3" in err
    _, actual, err = scored("m.jsonl", '{"item": "a", "yes": 1, "no": 0}\n{"item": "b", "yes": }\n')
    [problem] = actual["error"]["problems"]
    assert problem["where"] == "row 2 (line 2)"
    assert problem["values"][0] in err


def test_sums_are_mended_only_when_asked(publish, scored):
    publish(ONE)
    text = HEAD + "a,90,10\nb,1,3\nc,0.4,0.6\n"
    assert scored("m.csv", text)[0] == 1
    _, actual, _ = scored("m.csv", text, "--normalize")
    exact = scored("m.csv", HEAD + "a,0.9,0.1\nb,0.25,0.75\nc,0.4,0.6\n")[1]
    (task,) = actual["tasks"]
    assert task["n_normalized"] == 2
    assert task["figures"] == exact["tasks"][0]["figures"]
    status, actual, _ = scored("m.csv", HEAD + "a,0,0\n", "--normalize")
    assert status == 1
    assert "all 0" in actual["error"]["problems"][0]["what"]
    nearly = HEAD + "a,0.9,0.1000005\n"
    assert scored("m.csv", nearly)[1]["tasks"][0]["n_normalized"] == 0


def test_unknown_classes_are_wrong_only_when_asked(publish, scored):
    publish(ONE)
    text = "item,label\na,yes\nb,I am not sure\nc,no\n"
    assert scored("m.csv", text)[0] == 1
    (task,) = scored("m.csv", text, "--unknown-wrong")[1]["tasks"]
    assert task["n_unknown_class"] == 1
    assert task["figures"]["expected_accuracy"]["value"] == pytest.approx((0.8 + 0.97) / 3)
    long = "item,label,probability\na,yes,0.3\na,no,0.1\na,?,0.6\n"
    (task,) = scored("m.csv", long, "--unknown-wrong")[1]["tasks"]
    assert task["figures"]["accuracy"]["value"] == 0
    # .8 |(.3, .1, .6) - yes|^2 + .2 |... - no|^2
    by_hand = 0.8 * (0.49 + 0.01 + 0.36) + 0.2 * (0.09 + 0.81 + 0.36)
    assert task["figures"]["brier"]["value"] == pytest.approx(by_hand)


def test_a_confidence_is_no_distribution(publish, scored):
    """With a row an item it is left aside; read as a row an item and class, it is an error."""
    publish(ONE)
    text = "item,label,probability\na,yes,0.9\nb,no,0.7\n"
    _, actual, _ = scored("m.csv", text)
    assert (actual["form"]["name"], actual["form"]["ignored"]) == ("labels", ["probability"])
    status, actual, _ = scored("m.csv", text, "--form", "long")
    assert status == 1
    assert "--form labels" in actual["error"]["problems"][0]["do"]


@pytest.mark.parametrize(
    ("text", "more", "status", "says"),
    [
        ("id,label\na,yes\n", [], 2, "name the column with --item"),
        ("item,answer\na,yes\n", [], 2, "name the column of labels with --label"),
        ("item,label\na,yes\n", ["--label", "answer"], 2, "no column answer"),
        ("item,label\na,yes\n", ["--item", "id"], 2, "no column id"),
        ("item,label\na,yes\n", ["--form", "columns"], 2, "no two classes of gold have a column"),
        ("item,label\na,yes\n", ["--form", "long"], 2, "no column probability"),
        ("item,p_yes,p_no\na,1,0\n", ["--form", "labels"], 2, "no column label"),
        ("item,label\na,yes\n", ["--task", "moot"], 2, "did you mean mood?"),
        ("item,label\na,yes\n", ["--floor", "0"], 2, "--floor: is 0.0"),
        ("item,label\na,yes\n", ["--floor", "nan"], 2, "--floor: is nan"),
        ("item,label\na,yes\n", ["--rounds", "-1"], 2, "--rounds: is -1"),
        ("item,label\n", [], 1, "the file has no rows"),
        ("", [], 1, "the file has no rows"),
        ("Item,label\na,yes\n", [], 2, "did you mean --item Item?"),
        ("item,Label\na,yes\n", [], 2, "did you mean --label Label?"),
        (
            "item,label,label\na,yes,no\n",
            [],
            2,
            "has label 2 times: choose one, as --label 'label#2'",
        ),
        ("item,label\nx,yes\ny,no\n", [], 1, "none of 2 is in gold"),
        ("task,item,label\nother,a,yes\n", [], 1, "1 row of other tasks"),
    ],
)
def test_wrong_usage_names_the_way_out(publish, scored, text, more, status, says):
    publish(ONE)
    actual, _, err = scored("m.csv", text, *more)
    assert (actual, says in err) == (status, True), err


def test_several_tasks_must_be_told_apart(publish, scored):
    publish(TWO_TASKS)
    status, _, err = scored("m.csv", "item,label\na,yes\n")
    assert status == 2
    assert "name the task with --task" in err
    assert "'mood', 'tone'" in err


@pytest.mark.parametrize("name", ["m.xlsx", "m"])
def test_formats_are_told_by_names(publish, scored, name):
    publish(ONE)
    status, _, err = scored(name, "item,label\na,yes\n")
    assert status == 2
    assert "the file name does not show the format" in err


def test_files_that_cannot_be_read(publish, scored, folder, capsys):
    from annot_pipeline.cli import main

    publish(ONE)
    assert main(["score", str(folder), str(folder / "none.csv")]) == 2
    assert "no such file" in capsys.readouterr().err
    for name, data in (("m.parquet", b"PAR1 and so on"), ("m.csv.gz", b"plain"), ("m.jsonl", "[]")):
        status, actual, err = scored(name, data)
        assert status == 1, err
        assert "cannot be read" in actual["error"]["title"]


def test_a_release_without_labels(publish, scored):
    publish({})
    status, actual, _ = scored("m.csv", "item,label\na,yes\n")
    assert status == 1
    assert "not categorical" in actual["error"]["problems"][0]["what"]


def test_what_a_file_says_cannot_reach_the_terminal(publish, folder, capsys):
    from annot_pipeline.cli import main

    publish(ONE)
    path = folder / "m.jsonl"
    path.write_text(json.dumps({"item": "a", "label": "\x1b[2J" + "x" * 10_000}))
    assert main(["score", str(folder), str(path)]) == 1
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert len(err) < 1_000


def test_a_hint_can_be_followed(publish, scored):
    """Columns of probabilities have no labels that --form labels could take."""
    publish(ONE)
    _, columns, _ = scored("m.csv", HEAD + "a,0.9,0.2\n")
    assert "--form" not in columns["error"]["problems"][0]["do"]
    long = "item,label,probability\na,yes,0.9\na,no,0.2\n"
    assert "--form labels" in scored("m.csv", long)[1]["error"]["problems"][0]["do"]


def test_a_column_of_no_class_is_named_where_sums_are_wrong(publish, scored):
    publish(ONE)
    head = "item,p_yes,p_no,p_maybe,note\n"
    (problem,) = scored("m.csv", head + "a,0.6,0.3,0.1,x\n")[1]["error"]["problems"]
    assert problem["allowed"] == "1; not in it, as no class of gold: 'p_maybe'"
    actual = scored("m.csv", head + "a,0.6,0.4,0.1,x\n")[1]
    assert actual["form"]["ignored"] == ["p_maybe", "note"]


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl"])
def test_no_option_of_a_campaign_is_named(publish, scored, name):
    publish(ONE)
    text = {"m.csv": "item,label\na,yes\n", "m.jsonl": '{"item": "a", "label": "yes"}\n'}[name]
    status, actual, err = scored(name, text.encode("utf-16"))
    assert (status, "options." in err) == (1, False)
    assert "write it in UTF-8" in actual["error"]["problems"][0]["do"]
    status, _, err = scored(name, text.replace("yes", "caf\xe9").encode("latin-1"))
    assert (status, "options." in err) == (1, False), err


def test_limits_are_those_of_the_campaign(publish, scored):
    publish(ONE)
    wide = ",".join(["item", "label", *(f"c{n}" for n in range(30))])
    text = f"{wide}\n" + ",".join(["a", "yes", *"0" * 30]) + "\n"
    assert scored("m.csv", text)[0] == 0
    status, _, err = scored("m.csv", text, "--set", "limits.columns=20")
    assert status == 1
    assert "has more than 20 columns" in err
    assert "--set limits.columns=N allows more" in err


def test_a_limit_on_rows_is_named_where_options_are_not(publish, scored):
    publish(ONE)
    text = "item,label\na,yes\n" + f"b,{'x' * (6 << 20)}\n"
    status, _, err = scored("m.csv", text, "--set", "limits.row_bytes=1024")
    assert status == 1
    assert "--set limits.row_bytes=N allows more" in err
    assert "options." not in err
