"""The local page in a browser, served by a real server."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra serve")

from annot_pipeline.config.campaign_file import load_campaign  # noqa: E402
from annot_pipeline.serve.app import make_app  # noqa: E402
from annot_pipeline.serve.decision_file import DecisionFile  # noqa: E402
from annot_pipeline.serve.pages import Pages  # noqa: E402
from tests.browser import chromium, violations  # noqa: E402
from tests.conftest import Built  # noqa: E402

TOKEN = "a-token"


@pytest.fixture(scope="module")
def served(
    labels_builds: tuple[Built, Built], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """Yield the address of a server and the file of decisions."""
    campaign = labels_builds[1].publication.release.folder.parents[1]
    path = tmp_path_factory.mktemp("served") / "decided.csv"
    listener = uvicorn.Config(None, host="127.0.0.1", port=0).bind_socket()
    port = listener.getsockname()[1]
    app = make_app(Pages(load_campaign(campaign)), DecisionFile(path), TOKEN, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    running = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    running.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}", path
    server.should_exit = True
    running.join(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def opened(browser: Any, address: str, width: int, **options: Any) -> Any:
    context = browser.new_context(viewport={"width": width, "height": 844}, **options)
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text))
    page.goto(f"{address}/?token={TOKEN}")
    return page


def arrive(page: Any, item: str) -> None:
    """Wait until an item is shown and the script of the page has run."""
    page.locator("h1", has_text=item).wait_for()
    page.wait_for_load_state()


def test_decisions_by_keyboard_go_on_to_the_next_item(browser, served):
    address, path = served
    page = opened(browser, address, 1440)
    names = page.locator("tbody th a").all_inner_texts()
    page.locator("tbody th a").first.click()
    arrive(page, names[0])
    page.keyboard.press("2")  # nobody is named yet: nothing is decided
    prompt = page.locator("#name-first")
    assert prompt.inner_text() == "Who decides? Type your name, then Enter decides for yes."
    assert prompt.bounding_box()["width"] > 300
    page.get_by_label("Why").press("Enter")  # decides nothing
    assert not path.exists()
    page.get_by_label("Your name").focus()
    page.keyboard.type("Eve")  # the key that asked is no part of it
    page.keyboard.press("Enter")
    arrive(page, names[1])
    assert page.get_by_label("Your name").input_value() == "Eve"
    page.keyboard.press("n")
    arrive(page, names[2])
    page.keyboard.press("1")
    arrive(page, names[3])
    assert page.locator(".done").inner_text().startswith(f"Decided: {names[2]} is no.")
    with path.open(newline="") as file:
        rows = [(r["item"], r["expert"], r["decision"]) for r in csv.DictReader(file)]
    assert rows == [(names[0], "Eve", "yes"), (names[2], "Eve", "no")]
    page.goto(f"{address}/items")
    assert "yes" in page.locator("tbody tr").first.inner_text()
    assert page.wrong == []


@pytest.mark.parametrize("width", [390, 1440])
def test_the_form_of_a_decision_starts_where_its_heading_does(browser, served, width):
    page = opened(browser, served[0], width)
    page.goto(f"{served[0]}/item?task=good&item=item+3")
    heading = page.locator("h2", has_text="Decide").bounding_box()["x"]
    assert page.get_by_label("Your name").bounding_box()["x"] == heading


def test_the_report_leads_to_the_pages_of_judges_and_causes(browser, served):
    page = opened(browser, served[0], 1440)
    page.goto(f"{served[0]}/report?release=v0002")
    link = page.locator("#changes th a[href^='/cause']", has_text="item 7")
    page.locator("#judges tbody th a").first.click()
    page.locator("h1", has_text="j").wait_for()
    assert page.locator("caption", has_text="By task").count() == 1
    page.go_back()
    link.click()
    assert "corrected judgments" in page.locator("main").inner_text()
    assert page.wrong == []


@pytest.mark.sampled
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(browser, served, width):
    page = opened(browser, served[0], width, bypass_csp=True)
    page.goto(f"{served[0]}/item?task=good&item=item+3")
    row = page.locator('a[href^="/row"]').first.get_attribute("href")
    judge = page.locator('a[href^="/judge?"]').first.get_attribute("href")
    item = "/item?task=good&item=item+3"
    for at in (
        "/items",
        item,
        "/judges",
        judge,
        "/judgments",
        row,
        "/releases",
        "/cause" + item[5:],
        "/diff",
    ):
        page.goto(served[0] + at)
        assert violations(page) == [], at
        assert page.evaluate("document.documentElement.scrollWidth") == width, at


def test_texts_behind_the_edge_of_a_phone_make_no_row_tall(browser, served):
    page = opened(browser, served[0], 390)
    text = '<td class="text">' + "The cake was cold, I think. " * 6 + "</td>"
    page.evaluate(
        "t => document.querySelector('tbody tr').insertAdjacentHTML('beforeend', t)", text
    )
    height = page.locator("tbody tr").first.evaluate("e => e.getBoundingClientRect().height")
    assert height < 80, "it took five lines"


def test_no_column_of_a_list_is_the_same_in_all_rows(browser, served):
    """It is said once, above the rows; empty ones are left out."""
    page = opened(browser, served[0], 1440)
    for path in ("items", "judges", "judgments"):
        page.goto(f"{served[0]}/{path}")
        heads = page.locator("thead th").all_inner_texts()
        rows = [row.all_inner_texts() for row in (
            one.locator("th, td") for one in page.locator("tbody tr").all())]  # fmt: skip
        same = [head for head, *cells in zip(heads, *rows, strict=True) if len({*cells}) == 1]
        assert len(rows) > 2
        assert same == [], path
    page.goto(f"{served[0]}/judges")
    assert "In all rows: task" in page.locator("caption").inner_text()
    assert page.wrong == []


def test_an_answer_to_a_doubtful_item_leads_to_its_raw_row(browser, served):
    page = opened(browser, served[0], 1440)
    page.goto(f"{served[0]}/report?release=v0002")
    page.locator("#doubt button.link").first.click()
    answer = page.locator("dialog tbody tr").first
    judge, said = (answer.locator("th, td").nth(n).inner_text() for n in (0, 1))
    answer.locator("a[href^='/row?']").click()
    page.locator("caption", has_text="Cells, as exported").wait_for()
    cells = page.locator("tbody tr").all_inner_texts()
    assert any(said in cell for cell in cells)
    assert judge
    assert page.wrong == []
