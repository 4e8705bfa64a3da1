"""annot verify --rebuild: the archived bytes give the published tables, or the first difference."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.audit.verify.rebuild import NO_ROW, first_difference
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages import registry as declared
from annot_pipeline.stages.build import MAKER
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.store import digest_of
from annot_pipeline.storage.tables import read_table, write_table
from tests.audit.two_releases import manifest_of, rewrite


def verified(campaign: Path, version: str | None = None) -> dict[str, Any]:
    return verify(load_campaign(campaign), version, rebuild=True)


def forge_table(campaign: Path, version: str, name: str, change) -> None:
    """Change a table, and every checksum that vouches for it."""
    path = campaign / "gold" / version / f"{name}.parquet"
    table = pq.read_table(path)
    changed = pa.Table.from_pylist(change(table.to_pylist()), table.schema)
    written = write_table(path, changed)

    def agree(manifest):
        from annot_pipeline.config.signature import digest

        manifest["files"][path.name] = written.sha256
        [entry] = [t for t in manifest["tables"] if t["name"] == name]
        entry |= {"sha256": written.sha256, "rows": written.rows}
        shas = {t["name"]: t["sha256"] for t in manifest["tables"] if t["name"] != "lineage"}
        manifest["content_sha256"] = digest(shas)

    rewrite(campaign, version, agree)


def forge_store(campaign: Path, version: str) -> None:
    """Put a release's labels in the place of what the store remembers of them."""
    path = campaign / "gold" / version / "labels.parquet"
    for stage in (campaign / "store" / "stages" / MAKER["labels"].name).iterdir():
        shutil.copy(path, stage / "labels.parquet")
        document = json.loads((stage / "stage.json").read_bytes())
        document["tables"]["labels"][0]["sha256"] = file_sha256(path)
        document["sha256"] = digest_of({n: v for n, v in document.items() if n != "sha256"})
        (stage / "stage.json").write_text(json.dumps(document))


def test_archived_bytes_give_every_table_again(campaign):
    shutil.rmtree(campaign / "exports")  # only the archive counts
    document = verified(campaign)
    assert document["findings"] == []
    tables = len(manifest_of(campaign, "v0002")["tables"])
    assert [(r["version"], r["tables"], r["equal"]) for r in document["rebuilt"]] == [
        ("v0001", tables, tables), ("v0002", tables, tables),
    ]  # fmt: skip
    assert document["rebuilt"][0]["other_code"] == []


@pytest.mark.slow
def test_a_table_that_was_forged_with_all_its_checksums(campaign):
    def change(rows):
        rows[3]["label"] = "forged"
        return rows

    forge_table(campaign, "v0002", "labels", change)
    forge_store(campaign, "v0002")
    assert verify(load_campaign(campaign))["ok"]  # no checksum tells
    document = verified(campaign, "v0002")
    [difference] = document["rebuilt"][0]["differences"]
    assert (difference["table"], difference["row"], difference["column"]) == ("labels", 4, "label")
    assert difference["released"] == "'forged'"
    assert difference["rebuilt"] in ("'a'", "'b'")
    assert difference["key"] == {"task": "small", "item": "i3"}
    [finding] = document["findings"]
    assert "first in row 4 (task 'small', item 'i3'), column label: " in finding["what"]
    assert "released 'forged', rebuilt " in finding["what"]
    assert "the store was damaged when it was built, or files and checksums" in finding["do"]
    assert verified(campaign, "v0001")["ok"]
    path = campaign / "gold" / "v0002" / "labels.parquet"
    write_table(path, pq.read_table(path).slice(1))
    actions = [finding["do"] for finding in verified(campaign, "v0002")["findings"]]
    assert any("v0002 was changed; restore it" in action for action in actions)


def test_a_changed_method_is_named_as_other_code(campaign, monkeypatch):
    stage = MAKER["labels"]

    def other_work(context):
        made = stage.work(context)
        labels = read_table(made.tables["labels"])
        place = labels.schema.get_field_index("probability")
        half = pa.array(np.full(labels.num_rows, 0.5), labels.schema.field(place).type)
        tables = dict(made.tables) | {
            "labels": labels.set_column(place, labels.schema.field(place), half)
        }
        return dataclasses.replace(made, tables=tables)

    other = dataclasses.replace(stage, work=other_work, code_version="next")
    stages = tuple(other if s is stage else s for s in declared.STAGES)
    monkeypatch.setattr(declared, "STAGES", stages)
    for table in stage.outputs:
        monkeypatch.setitem(MAKER, table, other)
    document = verified(campaign, "v0001")
    assert not document["ok"]
    named = {f["file"].rpartition("/")[2]: f for f in document["findings"]}
    assert "column probability: released" in named["labels.parquet"]["what"]
    code = f"made by other code: stage {stage.name} {stage.code_version}, now next"
    assert named["labels.parquet"]["do"].startswith(code)
    assert document["rebuilt"][0]["other_code"] == [
        f"stage {stage.name} {stage.code_version}, now next"
    ]


