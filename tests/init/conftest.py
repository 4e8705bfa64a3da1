"""A guessed campaign: written, loaded, and its exports read with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.config import Campaign
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.init import guess_campaign
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage.tables import read_table

FIRST_STAGES = 3
"""archive_exports, read_records, settle_judgments."""


@dataclass
class Guess:
    """A guessed campaign, loaded and read."""

    text: str
    settings: Campaign
    facts: dict[str, Any]
    judgments: pa.Table = field(repr=False)

    @property
    def notes(self) -> str:
        """The comments on one line."""
        return " ".join(line.strip(" #") for line in self.text.splitlines() if "#" in line)

    def fields(self, place: int = 0) -> dict[str, Any]:
        """Field to expression of a source, plain columns by name alone."""
        fields: dict[str, Any] = {}
        for name, expression in self.settings.sources[place].fields.items():
            document = expression.model_dump(by_alias=True, exclude_none=True)
            fields[name] = document["column"] if set(document) == {"column"} else document
        return fields

    @property
    def task_kinds(self) -> dict[str, str | None]:
        return {task.name: task.kind for task in self.settings.tasks}

    def used(self, *columns: str) -> set[tuple[Any, ...]]:
        used = self.judgments.filter(pc.equal(self.judgments["fate"], "used"))
        texts = pa.table({column: used[column].cast(pa.string()) for column in columns})
        rows = texts.group_by(list(columns)).aggregate([]).to_pylist()
        return {tuple(row[column] for column in columns) for row in rows}


@pytest.fixture
def guess(tmp_path: Path) -> Callable[..., Guess]:
    """Guesses a campaign, writes it to a folder of its own, and reads the exports with it."""

    def run(*exports: Path, rejected: int = 0, **by_role: str) -> Guess:
        folder = tmp_path / "campaign folder"
        answers = {role: tuple(columns.split(",")) for role, columns in by_role.items()}
        text = guess_campaign(list(exports), folder, by_role=answers)
        folder.mkdir()
        (folder / "campaign.yaml").write_text(text, encoding="utf-8")
        campaign = load_campaign(folder)
        build = Build(campaign)
        runs = [build.run_stage(stage) for stage in STAGES[:FIRST_STAGES]]
        facts = dict(runs[-1].result.document)
        assert facts["fates"]["rejected"] == rejected, facts["rejections"]
        for file in facts["files"]:
            assert file["adds_up"], file
        judgments = read_table(runs[-1].result.tables["settled"])
        return Guess(text, campaign.settings, facts, judgments)

    return run


def write_csv(path: Path, rows: Iterable[Sequence[object]], delimiter: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [delimiter.join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
