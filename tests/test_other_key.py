"""Judges have other pseudonyms under another key, and rows another order: no number moves."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from annot_pipeline.stages.registry import GOLD_MADE
from benchmarks.exports import Shape, write_campaign
from tests.conftest import Staged, stage_file

NAMES = {"judge", "source_digest", "judgment_id", "hit", "ranking"}
SHAPE = Shape(labels=400, scores=600, comparisons=100, tasks=2, judges=8)


def generated(folder: Path) -> Path:
    return write_campaign(folder, SHAPE)


def several_systems_of_an_item(folder: Path) -> Path:
    """A HIT shows one sentence as several systems have translated it."""
    rng = random.Random(2)
    rows = ["hit,judge,paragraph,sentence,system,score"]
    for hit in range(60):
        for sentence in range(3):
            for system in rng.sample("ABC", 2):
                score = min(100, max(0, round(rng.gauss(40 + 10 * "ABC".index(system), 20))))
                of = f"p{hit % 9},s{hit % 9}-{sentence}"
                rows.append(f"h{hit},ann{hit % 6},{of},{system},{score}")
    (folder / "scores.csv").write_text("\n".join(rows))
    fields = {name: name for name in ("hit", "judge", "system", "score")}
    fields |= {"task": {"value": "adequacy"}, "item": "sentence", "segment": "paragraph"}
    document = {
        "campaign": "systems",
        "sources": [{"path": "scores.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "adequacy", "kind": "scalar", "scale": [0, 100]}],
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture(scope="module", params=[generated, several_systems_of_an_item])
def staged(request, tmp_path_factory: pytest.TempPathFactory) -> list[Staged]:
    """One campaign twice, each with a key of its own; all tables of a release are made."""
    staged = []
    for name in ("one", "other"):
        path = request.param(tmp_path_factory.mktemp(name))
        document = yaml.safe_load(path.read_text())
        document |= {"ranking": {"bootstrap": 20}, "agreement": {"bootstrap": 20}}
        path.write_text(yaml.safe_dump(document))
        with pytest.MonkeyPatch.context() as patched:  # fixtures of other modules may set it
            patched.setenv("ANNOT_KEY", f"the key of {name}, long enough to be one")
            staged.append(stage_file(path).run(*GOLD_MADE))
    return staged


@pytest.mark.sampled
@pytest.mark.slow
def test_no_number_depends_on_the_key(staged):
    for table in GOLD_MADE:
        mine, theirs = (one.table(table) for one in staged)
        named = NAMES & set(mine.column_names)
        mine, theirs = mine.drop_columns([*named]), theirs.drop_columns([*named])
        if named:
            actual, expected = (sorted(map(repr, t.to_pylist())) for t in (mine, theirs))
            assert actual == expected, table
        else:
            assert mine.equals(theirs), table
    judges = [one.table("judges")["judge"].to_pylist() for one in staged]
    assert not {*judges[0]} & {*judges[1]}
