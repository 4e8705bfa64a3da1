"""annot score: files of predictions against a release, figures worked by hand."""

from __future__ import annotations

import gzip
import io
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.cli.score import NAMES
from annot_pipeline.methods.labels.prediction_scores import FIGURES
from tests.scoring.conftest import TWO_TASKS

ONE = {"mood": TWO_TASKS["mood"]}
WIDE = "item,p_yes,p_no\na,0.9,0.1\nb,0.25,0.75\nc,0.4,0.6\n"
LOSS = {
    "a": -0.8 * math.log(0.9) - 0.2 * math.log(0.1),
    "b": -0.5 * math.log(0.25) - 0.5 * math.log(0.75),
    "c": -0.03 * math.log(0.4) - 0.97 * math.log(0.6),
}
ENTROPY = {
    item: -sum(p * math.log(p) for p in shares.values()) for item, shares in ONE["mood"].items()
}


def value(part, name):
    return part["figures"][name]["value"]


def half_sure(p):
    """Halfway between a probability of two classes and .5."""
    return 0.25 + p / 2


HALF_SURE = {
    item: -sum(half_sure(p) * math.log(half_sure(p)) for p in shares.values())
    for item, shares in ONE["mood"].items()
}
"""Entropy of each item under `half_sure`."""


def test_gold_is_published_unless_raw_is_asked_for(publish, scored):
    publish(ONE, dawid_skene=half_sure)
    own = "item,label,probability,dawid_skene_probability\na,yes,0.8,0.65\na,no,0.2,0.35\n"
    _, actual, _ = scored("release.csv", own)
    assert actual["gold_column"] == "probability"
    assert value(actual["micro"], "entropy") == pytest.approx(ENTROPY["a"])
    assert value(actual["micro"], "kl") == pytest.approx(0, abs=1e-12)
    _, raw, _ = scored("release.csv", own, "--raw")
    assert raw["gold_column"] == "dawid_skene_probability"
    assert value(raw["micro"], "entropy") == pytest.approx(HALF_SURE["a"])
    assert value(raw["micro"], "kl") == pytest.approx(0, abs=1e-12)


def test_probabilities_by_hand(publish, scored):
    publish(ONE)
    status, actual, _ = scored("model.csv", WIDE)
    assert status == 0
    (task,) = actual["tasks"]
    loss, entropy = sum(LOSS.values()) / 3, sum(ENTROPY.values()) / 3
    assert value(task, "log_loss") == pytest.approx(loss)
    assert value(task, "entropy") == pytest.approx(entropy)
    assert value(task, "kl") == pytest.approx(loss - entropy)
    assert value(task, "accuracy") == pytest.approx(2 / 3)  # b: gold says yes, by class order
    assert value(task, "expected_accuracy") == pytest.approx((0.8 + 0.5 + 0.97) / 3)
    assert value(task, "log_loss_label") == pytest.approx(
        -(math.log(0.9) + math.log(0.25) + math.log(0.6)) / 3
    )
    assert actual["micro"]["figures"] == task["figures"]
    assert value(actual["macro"], "kl") == value(task, "kl")
    assert actual["form"]["name"] == "columns"
    assert actual["why_null"] == {}
    assert task["calibration"]["error"] == pytest.approx((0.1 + 0.25 + 0.37) / 3)
    beside = {name: value({"figures": of}, "kl") for name, of in task["baselines"].items()}
    assert {*beside} == {"prevalence", "gold"}, "gold was made of votes: they are no baseline"
    assert beside["gold"] == pytest.approx(0, abs=1e-15)
    yes = (0.8 + 0.5 + 0.03) / 3
    share_entropy = -yes * math.log(yes) - (1 - yes) * math.log(1 - yes)
    assert beside["prevalence"] == pytest.approx(share_entropy - entropy)
    assert [row["n_items"] for row in task["by_certainty"]] == [0, 1, 1, 1, 0, 0]
    assert actual["farthest"][0]["item"] == "c"
    assert "annot trace" in actual["next"]


