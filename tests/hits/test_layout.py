"""The form that MTurk shows: what it asks, what it shows of hostile texts, how it behaves."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from annot_pipeline.hits.mturk_file import AT_ONCE, mturk_layout, slider_step
from tests.hits.platforms import files, plan, question, read_csv, slot, write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

HOSTILE = [
    "<script>document.title = 'ran'</script><img src=x onerror=\"document.title='ran'\">",
    "${text_1} and ${annot_hit}",
    "=cmd|' /C calc'!A0",
    "two\n\n  lines\tand a tab, \"quotes\" & 'more' - 😀 日本",
    "</div></section></crowd-form><b>bold</b> &amp; &lt; -->",
    "",
]


class Form(HTMLParser):
    """Inputs, and how often each tag stands there."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.inputs: list[dict[str, str | None]] = []
        self.crowd_form: dict[str, str | None] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "input":
            self.inputs.append(dict(attrs))
        if tag == "crowd-form":
            self.crowd_form = dict(attrs)


# --- what it asks --------------------------------------------------------------------------


def test_one_number_a_slot() -> None:
    form_html = mturk_layout(question("t"), 5, with_sources=True)
    form = Form(form_html)
    assert [field["name"] for field in form.inputs] == [f"score_{n}" for n in range(1, 6)]
    for field in form.inputs:
        assert (field["type"], field["min"], field["max"]) == ("number", "0", "100")
        assert "required" in field
    assert sorted(re.findall(r"\$\{(\w+)\}", form_html)) == sorted(
        f"{kind}_{n}" for kind in ("text", "source") for n in range(1, 6)
    )
    assert form.crowd_form == {"answer-format": "flatten-objects"}  # else all is one JSON cell


def test_slots_do_not_tell_what_they_are() -> None:
    """But for their number all slots are the same, and the bookkeeping is nowhere."""
    form_html = mturk_layout(question("t", "c"), 12, with_sources=True)
    slots = re.findall(r'<section class="slot">.*?</section>', form_html)
    assert len(slots) == 12
    assert len({re.sub(r"\d+", "N", shown) for shown in slots}) == 1
    assert "annot_hit" not in form_html
    assert "control" not in form_html


@pytest.mark.parametrize(
    ("scale", "step"),
    [((0, 100), "1"), ((0, 1), "0.01"), ((1, 5), "0.01"), ((-1, 1), "0.01"), ((0, 10), "0.1"),
     ((-100, 100), "1"), ((0, 1000), "1"), ((0.00001, 1), "any"), ((0, 0.5), "0.001")],
)  # fmt: skip
def test_steps(scale: tuple[float, float], step: str) -> None:
    assert slider_step(scale) == step
    form_html = mturk_layout(question("t", scale=scale), 1, with_sources=False)
    assert (f'step="{step}"' in form_html) == (step != "1")


# --- in a browser --------------------------------------------------------------------------


HEAD = '<!DOCTYPE html><meta charset="utf-8"><title>form</title>'
"""Declares the encoding, as MTurk's server does: a browser that guesses it may guess wrong."""


def page(folder: Path, n_slots: int, *criteria: str, script: str = "") -> Path:
    """The form as MTurk makes it of the first row, without Amazon's script."""
    texts = [HOSTILE[n % len(HOSTILE)] for n in range(n_slots)]
    sources = [text if n % 2 else None for n, text in enumerate(texts)]
    shown = [
        slot(f"item {n}", "bad_reference" if n == 1 else "none", text=text, source=source)
        for n, (text, source) in enumerate(zip(texts, sources, strict=True))
    ]
    document = write(plan(("t", [shown])), [question("t", *criteria)], folder / "b", "mturk")
    form = files(document, ".html")["t"].read_text(encoding="utf-8")
    header, row = read_csv(files(document, ".csv")["t"])
    for name, cell in zip(header, row, strict=True):
        form = form.replace(f"${{{name}}}", cell)
    form = form.replace(
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>', ""
    )
    path = folder / "page.html"
    done = f"<script>window.addEventListener('load', function () {{ {script} }});</script>"
    path.write_text(f"{HEAD}{form}{done}", encoding="utf-8")
    return path


def dom(path: Path) -> str:
    """What a browser makes of a page."""
    profile = path.parent / "profile"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
               f"--user-data-dir={profile}", path.as_uri()]  # fmt: skip
    run = subprocess.run(command, capture_output=True, timeout=120, check=True)
    return run.stdout.decode("utf-8")


def answer(path: Path) -> object:
    """What the script left in the title."""
    match = re.search(r"<title>(.*?)</title>", dom(path), re.DOTALL)
    assert match
    return json.loads(html.unescape(match[1]))


READ = """
var texts = [].map.call(document.querySelectorAll('.text'), function (e) { return e.textContent; });
var kinds = [].map.call(document.querySelectorAll('.slot *'), function (e) { return e.tagName; });
document.title = JSON.stringify([texts, kinds, document.title]);
"""


