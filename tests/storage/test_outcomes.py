"""How the latest build ended, as the store remembers it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from annot_pipeline.storage.files import write_json
from annot_pipeline.storage.store import Store

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "is_interrupted"), [(-1.0, False), (0.5, False), (1.0, True), (3600.0, True)]
)
def test_a_build_is_interrupted_whose_last_stage_ran_after_the_latest_end(
    tmp_path: Path, seconds: float, is_interrupted: bool
) -> None:
    """Ends are recorded in whole seconds, so that a stage of the same second ran before."""
    store = Store(tmp_path / "store")
    store.prepare()
    note = store.root / "runs" / "other" / "infer_labels.json"
    note.parent.mkdir(parents=True)
    write_json(note, {"stage": "infer_labels", "key": "k", "reused": False})
    os.utime(note, (NOON.timestamp() + seconds,) * 2)
    finished = {"run": "latest", "finished": NOON.isoformat(timespec="seconds"), "outcome": "ok"}
    write_json(store.root / "last_build.json", finished)
    actual = store.interrupted_build()
    assert (actual is not None) == is_interrupted
    assert actual is None or (actual["run"], actual["stage"]) == ("other", "infer_labels")
