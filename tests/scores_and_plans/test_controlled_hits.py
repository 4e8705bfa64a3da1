"""The plan of HITs with controls, through the pipeline."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from tests.scores_and_plans.scored import build, plan, row, with_items

WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def controlled(build_campaign, tmp_path, *sets, n=90, text=None, reference="a reference text"):
    (tmp_path / "campaign").mkdir(exist_ok=True)
    rng = np.random.default_rng(2)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["item", "text", "reference"])
    for k in range(n):
        words = " ".join(rng.permutation(WORDS)) if text is None else text
        writer.writerow([f"i{k:03}", words, reference])
    (tmp_path / "campaign" / "items.csv").write_text(out.getvalue(), encoding="utf-8")
    fields = {"item": "item", "text": "text", "reference": "reference"}
    items = [{"path": "items.csv", "format": "csv", "fields": fields}]
    rows = [row("j1", f"i{k:03}", k % 100) for k in range(5)]
    design = ("next_hits.design=controlled", "controlled_hits.hits=2", *sets)
    return build(build_campaign, rows, *design, items=items)


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["duplicate_words", "replace_span"])
def test_controlled_hits_show_controls_at_their_distance(way, stage_campaign, tmp_path):
    built = controlled(stage_campaign, tmp_path, f"controlled_hits.degradation={way}")
    texts = {r["item"]: r for r in built.rows("items")}
    by_hit: dict[str, list[dict[str, Any]]] = {}
    for r in plan(built):
        by_hit.setdefault(r["hit"], []).append(r)
    assert len(by_hit) == 2
    copies: dict[str, str] = {}
    for slots in by_hit.values():
        assert [s["slot"] for s in slots] == list(range(1, 101))
        ordinary = {s["item"]: s for s in slots if s["control"] == "none"}
        assert len(ordinary) == 70
        for s in slots:
            item = texts[s["item"]]
            if s["control"] == "none":
                assert (s["text"], s["role"]) == (item["text"], "least_judged")
                continue
            assert 40 <= abs(s["slot"] - ordinary[s["item"]]["slot"]) <= 60
            assert (s["role"], s["probability"]) == ("control", None)
            if s["control"] == "bad_reference":
                assert s["text"] != item["text"]
                assert copies.setdefault(s["item"], s["text"]) == s["text"]
            else:
                kind = {"ask_again": "text", "good_reference": "reference"}[s["control"]]
                assert s["text"] == item[kind]
    first = next(iter(by_hit.values()))
    assert not {f"i{k:03}" for k in range(5)} & {s["item"] for s in first}, "the judged come last"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"n": 60}, "60 items have a text, and a HIT shows 70: list more under items"),
        ({"text": ""}, "no item has a text, and controls are made of texts: map text under items"),
        (
            {"text": "too short"},
            "a HIT needs 10 items of their own for each control; fit for them are: ask_again 90, "
            "bad_reference 0, good_reference 90; longer texts, or degradation: replace_span; or "
            "leave the control out: controlled_hits.controls: [ask_again, good_reference]",
        ),
        (
            {"reference": ""},
            "a HIT needs 10 items of their own for each control; fit for them are: ask_again 90, "
            "bad_reference 90, good_reference 0; map reference under items; or leave the control "
            "out: controlled_hits.controls: [ask_again, bad_reference]",
        ),
    ],
)
def test_controlled_hits_that_cannot_be(given_, says, stage_campaign, tmp_path):
    built = controlled(stage_campaign, tmp_path, **given_)
    assert built.metrics("plan_hits")["unplanned"] == {"small": says}


@pytest.mark.slow
def test_references_are_found_however_few_items_have_one(stage_campaign, tmp_path):
    (tmp_path / "campaign").mkdir()
    lines = [f"i{n:04},{' '.join(WORDS)} {n},{'a reference' if n >= 985 else ''}\n"
             for n in range(1000)]  # fmt: skip
    items = with_items(tmp_path, "item,text,reference\n" + "".join(lines))
    rows = [row("j1", f"i{n:04}", 5) for n in range(980, 1000)]  # those judged most have them
    built = build(
        stage_campaign, rows, "next_hits.design=controlled", "controlled_hits.hits=1", items=items
    )
    actual = plan(built)
    assert len(actual) == 100
    references = {r["item"] for r in actual if r["control"] == "good_reference"}
    assert len(references) == 10
    assert min(references) >= "i0985"


def test_spans_come_from_other_segments_and_copies_hang_on_the_seed(stage_campaign, tmp_path):
    lines = [
        f"s{n // 40},m{n % 40},{' '.join(f'w{n // 40}x{n}y{k}' for k in range(8))}\n"
        for n in range(120)
    ]
    items = with_items(tmp_path, "segment,system,text\n" + "".join(lines))
    rows = [row("j1", "s0/m0", 5)]

    def copies(seed):
        design = ("next_hits.design=controlled", "controlled_hits.hits=4", f"seed={seed}",
                  "controlled_hits.controls=[bad_reference]",
                  "controlled_hits.degradation=replace_span")  # fmt: skip
        actual = plan(build(stage_campaign, rows, *design, items=items))
        return {r["item"]: r["text"] for r in actual if r["control"] == "bad_reference"}

    first = copies(1)
    for item, text in first.items():
        segment = item.split("/")[0][1:]
        foreign = [w for w in text.split() if not w.startswith(f"w{segment}x")]
        assert len(foreign) == 3, "8 words: a span of 3 of another segment"
    second = copies(2)
    common = first.keys() & second.keys()
    assert len(common) >= 5
    differ = sum(first[item] != second[item] for item in common)
    assert differ > 0.8 * len(common), "of few spans two seeds may take the same, but seldom"


@pytest.mark.slow
def test_texts_that_cannot_be_degraded_are_counted_with_the_reason(stage_campaign, tmp_path):
    built = controlled(stage_campaign, tmp_path, text="too short")
    (note,) = built.metrics("plan_hits")["notes"]
    assert note.startswith("small: 90 texts cannot be degraded: 2 words")


def test_controls_that_are_left_out(stage_campaign, tmp_path):
    built = controlled(
        stage_campaign, tmp_path, "controlled_hits.controls=[ask_again]", text="short"
    )
    kinds = [r["control"] for r in plan(built)]
    assert (kinds.count("ask_again"), kinds.count("none")) == (20, 180)
