"""`dg scaffold defs assets_defs.JudgmentCampaign NAME`: files that load as they are written."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import click
import dagster as dg
from pydantic import BaseModel, Field

CAMPAIGN = """\
# Campaign {name}: settings of a build. Paths are relative to this file.
# All settings: docs/reference/settings.md of annot-pipeline.
#
# 1. Put exports into {data}/exports, from here.
# 2. Let annot guess what they hold, or edit `sources` by hand:
#      annot init {data}/exports -o . --force
# 3. annot validate .     what maps to what, what would be rejected; writes nothing
# 4. Launch the job {name}_nightly, or switch on its schedule or sensor.

campaign: {name}

store: {data}/store  # working state, outside the code; another disk will do
gold: {data}/gold    # releases: a folder, or s3://bucket/prefix

sources:
  - path: {data}/exports/*.csv
    format: csv  # or jsonl, parquet, mturk, label_studio, ...
    fields:      # what annot calls it: the column of the export
      item: item
      judge: judge
      label: label  # or score, for numbers on a scale

schedule:
  cron: "0 2 * * *"
  timezone: UTC
  active: false            # true: as soon as a daemon runs
  sensor: {{active: false}}  # true: a build whenever exports are new or changed
"""

IGNORED = "# data, which is not part of the project\n*\n"
PROJECT = ("pyproject.toml", "dg.toml")


class ScaffoldParams(BaseModel):
    """Options of the scaffolder."""

    exports: str | None = Field(
        default=None,
        description="Path of an export or folder of exports, from which campaign.yaml is guessed.",
    )


class CampaignScaffolder(dg.Scaffolder[ScaffoldParams]):
    """Writes defs.yaml, a commented campaign.yaml and the folder for exports."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldParams]:
        """Return what `dg scaffold defs` takes."""
        return ScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[ScaffoldParams]) -> None:
        """Write the files; a campaign.yaml that is there already stays."""
        folder = request.target_path
        target = folder / "campaign.yaml"
        if not target.exists():
            data = data_folder(folder)
            target.write_text(_campaign_text(folder, data, request.params), encoding="utf-8")
            (data / "exports").mkdir(parents=True, exist_ok=True)
            (data / ".gitignore").write_text(IGNORED, encoding="utf-8")
        dg.scaffold_component(request, {"campaign": "."})
        shown = os.path.relpath(folder)
        print(f"next: see {shown}/campaign.yaml, then annot validate {shown}")


def data_folder(folder: Path) -> Path:
    """Return the folder of a campaign's data: outside the code that is deployed, in the project."""
    roots = (path for path in folder.parents if any((path / name).exists() for name in PROJECT))
    root = next(roots, folder.parent)
    return root / "data" / campaign_name(folder.name)


def _campaign_text(folder: Path, data: Path, params: ScaffoldParams) -> str:
    relative = os.path.relpath(data, folder)
    if params.exports is None:
        return CAMPAIGN.format(name=campaign_name(folder.name), data=relative)
    from annot_pipeline.errors import AnnotError
    from annot_pipeline.init import guess_campaign

    try:
        text = guess_campaign([Path(params.exports)], folder.resolve(), named_by_folder=True)
    except AnnotError as error:
        with contextlib.suppress(OSError):  # dagster made the folder; it stays if it holds files
            folder.rmdir()
        raise click.ClickException(str(error)) from None
    return re.sub(r"(?m)^(store|gold): \1\b", lambda line: f"{line[1]}: {relative}/{line[1]}", text)


def campaign_name(text: str) -> str:
    """Return a valid name of a campaign that is like a text."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")
    return name if re.match(r"[a-z]", name) else f"campaign_{name}".rstrip("_")
