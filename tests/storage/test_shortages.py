"""Memory and disks that do not suffice: errors name export or stage, folder and setting."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.audit.verify import checksums
from annot_pipeline.audit.verify import rebuild as verify_rebuild
from annot_pipeline.cli import main
from annot_pipeline.commands import publish as publishing
from annot_pipeline.config import Resources
from annot_pipeline.errors import InputError, StoreError
from annot_pipeline.exports.parquet import parquet_pieces, read_parquet
from annot_pipeline.exports.raw_rows import Opening
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES
from annot_pipeline.stages.gold import name_mask
from annot_pipeline.storage import archive
from annot_pipeline.storage import store as storage_of_runs
from annot_pipeline.storage.queries import Queries, clear_spill
from annot_pipeline.storage.shortages import cannot_write, querying, reading_export
from tests.audit.two_releases import EXPORT

MEMORY = [MemoryError(), pa.ArrowMemoryError("malloc of size 99 failed")]
FULL = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG]
ITEMS = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}


def failing(error: BaseException):
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


@pytest.mark.parametrize("error", MEMORY, ids=["Python", "Arrow"])
@pytest.mark.parametrize("what", ["open_bytes", "check_whole"])
def test_memory_for_an_export(build_campaign, monkeypatch, error, what):
    monkeypatch.setattr(Opening, what, failing(error))
    with pytest.raises(InputError, match=r"exports/a\.csv: cannot be read") as raised:
        build_campaign({"a.csv": EXPORT})
    said = str(raised.value)
    assert "not enough memory" in said
    assert "limits.document_bytes" in said
    assert "resources.threads" in said


@pytest.mark.parametrize("error", MEMORY, ids=["Python", "Arrow"])
@pytest.mark.parametrize("what", ["__init__", "iter_batches"])
def test_memory_for_a_parquet_export(tmp_path, monkeypatch, error, what):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x"]}), path)
    monkeypatch.setattr(pq.ParquetFile, what, failing(error))
    with pytest.raises(InputError) as raised, reading_export("a.parquet", tmp_path):
        [*read_parquet(Opening(path, "a.parquet")).chunks]
    said = str(raised.value)
    assert "not enough memory" in said
    assert "fetch the export again" not in said
    assert "resources.threads" in said
    assert len(parquet_pieces(Opening(path, "a.parquet"), DEFAULT_SIZES.export_bytes)) < 2


CLAIMS_OF_DAMAGE = {
    "mask of records": ("pyarrow.parquet.read_schema", lambda path: name_mask._readable(path)),
    "mask of names": (
        "annot_pipeline.stages.gold.name_mask.raw_names",
        lambda path: name_mask._names(path, ()),
    ),
    "mask of labels": ("pyarrow.parquet.ParquetFile", lambda path: name_mask._mapped_in(path)),
    "verified release": (
        "pyarrow.parquet.read_metadata",
        lambda path: checksums._verify_table(path, {"rows": 1, "columns": []}, None),
    ),
    "verified rebuild": (
        "annot_pipeline.audit.verify.rebuild.first_difference",
        lambda path: verify_rebuild._compare([path], [path], {}),
    ),
    "store": (
        "annot_pipeline.storage.store.read_table",
        lambda path: storage_of_runs._parsed_export_keys({path}),
    ),
}


@pytest.mark.parametrize("place", CLAIMS_OF_DAMAGE)
def test_lack_of_memory_is_not_told_as_damage(tmp_path, monkeypatch, place):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"label": ["x"]}), path)
    patched, call = CLAIMS_OF_DAMAGE[place]
    monkeypatch.setattr(patched, failing(pa.ArrowMemoryError("malloc of size 99 failed")))
    with pytest.raises(MemoryError):
        call(path)


def test_memory_for_an_item_table(build_campaign, tmp_path, monkeypatch):
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "items.csv").write_text("item,text\ni0,x\n")
    monkeypatch.setattr(
        "annot_pipeline.stages.ingest.exports.read_item_table", failing(MemoryError())
    )
    with pytest.raises(InputError, match=r"items\.csv: cannot be read"):
        build_campaign({"a.csv": EXPORT}, items=[ITEMS])


@pytest.mark.parametrize("error", MEMORY, ids=["Python", "Arrow"])
def test_memory_for_a_stage(build_campaign, monkeypatch, error):
    monkeypatch.setattr("annot_pipeline.stages.build.check_table", failing(error))
    with pytest.raises(StoreError, match="not enough memory for stage") as raised:
        build_campaign({"a.csv": EXPORT})
    do = raised.value.problems[0].do
    assert "give the process more memory" in do
    assert "resources.threads" in do
    assert "the largest task becomes several" in do
    assert "resources.memory_limit bounds SQL queries only" in do
    assert raised.value.may_pass


def test_memory_for_publishing(build_campaign, monkeypatch):
    monkeypatch.setattr(publishing, "_place", failing(MemoryError()))
    with pytest.raises(StoreError, match="not enough memory for publishing"):
        build_campaign({"a.csv": EXPORT})


@pytest.mark.parametrize("number", FULL, ids=errno.errorcode.get)
def test_a_full_store_names_the_export(build_campaign, tmp_path, monkeypatch, number):
    error = OSError(number, os.strerror(number))
    for place in (
        f"{archive.__name__}._copy",
        "annot_pipeline.stages.ingest.parsed_exports.write_table",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(place, failing(error))
            with pytest.raises(StoreError) as raised:
                build_campaign({"a.csv": EXPORT})
        said = str(raised.value)
        assert str(tmp_path / "campaign" / "store") in raised.value.title
        assert "reading exports/a.csv" in said
        assert os.strerror(number) in said
        assert "--set store=FOLDER" in said
        assert "let this user write" not in said


def test_a_full_store_is_not_taken_for_full_gold(build_campaign, tmp_path, monkeypatch):
    store = tmp_path / "campaign" / "store"
    error = OSError(
        errno.ENOSPC, os.strerror(errno.ENOSPC), str(store / ".tmp-1" / "labels.parquet")
    )
    monkeypatch.setattr(publishing, "_place", failing(error))
    with pytest.raises(StoreError, match="cannot write store"):
        build_campaign({"a.csv": EXPORT})


def test_a_file_that_may_not_be_so_large_is_no_matter_of_rights(tmp_path):
    said = str(cannot_write(tmp_path, OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "store"))
    assert "ulimit -f" in said
    assert "let this user write" not in said


SORT = "SELECT range AS a, md5(range::varchar) AS b FROM range({n}) ORDER BY b"


@pytest.fixture
def queries(tmp_path, monkeypatch):
    """Queries with little memory, over a spill folder."""

    def over(sql: str) -> Queries:
        monkeypatch.setattr("annot_pipeline.storage.queries.sql_text", lambda _: sql)
        return Queries(Resources(memory_limit="60MB", threads=2), tmp_path / "spill")

    yield over
    clear_spill(tmp_path / "spill")


def test_a_spill_folder_without_room_is_named(queries, tmp_path):
    ignored = signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, limits[1]))
    try:
        with (
            pytest.raises(StoreError) as raised,
            queries(SORT.format(n=3_000_000)).run("a/query", {}) as rows,
        ):
            for _ in rows:
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert str(tmp_path / "spill") in raised.value.title
    assert "a/query" in raised.value.title
    assert "resources.spill" in raised.value.problems[0].do


def test_room_on_the_disk_is_not_told_as_memory(tmp_path):
    """DuckDB, whose folder is full, says that it is out of memory."""
    said = "Out of Memory Error: failed to offload data block of size 256.0 KiB\nmore"
    with (
        pytest.raises(StoreError, match="no room for what a/query puts aside") as raised,
        querying("a/query", tmp_path),
    ):
        raise duckdb.OutOfMemoryException(said)
    assert str(tmp_path) in raised.value.problems[0].do


def test_memory_of_duckdb_names_its_setting(queries):
    with pytest.raises(StoreError, match="not enough memory for a/query") as raised:
        queries("SELECT list(md5(range::varchar)) FROM range(6000000)").table("a/query", {})
    assert "raise resources.memory_limit" in raised.value.problems[0].do


@pytest.mark.parametrize(
    "error",
    [MemoryError(), duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")],
    ids=["Python", "DuckDB"],
)
def test_a_query_that_the_system_gives_no_memory_needs_a_lower_limit(tmp_path, error):
    with (
        pytest.raises(StoreError, match="not enough memory for a/query") as raised,
        querying("a/query", tmp_path),
    ):
        raise error
    do = raised.value.problems[0].do
    assert "set resources.memory_limit (as 1GB) well below" in do
    assert "raise resources.memory_limit" not in do


ALLOCATE = """
import resource, sys
from pathlib import Path
import pyarrow, duckdb
from annot_pipeline.config import Resources
from annot_pipeline.errors import StoreError
from annot_pipeline.storage import queries
queries.sql_text = lambda _: "SELECT list(md5(range::varchar)) FROM range(6000000)"
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
try:
    queries.Queries(Resources(threads=1), Path(sys.argv[1])).table("a/query", {})
