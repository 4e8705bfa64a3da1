"""`dg scaffold defs assets_defs.JudgmentCampaign NAME`: files that load as they are written."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from pathlib import Path
from string import Template
from typing import Any

import click
import dagster as dg
from pydantic import BaseModel, create_model

TEMPLATE = Path(__file__).with_name("campaign_template.yaml")
IGNORED = "# data, which is not part of the project\n*\n"
PROJECT = ("pyproject.toml", "dg.toml")


class CampaignScaffolder(dg.Scaffolder[BaseModel]):
    """Writes defs.yaml, a commented campaign.yaml and the folder for exports."""

    @classmethod
    def get_scaffold_params(cls) -> type[BaseModel]:
        """Return what `dg scaffold defs` takes.

        Exports from which campaign.yaml is guessed (a file, a folder, a glob), and the roles of
        their columns as `annot init` takes them.
        """
        from annot_pipeline.commands.init_roles import INIT_ROLES

        fields: dict[str, Any] = dict.fromkeys(("exports", *INIT_ROLES), (str | None, None))
        return create_model("ScaffoldParams", **fields)

    def scaffold(self, request: dg.ScaffoldRequest[BaseModel]) -> None:
        """Write the files; a campaign.yaml that is there already stays."""
        folder = request.target_path
        target = folder / "campaign.yaml"
        if not target.exists():
            data = data_folder(folder)
            options = request.params.model_dump(exclude_none=True)
            target.write_text(_campaign_text(folder, data, **options), encoding="utf-8")
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


def _campaign_text(folder: Path, data: Path, exports: str | None = None, **roles: str) -> str:
    relative = os.path.relpath(data, folder)
    if exports is None:
        template = Template(TEMPLATE.read_text("utf-8"))
        return template.substitute(name=campaign_name(folder.name), data=relative)
    from annot_pipeline.errors import AnnotError
    from annot_pipeline.init import guess_campaign
    from annot_pipeline.storage.archive import glob_exports, is_glob

    root, paths = glob_exports(Path(), exports)
    root = (paths[0] if [path.is_dir() for path in paths] == [True] else root).resolve()
    place = Path(os.path.relpath(root, folder.resolve())).as_posix()
    name = folder.as_posix().rpartition("/defs/")[2]
    command = ["dg", "scaffold", "defs", "assets_defs.JudgmentCampaign", name, "--exports", exports]
    options: dict[str, Any] = {"command": shlex.join(command), "named_by_folder": True}
    options["by_role"] = {role: tuple(columns.split(",")) for role, columns in roles.items()}
    try:
        text = guess_campaign(paths or [Path(exports)], folder.resolve(), **options)
        if not root.is_relative_to(data.resolve().parents[1]):
            text, place = text.replace(f"{place}/", f"{relative}/exports/"), f"{relative}/exports"
            _link(data / "exports", root)
    except (AnnotError, OSError) as error:
        with contextlib.suppress(OSError):  # dagster made the folder; it stays if it holds files
            folder.rmdir()
        raise click.ClickException(str(error)) from None
    sources = re.findall(r"(?m)^  - path: (.+?)(?=  #|$)", text)
    if is_glob(exports) and len(sources) == 1:  # what was asked for, also of later files
        pattern = Path(exports).resolve().relative_to(root).as_posix()
        text = text.replace(sources[0], json.dumps(f"{place}/{pattern}", ensure_ascii=False), 1)
    return re.sub(r"(?m)^(store|gold): \1\b", lambda line: f"{line[1]}: {relative}/{line[1]}", text)


def _link(exports: Path, folder: Path) -> None:
    """Make a link to exports outside of the project: campaign.yaml names no path of a machine."""
    exports.parent.mkdir(parents=True, exist_ok=True)
    if exports.resolve() != folder:
        exports.symlink_to(folder, target_is_directory=True)


def campaign_name(text: str) -> str:
    """Return a valid name of a campaign that is like a text."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")
    return name if re.match(r"[a-z]", name) else f"campaign_{name}".rstrip("_")
