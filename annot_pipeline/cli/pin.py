"""annot pin."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, load, say, show, typed
from annot_pipeline.errors import ConfigError, Problem, printable


def add(pin: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(pin)
    text = "release to keep, as v0012 or latest (default: list the pins)"
    pin.add_argument("version", metavar="V", nargs="?", help=text)
    pin.add_argument("--remove", action="store_true", help="remove the pin")
    pin.add_argument("--why", metavar="TEXT", default="", help="why the release is kept")


def run(arguments: argparse.Namespace) -> int:
    """Pin a release, or list the pins."""
    from annot_pipeline.commands.prune import list_pins, set_pin

    campaign = load(arguments)
    changed: str | None = None
    if arguments.version:
        changed = set_pin(
            campaign, arguments.version, remove=arguments.remove, why=arguments.why, progress=say
        )
    elif arguments.remove or arguments.why:
        raise ConfigError("no release is named", [Problem("V", "is missing", do="as v0001")])
    document = {
        "campaign": campaign.settings.campaign,
        "version": changed,
        "pins": list_pins(campaign),
    }
    show(arguments, document, lambda: _text(typed(arguments), document))
    return 0


def _text(campaign: str, document: Document) -> str:
    lines = []
    for row in document["pins"]:
        why = f": {row['why']}" if row["why"] else ""
        lines.append(f"{row['version']}  pinned {row['pinned_at']}{why}")
    if not lines:
        lines = ["no release is pinned", f"next: annot pin {campaign} latest --why TEXT"]
    return "\n".join(map(printable, lines))
