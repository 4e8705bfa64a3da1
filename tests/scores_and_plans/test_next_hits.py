"""The plan of the next HITs, through the pipeline."""

from __future__ import annotations

import pytest

from tests.scores_and_plans.scored import SCALAR, build, plan, row, scores, text_of, with_items


@pytest.mark.slow
def test_the_plan_hangs_on_the_state_and_says_it(stage_campaign):
    rows = [row("j1", f"i{n:02}", (n * 37) % 101) for n in range(40)]
    built = build(stage_campaign, rows)
    first = plan(built)
    assert len({r["hit"] for r in first}) == 8
    assert {r["role"] for r in first} == {"seed", "partner"}
    actual = scores(built)
    for slot in first:
        assert slot["easl_alpha"] == actual[slot["item"]]["easl_alpha"]
        assert slot["n_judgments"] == 1
        assert slot["seed"] == 17
        assert 0 < slot["probability"] <= 1
    assert plan(build(stage_campaign, rows)) == first
    rows.append(row("j2", "i00", 50))
    second = plan(build(stage_campaign, rows))
    assert {r["state"] for r in first}.isdisjoint(r["state"] for r in second)
    assert {r["hit"] for r in first}.isdisjoint(r["hit"] for r in second)


def test_listed_items_without_judgments_come_first(stage_campaign, tmp_path):
    (tmp_path / "campaign").mkdir()
    listed = "".join(f"new{n},text {n},src {n}\n" for n in range(7))
    (tmp_path / "campaign" / "items.csv").write_text(f"item,text,source\n{listed}")
    items = [
        {"path": "items.csv", "format": "csv",
         "fields": {"item": "item", "text": "text", "source": "source"}}
    ]  # fmt: skip
    rows = [row("j1", f"old{n}", n) for n in range(9)]
    actual = plan(build(stage_campaign, rows, items=items))
    covered = [r for r in actual if r["role"] == "cover"]
    assert sorted(r["item"] for r in covered) == [f"new{n}" for n in range(7)]
    assert {(r["item"], r["text"], r["source"]) for r in covered} == {
        (f"new{n}", f"text {n}", f"src {n}") for n in range(7)
    }


