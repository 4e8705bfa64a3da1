"""annot hits --design audit: a sample of labels, experts' answers, and what they certify."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import Build, stages_for
from assets_defs.metadata import step_metadata
from tests.conftest import Built, build_file, stage_file

N, JUDGES, A_ITEM = 400, 12, 5
ITEMS = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
CLASSES = ("bad", "good")


def truth() -> list[str]:
    """What items are, which experts know."""
    return [CLASSES[x] for x in (np.random.default_rng(5).random(N) < 0.4).astype(int).tolist()]


def write(folder: Path, **settings: Any) -> Path:
    """Judges of accuracy .9 label items, some of which are hard."""
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    (folder / "results").mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    right = np.where(rng.random(N) < 0.25, 0.6, 0.95)
    with (folder / "exports" / "a.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["item", "judge", "label"])
        for n, label in enumerate(truth()):
            for judge in rng.choice(JUDGES, A_ITEM, replace=False).tolist():
                is_right = rng.random() < right[n]
                other = CLASSES[label == "bad"]
                out.writerow([f"i{n:03}", f"judge{judge}", label if is_right else other])
    with (folder / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["item", "text"], *([f"i{n:03}", f"text {n}"] for n in range(N))]
        )
    document = {
        "campaign": "small",
        "sources": [
            {"path": "exports/*.csv", "format": "csv",
             "fields": {"item": "item", "judge": "judge", "label": "label"}},
        ],
        "items": [ITEMS],
        "tasks": [{"name": "*", "kind": "categorical", "labels": [*CLASSES]}],
        "agreement": {"bootstrap": 0},
    } | settings  # fmt: skip
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def build_labels(folder: Path) -> None:
    build_file(write(folder))


@pytest.fixture
def campaign(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    """The campaign with its release, which tests share."""
    return copy_campaign(build_labels, tmp_path / "campaign")


def draw(capsys: pytest.CaptureFixture[str], folder: Path, n: int = 60) -> dict[str, Any]:
    command = ["hits", str(folder), "--design", "audit", "-n", str(n), "--upload", "jsonl"]
    status = main([*command, "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    document: dict[str, Any] = json.loads(out.out)
    return document


def answer(
    folder: Path, document: dict[str, Any], judge: str = "anna", *, wrong: int = 0, skip: int = 0
) -> list[str]:
    """An expert answers a batch: some items otherwise than the label, and some not at all."""
    labels = {
        row["item"]: row["label"]
        for row in pq.read_table(folder / "gold" / "v0001" / "labels.parquet").to_pylist()
    }
    lines, items = [], []
    for file in document["tasks"][0]["files"]:
        for line in Path(file["path"]).read_text().splitlines():
            hit = json.loads(line)
            answers: list[str | None] = []
            for slot in hit["annot_hit"]["slots"]:
                label = labels[slot["item"]]
                other = CLASSES[label == "bad"]
                answers.append(other if len(items) < wrong else label)
                items.append(slot["item"])
            if skip:
                answers[:skip], skip = [None] * skip, 0
            lines.append(json.dumps(hit | {"judge": judge, "answers": answers}))
    (folder / "results" / f"{judge}.jsonl").write_text("\n".join(lines) + "\n")
    settings = json.loads((folder / "campaign.yaml").read_text())
    settings["sources"][1:] = [{"path": "results/*.jsonl", "format": "hits"}]
    (folder / "campaign.yaml").write_text(json.dumps(settings))
    return items


def certificate(built: Built) -> dict[str, Any]:
    """What the manifest says of the only task."""
    return dict(built.publication.release.manifest["facts"]["certificates"]["small"])


def labels_of(built: Built) -> dict[str, dict[str, Any]]:
    return {row["item"]: row for row in built.rows("labels")}


def changed_audits(built: Built) -> tuple[str, str]:
    """The level of the gate, and the tasks that it names."""
    checks = built.publication.release.manifest["checks"]
    [check] = [check for check in checks if check["name"] == "changed_audits"]
    return check["level"], check["detail"]


def bound_in_dagster(folder: Path) -> float | None:
    """The number that Dagster plots of an audit."""
    build = Build(load_campaign(folder))
    runs = [build.run_stage(stage) for stage in stages_for(["labels"])]
    metadata = step_metadata(build, runs[-1:], "labels", is_persistent=False)
    return metadata.get("audit small bound")


@pytest.mark.slow
def test_answers_that_were_edited_after_the_verdict_are_named(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They certify what the answers of before did not; answers that were removed are named, too."""
    sample = draw(capsys, campaign)
    answer(campaign, sample, wrong=4)
    built = build_file(campaign)
    assert not certificate(built)["certified"]
    assert changed_audits(built) == ("pass", "")
    assert bound_in_dagster(campaign) == pytest.approx(0.146, abs=5e-4)
    answer(campaign, sample)
    built = build_file(campaign)
    assert certificate(built)["certified"]
    assert changed_audits(built) == ("warn", "small 4 of 60 answers")
    answer(campaign, sample, skip=1)
    assert changed_audits(build_file(campaign)) == ("warn", "small 1 of 60 answers")
    assert bound_in_dagster(campaign) is None


