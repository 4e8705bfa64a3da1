"""What SQL puts aside while it runs, and what is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from annot_pipeline.config import Resources
from annot_pipeline.errors import ConfigError
from annot_pipeline.storage import spill as spilling
from annot_pipeline.storage.queries import Queries, clear_spill
from annot_pipeline.storage.spill import clean_spill, open_spill, own_spill
from annot_pipeline.storage.store import Store
from tests.conftest import build_file

LONG_AGO = time.time() - 30 * 86_400


def dead_process() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.slow
def test_queries_that_spill_can_be_followed_by_cleaning_and_more_queries(tmp_path, monkeypatch):
    def sorting(name):
        assert name == "sorting"
        return (
            "SELECT * FROM (SELECT hash(i) AS h, repeat(chr(65 + (i % 26)::INT), 30) AS s "
            "FROM range(2500000) AS t(i), one) ORDER BY h, s"
        )

    monkeypatch.setattr("annot_pipeline.storage.queries.sql_text", sorting)
    queries = Queries(Resources(memory_limit="60MB", threads=1), tmp_path / "spill")
    own = own_spill(tmp_path / "spill")
    for _ in range(2):
        with queries.run("sorting", {"one": pa.table({"one": [1]})}) as reader:
            reader.read_next_batch()
            assert list(own.glob("duckdb_temp*"))
        clear_spill(tmp_path / "spill")
        assert [path.name for path in (tmp_path / "spill").iterdir()] == [".annot-spill"]


def test_folders_of_dead_processes_of_this_host_go_and_no_others(tmp_path):
    """Neither those of other hosts, however old, nor of a process that got an old number."""
    spill, host, dead = tmp_path / "spill", spilling.HOST, dead_process()
    open_spill(spill)
    parent = os.getppid()
    names = {
        f"annot-spill-{host}-{dead}-123": False,
        f"annot-spill-{host}-{parent}-{spilling.started_at(parent)}": True,
        f"annot-spill-{host}-{parent}-1": False,  # another process had this number
        "annot-spill-elsewhere-1-1": True,
        f"annot-{host}-{dead}": True,
        "annot-pipeline": True,  # a checkout
        "archive": True,
    }
    for name in names:
        (spill / name).mkdir()
        os.utime(spill / name, (LONG_AGO, LONG_AGO))
    (spill / f"annot-spill-{host}-{dead}-123" / "duckdb_temp_storage-0.tmp").touch()
    clean_spill(spill)
    expected = {name for name, stays in names.items() if stays}
    assert {path.name for path in spill.iterdir()} == expected | {".annot-spill"}


def test_a_folder_of_a_dead_process_with_other_files_stays_and_is_named(tmp_path):
    spill = tmp_path / "spill"
    open_spill(spill)
    folder = spill / f"annot-spill-{spilling.HOST}-{dead_process()}-123"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "precious.txt").touch()
    (folder / "duckdb_temp_storage_DEFAULT-0.tmp").touch()
    (folder / "duckdb_temp_folder").mkdir()
    (folder / "duckdb_temp_link").symlink_to(tmp_path)
    for _ in range(2):
        assert clean_spill(spill) == [folder]
        left = {"sub", "duckdb_temp_folder", "duckdb_temp_link"}
        assert {path.name for path in folder.iterdir()} == left
        assert (folder / "sub" / "precious.txt").exists()


def test_files_of_others_in_the_folder_of_this_process_stay(tmp_path):
    own = open_spill(tmp_path / "spill")
    (own / "precious.txt").touch()
    assert clean_spill(tmp_path / "spill") == [own]
    assert open_spill(tmp_path / "spill") == own
    (own / "precious.txt").unlink()
    assert clean_spill(tmp_path / "spill") == []
    assert not own.exists()


@pytest.mark.slow
def test_a_build_names_a_spill_folder_that_stays(build_campaign, tmp_path):
    text = "item,judge,label\n" + "".join(f"i{i},w{j},a\n" for i in range(3) for j in range(3))
    spill = tmp_path / "spill"
    open_spill(spill)
    folder = spill / f"annot-spill-{spilling.HOST}-{dead_process()}-123"
    folder.mkdir()
    (folder / "precious.txt").touch()
    build_campaign({"a.csv": text}, f"resources.spill={spill}")
    assert (folder / "precious.txt").exists()
    said: list[str] = []
    build_file(tmp_path / "campaign", f"resources.spill={spill}", progress=said.append)
    assert [message for message in said if message.startswith(f"{folder}: not deleted")]


def test_a_locked_folder_stays_where_process_numbers_mean_nothing(tmp_path, monkeypatch):
    """Containers of one host see each other's spill folders, and not each other's processes."""
    script = (
        "import sys; from pathlib import Path\n"
        "from annot_pipeline.storage.spill import open_spill\n"
        "print(open_spill(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "spill")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, cwd=Path(__file__).parents[2], **pipes) as other:
        folder = Path(other.stdout.readline().strip())
        monkeypatch.setattr(spilling, "_is_alive", lambda _: False)
        open_spill(tmp_path / "spill")
        clean_spill(tmp_path / "spill")
        assert folder.is_dir()
        other.kill()
        other.wait()
        clean_spill(tmp_path / "spill")
        assert not folder.exists()


def test_a_process_that_ends_leaves_no_folder(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from annot_pipeline.storage.spill import open_spill\n"
        "assert open_spill(Path(sys.argv[1])).is_dir()"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "spill")],
        cwd=Path(__file__).parents[2], check=True,
    )  # fmt: skip
    assert [path.name for path in (tmp_path / "spill").iterdir()] == [".annot-spill"]


def test_a_spill_folder_in_a_store_goes_when_nobody_uses_it(tmp_path):
    Store(tmp_path).prepare()
    open_spill(tmp_path / "spill")
    clean_spill(tmp_path / "spill")
    assert [path.name for path in tmp_path.iterdir()] == [".annot-store"]


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "annot-pipeline").mkdir()
    os.utime(tmp_path / "annot-pipeline", (LONG_AGO, LONG_AGO))
    with pytest.raises(ConfigError, match=r"cannot be used as resources\.spill") as error:
        open_spill(tmp_path)
    assert "'annot-pipeline'" in str(error.value)
    clean_spill(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["annot-pipeline"]


def test_views_of_one_query_are_not_seen_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr("annot_pipeline.storage.queries.sql_text", lambda _: "SELECT * FROM given")
    queries = Queries(Resources(), tmp_path / "spill")
    one, two = pa.table({"a": [1]}), pa.table({"a": [2]})
    with queries.run("q", {"given": one}) as first, queries.run("q", {"given": two}) as second:
        assert second.read_all()["a"].to_pylist() == [2]
        assert first.read_all()["a"].to_pylist() == [1]
