"""Items and tasks of a release: ids, texts and truth, kinds, the order of classes."""

from __future__ import annotations

import pytest

from tests.pipeline.exported import ROWS, export, fates


def test_items_are_segment_and_system_escaped(stage_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"segment": "seg", "system": "sys", "judge": "judge", "label": "label"},
    }  # fmt: skip
    built = stage_campaign(
        {"a.csv": export(["a/b,50%,w1,yes", "s2,x,w1,no"], "seg,sys,judge,label\n")},
        sources=[source],
    )
    assert [(r["item"], r["segment"], r["system"]) for r in built.rows("items")] == [
        ("a%2Fb/50%25", "a/b", "50%"), ("s2/x", "s2", "x"),
    ]  # fmt: skip


def test_item_tables_add_texts_and_truth(stage_campaign, tmp_path):
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text("id,t,gold\ni0,Zero,yes\nextra,More,no\n")
    items = [
        {
            "path": "items.csv",
            "format": "csv",
            "fields": {"item": "id", "text": "t", "truth": "gold"},
        }
    ]
    built = stage_campaign({"a.csv": export(ROWS)}, items=items)
    by_item = {r["item"]: r for r in built.rows("items")}
    assert len(by_item) == 21
    assert by_item["i0"]["text"] == "Zero"
    assert by_item["extra"]["truth"] == "no"
    assert by_item["i1"]["text"] is None


@pytest.mark.slow
def test_a_truth_on_which_tasks_differ_is_none(stage_campaign, tmp_path):
    """Of one task, or of none, the first row wins."""
    folder = tmp_path / "campaign"
    folder.mkdir()
    rows = [
        "i0,s,yes",
        "i0,t,no",
        "i1,s,yes",
        "i1,t,yes",
        "i2,s,yes",
        "i2,s,no",
        "i3,,yes",
        "i3,,no",
    ]
    (folder / "items.csv").write_text("id,of,gold\n" + "".join(f"{row}\n" for row in rows))
    fields = {"item": "id", "task": "of", "truth": "gold"}
    items = [{"path": "items.csv", "format": "csv", "fields": fields}]
    built = stage_campaign({"a.csv": export(ROWS)}, items=items)
    truths = {r["item"]: r["truth"] for r in built.rows("items")}
    assert [truths[f"i{n}"] for n in range(4)] == [None, "yes", "yes", "yes"]


