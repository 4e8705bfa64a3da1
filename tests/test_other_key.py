"""Judges have other pseudonyms under another key, and rows another order: no number moves."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.exports import Shape, write_campaign
from tests.conftest import build_file

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
def released(request, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of two releases of one campaign, each with a key of its own."""
    folders = []
    for name in ("one", "other"):
        path = request.param(tmp_path_factory.mktemp(name))
        document = yaml.safe_load(path.read_text())
        document |= {"ranking": {"bootstrap": 20}, "agreement": {"bootstrap": 20}}
        path.write_text(yaml.safe_dump(document))
        with pytest.MonkeyPatch.context() as patched:  # fixtures of other modules may set it
            patched.setenv("ANNOT_KEY", f"the key of {name}, long enough to be one")
            folders.append(build_file(path).publication.release.folder)
    return folders


@pytest.mark.sampled
def test_no_number_depends_on_the_key(released):
    one, _ = released
    tables = sorted(path.name for path in one.glob("*.parquet"))
    assert "scores.parquet" in tables
    for table in tables:
        mine, theirs = (pq.read_table(folder / table) for folder in released)
        named = NAMES & set(mine.column_names)
        mine, theirs = mine.drop_columns([*named]), theirs.drop_columns([*named])
        if named:
            found, expected = (sorted(map(repr, t.to_pylist())) for t in (mine, theirs))
            assert found == expected, table
        else:
            assert mine.equals(theirs), table
    judges = [pq.read_table(f / "judges.parquet")["judge"].to_pylist() for f in released]
    assert not {*judges[0]} & {*judges[1]}
