"""Two builds that forget and make the same result: neither takes away what the other has made."""

from __future__ import annotations

import fcntl
import shutil

import pytest

from annot_pipeline.storage.store import Store
from tests.storage.test_store import make


def test_a_result_can_be_forgotten_twice(tmp_path):
    store = Store(tmp_path)
    made = make(store, "k")
    store.discard(made)
    store.discard(made)
    assert store.result("stage", "k") is None
    assert not list(tmp_path.rglob("*.parquet"))


def test_what_another_build_made_in_its_place_is_not_forgotten(tmp_path):
    store = Store(tmp_path)
    found = make(store, "k")
    store.discard(found)
    newer = make(store, "k", run="r2")
    store.discard(found)
    assert store.result("stage", "k") == newer


@pytest.mark.parametrize(("module", "act"), [(shutil, "rmtree"), (fcntl, "flock")])
def test_a_damaged_result_that_another_build_made_again_stays(tmp_path, monkeypatch, module, act):
    store, again = Store(tmp_path), []
    make(store, "k").tables["t"].paths[0].unlink()
    plain = getattr(module, act)

    def acts(*args, **options):
        """The other build finds the damage too, as this one is about to act on it."""
        monkeypatch.undo()
        again.append(make(Store(tmp_path), "k", run="r2"))
        return plain(*args, **options)

    monkeypatch.setattr(module, act, acts)
    mine = make(store, "k", run="r1")
    assert again == [mine]
    assert mine.tables["t"].paths[0].exists()
    assert [path.name for path in (tmp_path / "stages/stage").iterdir()] == ["k"]
