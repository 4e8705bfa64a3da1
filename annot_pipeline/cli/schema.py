"""annot schema."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import show


def add(schema: argparse.ArgumentParser) -> None:
    """Add its arguments: none."""


def run(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of campaign.yaml."""
    from annot_pipeline.commands.schema import schema_document, schema_text

    show(arguments, schema_document(), lambda: schema_text().rstrip("\n"))
    return 0
