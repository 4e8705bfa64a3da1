"""`annot publish --to`: a release as a folder of its own, or as a revision on the Hub."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, EngineError, Problem, StoreError
from annot_pipeline.storage.files import atomic_directory
from annot_pipeline.storage.manifest import MANIFEST
from annot_pipeline.storage.places import check_copy
from annot_pipeline.storage.pointer import number
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases

DATASET = re.compile(r"hf://(?:datasets/)?((?!datasets/)[^/]+/[^/]+)/?")


def share(campaign: LoadedCampaign, to: str, version: str = "latest") -> dict[str, Any]:
    """Copy a release to where others read it.

    Parameters
    ----------
    campaign
        Whose release.
    to
        ``hf://OWNER/NAME``, a dataset on the Hub; each release is a commit with the version as its
        tag, and ``main`` the newest that was uploaded. Else a folder, which must not be there.
    version
        Of the release.

    Returns
    -------
    dict
        ``version`` and ``to``; of the Hub also ``revision``, and ``main``, its newest release.

    Raises
    ------
    ConfigError
        It is no dataset and no folder, or the dataset has the release; or the folder is there, or
        within those of the campaign.
    EngineError
        The Hub refuses, or its client is not installed.
    StoreError
        There is no such release, it was retracted, or its files are not those that were published.
    """
    releases = Releases.for_campaign(campaign)
    release = releases.get(version)
    if mark := releases.retracted().get(release.version):
        problem = Problem("", f"{mark.by} retracted it: {mark.because}", do="name another")
        raise StoreError(f"{release.version} is not to be used", [problem])
    if dataset := DATASET.fullmatch(to):
        with TemporaryDirectory(prefix="annot-hub-") as folder:
            _copy(release, Path(folder))
            return {"version": release.version, "to": to} | _upload(release, folder, dataset[1])
    target = Path(to)
    if "://" in to or os.path.lexists(target):
        what = f"{to} names no dataset and no folder" if "://" in to else f"{target} exists"
        problem = Problem("--to", what, "a new folder, or hf://OWNER/NAME")
        raise ConfigError("the release cannot be copied there", [problem])
    check_copy(campaign, target)
    with atomic_directory(target) as folder_:
        _copy(release, folder_)
    return {"version": release.version, "to": to}


def _copy(release: Release, folder: Path) -> None:
    """Copy the files of a release, which are as its manifest has them."""
    release.check()
    for name in (*release.manifest["files"], MANIFEST):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(release.file(name), target)


def _upload(release: Release, folder: str, name: str) -> dict[str, str]:
    try:
        from huggingface_hub import HfApi
    except ImportError:
        problem = Problem("", "its client is not installed", do="pip install 'annot-pipeline[hub]'")
        raise EngineError("the Hub cannot be reached", [problem]) from None
    api, version = HfApi(), release.version
    text = f"{release.manifest['campaign']} {version}"
    kind: dict[str, Any] = {"repo_type": "dataset"}
    try:
        api.create_repo(name, **kind, exist_ok=True)
        tags = {tag.name for tag in api.list_repo_refs(name, **kind).tags}
        is_new, newest = version not in tags, max({*tags, version}, key=number)
        branch = None if newest == version else f"annot-{version}"  # main stays at a newer release
        if is_new:
            if branch:
                api.create_branch(name, branch=branch, **kind, exist_ok=True)
            files: dict[str, Any] = {"folder_path": folder, "delete_patterns": "*", **kind}
            commit = api.upload_folder(repo_id=name, commit_message=text, revision=branch, **files)
            api.create_tag(name, tag=version, revision=commit.oid, **kind)
            if branch:
                api.delete_branch(name, branch=branch, **kind)
    except Exception as error:  # the client raises what its transport does
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        problem = Problem("", what, do="check network, login (hf auth login), name and your rights")
        raise EngineError(f"hf://{name}: the release cannot be uploaded", [problem]) from error
    if not is_new:
        problem = Problem("--to", f"hf://{name} has the tag {version}", do="name another release")
        raise ConfigError("the release is there already", [problem])
    return {"revision": commit.oid, "main": newest}
