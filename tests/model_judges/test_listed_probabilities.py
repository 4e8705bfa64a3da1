"""Selection probabilities of item tables: for estimates, beside those of judgments, and alone."""

from __future__ import annotations

import random

import pytest

MODELS = [{"name": "gpt-*", "kind": "model"}]
FIELDS = {"item": "item", "judge": "judge", "label": "label"}
PAIR_FIELDS = {
    "item_a": "a", "item_b": "b", "system_a": "sa", "system_b": "sb", "judge": "judge",
    "preference": "said",
}  # fmt: skip
P = "selection_probability"


def labels(stated=""):
    """The model says x of 60 items and y of 140; people judge half of the former, a tenth else."""
    draw = random.Random(3)
    calls = ["x"] * 60 + ["y"] * 140
    asked = [*range(0, 60, 2), *range(60, 200, 10)]
    rows = [f"i{n:03d},gpt-4,{call}," for n, call in enumerate(calls)]
    for n in asked:
        other = draw.random() < (0.3 if n < 60 else 0.1)
        rows.append(f"i{n:03d},ann,{'xy'[(calls[n] == 'y') ^ other]},{stated}")
    return {"a.csv": f"item,judge,label,{P}\n" + "\n".join(rows)}


def listed(folder, lines):
    folder.mkdir(parents=True, exist_ok=True)
    text = f"item,{P}\n" + "".join(f"{name},{p}\n" for name, p in lines)
    (folder / "probabilities.csv").write_text(text)
    fields = {"item": "item", P: P}
    return [{"path": "probabilities.csv", "format": "csv", "fields": fields}]


def everything(n=200):
    return [(f"i{k:03d}", 0.5 if k < 60 else 0.1) for k in range(n)]


def source(**fields):
    return [{"path": "exports/*.csv", "format": "csv", "fields": fields}]


def estimate(built, **key):
    [row] = [r for r in built.rows("estimates") if key.items() <= r.items()]
    return row


CORRECTED = {"method": "prediction_powered", "label": "x"}


def test_item_tables_say_how_items_were_selected(stage_campaign, tmp_path):
    items = listed(tmp_path / "campaign", everything())
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    by_items = estimate(built, **CORRECTED)
    assert by_items["value"] is not None
    people = estimate(built, method="people", label="x")
    assert people["value"] == pytest.approx(estimate_by_hand(built), abs=1e-12), (
        "weights are 1 / probability"
    )
    assert built.rows("item_rows") == [], "a table of probabilities describes no item"
    assert len(built.rows("item_probabilities")) == 200


def estimate_by_hand(built):
    said = [r for r in built.rows("controlled") if r["judge"] == "ann"]
    weight = {r["item"]: 2.0 if int(r["item"][1:]) < 60 else 10.0 for r in said}
    share = sum(weight[r["item"]] for r in said if r["label"] == "x")
    return share / sum(weight.values())


def test_the_item_table_wins_over_judgments(stage_campaign, tmp_path):
    items = listed(tmp_path / "campaign", everything())
    fields = {**FIELDS, P: P}
    built = stage_campaign(labels("0.9"), judges=MODELS, sources=source(**fields), items=items)
    assert estimate(built, method="people", label="x")["value"] == pytest.approx(
        estimate_by_hand(built)
    )


@pytest.mark.slow
def test_the_largest_of_several_rows_counts(stage_campaign, tmp_path):
    smaller = [(name, p / 2) for name, p in everything()]
    items = listed(tmp_path / "campaign", smaller[:90] + everything() + smaller)
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    assert estimate(built, method="people", label="x")["value"] == pytest.approx(
        estimate_by_hand(built)
    )


def test_some_probabilities_are_not_enough(stage_campaign, tmp_path):
    items = listed(tmp_path / "campaign", everything(60))
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    row = estimate(built, **CORRECTED)
    assert row["value"] is None
    assert row["reason"] == (
        "selection_probability is known for 30 of 44 items of people: list the others under "
        "items, from selection_probabilities.csv of the batch"
    )


@pytest.mark.slow
def test_those_of_another_task_do_not_count(stage_campaign, tmp_path):
    folder = tmp_path / "campaign"
    items = listed(folder, everything())
    items[0]["fields"]["task"] = {"value": "another"}
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    reason = estimate(built, **CORRECTED)["reason"]
    assert reason.startswith("people's items are not a random sample")


def test_a_table_that_describes_items_too(stage_campaign, tmp_path):
    folder = tmp_path / "campaign"
    items = listed(folder, everything())
    items[0]["fields"]["system"] = {"value": "s"}
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    assert len(built.rows("item_rows")) == len(built.rows("item_probabilities")) == 200


@pytest.mark.slow
def test_a_pair_is_listed_by_both_names(stage_campaign, tmp_path):
    """People see y first, the model z; the pair is named by the item that comes first."""
    draw = random.Random(8)
    rows, said = ["a,b,sa,sb,judge,said"], {}
    for n in range(80):
        rows.append(f"z{n:02d},y{n:02d},z,y,gpt-4,{draw.choice('ab')}")
        if n % 2 == 0:
            said[n] = draw.choice("ab")
            rows.append(f"y{n:02d},z{n:02d},y,z,ann,{said[n]}")
    lines = [(f"y{n:02d} | z{n:02d}", 0.9 if n % 4 else 0.3) for n in range(80)]
    built = stage_campaign(
        {"a.csv": "\n".join(rows)}, judges=MODELS, sources=source(**PAIR_FIELDS),
        items=listed(tmp_path / "campaign", lines),
    )  # fmt: skip
    # strata of 20 and 60 pairs: 20 of each were judged
    weight = {n: 60 / 20 if n % 4 else 20 / 20 for n in said}
    won = sum(weight[n] for n, answer in said.items() if answer == "a") / sum(weight.values())
    row = estimate(built, method="people", quantity="win_rate", system="y")
    assert row["value"] == pytest.approx(won)


@pytest.mark.sampled
@pytest.mark.parametrize("value", ["0", "1.2", "-0.1", "half"])
def test_what_is_no_probability_is_left_out(value, stage_campaign, tmp_path):
    items = listed(tmp_path / "campaign", [("i000", value), ("i001", "0.5")])
    built = stage_campaign(labels(), judges=MODELS, sources=source(**FIELDS), items=items)
    assert [row["item"] for row in built.rows("item_probabilities")] == ["i001"]
