"""What gold costs: rewards are paid by assignment, whatever it holds."""

import json
from decimal import Decimal

import pytest

from annot_pipeline.stages.gold.read_rewards import read_rewards

pytestmark = pytest.mark.slow

FIELDS = {
    "task": "task", "item": "item", "judge": "judge", "label": "label", "hit": "hit",
    "native_id": "assignment", "status": "status", "reward": "reward",
}  # fmt: skip
SOURCE = {"path": "exports/*.csv", "format": "csv", "fields": FIELDS}
HEAD = "task,item,judge,label,hit,assignment,status,reward\n"


def rows(*lines):
    return HEAD + "".join(f"{line}\n" for line in lines)


def assignment(judge, hit, items, reward="$0.10", task="t", status="Approved"):
    """One judge's answers in one HIT, a row an answer."""
    return [f"{task},{item},{judge},yes,{hit},{judge}-{hit},{status},{reward}" for item in items]


@pytest.fixture
def costs(stage_campaign):
    def staged(*lines, fields=FIELDS, **settings):
        staged = stage_campaign(
            {"a.csv": rows(*lines)},
            "gates.rejected_share.error=.9",
            **({"sources": [{**SOURCE, "fields": fields}]} | settings),
        )
        return staged.rows("costs")

    return staged


@pytest.mark.parametrize(
    ("written", "amount", "currency"),
    [
        ("0.05", "0.05", None), ("$0.05", "0.05", "$"), (" $ 0.05 ", "0.05", "$"),
        ("0.05 USD", "0.05", "USD"), ("USD 0.05", "0.05", "USD"), ("US$1", "1", "US$"),
        ("€1,20", "1.20", "€"), ("1,5 €", "1.5", "€"), (".5", "0.5", None), ("0", "0", None),
        ("£12", "12", "£"),
    ],
)  # fmt: skip
def test_amounts(written, amount, currency):
    table, unread = read_rewards([written])
    assert (table.to_pylist(), unread) == (
        [{"reward": written, "amount": Decimal(amount), "currency": currency}], [],
    )  # fmt: skip


@pytest.mark.parametrize(
    "written",
    ["1,200", "1.200,50", "-0.05", "$0.05 USD", "five", "", " ", "0.05 usd", "1e3", "NaN", "inf",
     "9999999999", "0.12345678", "٣", "1.", "$"],
)  # fmt: skip
def test_what_is_no_amount(written):
    table, unread = read_rewards([written])
    assert table.num_rows == 0
    assert unread == [written]


def test_a_campaign_worked_by_hand(costs):
    # A: two items; B: the same two; C: a third item and the first one again. 3 x 10 cents.
    (actual,) = costs(
        *assignment("ann", "h1", ["i1", "i2"]),
        *assignment("bob", "h1", ["i1", "i2"]),
        *assignment("cem", "h2", ["i3", "i1"]),
    )
    assert actual == {
        "task": "t", "currency": "$", "n_assignments": 3, "n_paid_assignments": 3, "paid": 0.3,
        "n_judgments": 6, "n_used": 6, "n_items": 3, "n_gold": 3,
        "cost_per_gold": pytest.approx(0.1), "cost_per_judgment": pytest.approx(0.05),
        "one_more_per_item": pytest.approx(0.15), "reason": None,
    }  # fmt: skip


def test_rejected_assignments_are_not_paid_even_if_their_judgments_count(costs):
    lines = [
        *assignment("ann", "h1", ["i1", "i2"]),
        *assignment("bob", "h1", ["i1", "i2"], status="Rejected"),
    ]
    (dropped,) = costs(*lines)
    counted = ("n_assignments", "n_paid_assignments", "paid", "n_judgments", "n_used")
    assert [dropped[name] for name in counted] == [2, 1, 0.1, 2, 2]
    assert dropped["cost_per_judgment"] == pytest.approx(0.05)
    (kept,) = costs(*lines, quality={"rejected_assignments": "keep"})
    assert [kept[name] for name in counted] == [2, 1, 0.1, 4, 4]
    assert kept["cost_per_judgment"] == pytest.approx(0.025)


def test_an_assignment_over_two_tasks_is_shared_out_by_judgments(costs):
    first, second = costs(
        *assignment("ann", "h1", ["i1", "i2", "i3"], "0.99 USD"),
        *assignment("ann", "h1", ["i1"], "0.99 USD", task="u"),
        *assignment("bob", "h1", ["i1"], "0.01 USD", task="u"),
    )
    assert (first["task"], first["n_assignments"], first["paid"]) == ("t", 1, 0.7425)
    assert (second["task"], second["n_assignments"], second["paid"]) == ("u", 2, 0.2575)
    assert first["cost_per_gold"] == pytest.approx(0.2475)  # three items, 0.7425
    assert second["one_more_per_item"] == pytest.approx(0.12875)  # one item, two judgments


