"""Queries that take a few tasks at a time give what they give of all at once."""

import pyarrow as pa
import pytest

from annot_pipeline import pipeline
from annot_pipeline.storage import queries
from annot_pipeline.storage.queries import Tasks, cut
from annot_pipeline.storage.tables import read_groups, read_table, write_table

TASKS = ["a", "a b", "it's", "o'b'", "'; DROP TABLE x; --", "%", "Ü", "ä", "日本", "🙂", "\\"]


def test_parts_are_of_whole_tasks_in_order(monkeypatch):
    monkeypatch.setattr(queries, "PART_ROWS", 10)
    sizes = {"b": 4, "a": 3, "d": 20, "c": 4, "e": 1, "f": 9, None: 50}
    assert cut(sizes) == [
        Tasks("a", "b", none=False),
        Tasks("c", "c", none=False),
        Tasks("d", "d", none=False),
        Tasks("e", "f", none=True),
    ]
    assert cut({None: 3}) == cut({}) == [Tasks("", "", none=True)]


def rows():
    found = [f"{task},i{i},w{j},{(i * j + n) % 2}" for n, task in enumerate(TASKS)
             for i in range(4) for j in range(3)]  # fmt: skip
    nameless = [",i1,w1,1", ",i2,w2,0"]
    return "task,item,judge,label\n" + "".join(
        f"{row}\n" for row in [*found, *nameless, *found[:5]]
    )


@pytest.mark.parametrize("size", [1, 12, 30])
def test_a_build_in_parts_gives_the_same_bytes(build_campaign, monkeypatch, tmp_path, size):
    mapping = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": mapping}]
    exports = {"a.csv": rows(), "b.csv": rows()[:400].rsplit("\n", 1)[0] + "\n"}
    gates = {"rejected_share": {"error": 1}}
    whole = build_campaign(exports, sources=sources, gates=gates)
    monkeypatch.setattr(queries, "PART_ROWS", size)
    monkeypatch.setattr(pipeline, "MANY_ROWS", size)  # memory is given back
    places = (f"store={tmp_path}/other", f"gold={tmp_path}/other-gold")
    parts = build_campaign(exports, *places, sources=sources, gates=gates)
    assert parts.hashes() == whole.hashes()
    fates = whole.facts("control_judges")["fates"]
    assert fates["rejected"] == 2
    assert fates["duplicate"] > 0
    assert fates["used"] > 100


def test_groups_of_other_tasks_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("annot_pipeline.storage.tables.ROW_GROUP", 4)
    names = sorted(TASKS * 4)

    path = tmp_path / "t.parquet"
    write_table(path, pa.table({"task": names, "n": list(range(len(names)))}))
    assert len(list(read_groups(path))) == len(TASKS)
    for tasks in (["it's"], ["Ü", "a"], ["none"], [], TASKS):
        read = read_table(path, ["n", "task"], tasks)
        assert read.schema.names == ["n", "task"]
        assert read["task"].to_pylist() == [n for n in names if n in tasks]