FORMS = {
    "bare.tsv": WIDE.replace("p_", "").replace(",", "\t"),
    "prob.csv": WIDE.replace("p_", "prob_"),
    "other-order.csv": "p_no,note,p_yes,item\n0.6,x,0.4,c\n0.1,y,0.9,a\n0.75,z,0.25,b\n",
    "zipped.csv.gz": gzip.compress(WIDE.encode()),
    "long.csv": "item,label,probability\n"
    "b,no,0.75\na,yes,0.9\na,no,0.1\nb,yes,0.25\nc,no,.6\nc,yes,.4",
    "columns.jsonl": '{"item": "a", "yes": 0.9, "no": 0.1}\n'
    '{"item": "c", "yes": 0.4, "no": 0.6}\n'
    '{"item": "b", "yes": 0.25, "no": 0.75, "label": "no"}\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_all_forms_say_the_same(publish, scored, name):
    publish(ONE)
    expected = scored("model.csv", WIDE)[1]
    actual = scored(name, FORMS[name])[1]
    for part in ("tasks", "micro", "macro", "farthest", "matched", "gold_without_prediction"):
        assert actual[part] == expected[part], part


def test_parquet_of_floats(publish, scored):
    publish(ONE)
    file = io.BytesIO()
    rows = {"item": ["a", "b", "c"], "yes": [0.9, 0.25, 0.4], "no": [0.1, 0.75, 0.6]}
    pq.write_table(pa.table(rows), file)
    actual = scored("model.parquet", file.getvalue())[1]
    assert actual["tasks"] == scored("model.csv", WIDE)[1]["tasks"]


def test_labels_have_no_log_loss_and_it_is_said_why(publish, scored):
    publish(ONE, majority={("mood", "a"): "no"})
    _, actual, _ = scored("labels.csv", "item,answer\nc,no\nb,yes\na,no\n", "--label", "answer")
    (task,) = actual["tasks"]
    assert value(task, "log_loss") is None
    assert "labels" in actual["why_null"]["log_loss"]
    assert task["calibration"] is None
    assert value(task, "accuracy") == pytest.approx(2 / 3)
    assert value(task, "expected_accuracy") == pytest.approx((0.2 + 0.5 + 0.97) / 3)
    assert "majority_vote" not in task["baselines"]
    prevalence = task["baselines"]["prevalence"]
    assert prevalence["expected_accuracy"]["value"] == pytest.approx((0.2 + 0.5 + 0.97) / 3)
    assert [row["item"] for row in actual["farthest"]] == ["a"]
    classes = {row["label"]: row for row in task["by_class"]}
    assert (classes["yes"]["n_gold"], classes["yes"]["n_predicted"]) == (2, 1)
    assert classes["yes"]["mass"] == pytest.approx(1.33)


def test_an_adjudicated_item_is_what_the_expert_said(publish, scored):
    publish(ONE, {("mood", "a"): "no", ("mood", "only-expert"): "maybe"})
    text = "item,yes,no,maybe\na,0.9,0.1,0\nonly-expert,0,0.5,0.5\nb,0.5,0.5,0\nc,0.03,0.97,0\n"
    (task,) = scored("model.csv", text)[1]["tasks"]
    assert task["classes"] == ["yes", "no", "maybe"]
    by_expert = task["by_certainty"][-1]
    assert (by_expert["certainty"], by_expert["n_items"]) == ("adjudicated", 2)
    assert value(by_expert, "entropy") == 0
    assert value(by_expert, "log_loss") == pytest.approx(-(math.log(0.1) + math.log(0.5)) / 2)
    assert (task["n_adjudicated"], task["n_without_votes"]) == (2, 1)
    assert sum(row["n_items"] for row in task["by_certainty"]) == 4


def test_tasks_pooled_and_averaged(publish, scored):
    publish(TWO_TASKS)
    text = "task,item,label\nmood,a,yes\nmood,b,no\nmood,c,no\ntone,a,2\ntone,d,10\n"
    _, actual, _ = scored("labels.csv", text)
    assert [task["task"] for task in actual["tasks"]] == ["mood", "tone"]
    assert value(actual["micro"], "accuracy") == pytest.approx(3 / 5)
    assert value(actual["macro"], "accuracy") == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert value(actual["macro"], "expected_accuracy") == pytest.approx(
        ((0.8 + 0.5 + 0.97) / 3 + (0.1 + 1) / 2) / 2
    )
    assert actual["tasks"][1]["classes"] == ["1", "2", "10"]
    _, one, _ = scored("labels.csv", text, "--task", "tone")
    assert one["tasks"] == [actual["tasks"][1]]
    assert one["other_tasks"] == {"mood": 3}
    _, alone, _ = scored("labels.csv", "item,label\na,2\nd,10\n", "--task", "tone")
    assert alone["tasks"] == one["tasks"]


def test_what_is_left_out_is_counted(publish, scored):
    publish(TWO_TASKS)
    text = "task,item,label,extra\nmood,zz,yes,\nmood,a,yes,\nmoods,b,no,\ntone,y,1,\nmood,zz,no,\n"
    _, actual, _ = scored("labels.csv", text)
    counts = ("rows", "matched_rows", "matched", "gold_items")
    assert [actual[name] for name in counts] == [5, 1, 1, 5]
    assert actual["unknown_items"] == {"n": 3, "first": ["zz", "y"]}
    assert actual["unknown_tasks"] == {"moods": 1}
    assert actual["gold_without_prediction"] == {"n": 4, "first": ["b", "c", "a", "d"]}
    assert actual["form"]["ignored"] == ["extra"]


@pytest.mark.slow
def test_same_file_same_bytes_and_rows_in_any_order(publish, scored):
    rng = list(range(40))
    shares = {"mood": {f"i{n:02}": {"yes": n / 40, "no": 1 - n / 40} for n in rng}}
    publish(shares)
    rows = [f"i{n:02},{(n * 7 % 40) / 40}\n" for n in rng]
    lines = [f"{row.strip()},{1 - float(row.split(',')[1])}\n" for row in rows]
    first = scored("a.csv", "item,yes,no\n" + "".join(lines))[1]
    second = scored("a.csv", "item,yes,no\n" + "".join(reversed(lines)))[1]
    assert first == second
    interval = first["tasks"][0]["figures"]["kl"]
    assert interval["ci_low"] < interval["value"] < interval["ci_high"]
    fewer = scored("a.csv", "item,yes,no\n" + "".join(lines), "--rounds", 0)[1]
    assert fewer["tasks"][0]["figures"]["kl"] == {
        "value": interval["value"], "ci_low": None, "ci_high": None,
    }  # fmt: skip
    other = scored("a.csv", "item,yes,no\n" + "".join(lines), "--set", "seed=18")[1]
    assert other["tasks"][0]["figures"]["kl"] != interval


def test_zeros_are_floored_and_counted(publish, scored):
    publish(ONE)
    text = "item,yes,no\na,1,0\nb,0,1\nc,0.03,0.97\n"
    (task,) = scored("model.csv", text, "--floor", "0.001")[1]["tasks"]
    loss = -0.2 * math.log(0.001) - 0.5 * math.log(0.001) + ENTROPY["c"]
    assert value(task, "log_loss") == pytest.approx(loss / 3)
    assert task["n_floored"] == 2


def test_an_older_release_is_scored_against(publish, scored):
    publish(ONE)
    publish({"mood": {"a": {"yes": 0.0, "no": 1.0}}})
    assert scored("x.csv", "item,label\na,no\n")[1]["release"] == "v0002"
    _, actual, _ = scored("x.csv", "item,label\na,no\n", "--release", "v0001")
    assert (actual["release"], value(actual["micro"], "accuracy")) == ("v0001", 0)


def test_text_fits_a_terminal_and_shows_no_control_characters(publish, folder, capsys, monkeypatch):
    monkeypatch.setattr("annot_pipeline.cli.render.terminal_columns", lambda: 80)
    evil = "\x1b[31m<script>\u202e" + "x" * 300
    publish({"mood\x07": {evil: {evil: 0.3, "no": 0.7}, "b": {evil: 1.0, "no": 0.0}}})
    path = folder / "m.jsonl"
    path.write_text(json.dumps({"item": evil, "label": evil}) + '\n{"item": "b", "label": "no"}')
    assert main(["score", str(folder), str(path)]) == 0
    out = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in out)
    body = out.splitlines()
    assert max(len(line) for line in body[1:] if line.startswith("  ")) <= 80
    assert body[-1].startswith("next: annot trace ")


