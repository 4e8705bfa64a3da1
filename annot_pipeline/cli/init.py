"""annot init."""

from __future__ import annotations

import argparse
from glob import has_magic
from pathlib import Path

from annot_pipeline.cli.common import add_output, show
from annot_pipeline.errors import ConfigError, Problem


def add(init: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    init.add_argument(
        "exports", nargs="+", metavar="EXPORT", type=Path, help="export files, or folders of them"
    )
    text = "folder for campaign.yaml; it also names the campaign (default: the current folder)"
    add_output(init, text, Path())
    init.add_argument(
        "--preset", metavar="NAME",
        help="use this mapping instead of guessing one; an unknown name lists all",
    )  # fmt: skip
    init.add_argument("--force", action="store_true", help="overwrite an existing campaign.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Write a campaign.yaml."""
    from annot_pipeline.config.campaign_file import FILE_NAME, load_campaign
    from annot_pipeline.guess import guess_campaign

    folder: Path = arguments.output
    target = folder / FILE_NAME
    if target.exists() and not arguments.force:
        raise ConfigError(
            f"{target} exists",
            [Problem("", "it would be lost", do="give another folder with -o, or --force")],
        )
    missing = [path for path in arguments.exports if not path.exists()]
    if missing:
        raise ConfigError(
            "an export is missing", [Problem(str(path), "no such file") for path in missing]
        )
    named = folder.resolve() != Path.cwd()
    text = guess_campaign(
        arguments.exports, folder.resolve(), named_by_folder=named, preset=arguments.preset
    )
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    single = [
        f"only {source.path} is read: see there for later exports"
        for source in load_campaign(folder).settings.sources
        if not has_magic(source.path)
    ]
    lines = [text, f"written to {target}", *single, f"next: annot validate {folder}"]
    show(
        arguments,
        {"campaign_file": str(target), "text": text},
        lambda: "\n".join(lines),
    )
    return 0
