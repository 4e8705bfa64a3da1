"""annot serve: a local page of items, judges and raw rows, to look and to decide."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from annot_pipeline.cli.common import load, show
from annot_pipeline.errors import ConfigError, Problem

if TYPE_CHECKING:
    from annot_pipeline.config import LoadedCampaign

INSTALL = "pip install 'annot-pipeline[serve]'"


def run_serve(arguments: argparse.Namespace) -> int:
    """Answer until the user stops it."""
    try:
        import uvicorn

        from annot_pipeline.serve.app import make_app
    except ImportError as error:
        problem = Problem("", f"{error.name} is not installed", do=INSTALL)
        raise ConfigError("annot serve needs an extra", [problem]) from None
    from annot_pipeline.serve.decision_file import SOURCE, DecisionFile
    from annot_pipeline.serve.pages import Pages

    campaign = load(arguments)
    pages = Pages(campaign, show_names=arguments.show_names)
    newest = pages.release("latest")
    path: Path = arguments.output or campaign.folder / "decisions.csv"
    if not path.parent.is_dir():
        problem = Problem("-o", f"there is no folder {path.parent}", do="create it first")
        raise ConfigError("decisions cannot be written there", [problem])
    token = secrets.token_urlsafe(16)
    app = make_app(pages, DecisionFile(path), token, arguments.port)
    address = f"http://127.0.0.1:{arguments.port}/?token={token}"
    document = {"address": address, "release": newest.version, "decisions": str(path)}
    how = SOURCE.format(path=os.path.relpath(path.resolve(), campaign.folder.resolve()))
    show(arguments, document, lambda: [
        f"{newest.version} of {campaign.settings.campaign}: open {address}",
        f"decisions are added to {path}",
        *([] if _is_read(campaign, path) else ["the next build reads them with this source:"]),
        *([] if _is_read(campaign, path) else how.splitlines()),
        "stop with Ctrl-C; next: annot build",
    ])  # fmt: skip
    sys.stdout.flush()
    config = uvicorn.Config(
        app, host="127.0.0.1", port=arguments.port, log_level="warning", access_log=False
    )
    server = uvicorn.Server(config)
    server.run()
    if not server.started:
        problem = Problem("--port", f"{arguments.port} is taken", do="name another one")
        raise ConfigError("the page cannot be served", [problem])
    return 0


def _is_read(campaign: LoadedCampaign, path: Path) -> bool:
    """Return whether a source of the campaign matches the file."""
    patterns = (str(campaign.folder / source.path) for source in campaign.settings.sources)
    return any(fnmatch(str(path.resolve()), pattern) for pattern in patterns)
