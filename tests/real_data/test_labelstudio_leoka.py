"""A real Label Studio project: several judges a task, cancelled and empty answers, repeats."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import build_file

pytestmark = pytest.mark.slow

FIELDS = {
    "task": "from_name", "judge": "completed_by", "item": "task_id", "label": "choice",
    "native_id": "annotation_id", "submitted_at": "created_at", "seconds": "lead_time",
}  # fmt: skip

GATES = {"too_many_classes": {"error": 1000}}  # sets of choices are classes: 665


@pytest.fixture
def build(shared_data, tmp_path):
    def build(**options):
        source = {
            "path": str(shared_data / "labelstudio-leoka" / "LEOKA_team_*.json"),
            "format": "label_studio",
            "options": options,
            "fields": FIELDS,
        }
        (tmp_path / "campaign.yaml").write_text(
            json.dumps({"campaign": "leoka", "sources": [source], "gates": GATES})
        )
        return build_file(tmp_path)

    return build


def annotations(shared_data: Path):
    for path in sorted((shared_data / "labelstudio-leoka").glob("*.json")):
        for task in json.loads(path.read_text()):
            yield from task["annotations"]


def test_every_annotation_is_accounted_for(build, shared_data):
    built = build()
    lineage = built.rows("lineage")
    rows = {(r["source_file"], r["source_row"]) for r in lineage}
    assert len(rows) == sum(1 for _ in annotations(shared_data)) == 1602
    reasons = Counter((r["fate"], r["reason"]) for r in lineage if r["reason"])
    cancelled = sum(a["was_cancelled"] for a in annotations(shared_data))
    assert reasons == {("not_asked", "cancelled annotation"): cancelled}
    unanswered = sum(
        not a["was_cancelled"] and not any(r["type"] == "taxonomy" for r in a["result"])
        for a in annotations(shared_data)
    )
    chosen: dict[str, set[str]] = {}
    for row in built.rows("controlled"):
        chosen.setdefault(row["native_id"], set()).add(row["label"])
    assert sum(labels == {"no"} for labels in chosen.values()) == unanswered == 7
    spans = Counter(r["type"] for a in annotations(shared_data) for r in a["result"])["labels"]
    sources = built.publication.release.manifest["sources"]
    assert sum(s["ignored"]["labels answers"] for s in sources) == spans > 0


def test_choices_are_yes_no_tasks_and_repeats_of_a_judge_stay_apart(build):
    built = build()
    used = [r for r in built.rows("controlled") if r["fate"] == "used"]
    assert {r["label"] for r in used} == {"yes", "no"}
    assert all(r["task"].startswith("Category:") for r in used)
    answered = Counter((r["task"], r["item"], r["judge"]) for r in used)
    assert max(answered.values()) > 1  # the same judge twice on a task: both count
    assert len({r["judgment_id"] for r in used}) == len(used)


def test_the_set_can_be_kept(build):
    built = build(multilabel="set")
    labels = built.rows("labels")
    assert {r["task"] for r in labels} == {"Category"}
    assert all(isinstance(json.loads(r["label"]), list) for r in labels)
