"""Items below a level, by gain: a plan by hand, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.sections import NextHits
from annot_pipeline.hits.label_batches import design_of
from annot_pipeline.hits.plan_labels import plan_labels
from annot_pipeline.stages.planning.hit_plan import CannotPlanError, Question
from annot_pipeline.stages.planning.plan_comparisons import NothingLeftError
from tests.conftest import build_file
from tests.hits.test_command_audit import N, build_labels, write

QUESTION = Question("t", ask="label", labels=("no", "yes"))
JUDGED = {"a": (0.99, 3), "b": (0.6, 2), "c": (0.5, 2), "d": (0.93, 3)}
"""Probability of the label, and judgments."""


def tables(
    judged: dict[str, tuple[float | None, int]], failed: Sequence[str] = ()
) -> dict[str, pa.Table]:
    """Tables of a task with the classes no and yes, whose judges are right in 80%.

    A judge who failed judged all items, and those of `failed` alone.
    """
    p = [probability for probability, _ in judged.values()]
    both = [[x, None if x is None else 1 - x] for x in p]
    return {
        "labels": pa.table(
            {
                "item": [*judged], "probability": pa.array(p, pa.float64()),
                "n_judgments": [n for _, n in judged.values()],
            }
        ),
        "label_distributions": pa.table(
            {
                "item": [item for item in judged for _ in range(2)],
                "label": ["no", "yes"] * len(judged),
                "probability": pa.array([x for pair in both for x in pair], pa.float64()),
            }
        ),
        "judge_confusion": pa.table(
            {
                "judge": ["j"] * 4, "true_label": ["no", "no", "yes", "yes"],
                "observed_label": ["no", "yes"] * 2, "probability": [0.8, 0.2, 0.2, 0.8],
            }
        ),
        "controlled": pa.table(
            {
                "item": [*judged, *judged, *failed],
                "fate": ["used"] * len(judged) + ["judge_failed"] * (len(judged) + len(failed)),
            }
        ),
    }  # fmt: skip


def plan(
    judged: Any = None,
    listed: Any = None,
    level: float = 0.95,
    failed: Sequence[str] = (),
    **next_hits: int,
) -> tuple[list[str], Any, Any]:
    """Return the items asked, in order, the summary and the notes."""
    notes: list[str] = []
    own = NextHits(**({"per_item": 3, "hit_size": 2} | next_hits))
    planned = plan_labels(
        QUESTION, tables(judged or JUDGED, failed), listed or {}, own, level, notes
    )
    names = [planned.items.names[code] for code in planned.slots.items.tolist()]
    assert planned.slots.hit_sizes[0] <= 2
    return names, planned.summary, notes


def test_a_plan_by_hand():
    """a has the level and d three judgments; nobody judged e, and c is a toss-up."""
    texts = {"e": {"text": "five", "source": None}}
    names, summary, notes = plan(listed=texts)
    assert names == ["e", "c", "b"]
    assert notes == [
        "t: 4 of 5 labels are below 0.95; 3 judgments planned, those first that tell most",
        "t: 1 of these, with 3 judgments or more, not asked again (next_hits.per_item)",
        "t: 10 judgments so far; 3 for each judged item (next_hits.per_item) would be 2 more",
    ]
    assert (summary["left"], summary["asked"], summary["saved"]) == (4, 3, 2)
    assert plan(per_item=4)[0] == ["c", "b", "d"]  # by how doubtful they are
    assert plan(per_item=4, items=2)[0] == ["c", "b"]
    assert plan(level=0.55)[0] == ["c"]
    assert plan(failed=["f"])[0] == ["f", "c", "b"]  # no judgment of f counts


def test_nothing_is_left_and_nothing_can_be_said():
    with pytest.raises(NothingLeftError, match=r"no label is below 0\.5"):
        plan(level=0.5)
    with pytest.raises(
        NothingLeftError, match=r"2 of \d+ labels are below 0\.9, .* next_hits\.per_item="
    ):
        plan(level=0.9, per_item=2)
    with pytest.raises(CannotPlanError, match="no model labels its items"):
        plan({"a": (None, 3), "b": (None, 2)})


@pytest.mark.slow
def test_labels_are_the_default_of_categorical_tasks(
    copy_campaign: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_campaign(build_labels, tmp_path / "campaign")
    assert main(["hits", str(folder), "--upload", "jsonl", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["design"] == "labels"
    labels = pq.read_table(folder / "gold" / "v0001" / "labels.parquet").to_pylist()
    below = {row["item"] for row in labels if row["probability"] < 0.95}
    rows = pq.read_table(document["plan"]).to_pylist()
    assert {row["item"] for row in rows} == below
    assert {row["role"] for row in rows} == {"gain"}
    least = min(labels, key=lambda row: row["probability"])
    assert rows[0]["item"] == least["item"]
    assert document["validation"]["small"]["left"] == len(below)
    hit = json.loads(Path(document["tasks"][0]["files"][0]["path"]).read_text().splitlines()[0])
    assert "control" not in json.dumps(hit)

    assert main(["hits", str(folder), "--set", "next_hits.level=0.4"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "no batch is planned (labels), and no file is written:",
        "  small: no label is below 0.4",
    ]
    assert main(["hits", str(folder), "--set", "next_hits.per_item=1"]) == 0
    statement, reason, *rest = capsys.readouterr().out.splitlines()
    assert statement.startswith("no batch is planned (labels)")
    assert f"{len(below)} of {N} labels are below 0.95, and each of them has 1 judgment" in reason
    assert len(rest) == 1, "nothing else is told but what to do next"
    assert main(["hits", str(folder), "--design", "labels", "-n", "7", "--upload", "mturk"]) == 0
    shown = capsys.readouterr().out
    assert "7 slots (labels)" in shown
    assert f"of {N} labels are below 0.95; 7 judgments planned" in shown
    assert main(["hits", str(folder), "--task", "other"]) == 2
    assert "no categorical task of the campaign" in capsys.readouterr().err

    write(folder, tasks=[])  # their kind is that of the answers
    build_file(folder)
    assert main(["hits", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["design"] == "labels"
    assert main(["hits", str(folder), "--design", "easl"]) == 2
    assert "HITs of categorical tasks: --set next_hits.design=labels" in capsys.readouterr().err

    undeclared = load_campaign(folder)
    assert design_of(undeclared) == design_of(undeclared, ["categorical", "scalar"]) == "easl"
    assert design_of(undeclared, ["categorical"]) == "labels"
    write(folder, tasks=[{"name": "a", "kind": "scalar"}, {"name": "b"}])
    assert design_of(load_campaign(folder), ["categorical"]) == "easl"
    write(folder, judges=[{"name": "judge1", "kind": "model"}])
    assert design_of(load_campaign(folder)) == "easl"  # of models, a design is to be named
