"""The report in a browser: nothing runs that should not, and what should can be used by all.

Needs Chromium where Debian puts it; without it these tests are skipped, unless REQUIRE_BROWSER
says that they must run.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.report.render import _pages
from annot_pipeline.report.report import SCRIPT, STYLE
from tests.browser import chromium, violations
from tests.conftest import Built, build_file
from tests.report.report_pages import HOSTILE, LONG, label_rows, labels_campaign

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
A4 = {"width": int((210 - 2 * 12) / 25.4 * 96), "height": int((297 - 2 * 12) / 25.4 * 96)}
"""What a page holds within the margins that the style sets, 12 mm."""
CONTRAST = 4.5
MOST_NODES, MOST_BYTES, MOST_SHEETS = 5_000, 400_000, 8


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(
    tmp_path_factory: pytest.TempPathFactory,
    labels_builds: tuple[Built, Built],
    hostile_build: Built,
    full_build: Built,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    example = Path(__file__).parents[2] / "examples" / "anaesthetists"
    small, second = labels_builds
    built = {
        "small": small,
        "second": second,
        "hostile": hostile_build,
        "example": build_file(example, f"store={folder}/store", f"gold={folder}/gold"),
        "full": full_build,
    }
    return {name: b.publication.release.folder / "report.html" for name, b in built.items()}


class Visit:
    """A page that is open, and what went wrong on it."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.wrong: list[str] = []
        self.context = browser.new_context(**({"viewport": DESK} | options))
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self._dialog(dialog))
        self.page.route("**/*", self._route)
        self.page.goto(path.as_uri())

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _route(self, route: Any) -> None:
        address = route.request.url
        opened = route.request.is_navigation_request() and address.startswith("file://")
        if opened or address.startswith("data:"):
            route.continue_()
        else:
            self.wrong.append(f"request: {address}")
            route.abort()

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.wrong == []


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        ("light", "hostile"),
        *(
            pytest.param(scheme, name, marks=pytest.mark.slow)
            for scheme in ("light", "dark")
            for name in ("hostile", "small", "example")
            if (scheme, name) != ("light", "hostile")
        ),
    ],
)
def test_nothing_is_requested_and_nothing_goes_wrong(browser, reports, name, scheme):
    with Visit(browser, reports[name], color_scheme=scheme) as page:
        page.emulate_media(media="print")
        page.emulate_media(media="screen")
        page.mouse.wheel(0, 50_000)
        page.wait_for_timeout(50)
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0
        assert page.evaluate("document.fonts.size") == 0


def test_a_hostile_export_is_shown_as_text(browser, reports):
    with Visit(browser, reports["hostile"]) as page:
        page.wait_for_timeout(100)
        assert page.title() == "hostile v0001"  # a script of an image would have changed it
        assert page.locator("img").count() == 0
        assert page.locator("h1").inner_text().startswith("<script>alert(1)</script>")
        shown = page.locator("#judges table").first.inner_text()
        for name in HOSTILE:
            if name.isascii() and name != LONG:
                assert " ".join(name.split()) in " ".join(shown.split()), name
        assert "(10,000 characters)" in shown
        arabic = page.locator("#judges bdi", has_text="مرحبا").first
        assert arabic.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["hostile", "small", "example"])
def test_a_phone_scrolls_down_only(browser, reports, name):
    with Visit(browser, reports[name], viewport=PHONE) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        boxes = page.locator(".wide")
        assert boxes.count() > 10
        widest = boxes.evaluate_all("all => Math.max(...all.map(e => e.clientWidth))")
        assert widest <= PHONE["width"]
        assert boxes.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length")


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["full", "example", "small"])
def test_a_phone_shows_figures_whole(browser, reports, name):
    with Visit(browser, reports[name], viewport={"width": 390, "height": 844}) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        boxes = page.locator("figure .wide")
        assert boxes.count() > 5
        assert (
            boxes.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length") == 0
        )
        assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("name", ["example", "full", "hostile"])
