"""All releases together: which were published, which are pinned, and what else lies there."""

from __future__ import annotations

from pathlib import Path

from annot_pipeline.audit.verify.findings import Checked
from annot_pipeline.audit.verify.release import RESTORE
from annot_pipeline.storage.pointer import POINTER, VERSION, Pointer, number

MOVE = "move it elsewhere"


def verify_history(gold: Path, pointer: Pointer | None, checked: Checked) -> None:
    """Check that nothing is missing, and nothing else there.

    What was published and is gone without `annot prune`, and what no build put among
    the releases.
    """
    if pointer is None:
        if not (gold / POINTER).exists():
            what = "missing: nothing says which release is the newest"
            do = "copy it too; where a build was killed, annot build writes it"
            checked.find(gold / POINTER, what, do)
    else:
        for version in sorted(pointer.manifests.keys() - {*pointer.pruned}, key=number):
            if not (gold / version).is_dir():
                is_ = "it is pinned, " if version in pointer.pins else "it was published, "
                what = f"{is_}but its folder is gone; annot prune did not remove it"
                checked.find(gold / version, what, RESTORE)
    for entry in sorted(gold.iterdir()):
        is_release = VERSION.fullmatch(entry.name) and entry.is_dir()
        if not is_release and entry.name != POINTER and not entry.name.startswith("."):
            checked.find(entry, "no release, nor anything else that is written here", MOVE)
