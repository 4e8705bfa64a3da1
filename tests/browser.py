"""Chromium where Debian puts it, and axe-core over a page that is open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser; the tests are skipped without one, unless REQUIRE_BROWSER is set."""
    if not CHROMIUM.is_file():
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(f"REQUIRE_BROWSER is set, but there is no {CHROMIUM}")
        pytest.skip(f"no {CHROMIUM}: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


def violations(page: Any) -> list[tuple[str, str]]:
    """Rules of axe-core that the page breaks, each with the first element that does."""
    from axe_playwright_python.sync_playwright import Axe

    rules = Axe().run(page).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in rules]
