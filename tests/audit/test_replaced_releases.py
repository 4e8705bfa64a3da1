"""A release whose table, manifest and pointer were edited so that they agree: the store knows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import annot_pipeline as annot
from annot_pipeline.api.releases import Gold
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.files import file_sha256, write_json
from annot_pipeline.storage.pointer import Pointer, read_pointer, write_pointer
from annot_pipeline.storage.releases import Releases
from tests.audit.two_releases import manifest_of, rewrite

COMMANDS = {
    "score": ["score", "{campaign}", "{campaign}/predictions.csv", "--release", "{version}"],
    "trace": ["trace", "{campaign}", "i0", "--release", "{version}"],
    "diff, old": ["diff", "{campaign}", "{version}", "{other}"],
    "diff, new": ["diff", "{campaign}", "{other}", "{version}", "--no-causes"],
    "plan": ["plan", "{campaign}", "--release", "{version}"],
    "pin": ["pin", "{campaign}", "{version}"],
    "releases": ["releases", "{campaign}"],
    "verify": ["verify", "{campaign}", "{version}"],
}
READERS: dict[str, Callable[[Path, str, str], Any]] = {
    "load_gold": lambda c, v, _: annot.load_gold(c / "gold", "labels", v, store=c / "store"),
    "release": lambda c, v, _: opened(c).release(v),
    "table": lambda c, v, _: opened(c).table("labels", v),
    "soft_labels": lambda c, v, _: opened(c).soft_labels(version=v),
    "trace": lambda c, v, _: opened(c).trace("i0", version=v),
    "diff, old": lambda c, v, other: opened(c).diff(v, other),
    "diff, new": lambda c, v, other: opened(c).diff(other, v),
    "score": lambda c, v, _: annot.score(PREDICTIONS, opened(c), release=v),
}
PREDICTIONS = pa.table({"item": ["i0"], "label": ["a"]})
REPLACED = "another release than the one that this store saw published"


def opened(campaign: Path) -> Gold:
    return Gold(str(campaign / "gold"), campaign / "store")


def replace_label(campaign: Path, version: str) -> None:
    """Edit a label of a release, with all hashes in its manifest and in latest.json."""
    path = campaign / "gold" / version / "labels.parquet"
    before, table = file_sha256(path), pq.read_table(path)
    labels = ["b" if label == "a" else "a" for label in table["label"].to_pylist()]
    column = pa.array(labels, table.schema.field("label").type)
    pq.write_table(table.set_column(table.schema.names.index("label"), "label", column), path)

    def agree(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"]:
            if entry["sha256"] == before:
                entry.update(sha256=file_sha256(path), bytes=path.stat().st_size)
        manifest["files"]["labels.parquet"] = file_sha256(path)

    rewrite(campaign, version, agree, with_store=False)


@pytest.fixture(params=[("v0001", "v0002"), ("v0002", "v0001")], ids=["older", "newest"])
def replaced(request, campaign) -> tuple[Path, str, str]:
    version, other = request.param
    (campaign / "predictions.csv").write_text("item,label\ni0,a\n")
    replace_label(campaign, version)
    return campaign, version, other


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_replaced_release_is_refused_by_number(replaced, words, capsys):
    campaign, version, other = replaced
    names = {"campaign": campaign, "version": version, "other": other}
    assert main([word.format(**names) for word in words]) == 1
    printed = "".join(capsys.readouterr())
    assert f"{version}: {REPLACED}" in printed
    assert "--gone accepts it as it is" in printed  # what to do where gold is right


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_a_replaced_release_is_refused_by_functions(replaced, read):
    campaign, version, other = replaced
    with pytest.raises(StoreError, match=f"{version}: {REPLACED}"):
        read(campaign, version, other)


def test_the_other_release_is_read(replaced):
    """As after a restore of an old backup: what is as it was published can be read by number."""
    campaign, _, other = replaced
    assert main(["trace", str(campaign), "i0", "--release", other]) == 0
    assert opened(campaign).table("labels", other).num_rows
    assert annot.load_gold(campaign / "gold", "labels", other, store=campaign / "store").num_rows


def test_the_newest_release_is_not_read_unless_the_store_knows_it(campaign):
    replace_label(campaign, "v0002")
    with pytest.raises(StoreError, match=REPLACED):
        Releases.for_campaign(load_campaign(campaign)).latest()


def test_a_number_that_the_store_skipped_is_no_release(campaign):
    """Numbers rise: what appears below the last one later was not published."""
    gold = campaign / "gold"
    pointer = read_pointer(gold)
    shutil.copytree(gold / "v0001", gold / "v0000")
    manifest = manifest_of(campaign, "v0000") | {"version": "v0000"}
    write_json(gold / "v0000/manifest.json", manifest)
    pointer.manifests["v0000"] = file_sha256(gold / "v0000/manifest.json")
    write_json(gold / "latest.json", pointer.document())
    with pytest.raises(StoreError, match=f"v0000: {REPLACED}"):
        opened(campaign).release("v0000")


def test_what_follows_the_newest_is_noticed_by_every_function(campaign):
    """As by load_gold: gold alone tells of a complete newer release."""
    pointer = read_pointer(campaign / "gold")
    write_pointer(campaign / "gold", Pointer("v0001", {"v0001": pointer.manifests["v0001"]}))
    with pytest.warns(UserWarning, match="v0002 is complete and newer"):
        annot.open(campaign / "gold")