def test_a_phone_cuts_nothing_of_the_first_screen(browser, reports, name):
    cut = """all => all.filter(e => getComputedStyle(e).overflow === "hidden"
      && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)).length"""
    with Visit(browser, reports[name], viewport={"width": 390, "height": 844}) as page:
        assert page.locator("#use *").evaluate_all(cut) == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_phone_shows_the_last_releases_whole(browser, reports):
    with Visit(browser, reports["second"], viewport={"width": 390, "height": 844}) as page:
        box = page.locator(".wide", has_text="The last 2 releases")
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert box.locator("thead th").last.inner_text() == "made, UTC"
        assert box.locator("tbody th").all_inner_texts() == ["v0001", "v0002"]


def rows_of(page: Any, table: str) -> list[str]:
    actual: list[str] = page.locator(f"{table} tbody tr:not([hidden]) th").all_inner_texts()
    return actual


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", ["full", "example", "hostile"])
def test_nothing_is_cut_off_on_paper(browser, reports, name):
    """The full campaign has the table of judges with all of its columns."""
    with Visit(browser, reports[name], viewport=A4) as page:
        page.emulate_media(media="print")
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.locator("table", has_text="Judges by task").count()
        wide = page.evaluate(
            """[...document.querySelectorAll('table, svg, pre, p')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5)
            .map(e => [e.tagName, (e.caption || e).textContent.slice(0, 80)])"""
        )
        assert wide == []
        cut = page.evaluate(
            """[...document.querySelectorAll('td.number')]
            .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
        )
        assert cut == []
        assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["full", "second"])
def test_the_first_print_is_as_wide_as_the_next(browser, reports, name):
    """Chromium lays a page out for paper from what it has on the screen, and then from paper."""
    with Visit(browser, reports[name]) as page:
        page.wait_for_selector("#doubt-list form", state="attached")  # then the script is done
        first, again = (re.sub(rb"D:[\d+']*", b"", page.pdf(format="A4")) for _ in range(2))
        assert first == again


def test_thirteen_columns_fit_a_sheet(browser, tmp_path):
    """Judges of scores without labels: their heads do not break, and the last was cut."""
    heads = ["judge", "judgments", "looks random", "correlation", "shared items", "bias", "spread",
             "inconsistency", "mean score", "sd", "mean, ordinary", "consistency",
             "longest constant run"]  # fmt: skip
    rows = [(f"j96031874f714f1c9e69{n}", *[f"{n}00.00%"] * 12) for n in range(3)]
    table = _pages().from_string('{% from "macros.html" import table %}{{ table("t", h, rows) }}')
    html = f"<style>{STYLE}</style>{table.render(h=heads, rows=rows)}"
    (tmp_path / "table.html").write_text(f'<meta charset="utf-8">{html}')
    with Visit(browser, tmp_path / "table.html", viewport=A4) as page:
        page.emulate_media(media="print")
        assert page.locator("table").bounding_box()["width"] <= A4["width"]


def test_on_paper_a_figure_stays_on_a_sheet_and_a_word_in_one_piece(browser, tmp_path):
    """A ranking of 70 systems was cut within a row; a narrow column had "pass" over "ed"."""
    cells = ["✓ passed", *["a reason of several words"] * 15]
    heads = "".join(f"<th scope=col>{n}</th>" for n in range(len(cells)))
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    drawing = '<svg width="354" height="1500" viewBox="0 0 354 1500"><rect height="1500"/></svg>'
    html = f"<figure><figcaption>Ranking</figcaption><div class=wide>{drawing}</div></figure>"
    html += f"<div class=wide><table><thead><tr>{heads}</tr></thead><tr>{row}</tr></table></div>"
    (tmp_path / "paper.html").write_text(f"<meta charset=utf-8><style>{STYLE}</style>{html}")
    with Visit(browser, tmp_path / "paper.html", viewport=A4) as page:
        page.emulate_media(media="print")
        sheet = (279 - 2 * 12) / 25.4 * 96  # of Letter, within its margins
        assert page.locator("figure").bounding_box()["height"] < sheet
        lines = """cell => { const text = document.createRange(); text.selectNodeContents(cell);
            return new Set([...text.getClientRects()].map(r => r.top)).size }"""
        assert page.locator("td").first.evaluate(lines) <= 2, "the sign, and the word"


def test_a_table_sorts_by_numbers_words_and_keyboard(browser, reports):
    with Visit(browser, reports["example"]) as page:
        table = page.locator("#judges table").first
        head = table.locator("th", has_text="judgments")
        counts = table.locator(f"tbody td:nth-child({column_of(head)})")
        before = counts.all_inner_texts()
        assert before == ["135", "45", "45", "45", "45"]
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        assert counts.all_inner_texts() == ["45", "45", "45", "45", "135"]  # not as words
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert counts.all_inner_texts() == before
        table.locator("thead button").first.focus()
        page.keyboard.press("Space")
        assert head.get_attribute("aria-sort") == "none"
        assert "sorted by judge, ascending" in page.locator("#judges output").first.inner_text()
        page.locator("#agreement > summary").click()
        names = page.locator("#agreement tbody th")
        given = names.all_inner_texts()
        page.locator("#agreement thead button").first.dblclick()  # up, then down
        assert names.all_inner_texts() == sorted(given, reverse=True)


def column_of(head: Any) -> int:
    place: int = head.evaluate("e => e.cellIndex + 1")
    return place


def test_missing_values_sort_last_either_way(browser, reports):
    with Visit(browser, reports["small"]) as page:
        page.set_content(
            page.content().replace(
                "</main>",
                '<div class="wide"><table class="sortable" id="t"><caption>t</caption><thead><tr>'
                '<th scope="col" class="number">n</th></tr></thead><tbody><tr><td></td></tr>'
                '<tr><td class="number">1,000</td></tr><tr><td class="number">\u221250.0%</td></tr>'
                '<tr><td class="number" data-v="0.5">&lt;1</td></tr></tbody></table></div></main>',
            )
        )
        button = page.locator("#t button")
        button.click()
        cells = page.locator("#t td")
        assert cells.all_inner_texts() == ["\u221250.0%", "<1", "1,000", ""]
        button.click()
        assert cells.all_inner_texts() == ["1,000", "<1", "\u221250.0%", ""]


def test_search_and_choices_narrow_a_table_and_say_how_many_rows_match(browser, reports):
    with Visit(browser, reports["example"]) as page:
        page.locator("#gates > summary").click()
        page.locator("#gates details summary").click()
        form = page.locator("#gates form")
        said = form.locator("output")
        before = said.inner_text()
        n = int(before.split()[2])
        assert before == f"15 of {n} rows"
        assert len(rows_of(page, "#gates details table")) == 15
        form.get_by_label("Search").fill("worst EXPORT rejected_share")
        said.filter(has_text=re.compile("^1 of ")).wait_for()
        assert rows_of(page, "#gates details table") == ["rejected_share_by_export"]
        form.get_by_label("Search").fill("")
        said.filter(has_text=f"{n} of {n} rows").wait_for()
        assert len(rows_of(page, "#gates details table")) == n
        assert page.get_by_text(f"Show all {n} rows").count() == 0
        assert said.get_attribute("aria-live") == "polite"
        assert form.get_attribute("aria-label") == "Filter: Passed gates"
        page.locator("#agreement > summary").click()
        page.locator("#agreement form").get_by_label("statistic").select_option("cohen_kappa")
        page.locator("#agreement output").filter(has_text=re.compile("^1 of ")).wait_for()
        assert rows_of(page, "#agreement table") == ["cohen_kappa"]


def test_the_keyboard_reaches_everything(browser, reports):
    with Visit(browser, reports["small"]) as page:
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        assert skip.evaluate("e => e === document.activeElement")
        assert skip.bounding_box()["x"] >= 0, "it shows when it has the focus"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        unreachable = page.locator(".wide").evaluate_all("all => all.filter(e => e.tabIndex < 0)")
        assert unreachable == []
        assert page.locator("button, input, select, a[href]").evaluate_all(NAMELESS) == []


NAMELESS = """all => all.filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') ||
    (e.labels && e.labels.length && e.labels[0].textContent.trim()))).map(e => e.outerHTML)"""


def test_everything_is_there_without_scripts(browser, reports):
    with Visit(browser, reports["small"], java_script_enabled=False) as page:
        assert page.locator("#judges tbody tr").count() >= 6
        assert page.locator("#doubt tbody tr").count() > 3
        assert page.locator("#method summary").count() == 3
        assert page.locator("button, input, select").count() == 0
        missing = page.locator("details .figures:not(:has(svg)) noscript").all_text_contents()
        assert {*map(str.strip, missing)} == {"These figures need scripts."}
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        above = """all => all.map(e => e.getBoundingClientRect().bottom
            <= e.parentElement.querySelector("figcaption").getBoundingClientRect().top)"""
        sentences = page.locator("details .figures:not(:has(svg)) noscript")
        assert all(sentences.evaluate_all(above)), "not beside the titles"


LUMINANCE = """all => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => { for (let at = e; at; at = at.parentElement) {
    const c = parse(getComputedStyle(at).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
  return all.filter((e) => e.checkVisibility() && e.textContent.trim()).map((e) => {
    const both = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const [a, b] = both.sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.className || e.tagName]; }).sort((x, y) => x[0] - y[0])[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(browser, reports, scheme):
    with Visit(browser, reports["small"], color_scheme=scheme) as page:
        texts = (
            "p, td, th, a, h1, h2, h3, dt, dd span, caption, summary, label, output, .chip, code"
        )
        least, where = page.locator(texts).evaluate_all(LUMINANCE)
        assert least >= CONTRAST, where
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


# --- what the first screen and the items to doubt answer ---------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["full", "example", "small"])
def test_the_page_is_light_before_anything_is_opened(browser, reports, name):
    with Visit(browser, reports[name]) as page:
        assert page.evaluate("document.querySelectorAll('*').length") <= MOST_NODES
    assert reports[name].stat().st_size <= MOST_BYTES


def test_figures_of_closed_parts_wait_until_these_are_opened(browser, reports):
    with Visit(browser, reports["full"]) as page:
        drawn = page.locator("details figure svg")
        waiting = page.locator("details figure").count()
        assert waiting > 5
        assert drawn.count() == 0
        page.evaluate("document.querySelector('details:has(figure)').open = true")
        page.wait_for_selector("details[open] figure svg")
        assert 0 < drawn.count() < waiting
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        page.wait_for_selector("details figure:not(:has(svg))", state="detached")
        assert drawn.count() == waiting
        titles = page.locator("details figure:has(svg[data-figure=confusion]) figcaption")
        assert [title.partition(",")[0] for title in titles.all_inner_texts()] == [
            "Confusion of the busiest judges"
        ]


def test_an_address_into_a_closed_part_arrives_at_it(browser, reports):
    """Smooth scrolling stopped short by what the list of items to doubt had grown."""
    top = "document.getElementById('certainty').getBoundingClientRect().top"
    with Visit(browser, reports["example"]) as page:
        page.goto(f"{reports['example'].as_uri()}#certainty")
        page.locator("#doubt button.link").first.wait_for()
        page.wait_for_timeout(1000)  # nothing moves it away
        assert abs(page.evaluate(top)) < 30
        assert page.locator("#certainty[open] figure svg").count()


@pytest.mark.parametrize("name", ["example", "small", "second", "full", "hostile"])
def test_the_first_section_is_one_screen_and_one_sheet(browser, reports, name):
    """Whatever it has to say: names of 10 kB, and more warnings than there is room for."""
    bottom = "document.getElementById('use').getBoundingClientRect().bottom"
    with Visit(browser, reports[name], viewport={"width": 1440, "height": 900}) as page:
        assert page.locator("#use .warnings li").count() <= 3
        out = """all => all.filter(p => [...p.querySelectorAll("a")].some(a =>
            a.getBoundingClientRect().bottom > p.getBoundingClientRect().bottom + 1)).length"""
        assert page.locator(".tiles p").evaluate_all(out) == 0, "all links to look first at"
        assert page.evaluate(bottom) <= 900
        page.emulate_media(media="print")
        page.set_viewport_size(A4)
        assert page.evaluate(bottom) <= A4["height"]


def test_columns_that_are_the_same_in_all_rows_shown_are_told_once(browser, reports):
    """Of a table, until all of its rows are shown; of the list of items to doubt, always."""
    constant = """all => all.flatMap(table => {
      const rows = [...table.tBodies[0].rows].filter(row => row.checkVisibility());
      const heads = [...table.tHead.rows[0].cells].filter(head => head.checkVisibility());
      const texts = head => rows.map(row => row.cells[head.cellIndex].textContent);
      const same = head => new Set(texts(head)).size === 1;
      return rows.length < 3 ? [] : heads.filter(same).map(head => head.textContent);
    })"""
    with Visit(browser, reports["full"]) as page:
        page.locator("#doubt button.link").first.wait_for()
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.locator("table").evaluate_all(constant) == []


def test_words_of_heads_and_cells_wrap_before_a_table_scrolls(browser, tmp_path):
    heads = ["best", *(f"difference found in {n}% of the evaluations" for n in range(5))]
    table = _pages().from_string('{% from "macros.html" import table %}{{ table("t", h, rows) }}')
    rows = [(", ".join(f"system {n}" for n in range(20)), *(n + row for n in range(5)))
            for row in range(2)]  # fmt: skip
    html = f"<style>{STYLE}</style>{table.render(h=heads, rows=rows)}"
    (tmp_path / "table.html").write_text(f'<meta charset="utf-8">{html}')
    with Visit(browser, tmp_path / "table.html") as page:
        box = page.locator(".wide")
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_caption_says_nothing_of_a_column_that_is_empty_in_the_rows_shown():
    rows = [(f"judge {n}", None if n < 16 else "random", n) for n in range(20)]
    table = _pages().from_string(
        '{% from "macros.html" import table %}'
        '{{ table("Judges", ["judge", ("looks", "chip choose"), ("n", "count")], rows, true) }}'
    )
    assert "<caption>Judges</caption>" in table.render(rows=rows)


def test_a_column_that_only_later_rows_need_is_shown_with_them(browser, tmp_path):
    rows = [(f"judge {n}", "failed" if n < 16 else "passed", n) for n in range(20)]
    table = _pages().from_string(
        '{% from "macros.html" import table %}'
        '{{ table("Judges", ["judge", ("verdict", "chip choose"), ("n", "count")], rows, true) }}'
    )
    page_of = tmp_path / "table.html"
    html = f"<style>{STYLE}</style>{table.render(rows=rows)}<script>{SCRIPT}</script>"
    page_of.write_text(f'<meta charset="utf-8">{html}')
    with Visit(browser, page_of) as page:
        heads = page.locator("thead th:visible")
        assert [head.split()[0] for head in heads.all_inner_texts()] == ["judge", "n"]
        assert page.locator("caption").inner_text() == "Judges In the rows shown: verdict failed"
        page.get_by_text("Show all 20 rows").click()
        assert [head.split()[0] for head in heads.all_inner_texts()] == ["judge", "verdict", "n"]
        assert page.locator("tbody td:visible", has_text="failed").count() == 16
        assert page.locator("caption").inner_text() == "Judges"


def test_columns_of_details_wait_for_a_button_and_are_printed(browser, tmp_path):
    rows = [(f"judge {n}", n / 7, n) for n in range(20)]
    table = _pages().from_string(
        '{% from "macros.html" import table %}'
        '{{ table("Judges", ["judge", ("p", "p detail"), ("n", "count")], rows, true) }}'
    )
    html = f"<style>{STYLE}</style>{table.render(rows=rows)}<script>{SCRIPT}</script>"
    (tmp_path / "table.html").write_text(f'<meta charset="utf-8">{html}')
    with Visit(browser, tmp_path / "table.html") as page:
        page.get_by_text("Show all 20 rows").click()
        seen = page.locator("tr:last-child :is(th, td):visible")
        assert seen.all_inner_texts() == ["judge", "n", "judge 19", "19"]
        page.emulate_media(media="print")
        assert seen.count() == 6
        page.emulate_media(media="screen")
        page.get_by_role("button", name="Show 1 more column").click()
        assert [text.split()[0] for text in seen.all_inner_texts()[:3]] == ["judge", "p", "n"]
        assert page.get_by_role("button", name="more column").count() == 0


@pytest.mark.parametrize("name", ["example", "second"])
def test_the_judges_of_one_kind_of_task_fit_on_a_desk(browser, reports, name):
    with Visit(browser, reports[name], viewport={"width": 1440, "height": 900}) as page:
        box = page.locator(".wide", has_text="Judges by task")
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_first_screen_says_whether_what_and_whom(browser, reports):
    """Verdict, four figures and the next commands stand above the fold of a laptop."""
    with Visit(browser, reports["example"]) as page:
        assert page.locator(".verdict").bounding_box()["y"] < 300
        assert page.locator(".tiles li").count() == 4
        tiles = page.locator(".tiles a")
        for n in range(tiles.count()):
            if tiles.nth(n).get_attribute("href").startswith("#item"):
                continue
            target = tiles.nth(n).get_attribute("href")
            assert page.locator(target).count() == 1, target


def test_from_an_item_to_doubt_to_its_rows_its_judge_and_a_decision(browser, reports):
    with Visit(browser, reports["example"], accept_downloads=True) as page:
        page.locator("#doubt button.link").first.click()  # once: all answers
        dialog = page.locator("dialog")
        item = dialog.locator("h3").inner_text()
        first = dialog.locator("tbody tr").first.inner_text()
        assert re.search(r"\.csv row [\d,]+ \(line [\d,]+\)", first)
        address = page.url
        dialog.locator("select").select_option(index=1)
        decided = dialog.locator("select").input_value()
        dialog.get_by_label("Why").fill('said "so", twice')
        dialog.get_by_label("Why").blur()
        dialog.locator("tbody a").first.click()  # twice: the judge
        assert not dialog.is_visible()
        assert page.evaluate("document.querySelector(':target').tagName") == "TR"
        page.get_by_label("Your name").fill("expert")
        with page.expect_download() as saving:
            page.get_by_text("Download decisions.csv").click()
        (row,) = csv.DictReader(saving.value.path().read_text().splitlines())
        assert (row["item"], row["expert"], row["decision"]) == (item, "expert", decided)
        assert row["comment"] == 'said "so", twice'
        page.goto("about:blank")
        page.goto(address)  # the address opens the item
        assert page.locator("dialog h3").inner_text() == item


LABELS = re.compile("^Labels that changed")


def test_from_a_changed_label_to_its_cause_in_two_clicks(browser, reports):
    with Visit(browser, reports["second"]) as page:
        page.locator(".tiles a", has_text="Changes since").click()
        table = page.locator("#changes table").filter(has=page.locator("caption", has_text=LABELS))
        row = table.locator("tbody tr")
        assert row.count() == 1
        assert row.locator("th").inner_text() == "item 7"
        assert "corrected judgments" in row.inner_text()
        row.locator("summary").click()  # the answers, with the row of each
        first = row.locator("li").first.inner_text()
        assert re.fullmatch(
            r"j\w+: corrected, yes to no \(exports/labels-1\.csv row [\d,]+\)", first
        )
        assert page.locator("#changes a[href^='/cause']").count() == 0, "no server shows the page"
        assert page.locator("#judges a[href^='/judge']").count() == 0


@pytest.mark.slow
def test_changed_labels_lead_to_their_items_where_these_are_to_doubt(browser, tmp_path):
    labels_campaign(tmp_path)
    split = [
        row | ({"label": "no"} if row["item"] == "item 7" and row["judge"] < "judge 4" else {})
        for row in label_rows()
    ]
    report = labels_campaign(tmp_path, split).publication.release.folder / "report.html"
    with Visit(browser, report) as page:
        page.locator("#changes tbody th a", has_text="item 7").click()
        assert page.locator("dialog h3").inner_text() == "item 7"


def test_what_the_first_items_share_is_not_said_of_all(browser, tmp_path):
    """20 of 30 are shown, those that no third judge saw."""
    rows = [
        {"item": f"i{item:02}", "judge": f"judge {n}", "label": "ab"[(n + (item > 24)) % 2]}
        for item in range(30)
        for n in range(2 + (item > 24))
    ]
    report = labels_campaign(tmp_path, rows).publication.release.folder / "report.html"
    with Visit(browser, report) as page:
        caption = page.locator("#doubt caption")
        assert "; in the rows shown: " in caption.inner_text()
        page.locator("#doubt-list button", has_text="more").click()
        assert "; in all rows: " in caption.inner_text()


def test_items_to_doubt_are_narrowed_by_task_label_and_reason(browser, reports):
    with Visit(browser, reports["full"]) as page:
        form, rows = page.locator("#doubt form"), page.locator("#doubt tbody tr")
        every = rows.count()
        form.get_by_label("reason").select_option("expert against model")
        assert 0 < rows.count() < every
        whys = {text.split("\t")[-1] for text in rows.all_inner_texts()}
        assert whys == {"expert against model"}
        form.get_by_label("reason").select_option("")
        form.get_by_label("Search").fill("no item has this name")
        assert rows.count() == 0
        assert form.locator("output").inner_text().startswith("0 of ")


def test_hostile_items_open_as_text(browser, reports):
    with Visit(browser, reports["hostile"]) as page:
        n_items = page.locator("#doubt button.link").count()
        assert n_items >= 4
        for n in range(n_items):
            page.locator("#doubt button.link").nth(n).click()
            assert page.locator("dialog img, dialog script").count() == 0
            assert "\u202e" not in page.locator("dialog").inner_text()
            page.keyboard.press("Escape")
        assert page.title() == "hostile v0001"


@pytest.mark.sampled
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_first_sections_print_on_few_sheets(browser, reports, paper):
    """Use, changes, systems and judges; what is closed stays closed."""
    with Visit(browser, reports["full"]) as page:
        page.wait_for_selector("#doubt-list form", state="attached")  # then the script is done
        page.evaluate(
            "document.querySelectorAll('#doubt, #records, .folded').forEach(e => e.remove())"
        )
        sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))
        assert 1 <= len(sheets) <= MOST_SHEETS


def test_figures_stand_two_beside_each_other_on_paper(browser, reports):
    with Visit(browser, reports["full"], viewport=A4) as page:
        page.emulate_media(media="print")
        places = page.evaluate(
            "[...document.querySelectorAll('.figures')].filter(f => f.checkVisibility())"
            ".map(f => [...f.children].map(e => e.getBoundingClientRect())"
            ".map(r => [r.top, r.left, r.right]))"
        )
        several = [figures for figures in places if len(figures) > 1]
        assert several
        for (top, _, right), (next_top, next_left, next_right), *_ in several:
            assert top == next_top
            assert right < next_left < next_right <= A4["width"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("full", 390),
        *(pytest.param(*page, marks=pytest.mark.slow)
          for page in (("full", 1440), ("example", 1440), ("example", 390))),
    ],
)  # fmt: skip
def test_axe_finds_nothing(browser, reports, name, width):
    viewport = {"width": width, "height": 844}
    with Visit(browser, reports[name], viewport=viewport, bypass_csp=True) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert violations(page) == []
        page.locator("#doubt button.link").first.click()
        assert violations(page) == []