@in_a_browser
def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    texts, kinds, title = answer(page(tmp_path, len(HOSTILE), script=READ))  # type: ignore[misc]
    assert texts == HOSTILE
    assert title == "form"
    assert set(kinds) == {"DIV", "INPUT", "SPAN"}
    assert "SCRIPT" not in kinds


TOOLS = """
function all(what) { return [].slice.call(document.querySelectorAll(what)); }
function move(n, value) {
  var slider = all('input[type=range]')[n];
  slider.value = value;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}
function submit() {
  var event = new Event('submit', {cancelable: true});
  document.querySelector('crowd-form').dispatchEvent(event);
  return !event.defaultPrevented;
}
function shown(what) { return all(what).filter(function (e) { return e.offsetParent; }).length; }
function values() { return all('input[type=number]').map(function (e) { return e.value; }); }
"""


@in_a_browser
def test_few_slots_stand_together_and_each_must_be_moved(tmp_path: Path) -> None:
    script = (
        TOOLS
        + """
    var seen = {slots: shown('.slot'), turns: shown('.turn'), sliders: shown('input[type=range]')};
    seen.required = all('input[type=number]').every(function (e) { return e.required; });
    seen.named = all('input[type=range]').filter(function (e) { return e.name; }).length;
    seen.sources = shown('.source');
    seen.untouched = [values(), submit(), shown('.slot.open')];
    for (var n = 0; n < 4; n++) move(n, 10 * n);
    seen.most = [submit(), document.querySelector('.message').textContent !== ''];
    document.querySelector('.answer span').click();
    all('input[type=range]')[4].click();
    seen.all = [values(), submit()];
    all('input[type=number]')[0].value = '101';
    seen.beyond = submit();
    all('input[type=number]')[0].value = '';
    seen.cleared = submit();
    document.title = JSON.stringify(seen);
    """
    )
    assert answer(page(tmp_path, 5, script=script)) == {
        "slots": 5,
        "turns": 0,
        "sliders": 5,
        "required": True,
        "named": 0,
        "sources": 2,
        "untouched": [[""] * 5, False, 1],
        "most": [False, True],
        "all": [["0", "10", "20", "30", "50"], True],
        "beyond": False,
        "cleared": False,
    }


@in_a_browser
def test_many_slots_come_one_by_one(tmp_path: Path) -> None:
    n_slots = AT_ONCE + 2
    script = (
        TOOLS
        + """
    var next = document.querySelector('.next'), back = document.querySelector('.back');
    var place = document.querySelector('.place'), seen = {};
    function button() { return getComputedStyle(document.querySelector('.submit')).display; }
    seen.required = all('input[type=number]').some(function (e) { return e.required; });
    seen.start = [shown('.slot'), place.textContent, back.disabled, button()];
    next.click();
    seen.stays = place.textContent;
    move(0, 1);
    next.click();
    seen.goes = [place.textContent, shown('.slot'), back.disabled];
    back.click();
    seen.returns = place.textContent;
    next.click();
    for (var n = 1; n < all('.slot').length; n++) { move(n, n + 1); next.click(); }
    seen.end = [place.textContent, getComputedStyle(next).display, button() !== 'none', submit()];
    all('input[type=number]')[3].value = '';
    seen.gap = [submit(), place.textContent];
    seen.values = values();
    document.title = JSON.stringify(seen);
    """
    )
    numbers = [str(n) for n in range(1, n_slots + 1)]
    assert (
        answer(page(tmp_path, n_slots, script=script))
        == {
            "required": False,  # a browser cannot point at what is not shown
            "start": [1, f"1 of {n_slots}", True, "none"],
            "stays": f"1 of {n_slots}",
            "goes": [f"2 of {n_slots}", 1, False],
            "returns": f"1 of {n_slots}",
            "end": [f"{n_slots} of {n_slots}", "none", True, True],
            "gap": [False, f"4 of {n_slots}"],
            "values": [*numbers[:3], "", *numbers[4:]],
        }
    )


@in_a_browser
def test_typing_moves_the_slider_and_criteria_are_all_asked(tmp_path: Path) -> None:
    script = (
        TOOLS
        + """
    var seen = {criteria: all('.answer b').map(function (e) { return e.textContent; })};
    all('input[type=number]').forEach(function (number, n) {
      if (n === 3) return;
      number.value = 5 * n;
      number.dispatchEvent(new Event('input', {bubbles: true}));
    });
    seen.sliders = all('input[type=range]').map(function (e) { return [e.value, e.className]; });
    seen.ready = [submit()];
    move(3, 7);
    seen.ready.push(submit());
    document.title = JSON.stringify(seen);
    """
    )
    assert answer(page(tmp_path, 2, "fluency", "<b>sense</b>", script=script)) == {
        "criteria": ["fluency", "<b>sense</b>"] * 2,
        "sliders": [["0", ""], ["5", ""], ["10", ""], ["50", "unset"]],
        "ready": [False, True],
    }
