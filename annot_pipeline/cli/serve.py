"""annot serve: a local page of items, judges and raw rows, to look and to decide."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from annot_pipeline.cli.common import load, show, typed
from annot_pipeline.errors import ConfigError, Problem

if TYPE_CHECKING:
    from annot_pipeline.config import LoadedCampaign

ADD_SOURCE = "the next build reads them with this element of the list sources of campaign.yaml:"
INSTALL = "pip install 'annot-pipeline[serve]'"


def decisions_path(campaign: LoadedCampaign) -> Path:
    """Return the file of decisions: of a campaign with a name of its own, one of that name.

    Other campaigns of the folder would read its decisions.
    """
    stem = campaign.file.stem
    return campaign.folder / ("decisions.csv" if stem == "campaign" else f"{stem}_decisions.csv")


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
    path: Path = arguments.output or decisions_path(campaign)
    if not path.parent.is_dir():
        problem = Problem("-o", f"there is no folder {path.parent}", do="create it first")
        raise ConfigError("decisions cannot be written there", [problem])
    token = secrets.token_urlsafe(16)
    listener = _listener(arguments.port)
    port = listener.getsockname()[1]  # of 0, which asks for a free one
    app = make_app(pages, DecisionFile(path), token, port)
    address = f"http://127.0.0.1:{port}/?token={token}"
    document = {"address": address, "release": newest.version, "decisions": str(path)}
    how = SOURCE.format(path=os.path.relpath(path.resolve(), campaign.folder.resolve()))
    show(arguments, document, lambda: [
        f"{newest.version} of {campaign.settings.campaign}: open {address}",
        f"decisions are added to {path}",
        *([] if _is_read(campaign, path) else [ADD_SOURCE, *how.splitlines()]),
        f"stop with Ctrl-C; next: annot build {typed(arguments)}",
    ])  # fmt: skip
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    with suppress(KeyboardInterrupt):  # how it is stopped
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _listener(port: int) -> socket.socket:
    """Return a socket of this machine alone.

    Raises
    ------
    ConfigError
        The port is none, or taken.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        what = str(error.strerror if isinstance(error, OSError) else error)
        problem = Problem("--port", f"{port}: {what}", "1024 to 65535", "name another one")
        raise ConfigError("the page cannot be served", [problem]) from None
    return listener


def _is_read(campaign: LoadedCampaign, path: Path) -> bool:
    """Return whether a source of the campaign matches the file."""
    patterns = (str(campaign.folder / source.path) for source in campaign.settings.sources)
    return any(fnmatch(str(path.resolve()), pattern) for pattern in patterns)