def test_one_row_a_judgment_with_an_id_each_is_paid_once_a_hit(costs):
    """A native id that is another one in every row of a HIT names no assignment."""
    lines = [f"t,i{n},{judge},yes,h1,{judge}{n},Approved,$0.60" for n in range(3) for judge in "pq"]
    (actual,) = costs(*lines)
    assert (actual["n_assignments"], actual["paid"]) == (2, 1.2)


def test_native_ids_tell_two_assignments_of_one_hit_apart(costs):
    lines = [f"t,i{n},p,yes,h1,{a},Approved,$0.60" for n in range(3) for a in ("a1", "a2")]
    (actual,) = costs(*lines)
    assert (actual["n_assignments"], actual["paid"]) == (2, 1.2)


def test_without_hits_and_ids_a_row_is_an_assignment(costs, stage_campaign):
    fields = {k: v for k, v in FIELDS.items() if k not in ("hit", "native_id")}
    lines = assignment("ann", "", ["i1", "i2"]) + assignment("bob", "", ["i1"])
    (actual,) = costs(*lines, fields=fields)
    assert (actual["n_assignments"], actual["paid"]) == (3, 0.3)
    repeated = stage_campaign(
        {"a.csv": rows(*lines), "b.csv": rows(*lines, "t,,ann,yes,,,Approved,$0.10")},
        "gates.rejected_share.error=.9",
        sources=[{**SOURCE, "fields": fields}],
    )
    (again,) = repeated.metrics("add_up_costs")["cost"]
    assert (again["n_assignments"], again["paid"]) == (3, 0.3)


def test_files_that_repeat_an_assignment_pay_it_once(stage_campaign):
    def paid(*exports):
        built = stage_campaign(
            {f"{n}.csv": rows(*lines) for n, lines in enumerate(exports)},
            "gates.rejected_share.error=.9",
            sources=[SOURCE],
        )
        (actual,) = built.metrics("add_up_costs")["cost"]
        return actual["n_assignments"], actual["n_paid_assignments"], actual["paid"]

    early = assignment("ann", "h1", ["i1", ""], status="Submitted")
    assert paid(early, early) == (1, 1, 0.1)
    # the later file says fate, of blank answers too
    late = assignment("ann", "h1", ["i1", ""], status="Rejected")
    other = assignment("bob", "h1", ["i1"])
    assert paid(early, late + other) == (2, 1, 0.1)
    assert paid(late, early + other) == (2, 2, 0.2)
    corrected = assignment("ann", "h1", ["i1", ""], reward="$0.30")
    assert paid(early, corrected) == (1, 1, 0.3)


def test_an_assignment_that_says_nothing_was_paid_for_all_the_same(costs):
    (actual,) = costs(*assignment("ann", "h1", ["i1"]), *assignment("bob", "h1", ["", ""]))
    assert (actual["n_assignments"], actual["paid"], actual["n_judgments"]) == (2, 0.2, 1)
    assert actual["cost_per_judgment"] == pytest.approx(0.2)
    # what was left blank takes no share of it where something was answered
    first, second = costs(
        *assignment("ann", "h1", ["i1"]), *assignment("ann", "h1", [""], task="u")
    )
    assert [(row["task"], row["paid"]) for row in (first, second)] == [("t", 0.1), ("u", 0.0)]


def test_judgments_without_a_known_reward_are_in_no_ratio(costs):
    (actual,) = costs(
        *assignment("ann", "h1", ["i1", "i2"]), *assignment("vol", "h1", ["i1", "i2"], reward="")
    )
    assert (actual["n_assignments"], actual["n_paid_assignments"]) == (2, 1)
    assert actual["n_used"] == 4
    assert actual["cost_per_judgment"] == pytest.approx(0.05)
    assert actual["one_more_per_item"] == pytest.approx(0.1)


def test_several_currencies_are_not_added(costs):
    lines = [*assignment("ann", "h1", ["i1"]), *assignment("bob", "h1", ["i1"], "€0.20")]
    dollars, euros = costs(*lines, *assignment("ann", "h2", ["i2"]))
    assert [(r["currency"], r["paid"]) for r in (dollars, euros)] == [("$", 0.2), ("€", 0.2)]
    ratios = ("cost_per_gold", "cost_per_judgment", "one_more_per_item")
    assert {row[name] for row in (dollars, euros) for name in ratios} == {None}


def test_a_bad_reward_rejects_no_judgment(build_campaign):
    built = build_campaign(
        {"a.csv": rows(*assignment("ann", "h1", ["i1"]), *assignment("bob", "h1", ["i1"], "much"))},
        sources=[SOURCE],
    )
    assert built.metrics("control_judges")["fates"]["used"] == 2
    (gate,) = (g for g in built.runs["add_up_costs"].gates if g.name == "unread_rewards")
    assert (gate.level, gate.value, gate.detail) == ("warn", 1, "exports/a.csv row 2: 'much'")
    (actual,) = built.metrics("add_up_costs")["cost"]
    assert (actual["n_assignments"], actual["n_paid_assignments"], actual["paid"]) == (2, 1, 0.1)
    assert built.publication.release.manifest["facts"]["cost"] == built.rows("costs") == [actual]


