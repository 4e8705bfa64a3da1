"""What disks do to the store's working state is made again, and the result is the same."""

from __future__ import annotations

import json
import shutil

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.stages.build import MAKER, STAGES, Build
from tests.full_campaign import write_full_campaign

EXPORTS = {
    "a.csv": "item,judge,label\n" + "".join(f"i{n},j{m},{'ab'[n % 2]}\n" for n in range(6)
                                           for m in range(3)),
}  # fmt: skip
LATE = "item,judge,label\nlate,j0,a\nlate,j1,b\n"


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()  # its links stay whole, and are flipped themselves
    path.write_bytes(data)


def rename_facts(path):
    """As a flipped bit in a name does."""
    document = json.loads(path.read_text())
    document["facts"] = {name[:-1] + "~": value for name, value in document["facts"].items()}
    path.write_text(json.dumps(document))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "harm"), [("*.parquet", flip), ("stage.json", flip), ("stage.json", rename_facts)]
)
def test_any_file_of_a_stage_may_be_harmed(build_campaign, tmp_path, kind, harm, capsys):
    build_campaign(EXPORTS)
    campaign = tmp_path / "campaign"
    (campaign / "exports" / "late.csv").write_text(LATE)
    whole = tmp_path / "whole"
    shutil.copytree(campaign, whole)
    for path in (campaign / "store" / "stages").rglob(kind):
        harm(path)
    for folder in (campaign, whole):
        assert main(["build", str(folder)]) == 0, capsys.readouterr().err
    tables = [
        {path.name: path.read_bytes() for path in (folder / "gold" / "v0002").glob("*.parquet")}
        for folder in (campaign, whole)
    ]
    assert tables[0] == tables[1]
    assert len(tables[0]) > 10


@pytest.mark.slow
def test_a_stage_that_nothing_changes_for_is_looked_at_too(build_campaign, tmp_path, capsys):
    """Reports draw tables that no stage reads: flipped, they stopped every later build."""
    built = build_campaign(EXPORTS)
    for run in built.runs.values():
        for table in run.result.tables.values():
            for path in table.paths:
                flip(path)
    (tmp_path / "campaign" / "exports" / "late.csv").write_text(LATE)
    assert main(["build", str(tmp_path / "campaign")]) == 0, capsys.readouterr().err
    assert main(["build", str(tmp_path / "campaign")]) == 0, capsys.readouterr().err
    assert main(["verify", str(tmp_path / "campaign")]) == 0, capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", [stage.name for stage in STAGES if stage.inputs])
def test_a_stage_that_is_made_alone_says_what_it_cannot_read(tmp_path, name):
    """As in Dagster, where one asset is materialized: a bit of its inputs may be another one."""
    build = Build(load_campaign(write_full_campaign(tmp_path)))
    stage = next(stage for stage in STAGES if stage.name == name)
    for other in STAGES:
        if other is stage:
            break
        build.run_stage(other)
    made = {n: build.store.recorded(build.run, MAKER[n].name).tables[n] for n in stage.inputs}
    paths = {path for table in made.values() if table.rows for path in table.paths}
    assert paths
    for path in paths:
        flip(path)
    with pytest.raises(StoreError, match="not the bytes that were written"):
        build.run_stage(stage)
