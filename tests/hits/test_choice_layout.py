"""The form that MTurk shows where a choice is asked, in a browser and as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.hits.mturk_file import PAIRS_AT_ONCE, mturk_layout
from annot_pipeline.stages.planning.hit_plan import Question
from tests.hits.platforms import Row, files, plan, read_csv, slot, write
from tests.hits.test_layout import HEAD, HOSTILE, Form, answer, in_a_browser

COMPARE = Question("t", ask="compare")
LABELS = ("good", "<b>not</b> ${text_1}", "غير جيد")
LABEL = Question("t", ask="label", labels=LABELS)


def singles(n: int) -> list[Row]:
    return [slot(f"i{k}", text=HOSTILE[k % 6], source=HOSTILE[k % 6] * (k % 2)) for k in range(n)]


def pairs(n: int) -> list[Row]:
    return [row | {"item_b": f"j{k}", "text_b": HOSTILE[(k + 1) % 6]}
            for k, row in enumerate(singles(n))]  # fmt: skip


# --- what it asks --------------------------------------------------------------------------


def test_three_buttons_a_pair() -> None:
    html = mturk_layout(COMPARE, 2, with_sources=True)
    actual = [(f["name"], f["type"], f["value"], "required" in f) for f in Form(html).inputs]
    assert actual == [
        (f"preference_{n}", "radio", value, True) for n in (1, 2) for value in ("a", "tie", "b")
    ]
    assert re.findall(r"\$\{(\w+)\}", html) == [
        "n_slots", *(f"{kind}_{n}" for n in (1, 2) for kind in ("source", "text", "text_b")),
    ]  # fmt: skip


@pytest.mark.parametrize("question", [COMPARE, LABEL])
def test_slots_do_not_tell_what_they_are(question: Question) -> None:
    html = mturk_layout(question, 12, with_sources=True)
    slots = re.findall(r'<section class="slot">.*?</section>', html)
    assert len({re.sub(r"_\d+|Question \d+", "N", shown) for shown in slots}) == 1
    assert "annot_hit" not in html
    assert "control" not in html
    assert not re.search(r"@[A-Z_]+@", html)
    assert 'type="number"' not in html


# --- in a browser --------------------------------------------------------------------------


def page(folder: Path, question: Question, *hits: list[Row], row: int = 1, script: str) -> Path:
    """The form as MTurk makes it of a row, without Amazon's script."""
    document = write(plan(("t", hits)), [question], folder / "b", "mturk")
    form = files(document, ".html")["t"].read_text(encoding="utf-8")
    rows = read_csv(files(document, ".csv")["t"])
    for name, cell in zip(rows[0], rows[row], strict=True):
        form = form.replace(f"${{{name}}}", cell)
    form = re.sub('<script src="https://assets.*?</script>', "", form)
    path = folder / "page.html"
    done = f"<script>window.addEventListener('load', function () {{ {TOOLS}{script} }});</script>"
    path.write_text(f"{HEAD}{form}{done}", encoding="utf-8")
    return path


TOOLS = """
function all(what) { return [].slice.call(document.querySelectorAll(what)); }
function texts(what) { return all(what).map(function (e) { return e.textContent; }); }
function shown(what) { return all(what).filter(function (e) { return e.offsetParent; }).length; }
function place() { return document.querySelector('.place').textContent; }
function checked() {
  return all('input:checked').map(function (e) { return e.name + '=' + e.value; });
}
function key(name, target) {
  var event = new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true});
  (target || document.body).dispatchEvent(event);
}
function submit() {
  var event = new Event('submit', {cancelable: true});
  document.querySelector('crowd-form').dispatchEvent(event);
  return !event.defaultPrevented;
}
function say(seen) { document.title = JSON.stringify(seen); }
"""


def seen(*where: Any, **how: Any) -> Any:
    return answer(page(*where, **how))


@in_a_browser
def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    script = "say([texts('.text'), texts('.choice'), all('.slot script, .slot img').length]);"
    told, _, n_live = seen(tmp_path, COMPARE, pairs(3), script=script)
    assert told == [HOSTILE[k] for k in (0, 1, 1, 2, 2, 3)]
    assert n_live == 0
    (tmp_path / "l").mkdir()
    told, choices, n_live = seen(tmp_path / "l", LABEL, singles(6), script=script)
    assert told == HOSTILE
    assert choices == [f" {label}{n}" for _ in range(6) for n, label in enumerate(LABELS, 1)]
    assert n_live == 0


@in_a_browser
@pytest.mark.parametrize("question", [COMPARE, LABEL])
def test_unused_slots_are_neither_shown_nor_asked(question: Question, tmp_path: Path) -> None:
    made = pairs if question is COMPARE else singles
    script = """
    var seen = [shown('.slot'), all('input').length, texts('.text').length, submit()];
    all('input[value="' + %s + '"]').forEach(function (e) { e.click(); });
    seen.push(submit(), checked(), shown('.turn'));
    say(seen);
    """
    value, field = ("'a'", "preference") if question is COMPARE else ("'1'", "label")
    actual = seen(tmp_path, question, made(2), made(12), row=1, script=script % value)
    n_texts = 4 if question is COMPARE else 2
    first = value.strip("'")
    assert actual == [2, 6, n_texts, False, True, [f"{field}_{n}={first}" for n in (1, 2)], 0]


@in_a_browser
def test_few_pairs_stand_together_and_each_must_be_decided(tmp_path: Path) -> None:
    script = """
    var seen = [shown('.slot'), shown('.turn'), checked(), submit(), shown('.slot.open')];
    seen.push(all('input').every(function (e) { return e.required; }));
    key('3');
    key('2');
    seen.push(checked(), submit());
    key('1', all('input')[6]);
    key('4'); key('x'); key('Enter');
    seen.push(checked(), submit(), document.querySelector('.message').textContent);
    say(seen);
    """
    first = ["preference_1=b", "preference_2=tie"]
    assert seen(tmp_path, COMPARE, pairs(PAIRS_AT_ONCE), script=script) == [
        3, 0, [], False, 1, True, first, False, [*first, "preference_3=a"], True, "",
    ]  # fmt: skip


@in_a_browser
def test_more_pairs_come_one_by_one(tmp_path: Path) -> None:
    n = PAIRS_AT_ONCE + 1
    script = """
    var seen = [shown('.slot'), place(), all('input').some(function (e) { return e.required; })];
    key('Enter');
    seen.push(place(), shown('.slot.open'));
    key('1');
    key('Enter');
    seen.push(place());
    all('input')[4].click();
    document.querySelector('.next').click();
    key('3'); key('Enter');
    seen.push(place(), submit());
    key('2', document.querySelector('.back'));
    seen.push(checked().length);
    key('2');
    seen.push(submit(), checked());
    say(seen);
    """
    answers = ["preference_1=a", "preference_2=tie", "preference_3=b", "preference_4=tie"]
    assert seen(tmp_path, COMPARE, pairs(n), script=script) == [
        1, "1 of 4", False, "1 of 4", 1, "2 of 4", "4 of 4", False, 3, True, answers,
    ]  # fmt: skip
