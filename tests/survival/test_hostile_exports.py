"""Whatever an export holds: words for the user, or a build in which every row is accounted for."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import KEPT, AnnotError, InputError
from annot_pipeline.stages.build import STAGES, Build, stages_for
from annot_pipeline.storage.tables import read_table
from tests.conftest import build_file
from tests.survival import hostile
from tests.survival.hostile import Export, exports

EXAMPLES = 2000 if "SOAK" in os.environ else 20
ENDING = {"csv": "csv", "jsonl": "jsonl", "parquet": "parquet", "label_studio": "json"}
ALL = {"rejected_share": {"error": 1.0}}
"""Gates that let a build of nothing but odd rows go on."""


def write(export: Export, folder: Path) -> Path:
    ending = ENDING.get(export.format, "xml")
    (folder / "exports").mkdir()
    (folder / f"exports/a.{ending}").write_bytes(export.data)
    source = {"path": f"exports/a.{ending}", "format": export.format, "fields": export.fields}
    document: dict[str, Any] = {
        "campaign": "hostile",
        "sources": [source | {"options": export.options}],
        "agreement": {"bootstrap": 5},
        "ranking": {"bootstrap": 5, "online_rounds": 1},
        "gates": ALL,
    }
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return folder


def is_built(export: Export, folder: Path, *, whole: bool) -> bool:
    """Build, all or as far as lineage; all rows must be in it."""
    build = Build(load_campaign(write(export, folder)))
    try:
        stages = STAGES if whole else stages_for(["lineage"])
        runs = {stage.name: build.run_stage(stage).result for stage in stages}
    except AnnotError as error:
        check_words(error)
        return False
    lineage = read_table(runs["trace_lineage"].tables["lineage"]).to_pylist()
    (file,) = runs["control_judges"].document["files"]
    assert sum(runs["control_judges"].document["fates"].values()) == len(lineage)
    assert file["records_read"] == len(lineage)
    assert {row["source_row"] for row in lineage} == set(range(1, file["rows_read"] + 1))
    if whole:
        try:
            release = publish(build).release
        except AnnotError as error:
            check_words(error)
            return True
        assert sum(release.manifest["sources"][0]["records"].values()) == len(lineage)
        assert release.damaged() == []
    return True


def check_words(error: AnnotError) -> None:
    """Something to read, which a terminal can show."""
    assert error.title
    assert all(c.isprintable() or c in KEPT or c == "\n" for c in str(error))


@pytest.mark.slow
def test_any_export_is_read_or_refused_in_words(tmp_path: Path) -> None:
    """All are built whole in the long run, else one in ten, and the others as far as lineage."""
    built: list[bool] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="SOAK" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(exports(), st.integers(0, 9))
    def all_exports(export: Export, tenth: int) -> None:
        folder = tmp_path / "campaign"
        folder.mkdir()
        try:
            whole = tenth == 0 or "SOAK" in os.environ
            built.append(is_built(export, folder, whole=whole))
        finally:
            shutil.rmtree(folder)

    all_exports()
    print(f"{sum(built)} of {len(built)} exports were read")
    assert sum(built) > len(built) / 3, "else little is tested"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "label_studio", "wmt_ranking"])
def test_bytes_without_the_mark_of_their_encoding(kind: str, tmp_path: Path) -> None:
    """Found so: UTF-16 says by its first two bytes which of two it is."""
    fields = hostile.FIELDS.get(kind, {name: name for name in ("item", "judge", "label")})
    data = "item,judge,label\n".encode("utf-16-le")
    export = Export(data, kind, fields, {"encoding": "utf-16"})
    folder = tmp_path / "campaign"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        build_file(write(export, folder))


def test_parquet_whose_column_names_are_damaged(tmp_path: Path) -> None:
    """Found so: what is no text in a footer was no error of Parquet to pyarrow."""
    names = ("item", "judge", "label")
    pq.write_table(pa.table({name: ["x"] for name in names}), tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes().replace(b"judge", b"jud\xffe")
    folder = tmp_path / "campaign"
    folder.mkdir()
    export = Export(data, "parquet", {name: name for name in names}, {})
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read"):
        build_file(write(export, folder))
