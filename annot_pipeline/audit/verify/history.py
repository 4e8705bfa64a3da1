"""All releases together: which were published, which are pinned, and what else lies there."""

from __future__ import annotations

from annot_pipeline.audit.verify.findings import Checked
from annot_pipeline.audit.verify.release import RESTORE
from annot_pipeline.storage.gold_folder import GoldFolder
from annot_pipeline.storage.pointer import POINTER, Pointer, number

MOVE = "move it elsewhere"


def verify_history(gold: GoldFolder, pointer: Pointer | None, checked: Checked) -> None:
    """Check that nothing is missing, and nothing else there.

    What was published and is gone without `annot prune`, and what no build put among
    the releases.
    """
    if pointer is None:
        if gold.pointer_bytes() is None:
            what = "missing: nothing says which release is the newest"
            do = "copy it too; where a build was killed, annot build writes it"
            checked.find(gold.location(POINTER), what, do)
    else:
        versions = gold.versions()
        for version in sorted(pointer.manifests.keys() - {*pointer.pruned}, key=number):
            if version not in versions:
                is_ = "it is pinned, " if version in pointer.pins else "it was published, "
                what = f"{is_}but its folder does not exist; annot prune did not remove it"
                do = f"{RESTORE}; or remove it from the list: annot prune CAMPAIGN --keep N --gone"
                checked.find(gold.location(version), what, do)
    for name, what in gold.strangers(pointer).items():
        checked.find(gold.location(name), what, MOVE)
