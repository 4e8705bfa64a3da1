"""Two builds at once: of one campaign, of two campaigns, of two that share a store."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage.releases import Release, Releases
from tests.conftest import build_file
from tests.survival.nights import (
    Night,
    add_export,
    build,
    newest,
    tables,
    unfinished,
    write_campaign,
)

TIMES = 20 if "SOAK" in os.environ else 1
OVERTAKEN = "another build published v0002 while this one ran: nothing was published"


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.slow
def test_two_builds_of_the_same_exports(number: int, night: Night, tmp_path: Path) -> None:
    folder = night.copy(tmp_path / "campaign")
    one = build(folder, said="one")
    time.sleep(random.Random(number).random() * night.seconds / 4)
    both = [one, build(folder, said="two")]
    assert [running.wait() for running in both] == [0, 0], [running.said for running in both]
    said = "".join(running.said for running in both)
    assert said.count("\npublished v0002:") == 1
    assert said.count("\nnothing new; still v0002:") == 1
    assert Releases(folder / "gold").versions() == ["v0001", "v0002"]
    assert tables(newest(folder)) == night.second
    assert unfinished(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(TIMES))
def test_an_export_arrives_between_two_builds(number: int, night: Night, tmp_path: Path) -> None:
    """Whoever is faster: no release lacks what its parent has, and the last one has all."""
    folder = night.copy(tmp_path / "campaign")
    one = build(folder, said="one")
    time.sleep(random.Random(number).random() * night.seconds)
    add_export(folder, 3)
    two = build(folder, said="two")
    statuses = [running.wait() for running in (one, two)]
    assert 0 in statuses
    for running, status in zip((one, two), statuses, strict=True):
        assert (status == 0) is (OVERTAKEN not in running.said), running.said
    if statuses[1]:  # as it was told to
        assert build(folder).wait() == 0
    releases = Releases(folder / "gold")
    exports = [export_names(releases.get(version)) for version in releases.versions()]
    assert exports == sorted(exports)
    assert exports[-1] == [f"exports/day{day}.csv" for day in (1, 2, 3)]
    assert main(["verify", str(folder), "--rebuild"]) == 0
    if TIMES > 1:
        assert build(folder).wait() == 0
        assert unfinished(folder) == []


def export_names(release: Release) -> list[str]:
    return [source["name"] for source in release.manifest["sources"]]


def ready_to_publish(folder: Path) -> Build:
    building = Build(load_campaign(folder))
    for stage in STAGES:
        building.run_stage(stage)
    return building


def test_a_slow_build_does_not_put_older_exports_on_top_of_newer_ones(first_day: Path) -> None:
    folder = first_day
    add_export(folder, 2)
    slow = ready_to_publish(folder)
    add_export(folder, 3)
    build_file(folder)
    with pytest.raises(StoreError, match=OVERTAKEN) as refused:
        publish(slow)
    assert refused.value.problems[0].do == "build again"
    assert newest(folder).version == "v0002"
    assert len(export_names(newest(folder))) == 3
    assert "another build published" in (slow.store.last_outcome() or {})["outcome"]


@pytest.mark.slow
def test_a_slow_build_of_the_same_exports_has_nothing_new(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path / "campaign", days=1)
    slow = ready_to_publish(folder)
    build_file(folder)
    publication = publish(slow)
    assert (publication.published, publication.release.version) == (False, "v0001")


@pytest.mark.slow
def test_the_first_release_is_not_overtaken_either(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path / "campaign", days=1)
    slow = ready_to_publish(folder)
    add_export(folder, 2)
    build_file(folder)
    with pytest.raises(StoreError, match="another build published v0001") as refused:
        publish(slow)
    assert refused.value.problems[0].what == "this one began when there was no release"


@pytest.mark.slow
def test_part_of_a_build_can_go_on_from_the_release_of_the_same_exports(tmp_path: Path) -> None:
    """Who changes a setting of a late stage may run what comes after, not all."""
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    late = Build(load_campaign(folder, sets=["dawid_skene.smoothing=0.5"]))
    names = [stage.name for stage in STAGES]
    for stage in STAGES[names.index("infer_labels") :]:
        late.run_stage(stage)
    publication = publish(late)
    assert (publication.published, publication.release.version) == (True, "v0002")


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["two stores", "one store"])
def test_two_campaigns_at_once_share_nothing(shared: bool, tmp_path: Path) -> None:
    """Campaigns of one folder; of one store they share raw bytes and what is made of them."""
    alone, names = {}, ("one", "two")
    for days, name in enumerate(names, start=1):
        folder = write_campaign(tmp_path / "alone" / name, days=days, name=name)
        alone[name] = tables(build_file(folder).publication.release)
        together = write_campaign(tmp_path / "together" / name, days=days, name=name)
        document = json.loads((together / "campaign.yaml").read_text(encoding="utf-8"))
        document |= {"store": "../store" if shared else "store", "gold": f"../gold-{name}"}
        (together / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    both = [build(tmp_path / "together" / name) for name in names]
    assert [running.wait() for running in both] == [0, 0], [running.said for running in both]
    for name in names:
        release = Releases(tmp_path / f"together/gold-{name}").get()
        assert release.manifest["campaign"] == name
        assert tables(release) == alone[name]
        assert main(["verify", str(tmp_path / "together" / name)]) == 0