def test_the_documentation_names_every_key(publish, scored):
    publish(ONE)
    docs = Path(__file__).parents[2] / "docs"
    pages = ("score.md", "reference/cli.md")
    text = "".join((docs / page).read_text(encoding="utf-8") for page in pages)

    def keys(part):
        if isinstance(part, dict):
            for key, inner in part.items():
                yield key
                yield from keys(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from keys(inner)

    actual = set(keys(scored("model.csv", WIDE)[1])) - {"yes", "no"}
    assert {key for key in actual if f"`{key}`" not in text and f'"{key}"' not in text} == set()


def test_names_left_out_are_counted_whole(publish, folder, capsys):
    publish({"mood": TWO_TASKS["mood"]})
    rows = "".join(f"x{n},yes\n" for n in range(781))
    (folder / "m.csv").write_text("item,label\na,yes\n" + rows)
    assert main(["score", str(folder), str(folder / "m.csv")]) == 0
    out = capsys.readouterr().out
    missing = "n 781; first x0, x1, x2, x3, x4"
    assert f"  rows left out, items that gold does not have: {missing}\n" in out


def test_classes_of_tasks_that_the_file_is_not_about_are_not_missed(publish, scored):
    publish(TWO_TASKS)
    actual = scored("m.csv", "task,item,p_yes,p_no\nmood,a,1,0\n")[1]
    assert actual["form"]["classes_without_column"] == []


def test_every_figure_has_a_name():
    assert tuple(NAMES) == FIGURES


# --- scores of items -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_items_are_written_with_the_largest_disagreements_first(publish, scored, tmp_path, ending):
    publish(ONE)
    path = tmp_path / f"items.{ending}"
    _, actual, _ = scored("model.csv", WIDE, "-o", str(path))
    assert actual["items_path"] == str(path)
    rows = (
        pq.read_table(path) if ending == "parquet" else pa_csv.read_csv(path)
    ).to_pylist()  # fmt: skip
    kl = {item: LOSS[item] - ENTROPY[item] for item in LOSS}
    assert [row["item"] for row in rows] == sorted(kl, key=lambda item: -kl[item])
    assert [row["distance"] for row in rows] == pytest.approx(sorted(kl.values(), reverse=True))
    assert rows[0]["predicted_probability"] == 0.6


@pytest.mark.parametrize(
    ("name", "says"), [("items.txt", ".csv, .parquet"), ("no/items.csv", "there is no folder")]
)
def test_items_cannot_be_written_there(publish, scored, tmp_path, name, says):
    publish(ONE)
    status, _, err = scored("model.csv", WIDE, "-o", str(tmp_path / name))
    assert status == 2
    assert says in err


def test_the_terminal_says_what_was_done_to_probabilities(publish, folder, capsys):
    publish(ONE)
    (folder / "m.csv").write_text("item,yes,no\na,1,0\nb,0,1\nc,0.03,0.97\n")
    assert main(["score", str(folder), str(folder / "m.csv"), "--floor", "0.001"]) == 0
    assert "  items with a probability raised to 0.001: 2\n" in capsys.readouterr().out
