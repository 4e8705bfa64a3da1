"""Builds and `annot prune` take the store and gold in one order: nobody waits for ever."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage.releases import Releases
from tests.survival.nights import add_export


def start(name: str, work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


@pytest.mark.sampled
@pytest.mark.parametrize("asks", ["unpointed", "finish_interrupted"])
@pytest.mark.slow
def test_a_build_and_a_prune_do_not_wait_for_each_other(
    asks: str, first_day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build is in its first stage, or about to publish, when the other one comes."""
    folder = first_day
    (folder / "gold/v0009").mkdir()
    shutil.copy(folder / "gold/v0001/labels.parquet", folder / "gold/v0009")  # a copy, half done
    add_export(folder, 2)
    ready, prune_waits = threading.Event(), threading.Event()
    asked = getattr(Releases, asks)

    def waits(self: Releases) -> object:
        if threading.current_thread().name == "builds":
            ready.set()
            assert prune_waits.wait(30)
        return asked(self)

    def build() -> None:
        made = Build(load_campaign(folder))
        for stage in STAGES:
            made.run_stage(stage)
        publish(made)

    monkeypatch.setattr(Releases, asks, waits)
    building = start("builds", build)
    assert ready.wait(30)
    campaign = load_campaign(folder)
    pruning = start("prunes", lambda: prune(campaign, 1, progress=lambda _: prune_waits.set()))
    for thread in (building, pruning):
        thread.join(30)
        assert not thread.is_alive()
    assert Releases(folder / "gold").get().version == "v0010"