def test_without_rewards_nothing_is_said(costs):
    fields = {k: v for k, v in FIELDS.items() if k != "reward"}
    assert costs(*assignment("ann", "h1", ["i1"]), fields=fields) == []
    assert costs(*assignment("ann", "h1", ["i1"], reward="")) == []


def test_an_experts_pay_counts_but_a_decision_is_no_judgment_used(costs):
    fields = {**FIELDS, "control": "task"} | {"task": {"value": "t"}}
    fields["control"] = {"column": "task", "map": {"t": "none", "e": "adjudication"}}
    (actual,) = costs(
        *assignment("ann", "h1", ["i1", "i2"]),
        *assignment("eva", "h9", ["i1", "i3"], "$1", task="e"),
        fields=fields,
    )
    assert (actual["paid"], actual["n_judgments"], actual["n_used"]) == (1.1, 2, 2)
    assert (actual["n_assignments"], actual["n_paid_assignments"]) == (1, 1)
    assert actual["cost_per_gold"] == pytest.approx(1.1 / 3)
    assert actual["cost_per_judgment"] == pytest.approx(0.05)  # eva's dollar was for no judgment
    assert (actual["n_items"], actual["n_gold"]) == (2, 3)  # i3 only eva decided


def test_scores_and_the_order_of_rows(stage_campaign):
    fields = {k: v for k, v in FIELDS.items() if k != "label"} | {"score": "label"}
    lines = [
        line.replace(",yes,", f",{n * 7},")
        for n, line in enumerate(
            line
            for judge in "abcd"
            for line in assignment(judge, "h1", ["i1", "i2", "i3"], "$0.07")
        )
    ]
    actual = []
    for given in (lines, lines[::-1]):
        built = stage_campaign({"a.csv": rows(*given)}, sources=[{**SOURCE, "fields": fields}])
        actual.append(json.dumps(built.metrics("add_up_costs")["cost"]))
    assert actual[0] == actual[1]
    (row,) = json.loads(actual[0])
    assert (row["paid"], row["n_gold"], row["n_used"]) == (0.28, 3, 12)


def test_an_unmarked_amount_is_of_the_one_currency_of_its_task(costs):
    lines = [
        line
        for judge, reward in (("ann", "$0.10"), ("bob", "$0.12"), ("cem", "0.10"))
        for line in assignment(judge, "h1", ["i1", "i2"], reward)
    ]
    (actual,) = costs(*lines)
    assert (actual["currency"], actual["n_paid_assignments"], actual["paid"]) == ("$", 3, 0.32)
    assert actual["cost_per_gold"] == pytest.approx(0.16)
    assert actual["reason"] is None


def test_several_currencies_give_no_ratio_and_say_why(costs):
    amounts = (("ann", "$0.10"), ("bob", "0.12 EUR"), ("cem", "0.10"))
    lines = [line for judge, r in amounts for line in assignment(judge, "h1", ["i1"], r)]
    lines += assignment("ann", "h2", ["i1"], "0.3", task="u")
    actual = costs(*lines)
    assert [(row["task"], row["currency"], row["paid"]) for row in actual] == [
        ("t", None, 0.1), ("t", "$", 0.1), ("t", "EUR", 0.12), ("u", None, 0.3),
    ]  # fmt: skip
    several = "paid in several currencies ($, EUR), which are not added"
    assert [row["reason"] for row in actual] == [several] * 3 + [None]
    assert {row["cost_per_gold"] for row in actual[:3]} == {None}
    assert actual[3]["cost_per_gold"] == pytest.approx(0.3)


def test_what_experts_decide_is_no_assignment_and_no_judgment(costs):
    fields = FIELDS | {"control": {"column": "judge", "map": {"eva": "adjudication"},
                                   "else": "none"}}  # fmt: skip
    judged = assignment("ann", "h1", ["i1", "i2"]) + assignment("bob", "h1", ["i1", "i2"])
    (plain,) = costs(*judged, fields=fields)
    (decided,) = costs(*judged, *assignment("eva", "h9", ["i1"], ""), fields=fields)
    assert decided == plain
    assert (plain["n_assignments"], plain["n_judgments"]) == (2, 4)


def test_gold_of_rankings_is_ranked_outputs(stage_campaign):
    head = "task,segment,system,judge,ranking,rank,hit,reward\n"
    lines = [
        f"t,s{s},{system},{judge},{judge}{s},{rank},h{s},$0.10\n"
        for s in range(2) for judge in "pq" for rank, system in enumerate("abc", 1)
    ]  # fmt: skip
    names = ("task", "segment", "system", "judge", "ranking", "rank", "hit", "reward")
    built = stage_campaign(
        {"a.csv": head + "".join(lines)},
        sources=[{**SOURCE, "fields": {name: name for name in names}}],
    )
    (actual,) = built.metrics("add_up_costs")["cost"]
    assert len(built.rows("segment_ranks")) == actual["n_gold"] == 6
    assert actual["cost_per_gold"] == pytest.approx(0.4 / 6)
