"""A Dagster deployment of its own, as a team has one: home, processes, GraphQL."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from matplotlib.image import imread

from tests.browser import CHROMIUM, chromium

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PATIENCE = 240
"""Seconds that anything may take on a busy machine."""

SETTINGS = "telemetry: {enabled: false}\nnux: {enabled: false}\n"


class Deployment:
    """A DAGSTER_HOME in a folder, and what runs with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "dagster_home"
        self.home.mkdir(parents=True)
        (self.home / "dagster.yaml").write_text(SETTINGS)
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        self.env = os.environ | {
            "DAGSTER_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "COLUMNS": "200",
        }
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, *command: str, at: Path | None = None) -> str:
        """What a command says; it has to succeed."""
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=at or self.folder, env=self.env, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def running(self, *command: str, at: Path | None = None) -> Iterator[None]:
        """While a server runs; it and its children are stopped after."""
        log = self.folder / f"{command[0]}.log"
        with log.open("w") as said:
            server = subprocess.Popen(
                [str(BIN / command[0]), *command[1:]],
                cwd=at or self.folder, env=self.env, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield
        except BaseException:
            print(log.read_text()[-6000:])
            raise
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(30)
            finally:
                kill_group(server.pid)

    def ask(self, query: str) -> dict[str, Any]:
        """What GraphQL answers."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            document = json.load(answer)
        assert "errors" not in document, document
        return dict(document["data"])

    def runs(self) -> list[dict[str, str]]:
        """Runs of all jobs, the newest first; none while there is no server yet."""
        query = "{runsOrError {... on Runs {results {runId status jobName}}}}"
        try:
            return list(self.ask(query)["runsOrError"]["results"])
        except OSError:
            return []


def kill_group(group: int) -> None:
    """End what is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait for something, and return it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        actual = holds()
        if actual:
            return actual
        time.sleep(1)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def pictures(live: Deployment, folder: Path, asset: str, status: str) -> None:
    """Take screenshots, which are not blank, of an asset's checks and of the asset graph.

    One of the checks has the status. Without a browser there are none, unless REQUIRE_BROWSER is
    set.
    """
    if not (CHROMIUM.is_file() or os.environ.get("REQUIRE_BROWSER")):
        return
    site, patience = f"http://127.0.0.1:{live.port}", PATIENCE * 1000
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{site}/assets/{asset}?view=checks")
        page.get_by_text("gates").first.wait_for(timeout=patience)
        page.get_by_text(status).first.wait_for(timeout=patience)
        page.screenshot(path=folder / "checks.png")
        page.goto(f"{site}/asset-groups")  # groups of many assets are folded
        page.get_by_text(f"{asset.partition('/')[0]}_work").first.wait_for(timeout=patience)
        page.goto(f"{site}/asset-groups/~explorer-graph/{quote(asset, '')}")
        page.get_by_text("label_distributions").first.wait_for(timeout=patience)
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / "assets.png")
    for name in ("checks.png", "assets.png"):
        pixels = imread(folder / name).reshape(-1, 4)[:, :3]
        assert len(np.unique((pixels * 255).astype(np.uint8), axis=0)) > 100, name


def skip_without_pictures() -> None:
    """Say of a test that succeeded that it took no screenshots."""
    if not CHROMIUM.is_file():
        pytest.skip(f"all went well but the screenshots: no {CHROMIUM}")