def test_an_audit_certifies_the_labels_of_its_release(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {
        row["item"]: row
        for row in pq.read_table(campaign / "gold" / "v0001" / "labels.parquet").to_pylist()
    }
    above = {item for item, row in before.items() if row["probability"] >= 0.9}
    document = draw(capsys, campaign)
    assert document == draw(capsys, campaign)  # the same sample
    sample = document["validation"]["small"]
    assert sample["strata"] == [
        {"stratum": "probability 0.9 or more", "items": len(above), "asked": 60}
    ]
    assert sample["sample"].startswith("v0001 60 ")
    assert [round(row["bound"], 4) for row in sample["outcomes"]] == [0.0487, 0.0766, 0.1012]
    assert document["notes"][0] == (
        f"small: at most 0 errors in the sample certify all {len(above)} labels; errors, and the "
        "largest share of wrong labels: 0 4.9%, 1 7.7%, 2 10.1%"
    )
    assert "annot build" in document["next"]
    plan = pq.read_table(document["plan"]).to_pylist()
    assert {row["control"] for row in plan} == {"audit"}
    assert {round(row["probability"], 9) for row in plan} == {round(60 / len(above), 9)}
    items = answer(campaign, document)
    assert len({*items}) == 60
    assert {*items} <= above

    built = build_file(campaign)
    assert certificate(built) == {
        "certified": True, "release": "v0001", "sample": sample["sample"], "certain_at": 0.95,
        "level": 0.9, "n": 60, "errors": 0, "bound": sample["outcomes"][0]["bound"],
        "reason": None,
    }  # fmt: skip
    after = labels_of(built)
    assert {item for item, row in after.items() if row["certain"]} == above
    assert any(not row["certain"] for item, row in before.items() if item in above)
    same = ("label", "probability", "n_judgments", "n_judges", "dawid_skene_certain")
    for item, row in before.items():
        assert [after[item][name] for name in same] == [row[name] for name in same]
    figures = {row["statistic"]: row for row in built.rows("label_calibration")}
    assert figures["certified_level"]["value"] == 0.9
    n_certain = sum(row["n_certain"] for row in built.rows("prevalence"))
    assert n_certain == len(above)

    folder = built.publication.release.folder
    card = (folder / "README.md").read_text()
    assert "| small | true | from a probability of 0.9: with 95% confidence at least 95.0%" in card
    assert "certified: true" in (folder / "report.html").read_text()
    assert main(["releases", str(campaign)]) == 0
    assert "certified" in capsys.readouterr().out
    assert main(["verify", str(campaign), "--rebuild"]) == 0
    assert main(["hits", str(campaign), "--design", "audit", "-n", "200"]) == 2
    assert "another sample would be another try" in capsys.readouterr().err


def staged(folder: Path, *sets: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a build would certify, and its labels."""
    build = stage_file(folder, *sets)
    found = build.metrics("infer_labels")["certificates"]["small"]
    [gate] = [g for g in build.runs["infer_labels"].gates if g.name == "uncertified_labels"]
    assert gate.level == ("pass" if found["certified"] else "warn")
    assert (found["reason"] or "") in gate.detail
    return found, build.rows("labels")


@pytest.mark.slow
def test_what_voids_a_certificate(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = answer(campaign, draw(capsys, campaign))
    exports = campaign / "exports" / "b.csv"
    exports.write_text("item,judge,label\ni001,judge99,good\ni002,judge99,bad\n")
    found, rows = staged(campaign)
    assert (found["certified"], found["level"], found["release"]) == (False, None, "v0001")
    assert found["reason"].startswith("the labels are not those sampled from v0001")
    assert {row["item"] for row in rows if row["certain"]} == {
        row["item"] for row in rows if row["probability"] >= 0.95
    }  # as without an audit
    exports.write_text("item,judge,label\ni999,judge99,good\n")  # an item without a chance
    assert not staged(campaign)[0]["certified"]
    exports.unlink()
    assert staged(campaign)[0]["certified"]
    assert not staged(campaign, "labels.certain_at=0.96")[0]["certified"]  # another claim
    assert not staged(campaign, "label_model=dawid_skene")[0]["certified"]

    document = json.loads((campaign / "campaign.yaml").read_text())  # decisions may follow
    decisions = {"path": "decisions.csv", "format": "csv", "fields": {
        "item": "item", "judge": "judge", "label": "label", "control": {"value": "adjudication"}
    }}  # fmt: skip
    (campaign / "campaign.yaml").write_text(
        json.dumps(document | {"sources": [*document["sources"], decisions]})
    )
    (campaign / "decisions.csv").write_text(f"item,judge,label\n{items[0]},anna,bad\n")
    found, rows = staged(campaign)
    assert found["certified"]
    assert [row["item"] for row in rows if row["adjudicated"]] == [items[0]]


@pytest.mark.slow
def test_answers_that_certify_nothing(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = draw(capsys, campaign)
    answer(campaign, document, skip=3)
    assert staged(campaign)[0]["reason"] == "3 of 60 sampled items without an answer"
    answer(campaign, document, wrong=1)
    found, _ = staged(campaign)
    assert (found["certified"], found["n"], found["errors"]) == (False, 60, 1)
    assert found["reason"] == (
        "1 of 60 labels above 0.9 wrong, so up to 7.7% may be; 0.95 takes 93 items with as many "
        "errors, or 59 without one"
    )
    answer(campaign, document)  # corrected in its file
    assert staged(campaign)[0]["certified"]
    answer(campaign, document, "berta", wrong=1)  # another expert does not agree
    found, _ = staged(campaign)
    assert (found["certified"], found["errors"]) == (False, 1)


@pytest.mark.slow
def test_a_second_sample_is_another_try(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = [draw(capsys, campaign, n) for n in (60, 100)]  # both before any answer
    for judge, document in zip(("anna", "berta"), documents, strict=True):
        answer(campaign, document, judge)
    found, _ = staged(campaign)
    assert not found["certified"]
    assert found["reason"] == "2 samples of the same labels: each further one is another try"


@pytest.mark.slow
def test_people_audit_the_labels_of_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their answers make the task none of people."""
    folder = write(tmp_path, judges=[{"name": "judge*", "kind": "model"}])
    build_file(folder)
    document = draw(capsys, folder)
    answer(folder, document)
    found, rows = staged(folder)
    assert found["certified"]
    assert {row["n_judgments"] for row in rows} == {A_ITEM}


def test_large_tasks_are_audited_block_by_block(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(campaign, draw(capsys, campaign, 200), wrong=2)
    whole = stage_file(campaign)
    blocks = stage_file(campaign, sizes=JobSizes(partition_rows=60))
    found = [b.metrics("infer_labels")["certificates"]["small"] for b in (whole, blocks)]
    assert found[0]["certified"]
    assert {name: found[1][name] for name in ("certified", "level", "n", "errors")} == {
        name: found[0][name] for name in ("certified", "level", "n", "errors")
    }
    names = [
        sorted(row["item"] for row in b.rows("labels") if row["certain"]) for b in (whole, blocks)
    ]
    assert names[0] == names[1]


def test_samples_that_cannot_be(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*more: str) -> str:
        assert main(["hits", str(campaign), "--design", "audit", *more]) == 2
        return capsys.readouterr().err

    assert "0.95 takes 59 answers without an error, and only 58 can be asked: raise" in error(
        "-n", "58"
    )
    write(campaign, labels={"certain_at": 0.999})
    assert main(["hits", str(campaign), "--design", "audit"]) != 0
    assert "annot build" in capsys.readouterr().err  # not these labels
