"""Readers that never stop while releases are published: each sees whole releases alone."""

import os
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from annot_pipeline import load_gold
from annot_pipeline.storage.releases import Releases
from tests.conftest import Built
from tests.survival.processes import CONTEXT

READERS, PUBLISHES = (20, 50) if "SOAK" in os.environ else (4, 5)
COLUMN = {"labels": "label", "label_distributions": "label", "prevalence": "label"}
"""Where the number of a release stands in its tables."""


def read_on(gold: Path, until: str, told: Connection) -> None:
    """Read the newest release again and again, until a version is there.

    Tells what was seen after the first read, and at the end.
    """
    seen: list[str] = []
    reads = 0
    try:
        while not seen or seen[-1] != until:
            release = Releases(gold).get()
            for table, column in COLUMN.items():
                labels = set(release.table(table)[column].to_pylist())
                assert labels == {f"of {release.version}"}, (table, labels)
            assert release.table("lineage").num_rows == 24
            newest = load_gold(gold, "labels")["label"].to_pylist()
            assert len(newest) == 8
            assert len({*newest}) == 1
            assert newest[0] >= f"of {release.version}"
            reads += 1
            time.sleep(0.02)  # a build shares the processors with twenty readers
            if seen[-1:] != [release.version]:
                seen.append(release.version)
            if reads == 1:
                told.send((reads, seen, ""))
        told.send((reads, seen, ""))
    except BaseException:
        told.send((reads, seen, traceback.format_exc()))


@pytest.mark.slow
def test_readers_see_whole_releases(build_campaign: Callable[..., Built], tmp_path: Path) -> None:
    def publish(number: int) -> None:
        rows = [f"i{item},j{judge},of v{number:04d}" for item in range(8) for judge in range(3)]
        text = "\n".join(["item,judge,label", *rows, ""])
        release = build_campaign({"a.csv": text}).publication.release
        assert release.version == f"v{number:04d}"

    publish(1)
    gold, last = tmp_path / "campaign/gold", f"v{PUBLISHES + 1:04d}"
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(READERS)]
    readers = [
        CONTEXT.Process(target=read_on, args=(gold, last, tell), daemon=True) for _, tell in pipes
    ]
    for reader in readers:
        reader.start()
    for hear, _ in pipes:  # all read before the next is published
        assert hear.poll(120)
        assert hear.recv() == (1, ["v0001"], "")
    seen_by: list[set[str]] = []
    for number in range(2, PUBLISHES + 2):
        publish(number)
    for hear, _ in pipes:
        assert hear.poll(120)
        _, seen, error = hear.recv()
        assert not error, error
        assert (seen[0], seen[-1]) == ("v0001", last)
        assert seen == sorted(seen)
        seen_by.append({*seen})
    between = {f"v{number:04d}" for number in range(2, PUBLISHES + 1)}
    assert len(set.union(*seen_by) & between) >= PUBLISHES // 2  # read while others were published
    for reader in readers:
        reader.join(10)
