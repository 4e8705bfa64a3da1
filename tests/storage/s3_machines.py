"""Machines that share a bucket: what tests of object stores have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.gold_bucket import GoldBucket
from annot_pipeline.storage.releases import Releases
from tests.storage.test_releases import least_manifest

BUCKET = "annotations"
URL = f"s3://{BUCKET}/team/gold"
KEY = f"{BUCKET}/team/gold"


def machine(folder: Path, campaign: str | None = None) -> Releases:
    """Releases in the bucket as a machine sees them that keeps its copies in a folder."""
    return Releases(GoldBucket(URL, folder / "store" / "releases" / "copies"), campaign)


def objects(files: Any) -> list[str]:
    """Names of the objects below the URL."""
    above = f"{KEY}/"
    return sorted(path.removeprefix(above) for path in files.find(above))


def publish(releases: Releases, text: str, meanwhile: Any = lambda: None) -> str:
    """Publish a small release as a build does; ``meanwhile`` runs before its files go up."""
    with releases.publishing(lambda: None):
        releases.finish_interrupted()
        version, parent = releases.next_version(), releases.latest()

        def fill(folder: Path) -> dict[str, Any]:
            for name in ("a.txt", "b.txt"):
                (folder / name).write_text(f"{name}: {text}")
            meanwhile()
            return least_manifest(version) | {
                "text": text,
                "files": {name: file_sha256(folder / name) for name in ("a.txt", "b.txt")},
                "parent": parent
                and {"version": parent.version, "manifest_sha256": parent.manifest_sha256},
            }

        return releases.publish(version, fill).version


def text_of(releases: Releases, version: str = "latest") -> str:
    """What a release says; all of its files must say the same."""
    release = releases.get(version)
    text = str(release.manifest["text"])
    assert release.file("a.txt").read_text() == f"a.txt: {text}"
    assert release.file("b.txt").read_text() == f"b.txt: {text}"
    return text