except StoreError as error:
    print(error.problems[0].do, flush=True)
"""


@pytest.mark.slow
def test_little_address_space_is_no_reason_to_raise_the_limit(tmp_path):
    command = [sys.executable, "-c", ALLOCATE, str(tmp_path / "spill")]
    for _ in range(5):  # DuckDB's threads may crash where no memory is left for them
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode >= 0 or ended.stdout:
            break
    assert "set resources.memory_limit (as 1GB) well below" in ended.stdout, ended.stderr


def test_memory_for_any_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("annot_pipeline.config.campaign_file.load_campaign", failing(MemoryError()))
    assert main(["status", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "not enough memory" in said
    assert "a defect of annot" not in said


BUILD = """
import resource, sys
from annot_pipeline.cli import main
import pyarrow, duckdb, numpy
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (700 << 20),) * 2)
sys.exit(main(["validate", sys.argv[1]]))
"""


@pytest.mark.slow
def test_a_document_that_does_not_fit_is_an_error_with_its_name(tmp_path):
    """A JSON document of 300 MB within all limits, and 700 MB of memory."""
    (tmp_path / "exports").mkdir()
    with (tmp_path / "exports" / "big.json").open("w") as file:
        file.write("[" + ",".join(["[1]"] * 1000))
        for _ in range(300):
            file.write("," + ",".join(["[[],[],[]]"] * 90_000))
        file.write("]")
    (tmp_path / "campaign.yaml").write_text(
        "campaign: a\nsources: [{path: exports/*.json, format: label_studio, fields: {item: a, "
        "judge: b, label: c}}]\n"
    )
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    ended = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"ANNOT_KEY": ""}
    )
    assert ended.returncode == 1
    assert "exports/big.json: cannot be read" in ended.stderr
    assert "not enough memory" in ended.stderr
    assert "Traceback" not in ended.stderr


ENDLESS = """
import signal
import sys
from pathlib import Path
from annot_pipeline.config.sections import Resources
from annot_pipeline.storage import queries
queries.sql_text = lambda _: "SELECT sum(range % 7) FROM range(10000000000000)"
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
print("asked", flush=True)
try:
    queries.Queries(Resources(threads=2), Path(sys.argv[1])).table("a/query", {})
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_a_signal_in_a_query_ends_the_build_and_is_no_defect(tmp_path):
    """Ctrl-C or SIGTERM in the main thread, while DuckDB works."""
    command = [sys.executable, "-c", ENDLESS, str(tmp_path / "spill")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "asked\n"
        time.sleep(0.5)  # a signal before the query starts ends it as well
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()
        assert process.stdout.read() == "stopped\n"