@pytest.mark.slow
def test_listed_items_of_several_tasks(stage_campaign, tmp_path):
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "items.csv").write_text(
        "task,item\n" + "".join(f"t1,x{n}\n" for n in range(5)) + ",nowhere\n"
    )
    items = [{"path": "items.csv", "format": "csv", "fields": {"task": "task", "item": "item"}}]
    fields = {"task": "system", "judge": "judge", "item": "item", "score": "score"}
    rows = [row("j1", f"i{n}", n, system=task) for n in range(5) for task in ("t1", "t2")]
    built = stage_campaign(
        {"a.csv": text_of(rows)}, items=items, tasks=SCALAR,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    actual = plan(built)
    assert sorted(r["item"] for r in actual if r["role"] == "cover") == [f"x{n}" for n in range(5)]
    assert {r["task"] for r in actual if r["role"] == "cover"} == {"t1"}
    assert built.metrics("plan_hits")["notes"][0] == (
        "listed items left out, because there are several tasks and their table does not map "
        "task: 1"
    )


@pytest.mark.slow
def test_two_tasks_with_items_of_one_name_show_each_its_own_text(stage_campaign, tmp_path):
    listed = "".join(f"{t},i{n},text {n} of {t}\n" for t in ("t1", "t2") for n in range(6))
    items = with_items(tmp_path, "task,item,text\n" + listed)
    fields = {"task": "system", "judge": "judge", "item": "item", "score": "score"}
    rows = [row("j1", f"i{n}", n, system=task) for n in range(3) for task in ("t1", "t2")]
    built = stage_campaign(
        {"a.csv": text_of(rows)}, items=items, tasks=SCALAR,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    actual = plan(built)
    assert {r["task"] for r in actual} == {"t1", "t2"}
    for r in actual:
        assert r["text"] == f"text {r['item'][1:]} of {r['task']}"


def test_items_without_a_text_are_left_out_where_others_have_one(stage_campaign, tmp_path):
    listed = "".join(f"i{n},{'' if n == 3 else f'text {n}'}\n" for n in range(9))
    items = with_items(tmp_path, "item,text\n" + listed)
    rows = [row("j1", f"i{n}", n) for n in range(10)]  # i9 is not listed
    built = build(stage_campaign, rows, "easl.hits=2", items=items)
    assert not {r["item"] for r in plan(built)} & {"i3", "i9"}
    assert built.metrics("plan_hits")["notes"][0] == (
        "small: 2 items without a text are left out; list them, with text, under items"
    )


@pytest.mark.slow
def test_names_are_shown_where_no_item_has_a_text_and_that_is_said(stage_campaign):
    rows = [row("j1", f"i{n}", n, system="x", segment=f"s{n}") for n in range(9)]
    built = build(stage_campaign, rows, "next_hits.within=task", fields=("system", "segment"))
    assert built.metrics("plan_hits")["notes"][0] == (
        "small: no item has a text: judges see its name, which may reveal the system; map text "
        "under items"
    )


@pytest.mark.slow
def test_hit_ids_hang_on_what_is_shown(stage_campaign, tmp_path):
    rows = [row("j1", f"i{n}", n) for n in range(10)]

    def ids(word):
        listed = "".join(f"i{n},{word} {n}\n" for n in range(10))
        items = with_items(tmp_path, "item,text\n" + listed)
        return {r["hit"] for r in plan(build(stage_campaign, rows, items=items))}

    assert ids("one").isdisjoint(ids("two"))


@pytest.mark.slow
def test_an_assumed_scale_is_not_asked_on(stage_campaign):
    built = build(stage_campaign, [row("j", f"i{n}", 20 + n) for n in range(9)], tasks=[])
    assert built.metrics("plan_hits")["unplanned"] == {
        "small": "it declares no scale; write scale: [lowest, highest] under tasks"
    }


def test_hits_of_a_segment_and_segments_that_are_too_small(stage_campaign):
    rows = [
        row("j1", f"s{s}/{m}", (7 * s + 13 * m) % 101, segment=f"s{s}", system=f"m{m}")
        for s in range(6)
        for m in range(3 if s == 5 else 8)
    ]
    built = build(stage_campaign, rows, fields=("segment", "system"))
    by_hit: dict[str, set[str]] = {}
    for r in plan(built):
        by_hit.setdefault(r["hit"], set()).add(r["segment"])
    assert all(len(segments) == 1 for segments in by_hit.values())
    assert "s5" not in set.union(*by_hit.values())
    assert (
        "small: 1 of 6 segments are left out: fewer than 5 outputs (easl.hit_size)"
        in (built.metrics("plan_hits")["notes"])
    )
    mixed = build(stage_campaign, rows, "next_hits.within=task", fields=("segment", "system"))
    assert any(r["segment"] == "s5" for r in plan(mixed))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("n_items", "segments", "says"),
    [
        (1, 0, "it has 1 item, and a HIT shows 5 (easl.hit_size); list more under items, or lower "
               "easl.hit_size"),
        (4, 0, "it has 4 items, and a HIT shows 5 (easl.hit_size); list more under items, or "
               "lower easl.hit_size"),
        (8, 2, "no segment has 5 outputs, as many as a HIT shows (easl.hit_size); the largest has "
               "4: lower easl.hit_size, or set next_hits.within: task"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_said_and_stops_no_build(n_items, segments, says, stage_campaign):
    rows = [
        row("j1", f"i{n}", n, segment=f"s{n % segments}" if segments else "x", system=f"m{n}")
        for n in range(n_items)
    ]
    fields = ("segment", "system") if segments else ()
    built = build(stage_campaign, rows, fields=fields)
    assert built.metrics("plan_hits")["unplanned"] == {"small": says}
    assert plan(built) == []
