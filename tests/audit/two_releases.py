"""A small campaign with two releases, and what a forger would do to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.files import canonical_json, file_sha256
from annot_pipeline.storage.pointer import Pointer, read_pointer, write_pointer
from annot_pipeline.storage.release_log import ReleaseLog
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store
from tests.conftest import build_file

KEY = "a key for tests, long enough to be one"
EXPORT = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(5) for j in range(3)
)
MORE = "item,judge,label\ni0,w7,b\ni9,w7,a\n"
SETTINGS: dict[str, Any] = {
    "campaign": "small",
    "sources": [
        {"path": "exports/*.csv", "format": "csv",
         "fields": {"item": "item", "judge": "judge", "label": "label"}}
    ],
}  # fmt: skip


def build_two(folder: Path) -> Path:
    """Build a campaign with two releases, the second of one more export."""
    build(folder, {"a.csv": EXPORT})
    return build(folder, {"a.csv": EXPORT, "b.csv": MORE})


def build(folder: Path, exports: dict[str, str], *sets: str) -> Path:
    """Build a campaign whose exports are these and no others."""
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    for old in (folder / "exports").iterdir():
        old.unlink()
    for name, text in exports.items():
        (folder / "exports" / name).write_text(text)
    (folder / "campaign.yaml").write_text(json.dumps(SETTINGS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", KEY)
        build_file(folder, *sets)
    return folder


def manifest_of(campaign: Path, version: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(
        (campaign / "gold" / version / "manifest.json").read_bytes()
    )
    return manifest


def rewrite(
    campaign: Path,
    version: str,
    change: Callable[[dict[str, Any]], object],
    *,
    with_store: bool = True,
) -> None:
    """Edit a manifest, and make the pointer agree, as a forger would who has the store, too."""
    gold = campaign / "gold"
    manifest = manifest_of(campaign, version)
    change(manifest)
    (gold / version / "manifest.json").write_bytes(canonical_json(manifest))
    pointer = read_pointer(gold)
    assert pointer
    there = [v for v in pointer.manifests if (gold / v).is_dir()]
    shas = {**pointer.manifests, **{v: file_sha256(gold / v / "manifest.json") for v in there}}
    write_pointer(gold, Pointer(pointer.version, shas, pointer.pruned))
    if with_store:
        forge_log(campaign)


def forge_log(campaign: Path) -> None:
    """Write the log of releases so that it says what latest.json does, and nothing else."""
    store = campaign / "store"
    log, settings = ReleaseLog(store, campaign / "gold"), store / "settings"
    pointer = read_pointer(campaign / "gold")
    assert pointer
    log.path.unlink(missing_ok=True)
    settings.rename(store.with_name("settings"))  # a store without them has not published
    log.point(pointer)
    store.with_name("settings").rename(settings)


def flip(path: Path, place: int, bit: int = 0) -> None:
    """Turn one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def released_exports(campaign: Path, version: str) -> dict[str, str]:
    """Return SHA-256 of the exports of a release, by name, as the store knows them."""
    digests = SourceDigests(Store(campaign / "store"), load_campaign(campaign).settings)
    sources = manifest_of(campaign, version)["sources"]
    return {s["name"]: digests.sha256(s["source_digest"]) or "" for s in sources}
