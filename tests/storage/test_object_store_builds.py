"""Whole campaigns whose gold is a bucket: builds, readers, audits."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.catalog import write_catalog
from annot_pipeline.storage.release_log import ReleaseLog
from annot_pipeline.storage.releases import Releases
from tests.conftest import build_file
from tests.storage.s3_machines import KEY, URL, objects

DOCS = Path(__file__).parents[2] / "docs" / "object_storage.md"
ROWS = [f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(5) for j in range(3)]
HEADER = "item,judge,label\n"


@pytest.fixture
def campaign(tmp_path: Path, s3: Any) -> Path:
    """A campaign with gold in the bucket, and one release."""
    folder = tmp_path / "campaign"
    (folder / "exports").mkdir(parents=True)
    document = {
        "campaign": "small",
        "gold": f"{URL}/",
        "sources": [
            {
                "path": "exports/*.csv",
                "format": "csv",
                "fields": {"item": "item", "judge": "judge", "label": "label"},
            }
        ],
    }
    (folder / "campaign.yaml").write_text(json.dumps(document))
    arrives(folder, "a.csv", ROWS[:9])
    assert build_file(folder).publication.published
    assert s3.exists(f"{KEY}/latest.json")
    return folder


def arrives(campaign: Path, name: str, rows: list[str]) -> None:
    (campaign / "exports" / name).write_text(HEADER + "".join(rows))


def says(capsys: pytest.CaptureFixture[str], *command: str, status: int = 0) -> dict[str, Any]:
    """What a command answers as JSON."""
    capsys.readouterr()
    assert main([*command, "--json"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.slow
def test_nights_of_two_machines(campaign, s3, tmp_path, capsys):
    before = objects(s3)
    assert not build_file(campaign).publication.published
    assert objects(s3) == before
    arrives(campaign, "b.csv", ROWS[9:12])
    assert build_file(campaign).publication.release.location == f"{URL}/v0002"

    other = tmp_path / "another machine"
    shutil.copytree(campaign, other, ignore=shutil.ignore_patterns("store"))
    assert not build_file(other).publication.published  # the same exports: nothing new
    arrives(other, "c.csv", ROWS[12:])
    assert build_file(other).publication.release.version == "v0003"
    catalog_file = write_catalog(other / "store", Releases.for_campaign(load_campaign(other)))
    with duckdb.connect(str(catalog_file), read_only=True) as catalog:
        assert catalog.sql("SELECT count(*) FROM labels").fetchall() == [(5,)]

    assert load_gold(URL, "labels").num_rows == 5
    assert load_gold(f"{URL}/", "labels", version="v0001").num_rows == 3
    status = says(capsys, "status", str(campaign))
    assert (status["release"]["version"], status["release"]["path"]) == ("v0003", f"{URL}/v0003")
    releases = says(capsys, "releases", str(campaign))
    assert [row["version"] for row in releases["releases"]] == ["v0001", "v0002", "v0003"]
    assert says(capsys, "verify", str(other))["gold"] == URL  # with the exports of all three
    assert main(["diff", str(other), "v0002", "v0003", "--no-causes"]) == 0
    assert main(["trace", str(campaign), "i4"]) == 0
    assert ReleaseLog(campaign / "store", URL).locations() == [URL]


@pytest.mark.slow
def test_the_objects_are_files_that_any_tool_reads(campaign, s3):
    labels = load_gold(URL, "labels")
    data = s3.cat_file(f"{KEY}/v0001/labels.parquet")
    assert pq.read_table(io.BytesIO(data)).equals(labels)
    assert pq.read_table(f"{KEY}/v0001/labels.parquet", filesystem=s3).equals(labels)
    assert len(pd.read_parquet(f"{URL}/v0001/labels.parquet")) == 3
    with duckdb.connect() as connection:
        connection.register_filesystem(s3)
        actual = connection.sql(f"SELECT item FROM '{URL}/v0001/labels.parquet'").fetchall()
    assert [item for (item,) in actual] == labels["item"].to_pylist()
    said: dict[str, Any] = {}
    (block,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    exec(block, said)
    assert said["labels"].equals(labels)
    assert len(said["frame"]) == len(said["rows"]) == 3
    assert (campaign / "store").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_what_is_changed_in_the_bucket_is_found(campaign, s3, tmp_path, capsys):
    assert says(capsys, "verify", str(campaign))["ok"]
    data = bytearray(s3.cat_file(f"{KEY}/v0001/labels.parquet"))
    data[len(data) // 2] ^= 1
    s3.pipe_file(f"{KEY}/v0001/labels.parquet", bytes(data))
    s3.pipe_file(f"{KEY}/v0001/notes.txt", b"x")
    s3.pipe_file(f"{KEY}/v0001/more/notes.txt", b"x")
    s3.rm_file(f"{KEY}/v0001/README.md")
    s3.pipe_file(f"{KEY}/else.txt", b"x")
    s3.pipe_file(f"{KEY}/v0002/labels.parquet", b"half")
    actual = says(capsys, "verify", str(campaign), status=1)["findings"]
    told = {finding["file"].removeprefix(f"{URL}/"): finding["what"] for finding in actual}
    assert told.keys() == {
        "v0001/labels.parquet", "v0001/notes.txt", "v0001/more", "v0001/README.md",
        "else.txt", "v0002",
    }  # fmt: skip
    assert told["v0001/labels.parquet"].startswith("not the bytes that were published")
    assert told["v0001/README.md"] == "missing"
    assert "no manifest.json" in told["v0002"]
    with pytest.raises(StoreError, match=f"{URL}/v0001/labels.parquet: not the bytes"):
        load_gold(URL, "labels")
    status = says(capsys, "status", str(campaign))
    assert status["release"]["damaged"] == ["README.md", "more/notes.txt", "notes.txt"]
    with pytest.raises(StoreError, match="half a release"):
        build_file(campaign)  # nothing goes on from a release that is not whole
    assert not list((tmp_path / "campaign" / "store").rglob(".tmp-*"))


@pytest.mark.slow
def test_prune_and_pin(campaign, s3, capsys):
    for n in (9, 10):
        arrives(campaign, f"{n}.csv", ROWS[n : n + 1])
        build_file(campaign)
    assert says(capsys, "pin", str(campaign), "v0001", "--because", "a paper")["version"] == "v0001"
    plan = says(capsys, "prune", str(campaign), "--keep", "1", "--dry-run")
    done = says(capsys, "prune", str(campaign), "--keep", "1")
    assert plan == done | {"dry_run": True}
    assert [row["version"] for row in done["removed"]] == ["v0002"]
    assert all(row["bytes"] > 1000 for row in done["removed"])
    assert {name.partition("/")[0] for name in objects(s3)} == {"latest.json", "v0001", "v0003"}
    verified = says(capsys, "verify", str(campaign))
    assert (verified["ok"], verified["pruned"]) == (True, ["v0002"])
    with pytest.raises(StoreError, match="annot prune or forget removed it"):
        load_gold(URL, "labels", version="v0002")