@pytest.mark.slow
def test_other_packages_are_said_also_where_nothing_differs(campaign):
    def older(manifest):
        manifest["packages"]["numpy"] = "1.0"
        manifest["code"]["sql"] = "0" * 64

    rewrite(campaign, "v0002", older)
    document = verified(campaign, "v0002")
    assert document["ok"]
    other = document["rebuilt"][0]["other_code"]
    assert other[0].startswith("numpy 1.0, now ")
    assert other[1] == "other queries (sql)"


def test_a_release_that_cannot_be_built_again_says_why(campaign, monkeypatch, capsys):
    settings = campaign / "store" / "settings"
    settings.rename(campaign / "store" / "elsewhere")
    document = verified(campaign, "v0001")
    assert "cannot be built again" in document["findings"][0]["what"]
    assert "settings are not in" in document["rebuilt"][0]["error"]
    assert main(["verify", str(campaign), "v0001", "--rebuild"]) == 1
    out = capsys.readouterr().out
    assert "v0001 cannot be made again: its settings are not in" in out
    (campaign / "store" / "elsewhere").rename(settings)
    monkeypatch.setenv("ANNOT_KEY", "another key, long enough to be one")
    assert "key" in verified(campaign, "v0001")["findings"][0]["what"]
    assert main(["verify", str(campaign), "v0001", "--rebuild"]) == 1
    assert "v0001 cannot be made again: " in capsys.readouterr().out


def test_a_release_that_names_no_export_is_not_built_again(campaign, capsys):
    rewrite(campaign, "v0002", lambda manifest: manifest["sources"].clear())
    assert main(["verify", str(campaign), "v0002", "--rebuild"]) == 1
    assert "v0002 cannot be made again: its manifest names no export" in capsys.readouterr().out
    assert main(["diff", str(campaign), "v0001", "v0002"]) == 1
    error = capsys.readouterr().err
    assert "v0002 cannot be made again\n  its manifest names no export with judgments" in error
    assert "restore the release from a backup" in error


@pytest.mark.slow
def test_the_command_says_what_was_compared(campaign, capsys):
    assert main(["verify", str(campaign), "latest", "--rebuild", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rebuilt"][0]["equal"] == document["rebuilt"][0]["tables"]
    assert main(["verify", str(campaign), "latest", "--rebuild"]) == 0
    assert (
        "byte for byte the same\n  v0002        20                      20\n"
        in capsys.readouterr().out
    )


def write(path: Path, **columns: Any) -> Path:
    write_table(path, pa.table(columns))
    return path


def test_first_differences(tmp_path):
    n = 200_000
    numbers = np.arange(n)
    old = write(tmp_path / "old.parquet", k=numbers, x=numbers / 3, t=[str(i) for i in numbers])
    x = numbers / 3
    x[150_000] += 1e-9
    x[199_999] = 0
    new = write(tmp_path / "new.parquet", k=numbers, x=x, t=[str(i) for i in numbers])
    assert file_sha256(old) != file_sha256(new)
    actual = first_difference([old], [new], ["k"])
    assert (actual.row, actual.column, actual.key) == (150_001, "x", {"k": 150_000})
    assert (actual.released, actual.rebuilt) == (repr(150_000 / 3), repr(float(x[150_000])))


def test_first_differences_of_shapes(tmp_path):
    a = write(tmp_path / "a", k=["x", "y"], v=[1.0, None])
    b = write(tmp_path / "b", k=["x", "y", "z"], v=[1.0, None, 2.0])
    more = first_difference([a], [b], ["k"])
    assert (more.row, more.column, more.key, more.released) == (3, None, {"k": "z"}, NO_ROW)
    assert first_difference([b], [a], ["k"]).rebuilt == NO_ROW
    c = write(tmp_path / "c", k=["x", "y"], v=[1.0, 0.0])
    null = first_difference([a], [c], ["k"])
    assert (null.row, null.released, null.rebuilt) == (2, "None", "0.0")
    zero = first_difference([c], [write(tmp_path / "d", k=["x", "y"], v=[1.0, -0.0])], ["k"])
    assert (zero.released, zero.rebuilt) == ("0.0", "-0.0")
    e = write(tmp_path / "e", k=["x", "y"], v=[1, 2])
    types = first_difference([a], [e], ["k"])
    assert (types.row, types.column) == (None, "v")
    assert (types.released, types.rebuilt) == ("double, ''", "int64, ''")
    assert first_difference([a], [a], ["k"]).column is None
    f = write(tmp_path / "f", k=["x", "q"], v=[2.0, None])
    assert first_difference([a], [f], ["k"]).column == "v"  # row 1 comes before row 2
