"""annot score on a release that was built: gold's own answers, and votes, as predictions."""

from __future__ import annotations

import json
import math

import pyarrow.csv
import pyarrow.parquet
import pytest

from annot_pipeline.cli import main

ROWS = "item,judge,label\n" + "".join(
    f"i{i:02},w{j},{'yes' if (i % 2 == 0) == ((i * 7 + j * j) % 5 > 0) else 'no'}\n"
    for i in range(30)
    for j in range(5)
)


@pytest.fixture
def scored(build_campaign, tmp_path, capsys):
    def run(rows, *more):
        build_campaign({"a.csv": ROWS})
        folder = tmp_path / "campaign"
        path = tmp_path / "predictions.csv"
        pyarrow.csv.write_csv(rows(folder / "gold" / "v0001"), path)
        assert main(["score", str(folder), str(path), "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def table(release, name):
    return pyarrow.parquet.read_table(release / f"{name}.parquet")


@pytest.mark.slow
def test_gold_scores_as_gold(scored):
    actual = scored(lambda release: table(release, "label_distributions"))
    (task,) = actual["tasks"]
    assert actual["form"]["name"] == "long"
    assert (task["task"], task["n_items"]) == ("small", 30)
    assert task["scored_on"] == "gold"
    assert {*task["baselines"]} == {"prevalence", "gold"}
    assert task["figures"] == task["baselines"]["gold"]
    assert task["figures"]["kl"]["value"] == pytest.approx(0, abs=1e-12)
    assert task["figures"]["log_loss"]["value"] == pytest.approx(
        task["figures"]["entropy"]["value"]
    )
    assert task["mean_f1"]["value"] == 1


@pytest.mark.slow
def test_votes_score_as_the_majority(build_campaign, tmp_path, capsys):
    """On known items: elsewhere votes made the gold, and are no baseline."""
    rows = ROWS + ROWS.replace("i", "k").replace("ktem,judge,label\n", "")
    folder = tmp_path / "campaign"
    folder.mkdir()
    truths = [
        f"{kind}{n:02},{'no' if n % 2 or n < 9 else 'yes'}\n" for kind in "ik" for n in range(30)
    ]
    (folder / "items.csv").write_text("item,truth\n" + "".join(truths))
    fields = {"item": "item", "truth": "truth"}
    items = [{"path": "items.csv", "format": "csv", "fields": fields}]
    release = build_campaign({"a.csv": rows}, items=items).publication.release
    path = tmp_path / "predictions.csv"
    votes = release.table("labels").select(["item", "majority_label"])
    pyarrow.csv.write_csv(votes.rename_columns(["item", "label"]), path)
    assert main(["score", str(folder), str(path), "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["scored_on"], task["n_items"]) == ("known", 60)
    assert task["figures"] == task["baselines"]["majority_vote"]
    assert task["figures"]["accuracy"]["value"] == pytest.approx(50 / 60)  # of ten, votes say yes


@pytest.mark.slow
def test_a_decision_counts_as_gold(build_campaign, tmp_path, capsys):
    """Of a class that no judge gave, and of an item that nobody judged, too."""
    fields = {"item": "item", "judge": "judge", "label": "label", "control": "control"}
    rows = ROWS.replace("\n", ",none\n").replace("label,none", "label,control")
    rows += "i00,expert,neither,adjudication\nnew,expert,no,adjudication\n"
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    build_campaign({"a.csv": rows}, sources=[source])
    path = tmp_path / "predictions.csv"
    path.write_text("item,yes,no,neither\ni00,.5,.25,.25\nnew,.5,.5,0\n")
    assert main(["score", str(tmp_path / "campaign"), str(path), "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["classes"] == ["no", "yes", "neither"]
    assert (task["n_items"], task["n_adjudicated"], task["n_without_votes"]) == (2, 2, 1)
    assert task["figures"]["entropy"]["value"] == 0
    assert task["figures"]["log_loss"]["value"] == pytest.approx((math.log(4) + math.log(2)) / 2)
    assert task["figures"]["expected_accuracy"]["value"] == 0.5  # of no and yes the first counts
    assert task["n_tied"] == 1
