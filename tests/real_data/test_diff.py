"""annot diff on textual entailment (Snow et al. 2008): a part withheld, then mended."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annot_pipeline.audit.diff.cells import CAUSES, ROUNDING, column_of
from annot_pipeline.audit.diff.releases import diff_releases
from annot_pipeline.config.campaign_file import load_campaign
from tests.conftest import build_file


@pytest.fixture
def rte(shared_campaigns: Path, shared_data: Path, tmp_path: Path) -> Path:
    """The campaign with an export of its own."""
    text = (shared_campaigns / "rte.yaml").read_text()
    path = "../data/snow2008/all_collected_data/rte.standardized.tsv"
    assert path in text
    text = text.replace(path, "exports/*.tsv").replace("store/rte", "store")
    (tmp_path / "campaign.yaml").write_text(text.replace("gold/rte", "gold"))
    (tmp_path / "exports").mkdir()
    shutil.copy(shared_data / Path(path).relative_to("../data"), tmp_path / "all.tsv")
    return tmp_path


def write(folder: Path, name: str, lines: list[str]) -> None:
    (folder / "exports" / name).write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_a_part_withheld_then_a_row_mended(rte: Path):
    head, *rows = (rte / "all.tsv").read_text().splitlines()
    items = sorted({row.split("\t")[2] for row in rows})
    late = set(items[-100:])
    first = [row for row in rows if row.split("\t")[2] not in late]
    write(rte, "1.tsv", [head, *first])
    build_file(rte)
    write(rte, "2.tsv", [head, *(row for row in rows if row.split("\t")[2] in late)])
    cells = first[0].split("\t")
    place = head.split("\t").index("response")
    cells[place] = str(1 - int(cells[place]))
    write(rte, "1.tsv", [head, "\t".join(cells), *first[1:]])
    build_file(rte)

    diff = diff_releases(load_campaign(rte), ("v0001", "v0002"))
    n_late = len(rows) - len(first)
    counts = {kind: n for kind, n in diff.inputs["judgments"].items() if n}
    assert counts == {"new": n_late, "corrected": 1}
    labels = [row for row in diff.cells.to_pylist() if row["column"] == "label"]
    added = [row for row in labels if row["change"] == "added"]
    assert {row["item"] for row in added} == late
    assert all("new judgments" in row["causes"] for row in added)
    probabilities = [row for row in diff.cells.to_pylist() if row["delta"] is not None]
    assert len(probabilities) > 300  # judges are shared, so what is new moves what was there
    for row in probabilities:
        deltas = {cause: row[column_of("delta", cause)] for cause in CAUSES}
        assert sum(deltas.values()) == pytest.approx(row["delta"], abs=1e-12)
        rounding = ROUNDING * abs(row["delta"])
        moved = {cause for cause, delta in deltas.items() if abs(delta) > rounding}
        assert moved == set(row["causes"])
        assert set(row["causes"]) <= {"new judgments", "corrected judgments"}
    of_item = {r["item"]: r for r in probabilities}.get(cells[2])
    if of_item:
        assert "corrected judgments" in of_item["causes"]
    states = [made for made in diff.recomputed if "labels" in made["tables"]]
    assert len(states) == 1  # with what is new alone; the rest is in the releases
