"""A gold table of many rows is a folder of files: each reader gets the same rows in their order."""

from __future__ import annotations

import hashlib
import json
import shutil

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage import tables
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.tables import write_table
from tests.audit.two_releases import rewrite
from tests.conftest import KEY, build_file, write_small_campaign

pytestmark = pytest.mark.slow

EXPORTS = {
    "a.csv": "item,judge,label\n"
    + "".join(
        f"i{n:03d},w{w},{'ab'[(n + ((n + w) % 7 == 0)) % 2]}\n" for n in range(40) for w in range(3)
    )
}
"""Each judge is wrong about every seventh item."""
MANY = ("judgments", "lineage")
FEW = ("labels", "judges")


def build_both(folder):
    """Build a release of whole tables, and one whose files hold 50 rows at most."""
    write_small_campaign(folder, EXPORTS)
    build_file(folder)
    (folder / "gold").rename(folder / "gold-of-whole")
    Releases.for_campaign(load_campaign(folder / "campaign.yaml")).give_up()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "FILE_ROWS", 50)
        build_file(folder)
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ANNOT_KEY", KEY)
        return build_both(tmp_path_factory.mktemp("several") / "campaign")


@pytest.fixture
def several(built, tmp_path, monkeypatch):
    """Copies of both releases."""
    monkeypatch.setattr(tables, "FILE_ROWS", 50)
    folder = shutil.copytree(built, tmp_path / "campaign")
    return folder / "gold-of-whole" / "v0001", Releases(folder / "gold").get()


@pytest.mark.parametrize("name", MANY)
def test_every_reader_gets_the_rows_in_order(several, name):
    whole, release = several
    expected = pq.read_table(whole / f"{name}.parquet")
    folder = release.folder / f"{name}.parquet"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"part-{n:05d}.parquet" for n in range(3)]
    assert [pq.read_metadata(folder / of).num_rows for of in names] == [50, 50, 20]
    assert load_gold(release.folder.parent, name).equals(expected)
    assert pq.read_table(folder).equals(expected)
    assert pd.read_parquet(folder).equals(expected.to_pandas())
    told = duckdb.sql(f"SELECT * FROM read_parquet('{folder}')").to_arrow_table()
    assert told.to_pylist() == expected.to_pylist()


def test_the_manifest_lists_every_file(several):
    whole, release = several
    for name in FEW:
        path = release.folder / f"{name}.parquet"
        assert path.read_bytes() == (whole / path.name).read_bytes()
        assert "files" not in release.tables[name]
    for name in MANY:
        files = release.tables[name]["files"]
        assert [of["rows"] for of in files] == [50, 50, 20]
        assert sum(of["bytes"] for of in files) == release.tables[name]["bytes"]
        for of in files:
            assert of["sha256"] == release.manifest["files"][of["file"]]
    described = json.loads((release.folder / "croissant.json").read_text())
    kinds = {of["@id"]: of["@type"] for of in described["distribution"]}
    assert kinds["lineage.parquet"] == "cr:FileSet"
    assert kinds["lineage.parquet/part-00000.parquet"] == "cr:FileObject"
    assert kinds["labels.parquet"] == "cr:FileObject"
    card = (release.folder / "README.md").read_text()
    assert "data_files: lineage.parquet/*.parquet" in card
    assert "data_files: labels.parquet\n" in card


def test_the_catalog_shows_it(tmp_path):
    whole = build_both(tmp_path / "campaign") / "gold-of-whole" / "v0001"
    with duckdb.connect(tmp_path / "campaign" / "store" / "catalog.duckdb", read_only=True) as seen:
        for name in (*MANY, *FEW):
            told = seen.sql(f"SELECT * FROM {name}").to_arrow_table()
            assert told.to_pylist() == pq.read_table(whole / f"{name}.parquet").to_pylist()


@pytest.mark.slow
def test_commands_read_it(several, tmp_path, capsys):
    _, release = several
    campaign = str(tmp_path / "campaign")
    assert main(["verify", campaign, release.version, "--rebuild"]) == 0, str(capsys.readouterr())
    assert main(["trace", campaign, "i001"]) == 0
    assert "i001" in capsys.readouterr().out
    (tmp_path / "campaign" / "exports" / "late.csv").write_text("item,judge,label\ni001,w9,a\n")
    assert main(["build", campaign]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["diff", campaign, release.version, "v0003"]) == 0, capsys.readouterr().err
    assert "labels" in capsys.readouterr().out


@pytest.mark.parametrize("harm", ["flipped", "gone", "beside"])
def test_harm_is_found(several, tmp_path, harm, capsys):
    _, release = several
    path = release.folder / "lineage.parquet" / "part-00001.parquet"
    if harm == "flipped":
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif harm == "gone":
        path.unlink()
    else:
        path.with_name("part-00003.parquet").write_bytes(path.read_bytes())
    assert main(["verify", str(tmp_path / "campaign")]) == 1
    assert "lineage.parquet/part-0000" in capsys.readouterr().out
    if harm != "beside":
        with pytest.raises(StoreError, match="part-00001"):
            load_gold(release.folder.parent, "lineage")


def by_name(manifest):
    return {table["name"]: table for table in manifest["tables"]}


def test_files_of_other_columns_are_refused(several):
    _, release = several
    part = release.folder / "lineage.parquet" / "part-00001.parquet"
    other = write_table(part, pq.read_table(release.folder / "labels.parquet"), published=True)

    def put(manifest):
        tables_, files = by_name(manifest), manifest["files"]
        of = tables_["lineage"]["files"][1]
        tables_["lineage"]["rows"] += other.rows - of["rows"]
        of |= {"sha256": other.sha256, "rows": other.rows}
        files[of["file"]] = other.sha256
        shas = "\n".join(f["sha256"] for f in tables_["lineage"]["files"])
        tables_["lineage"]["sha256"] = hashlib.sha256(shas.encode()).hexdigest()

    rewrite(release.folder.parent.parent, release.version, put)
    with pytest.raises(StoreError, match=r"part-00001\.parquet: not of this table"):
        load_gold(release.folder.parent, "lineage")
    with pytest.raises(StoreError, match=r"part-00001\.parquet: not of this table"):
        Releases(release.folder.parent).get(release.version).stored("lineage")


@pytest.mark.parametrize("what", ["rows", "checksum", "folder"])
def test_manifests_that_contradict_themselves_are_refused(several, what):
    _, release = several

    def harm(manifest):
        of = by_name(manifest)["lineage"]
        if what == "rows":
            of["files"].append(of["files"][0])
        elif what == "checksum":
            of["files"].reverse()
        else:
            manifest["files"]["stray/part.parquet"] = "0" * 64

    rewrite(release.folder.parent.parent, release.version, harm)
    said = {"rows": "other rows in all", "checksum": "not that of its files",
            "folder": "'stray/part.parquet' is in the folder of no table"}  # fmt: skip
    with pytest.raises(StoreError) as error:
        load_gold(release.folder.parent, "lineage")
    assert said[what] in str(error.value)
    assert len(str(error.value)) < 1_000


def test_what_a_desktop_leaves_in_the_folder_stops_no_build(several, tmp_path):
    _, release = several
    (release.folder / "lineage.parquet" / ".DS_Store").write_text("x")
    campaign = tmp_path / "campaign"
    (campaign / "exports" / "late.csv").write_text("item,judge,label\ni001,w9,a\n")
    assert main(["build", str(campaign)]) == 0
    assert main(["verify", str(campaign), release.version]) == 1