def test_contradictory_truths_are_named(stage_campaign, tmp_path):
    """i1: of two rows of an export; i2: of an export and an item table, which wins."""
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text("id,gold\ni0,yes\ni2,yes\n")
    fields = {"item": "item", "judge": "judge", "label": "label", "truth": "truth"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    items = [{"path": "items.csv", "format": "csv", "fields": {"item": "id", "truth": "gold"}}]
    rows = ["i0,w1,yes,yes", "i0,w2,no,", "i1,w1,yes,yes", "i1,w2,yes,no", "i2,w1,yes,no"]
    export_text = export(rows, "item,judge,label,truth\n")
    built = stage_campaign({"a.csv": export_text}, sources=[source], items=items)
    truths = {r["item"]: r["truth"] for r in built.rows("items")}
    assert truths == {"i0": "yes", "i1": None, "i2": "yes"}
    (gate,) = (g for g in built.runs["describe_items"].gates if g.name == "repeated_items")
    assert (gate.level, gate.value) == ("warn", 2)
    assert gate.detail == "i1 (truth 'no' or 'yes'), i2 (truth 'no' or 'yes')"


def test_a_bad_row_of_an_item_table_stops_nothing(stage_campaign, tmp_path):
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text("id,t\ni0,Zero\n,nobody\nragged\ni1,One\n")
    items = [{"path": "items.csv", "format": "csv", "fields": {"item": "id", "text": "t"}}]
    built = stage_campaign({"a.csv": export(ROWS)}, items=items)
    texts = {r["item"]: r["text"] for r in built.rows("items")}
    assert (texts["i0"], texts["i1"], texts["i2"]) == ("Zero", "One", None)
    gate = next(g for g in built.runs["read_records"].gates if g.name == "unread_items")
    assert (gate.level, gate.value) == ("warn", 2)
    assert "items.csv row 2 (line 3): item is blank" in gate.detail


@pytest.mark.slow
def test_a_blank_truth_is_no_truth(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "truth": "truth"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    rows = ["i1,w1,yes,yes", "i1,w2,yes,", "i2,w1,yes, "]
    built = stage_campaign({"a.csv": export(rows, "item,judge,label,truth\n")}, sources=[source])
    assert {r["item"]: r["truth"] for r in built.rows("items")} == {"i1": "yes", "i2": None}


def test_classes_are_ordered_as_declared_else_as_numbers_else_by_code_point(stage_campaign):
    def order(built):
        rows = sorted(built.rows("prevalence"), key=lambda r: r["label_order"])
        return [r["label"] for r in rows]

    rows = ["i1,w1,10", "i1,w2,9", "i2,w1,2", "i2,w2,2"]
    assert order(stage_campaign({"a.csv": export(rows)})) == ["2", "9", "10"]
    mixed = [*rows, "i3,w1,x"]
    assert order(stage_campaign({"a.csv": export(mixed)})) == ["10", "2", "9", "x"]
    declared = {"name": "*", "kind": "categorical", "labels": ["9", "2", "10", "none"]}
    built = stage_campaign({"a.csv": export(rows)}, tasks=[declared])
    assert order(built) == ["9", "2", "10", "none"]
    assert len([r for r in built.rows("label_distributions") if r["item"] == "i1"]) == 4


def test_the_first_pattern_that_matches_a_task_wins(stage_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"task": "task", "item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    tasks = [{"name": "a*", "labels": ["yes", "no"]}, {"name": "*", "kind": "categorical"}]
    rows = ["ab,i1,w1,yes", "ab,i1,w2,maybe", "b,i1,w1,maybe"]
    built = stage_campaign(
        {"a.csv": export(rows, "task,item,judge,label\n")}, "gates.rejected_share.error=1",
        sources=[source], tasks=tasks,
    )  # fmt: skip
    assert fates(built) == {"used": 2, "rejected": 1}
    kinds = {r["task"]: (r["kind"], r["guessed"]) for r in built.rows("tasks")}
    assert kinds == {"ab": ("categorical", True), "b": ("categorical", False)}


def test_items_of_which_no_judgment_counts_are_named(build_campaign):
    """i20 has rejected answers alone, i21 those of a person who failed; neither has a label."""
    known = [
        f"k{i},w{j},{'no' if j == 9 else 'yes'},yes,known_answer"
        for i in range(20)
        for j in (0, 1, 9)
    ]
    rows = [*(f"{row},," for row in ROWS), *known, "i20,w1,perhaps,,", "i21,w9,yes,,"]
    names = ("item", "judge", "label", "truth", "control")
    source = {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in names}}
    built = build_campaign(
        {"a.csv": export(rows, ",".join(names) + "\n")}, sources=[source],
        tasks=[{"name": "*", "kind": "categorical", "labels": ["yes", "no"]}],
        quality={"test": "known_answer"},
    )  # fmt: skip
    (gate,) = (g for g in built.runs["describe_items"].gates if g.name == "uncounted_items")
    assert (gate.level, gate.value, gate.detail) == ("warn", 2, "2 of small: i20, i21")
    assert {"i20", "i21"}.isdisjoint(row["item"] for row in built.rows("labels"))


@pytest.mark.parametrize(
    ("n", "of", "level"), [(0, 99, "pass"), (1, 99, "warn"), (20, 99, "error"), (2, 10, "warn")]
)
def test_a_class_in_another_spelling_stops_the_build(stage_campaign, n, of, level):
    """Those rejected are all of one class, so that what is left is biased; of few rows it warns."""
    rows = [row.replace("yes", "Yes") if i < n else row for i, row in enumerate(ROWS[1 : of + 1])]
    n = sum("Yes" in row for row in rows)
    tasks = [{"name": "*", "kind": "categorical", "labels": ["yes", "no"]}]
    built = stage_campaign({"a.csv": export(rows), "b.csv": export(ROWS)}, tasks=tasks)
    gates = {g.name: g for g in built.runs["settle_judgments"].gates}
    gate = gates["respelled_classes"]
    assert (gate.level, gate.value) == (level, n / len(rows))
    assert gate.detail == (f"{n} x 'Yes' for 'yes' in exports/a.csv" if n else "")


def test_judges_who_are_named_as_items_are_counted(stage_campaign):
    """One export has the columns of judge and item swapped; numbers may name both."""
    swapped = [",".join([*row.split(",")[1::-1], row.split(",")[2]]) for row in ROWS[::7]]
    built = stage_campaign({"a.csv": export(ROWS), "b.csv": export(swapped)})
    n = len({row.split(",")[0] for row in ROWS} & {row.split(",")[1] for row in swapped})
    gates = {g.name: g for g in built.runs["settle_judgments"].gates}
    assert gates["judges_as_items"].level == "warn"
    assert gates["judges_as_items"].value == 5 + n
    numbered = [row.replace("i", "").replace("w", "") for row in ROWS]
    built = stage_campaign({"a.csv": export(numbered), "b.csv": ""})
    assert built.metrics("settle_judgments")["judges_as_items"] == 0
