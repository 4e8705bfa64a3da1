"""Tables that are made in parts: the same bytes as whole; what did not change is not made again."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import replace
from threading import Event, Thread, current_thread

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from annot_pipeline.audit.recompute import recomputation, recomputed_tables
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import GateError, StoreError
from annot_pipeline.runtime import partitions as parts
from annot_pipeline.runtime.context import PARTITIONS
from annot_pipeline.runtime.executors.local import LocalEngine
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import Build, stages_for
from annot_pipeline.stages.gold import check_tables, list_judgments
from annot_pipeline.storage import tables
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.tables import (
    StoredTable,
    as_published,
    is_intact,
    read_groups,
    read_table,
    read_verified,
    write_table,
)
from benchmarks.exports import Shape, write_campaign

TASKS = ["a", "a b", "it's", "'; DROP TABLE x; --", "Ü", "🙂", "\\"]
MADE_IN_PARTS = ("settled", "controlled", "standardized", "judgments", "judges", "lineage")


def small_sizes(partition_rows):
    """Sizes with which each task that fits is a partition of its own."""
    return JobSizes(partition_rows, least_rows=1, end_one_in=1)


def test_parts_are_of_whole_tasks_in_order():
    sizes = JobSizes(10, least_rows=10, end_one_in=1)
    rows_by_task = {"b": 4, "a": 3, "d": 20, "c": 4, "e": 1, "f": 9, "g": 1}
    chunks = [["a", "b"], ["c"], ["d"], ["e", "f"], ["g"]]
    assert sizes.chunk_tasks(rows_by_task) == chunks
    assert sizes.chunk_tasks({}) == [[]]


def test_a_task_that_grows_or_comes_moves_no_far_end():
    sizes = JobSizes(10_000, least_rows=100, end_one_in=4)
    rows_by_task = {f"task {n:03}": 30 for n in range(200)}
    before = sizes.chunk_tasks(rows_by_task)
    grown = sizes.chunk_tasks({**rows_by_task, "task 100": 250})
    come = sizes.chunk_tasks({**rows_by_task, "task 100a": 30})
    assert len(before) > 15
    for after in (grown, come):
        assert before[0] == after[0]
        assert before[-1] == after[-1]
        assert len([part for part in after if part not in before]) < 6


def test_a_task_that_is_large_enough_is_a_part_of_its_own():
    sizes = JobSizes(100, least_rows=30, end_one_in=10**9)
    rows_by_task = {"a": 4, "b": 40, "c": 5, "d": 30, "e": 200, "f": 29, "g": 29, "h": 29, "i": 29}
    chunks = [["a"], ["b"], ["c"], ["d"], ["e"], ["f", "g", "h"], ["i"]]
    assert sizes.chunk_tasks(rows_by_task) == chunks
    assert sizes.chunk_tasks({**rows_by_task, "d": 60}) == chunks


def rows():
    actual = [f"{task},i{i},w{j},{(i * j + n) % 2}" for n, task in enumerate(TASKS)
             for i in range(4) for j in range(3)]  # fmt: skip
    nameless = [",i1,w1,1", ",i2,w2,0"]
    return "task,item,judge,label\n" + "".join(
        f"{row}\n" for row in [*actual, *nameless, *actual[:5]]
    )


def written_by_the_engine(monkeypatch):
    """Names of the published files that the engine is asked to put together."""
    run, names = LocalEngine.run, []

    def noted(self, jobs, *rest, **more):
        asked = [job for job in jobs if getattr(job, "func", None) is tables._write_rows]
        names.extend(job.args[2].stem for job in asked)
        return run(self, jobs, *rest, **more)

    monkeypatch.setattr(LocalEngine, "run", noted)
    return names


def rebuilt_hashes(campaign, release, sizes):
    """SHA-256 of each table of a release that is built again from its archived bytes."""
    names = [table["name"] for table in release.manifest["tables"]]
    with recomputation(campaign, release, lambda _: None, sizes) as build:
        tables = recomputed_tables(build, names)
        files = {
            name: as_published(tables[name], build.store.root / f"{name}.parquet") for name in names
        }
        return {name: table.sha256 for name, table in build.write_tables(files).items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [pytest.param(1, marks=pytest.mark.slow), 12, pytest.param(30, marks=pytest.mark.slow)],
)
def test_a_build_in_parts_gives_the_same_bytes(build_campaign, monkeypatch, tmp_path, size):
    mapping = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": mapping}]
    exports = {"a.csv": rows(), "b.csv": rows()[:400].rsplit("\n", 1)[0] + "\n"}
    gates = {"rejected_share": {"error": 1}}
    settings = {"sources": sources, "gates": gates}
    whole = build_campaign(exports, **settings)
    assert len(whole.runs["trace_lineage"].result.tables["lineage"].files) == 1
    small = replace(small_sizes(size), result_rows=size)  # memory is given back
    locations = (f"store={tmp_path}/other", f"gold={tmp_path}/other-gold")
    partitioned = build_campaign(exports, *locations, sizes=small, **settings)
    n_files = len(partitioned.runs["trace_lineage"].result.tables["lineage"].files)
    by_item, by_task = 4 * len(TASKS), len(TASKS)
    assert n_files == {1: by_item, 30: by_task}.get(size, n_files)
    assert by_task <= n_files <= by_item
    assert partitioned.hashes() == whole.hashes()
    again = build_campaign(exports, *locations, sizes=small, **settings)
    assert not again.publication.published, "tables put together have other hashes than their parts"
    other = JobSizes(size + 60, least_rows=60, end_one_in=1, result_rows=size)
    shutil.rmtree(tmp_path / "other" / "stages")
    engine_writes = written_by_the_engine(monkeypatch)
    resized = build_campaign(exports, *locations, sizes=other, **settings)
    assert not resized.publication.published
    assert {"judgments", "lineage"} <= {*engine_writes}
    command = ["verify", str(tmp_path / "campaign"), "--rebuild"]
    sets = (word for location in locations for word in ("--set", location))
    assert main([*command, *sets]) == 0
    engine_writes.clear()
    campaign = load_campaign(tmp_path / "campaign", sets=locations)
    assert rebuilt_hashes(campaign, resized.publication.release, other) == resized.hashes()
    assert {"judgments", "lineage"} <= {*engine_writes}
    fates = whole.metrics("control_judges")["fates"]
    assert fates["rejected"] == 2
    assert fates["duplicate"] > 0
    assert fates["used"] > 50


@pytest.mark.slow
def test_a_null_in_one_part_is_named(build_campaign, monkeypatch):
    """Its file is written with other columns than those of the other parts."""
    lineage_rows = list_judgments.lineage_rows

    def careless(records):
        for part in lineage_rows(records):
            is_holed = pc.fill_null(pc.equal(part["task"].cast(pa.string()), "it's"), False)
            files = pc.if_else(is_holed, None, part["source_file"].cast(pa.string()))
            yield part.set_column(part.schema.get_field_index("source_file"), "source_file", files)

    monkeypatch.setattr(list_judgments, "lineage_rows", careless)
    mapping = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": mapping}]
    gates = {"rejected_share": {"error": 1}}
    with pytest.raises(GateError, match=r"source_file is null in 12 rows: \"it's\""):
        build_campaign({"a.csv": rows()}, sizes=small_sizes(30), sources=sources, gates=gates)


SHAPE = Shape(labels=180, scores=270, comparisons=180, tasks=3, judges=8)


@pytest.fixture
def campaign(tmp_path):
    return write_campaign(tmp_path / "campaign", SHAPE)


def made_in_parts(path, *sets):
    build = Build(load_campaign(path, sets=sets), sizes=small_sizes(1_000))
    results = [build.run_stage(stage).result for stage in stages_for(MADE_IN_PARTS)]
    tables = {name: table for result in results for name, table in result.tables.items()}
    documents = {result.stage: result.document for result in results}
    return {name: tables[name] for name in tables if name in MADE_IN_PARTS}, documents


def inodes(table):
    return {os.stat(path).st_ino for path in table.paths}


def add(path, name, text):
    (path.parent / "exports" / name).write_text(text)


LATE = "task,item,judge,label,truth,at\nlabels-02,late,newcomer,class-1,,2026-01-01T00:00:00Z\n"


# one file sorts before all others, one after them: what takes precedence is named, not numbered
@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ["labels-00-late.csv", pytest.param("labels-zz-late.csv", marks=pytest.mark.slow)]
)
def test_parts_without_news_are_linked(campaign, tmp_path, monkeypatch, name):
    before, _ = made_in_parts(campaign)
    add(campaign, name, LATE)
    read = []

    def logged(table, *of, **how):
        read.extend(path.name for path in table.paths)
        return read_groups(table, *of, **how)

    monkeypatch.setattr(check_tables, "read_groups", logged)
    after, documents = made_in_parts(campaign)
    for table in ("judgments", "lineage"):
        names = {path.name for path in after[table].paths}
        assert 0 < len(names.intersection(read)) <= 3, "the new file and its neighbours"
    for table in MADE_IN_PARTS:
        fresh = inodes(after[table]) - inodes(before[table])
        assert len(after[table].files) == 9
        assert len(fresh) == 1, table
    at_once, documents_at_once = made_in_parts(campaign, f"store={tmp_path}/other")
    assert {n: t.sha256 for n, t in after.items()} == {n: t.sha256 for n, t in at_once.items()}
    for stage in ("settle_judgments", "control_judges", "standardize_scores"):
        assert documents[stage] == documents_at_once[stage], stage
    assert len(documents["standardize_scores"][PARTITIONS]) == len(after["standardized"].files)


@pytest.mark.slow
def test_a_correction_reaches_the_parts_of_its_task_alone(campaign, tmp_path):
    """Another file answers for a judgment that is there: both get another fate."""
    path = sorted((campaign.parent / "exports").glob("scores-*"))[0]
    head, first = path.read_text().replace('"', "").splitlines()[:2]
    before, _ = made_in_parts(campaign)
    cells = dict(zip(head.split(","), first.split(","), strict=True))
    cells |= {"score": str(100 - float(cells["score"])), "at": "2031-01-01T00:00:00Z"}
    add(campaign, path.name.replace("scores-", "scores-zz-"),
        f"{head}\n{','.join(cells.values())}\n")  # fmt: skip
    after, _ = made_in_parts(campaign)
    assert len(inodes(after["settled"]) - inodes(before["settled"])) == 1
    fates = read_table(after["settled"], ["task", "fate"]).to_pylist()
    assert [row["task"] for row in fates if row["fate"] == "superseded"] == [cells["task"]]
    at_once, _ = made_in_parts(campaign, f"store={tmp_path}/other")
    assert {n: t.sha256 for n, t in after.items()} == {n: t.sha256 for n, t in at_once.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flipped", pytest.param("gone", marks=pytest.mark.slow)])
def test_a_part_that_is_harmed_is_made_again(campaign, kind):
    before, _ = made_in_parts(campaign)
    path = before["judgments"].paths[3]
    if kind == "gone":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    add(campaign, "labels-zz.csv", LATE)
    after, _ = made_in_parts(campaign)
    assert after["judgments"].rows == before["judgments"].rows + 1
    read_table(after["judgments"])


@pytest.mark.slow
def test_harm_to_a_file_that_several_results_share(campaign, tmp_path):
    """Settled judgments are those after judge control, where nobody fails: one file, linked."""
    before, _ = made_in_parts(campaign, "quality.test=none")
    assert inodes(before["settled"]) == inodes(before["controlled"])
    path = before["settled"].paths[2]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    add(campaign, "labels-zz.csv", LATE)
    after, _ = made_in_parts(campaign, "quality.test=none")
    at_once, _ = made_in_parts(campaign, "quality.test=none", f"store={tmp_path}/other")
    assert {n: t.sha256 for n, t in after.items()} == {n: t.sha256 for n, t in at_once.items()}
    for table in after.values():
        read_verified(table)


@pytest.mark.slow
def test_a_copy_that_is_not_the_file_is_refused(campaign, monkeypatch):
    made_in_parts(campaign)

    def no_link(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(shutil, "copyfile", lambda _, path: path.write_bytes(b"half"))
    add(campaign, "labels-zz.csv", LATE)
    with pytest.raises(StoreError, match="not the bytes that were written"):
        made_in_parts(campaign)


@pytest.mark.slow
def test_other_settings_make_all_parts_again(campaign):
    before, _ = made_in_parts(campaign)
    after, _ = made_in_parts(campaign, "standardize.controls=exclude")
    assert not inodes(after["standardized"]) & inodes(before["standardized"])


@pytest.mark.slow
def test_parts_need_nothing_of_the_process_that_planned_them(campaign, monkeypatch):
    """They can be pickled, made elsewhere, and give the same files."""
    plain, _ = made_in_parts(campaign)

    class Elsewhere:
        def __init__(self, part):
            self.key, self._pickled = part.key, pickle.dumps(part)

        def make(self, folder, key):
            return pickle.loads(self._pickled).make(folder, key)

    from annot_pipeline.stages.gold import stage as gold
    from annot_pipeline.stages.ingest import judgments
    from annot_pipeline.stages.judges import stage as control

    run_partitions = parts.run_partitions
    for module in (control, gold, judgments):
        monkeypatch.setattr(
            module,
            "run_partitions",
            lambda context, of, **_: run_partitions(context, list(map(Elsewhere, of))),
        )
    elsewhere, _ = made_in_parts(campaign, f"store={campaign.parent}/other")
    assert {n: t.sha256 for n, t in plain.items()} == {n: t.sha256 for n, t in elsewhere.items()}


@pytest.mark.slow
def test_a_disk_without_links_holds_copies(campaign, monkeypatch):
    before, _ = made_in_parts(campaign)

    def no_link(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", no_link)
    add(campaign, "labels-zz.csv", LATE)
    after, _ = made_in_parts(campaign)
    assert not inodes(after["lineage"]) & inodes(before["lineage"])
    assert len({f.sha256 for f in after["lineage"].files}
               - {f.sha256 for f in before["lineage"].files}) == 1  # fmt: skip


@pytest.mark.parametrize("links", [True, False])
def test_a_copy_that_was_broken_off_is_made_again(tmp_path, monkeypatch, links):
    """A machine that died left the name with half of the bytes; another does its job."""
    file = write_table(tmp_path / "of.parquet", pa.table({"task": ["a"]}))
    plain, link = shutil.copyfile, os.link

    def no_link(*of):
        if links:
            return link(*of)
        if of[1].exists():  # told before that there are no links
            raise FileExistsError
        raise OSError("no links here")

    def dies(source, path):
        path.write_bytes(source.read_bytes()[:7])
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", no_link)
    if not links:
        monkeypatch.setattr(shutil, "copyfile", dies)
        with pytest.raises(KeyboardInterrupt):
            parts.link_partition(tmp_path, "t", "key", file)
        assert not (tmp_path / "t-key.parquet").exists(), "half a file has its name"
        monkeypatch.setattr(shutil, "copyfile", plain)
    for left in (b"half", None):
        if left:
            (tmp_path / "t-key.parquet").write_bytes(left)
        made = parts.link_partition(tmp_path, "t", "key", file)
        assert is_intact(made)
        assert made.path == tmp_path / "t-key.parquet"


def test_a_process_reads_the_bytes_of_a_file_once(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(tables, "file_sha256", lambda path: read.append(path) or file_sha256(path))
    file = write_table(tmp_path / "of.parquet", pa.table({"task": ["a"]}))
    read.clear()
    changed = os.stat(file.path).st_mtime_ns
    assert is_intact(file)
    data = bytearray(file.path.read_bytes())
    data[9] ^= 1
    file.path.write_bytes(data)
    os.utime(file.path, ns=(changed, changed))  # as a disk does with coarse times
    assert not is_intact(file)
    data[9] ^= 1
    file.path.write_bytes(data)
    os.utime(file.path, ns=(changed - 10**10, changed - 10**10))
    read.clear()
    for path in (file.path, parts.link_partition(tmp_path, "t", "key", file).path):
        assert is_intact(replace(file, path=path))
    assert read == [file.path]
    data[9] ^= 1
    file.path.write_bytes(data)
    assert not is_intact(file)


def test_the_tasks_of_a_file_are_read_once(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(tables, "read_table", lambda *of: read.append(of) or read_table(*of))
    file = write_table(tmp_path / "of.parquet", pa.table({"task": ["b", "a", None, "b"]}))
    assert [[*tables.tasks_in(file)] for _ in range(2)] == [["a", "b"]] * 2
    assert len(read) == 1


def test_several_files_become_one_with_the_same_bytes(tmp_path):
    whole = pa.table({"task": ["a", "a", "b", "c"], "n": [1, 2, 3, None]})
    once = write_table(tmp_path / "once.parquet", whole, published=True)
    files = [
        write_table(tmp_path / f"{at}.parquet", whole.slice(at, n), published=True)
        for at, n in ((0, 2), (2, 2))
    ]
    table = StoredTable(tuple(files))
    [(path, make)] = as_published(table, tmp_path / "whole.parquet")
    assert path == tmp_path / "whole.parquet"
    assert make().sha256 == once.sha256
    assert table.rows == 4
    assert table.bytes == sum(path.stat().st_size for path in table.paths)
    assert table.sha256 not in {once.sha256, *(file.sha256 for file in files)}
    [(_, make)] = as_published(StoredTable((once,)), tmp_path / "unused.parquet")
    assert make() == once


def test_two_machines_may_write_a_published_file_at_once(tmp_path, monkeypatch):
    """One is told that the other is lost, which writes on: each returns the file as it is."""
    rows = pa.table({"task": ["a"] * 40, "n": list(range(40))})
    sizes = {"group_rows": 4}
    half = [
        write_table(tmp_path / f"{at}.parquet", rows.slice(at, 20), published=True, **sizes)
        for at in (0, 20)
    ]
    [(path, make)] = as_published(StoredTable(tuple(half)), tmp_path / "whole.parquet", **sizes)
    expected = make()
    late, began, ended = Event(), Event(), Event()
    read, write, files = tables._rows, pq.ParquetWriter, {}

    def slow(*arguments):
        """The first has nearly written all when the second begins, which ends after it."""
        is_second = current_thread().name == "second"
        for n, group in enumerate(read(*arguments)):
            if n == 1 and is_second:
                assert ended.wait(30)
            if n == 9 and not is_second:
                late.set()
                assert began.wait(30)
            yield group

    def opened(*arguments, **more):
        writer = write(*arguments, **more)
        if current_thread().name == "second":
            began.set()
        return writer

    monkeypatch.setattr(tables, "_rows", slow)
    monkeypatch.setattr(pq, "ParquetWriter", opened)

    def attempt():
        files[current_thread().name] = make()
        ended.set()

    attempts = [Thread(target=attempt, name=name) for name in ("first", "second")]
    attempts[0].start()
    assert late.wait(30)
    attempts[1].start()
    for thread in attempts:
        thread.join(60)
    assert files == {"first": expected, "second": expected}
    assert file_sha256(path) == expected.sha256
    assert not [*tmp_path.glob(".tmp-*")]


def test_groups_of_other_tasks_are_not_read(tmp_path):
    names = sorted(TASKS * 4)

    path = tmp_path / "t.parquet"
    write_table(path, pa.table({"task": names, "n": list(range(len(names)))}), group_rows=4)
    assert len(list(read_groups(path))) == len(TASKS)
    for tasks in (["it's"], ["Ü", "a"], ["none"], [], TASKS):
        read = read_table(path, ["n", "task"], tasks)
        assert read.schema.names == ["n", "task"]
        assert read["task"].to_pylist() == [n for n in names if n in tasks]
