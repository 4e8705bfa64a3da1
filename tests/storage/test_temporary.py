"""Where builds that publish nothing put what they make."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.shortages import cannot_write
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.temporary import temporary_store

CAMPAIGN = """\
campaign: c
sources:
- path: a.csv
  format: csv
  fields: {item: item, judge: judge, label: label}
store: kept
engine: {kind: spark, master: "spark://gone.invalid:7077"}
"""


@pytest.fixture
def campaign(tmp_path):
    def of(*sets):
        (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
        return load_campaign(tmp_path / "campaign.yaml", sets=sets)

    return of


def test_on_spark_executors_see_it_and_nobody_cleans_it_away(campaign, tmp_path):
    now = campaign()
    with temporary_store(now, now.settings, continues_previous=False) as apart:
        assert apart.store.parent == tmp_path / "kept"
        assert apart.gold == apart.store / "gold"
        assert apart.settings.engine == now.settings.engine
        Store(tmp_path / "kept").clean(tmp_path / "spill")
        assert apart.store.is_dir()
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {".lock", ".annot-store"}


def test_on_this_machine_the_store_is_not_written(campaign, tmp_path):
    now = campaign("engine.kind=local", "resources.threads=1")
    then = campaign("resources.threads=7").settings
    with temporary_store(now, then, continues_previous=True) as apart:
        assert apart.store.parent == Path(tempfile.gettempdir())
        assert apart.gold == tmp_path / "gold"
        assert apart.settings.engine.kind == "local"
        assert apart.settings.resources.threads == 1
    assert not apart.store.exists()
    assert not (tmp_path / "kept").exists()


def test_errors_of_the_folder_say_which(campaign, tmp_path, monkeypatch):
    now = campaign("engine.kind=local")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with (
        pytest.raises(StoreError, match="temporary folder cannot be written") as error,
        temporary_store(now, now.settings, continues_previous=False),
    ):
        pass
    assert "set TMPDIR" in str(error.value)
    (tmp_path / "kept").write_text("a file")
    now = campaign()
    with (
        pytest.raises(StoreError, match="temporary folder cannot be written") as error,
        temporary_store(now, now.settings, continues_previous=False),
    ):
        pass
    assert str(tmp_path / "kept") in str(error.value)
    assert "TMPDIR" not in str(error.value)


def test_what_a_build_says_that_cannot_write_is_said_of_the_folder(campaign):
    now = campaign("engine.kind=local")
    for where, title in (("", "temporary folder cannot be written"), ("/stages", "cannot write")):
        with (
            pytest.raises(StoreError, match=title) as error,
            temporary_store(now, now.settings, continues_previous=False) as apart,
        ):
            raise cannot_write(Path(f"{apart.store}{where}"), OSError(28, "No space left"), "store")
        assert ("set TMPDIR" in str(error.value)) == (not where)
        assert "No space left" in str(error.value)


def test_errors_of_the_block_are_its_own(campaign):
    now = campaign("engine.kind=local")
    with (
        pytest.raises(FileNotFoundError, match="elsewhere"),
        temporary_store(now, now.settings, continues_previous=False),
    ):
        Path("elsewhere").read_bytes()
