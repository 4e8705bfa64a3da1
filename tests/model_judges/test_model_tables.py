"""Tables of model judges, against the same figures worked out row by row."""

from __future__ import annotations

import csv
import io
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from annot_pipeline.contracts import ALL_MODELS

PEOPLE = [f"p{n}" for n in range(6)]
DECLARED = [
    {"name": "gpt*", "kind": "model", "family": "openai"},
    {"name": "claude*", "kind": "model", "family": "anthropic"},
]


def text(rows: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def build(stage_campaign, rows, items=None, **settings):
    names = [name for name in rows[0] if rows[0][name] is not None]
    fields = {name: name for name in names}
    sources = [{"path": "exports/a.csv", "format": "csv", "fields": fields}]
    exports = {"a.csv": text(rows)}
    if items:
        exports["items.csv"] = text(items)
        fields = {name: name for name in items[0]}
        settings["items"] = [{"path": "exports/items.csv", "format": "csv", "fields": fields}]
    settings.setdefault("judges", DECLARED)
    return stage_campaign(exports, sources=sources, privacy={"pseudonymize": False}, **settings)


# --- labels ---------------------------------------------------------------------------------


def label_rows(seed=1, n_items=120, n_asked=60):
    draw = random.Random(seed)
    truth = {n: draw.choice("xyz") for n in range(n_items)}
    rows = []
    for n in range(n_asked):
        for judge in draw.sample(PEOPLE, draw.choice((1, 2, 3))):
            label = truth[n] if draw.random() < 0.85 else draw.choice("xyz")
            rows.append({"item": f"i{n:03d}", "judge": judge, "label": label})
    for n in range(n_items):
        for judge, right in (("gpt-4", 0.8), ("claude-3", 0.7)):
            label = truth[n] if draw.random() < right else draw.choice("xyz")
            rows.append({"item": f"i{n:03d}", "judge": judge, "label": label})
    draw.shuffle(rows)
    return rows


def test_agreement_kappa_and_ceiling_of_labels(stage_campaign):
    rows = label_rows()
    built = build(stage_campaign, rows)
    model = {r["item"]: r["label"] for r in rows if r["judge"] == "gpt-4"}
    people: dict[str, list[str]] = {}
    for row in rows:
        if row["judge"] in PEOPLE:
            people.setdefault(row["item"], []).append(row["label"])
    shares = [np.mean([label == model[item] for label in said]) for item, said in people.items()]
    agreement = np.mean(shares)
    labels = "xyz"
    p_people = [
        np.mean([np.mean([a == c for a in said]) for said in people.values()]) for c in labels
    ]
    p_model = [np.mean([model[item] == c for item in people]) for c in labels]
    chance = np.dot(p_people, p_model)
    several = {item: said for item, said in people.items() if len(said) > 1}
    ceiling = np.mean([
        np.mean([a == b for a, b in combinations(said, 2)]) for said in several.values()
    ])  # fmt: skip
    [row] = [r for r in built.rows("judge_validation") if r["judge"] == "gpt-4"]
    assert row["n_items"] == 60
    assert row["n_judgments"] == sum(map(len, people.values()))
    assert row["agreement"] == pytest.approx(agreement)
    assert row["kappa"] == pytest.approx((agreement - chance) / (1 - chance))
    assert row["human_agreement"] == pytest.approx(ceiling)
    assert row["agreement_low"] < agreement < row["agreement_high"]
    confusion = {
        (r["reference_answer"], r["model_answer"]): r["n_items"]
        for r in built.rows("validation_confusion") if r["judge"] == "gpt-4"
    }  # fmt: skip
    xy = sum(said.count("x") / len(said) for item, said in people.items() if model[item] == "y")
    assert confusion["x", "y"] == pytest.approx(xy)
    assert sum(confusion.values()) == pytest.approx(60)


@pytest.mark.slow
def test_prevalences_of_majorities(stage_campaign):
    rows = label_rows()
    built = build(stage_campaign, rows)
    people: dict[str, list[str]] = {}
    for row in rows:
        if row["judge"] in PEOPLE:
            people.setdefault(row["item"], []).append(row["label"])
    is_x = {item: 2 * said.count("x") > len(said) for item, said in people.items()}
    model = {r["item"]: r["label"] == "x" for r in rows if r["judge"] == "gpt-4"}
    human = np.array([is_x[item] for item in people], float)
    same = np.array([model[item] for item in people], float)
    others = np.array([model[item] for item in model if item not in people], float)
    estimates = {(r["method"], r["judge"]): r for r in built.rows("estimates") if r["label"] == "x"}
    assert estimates["people", None]["value"] == pytest.approx(human.mean())
    assert estimates["model", "gpt-4"]["value"] == pytest.approx(np.mean([*model.values()]))
    assert estimates["model", "gpt-4"]["ci_low"] is None
    # PPI++ (Angelopoulos et al. 2023, section 6)
    everything = np.r_[same, others]
    power = np.cov(human, same, ddof=0)[0, 1] / ((1 + 60 / 60) * everything.var(ddof=1))
    corrected = estimates["prediction_powered", "gpt-4"]
    assert corrected["power"] == pytest.approx(np.clip(power, 0, 1))
    expected = human.mean() + power * (others.mean() - same.mean())
    assert corrected["value"] == pytest.approx(expected)
    variance = (human - power * same).var(ddof=1) / 60 + power**2 * others.var(ddof=1) / 60
    half = corrected["ci_high"] - corrected["value"]
    assert half == pytest.approx(2.001 * np.sqrt(variance), rel=1e-3)  # t of 59
    assert corrected["n_human"] == 60
    assert corrected["n_model"] == 120
    assert "rogan_gladen" in {method for method, _ in estimates}
    models: dict[str, list[float]] = {}
    for row in rows:
        if row["judge"] not in PEOPLE:
            models.setdefault(row["item"], []).append(row["label"] == "x")
    shares = [np.mean(said) for said in models.values() if len(said) == 2]
    assert estimates["model", ALL_MODELS]["value"] == pytest.approx(np.mean(shares))
    assert ("rogan_gladen", ALL_MODELS) not in estimates  # a share of models is no label


# --- scores ---------------------------------------------------------------------------------


def score_rows(seed=2):
    draw = random.Random(seed)
    rows = []
    for segment in range(40):
        for system, level in (("A", 60), ("B", 50), ("C", 55)):
            quality = level + draw.gauss(0, 12) + segment % 7
            who = [("gpt-4", 6, 5)]
            if segment < 25:
                who += [(judge, 0, 8) for judge in draw.sample(PEOPLE, draw.choice((1, 2, 3)))]
            for judge, shift, noise in who:
                score = min(max(round(quality + shift + draw.gauss(0, noise)), 0), 100)
                rows.append(
                    {"segment": f"s{segment:02d}", "system": system, "judge": judge, "score": score}
                )
    return rows


def test_figures_of_scores(stage_campaign):
    rows = score_rows()
    tasks = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
    built = build(stage_campaign, rows, tasks=tasks)
    people: dict[tuple[str, str], list[int]] = {}
    model = {}
    for row in rows:
        key = row["segment"], row["system"]
        if row["judge"] in PEOPLE:
            people.setdefault(key, []).append(row["score"])
        else:
            model[key] = row["score"]
    human = np.array([np.mean(scores) for scores in people.values()])
    own = np.array([model[key] for key in people], float)
    [row] = built.rows("judge_validation")
    assert row["n_items"] == 75
    assert row["bias"] == pytest.approx((own - human).mean())
    assert row["error"] == pytest.approx(np.sqrt(((own - human) ** 2).mean()))
    assert row["correlation"] == pytest.approx(np.corrcoef(own, human)[0, 1])
    keys = list(people)
    same = [
        np.sign(human[a] - human[b]) == np.sign(own[a] - own[b])
        for a, b in combinations(range(len(keys)), 2) if keys[a][0] == keys[b][0]
    ]  # fmt: skip
    assert row["pairwise_accuracy"] == pytest.approx(np.mean(same))
    assert row["n_systems"] == 3
    assert 0.5 < row["soft_pairwise_accuracy"] <= 1
    assert row["agreement"] is None
    estimates = {
        (r["system"], r["method"]): r for r in built.rows("estimates") if r["criterion"] is None
    }
    of_a = [np.mean(s) for key, s in people.items() if key[1] == "A"]
    assert estimates["A", "people"]["value"] == pytest.approx(np.mean(of_a))
    n_human = sum(len(s) for key, s in people.items() if key[1] == "A")
    assert estimates["A", "people"]["n_human"] == n_human
    assert estimates[None, "prediction_powered"]["n_model"] == 120
    assert estimates["A", "prediction_powered"]["effective_n_human"] > n_human


@pytest.mark.slow
def test_scores_on_other_scales_have_no_bias(stage_campaign):
    rows = [
        {"item": f"i{n}", "judge": judge, "score": score}
        for n in range(40)
        for judge, score in (("ann", 1 + n % 5), ("gpt-4", 20 * (1 + n % 5)))
    ]
    built = build(stage_campaign, rows, tasks=[{"name": "*", "kind": "scalar"}])
    [row] = built.rows("judge_validation")
    assert row["correlation"] == pytest.approx(1)
    assert (row["bias"], row["bias_low"], row["error"]) == (None, None, None)
    assert "the model's scores have a different range than people's" in row["reason"]
    assert row["pairwise_accuracy"] == 1
    # 1 to 5 lies on the declared scale, too; a model that uses less of it is on the same
    scale = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
    [row] = build(stage_campaign, rows, tasks=scale).rows("judge_validation")
    assert row["bias"] is None
    for row in rows:
        row["score"] *= 8 if row["judge"] == "ann" else 1
    [row] = build(stage_campaign, rows, tasks=scale).rows("judge_validation")
    assert row["bias"] == pytest.approx(36)


# --- comparisons ----------------------------------------------------------------------------


def pair_rows(seed=3):
    draw = random.Random(seed)
    rows = []
    for n in range(60):
        first, second = draw.sample(("gpt-4o", "claude-3-5", "llama"), 2)
        for judge in ("ann", "gpt-4"):
            for a, b in ((first, second), (second, first))[: 1 + (judge == "gpt-4")]:
                draw_one = draw.random()
                preference = "tie" if draw_one < 0.2 else "a" if draw_one < 0.7 else "b"
                if judge == "ann" and n % 9 == 0:
                    continue
                rows.append(
                    {"segment": f"s{n:02d}", "judge": judge, "system_a": a, "system_b": b,
                     "preference": preference}
                )  # fmt: skip
    return rows


def test_bias_of_judges_who_compare(stage_campaign):
    rows = pair_rows()
    texts = [
        {"item": f"s{n:02d}/{system}", "text": "x" * length}
        for n in range(60)
        for system, length in (("gpt-4o", 10 + n), ("claude-3-5", 20 + n % 5), ("llama", 15))
    ]
    built = build(stage_campaign, rows, texts, tasks=[{"name": "*", "kind": "pairwise"}])
    bias = {row["judge"]: row for row in built.rows("judge_bias")}
    own = [row for row in rows if row["judge"] == "gpt-4"]
    decided = [row for row in own if row["preference"] != "tie"]
    row = bias["gpt-4"]
    assert row["n_comparisons"] == 120
    assert row["n_decided"] == len(decided)
    first = np.mean([r["preference"] == "a" for r in decided])
    assert row["first_shown_share"] == pytest.approx(first)
    assert 0 < row["order_effect_low"] < row["order_effect"] < row["order_effect_high"]
    estimates = {r["system"]: r["value"] for r in built.rows("estimates") if r["method"] == "model"}
    for system, value in estimates.items():
        shares = [
            0.5 if r["preference"] == "tie" else float(r[f"system_{r['preference']}"] == system)
            for r in own
            if system in (r["system_a"], r["system_b"])
        ]
        assert value == pytest.approx(np.mean(shares))
    pairs = [own[n : n + 2] for n in range(0, 120, 2)]
    swapped = {"a": "b", "b": "a", "tie": "tie"}
    same = sum(one["preference"] == swapped[two["preference"]] for one, two in pairs)
    assert (row["n_both_orders"], row["n_consistent"]) == (60, same)
    lengths = {text["item"]: len(text["text"]) for text in texts}
    longer = [
        (r["preference"] == "a")
        == (lengths[f"{r['segment']}/{r['system_a']}"] > lengths[f"{r['segment']}/{r['system_b']}"])
        for r in decided
        if lengths[f"{r['segment']}/{r['system_a']}"] != lengths[f"{r['segment']}/{r['system_b']}"]
    ]
    assert row["longer_share"] == pytest.approx(np.mean(longer))
    family = [r for r in own if "gpt-4o" in (r["system_a"], r["system_b"])]
    wins = [
        0.5 if r["preference"] == "tie" else float(r[f"system_{r['preference']}"] == "gpt-4o")
        for r in family
    ]
    assert row["n_own_family"] == len(family)
    assert row["own_family_share"] == pytest.approx(np.mean(wins))
    assert bias["ann"]["kind"] == "human"
    assert bias["ann"]["n_both_orders"] == 0
    assert bias["ann"]["family_reason"] == "no family is declared for the judge and for a system"


@pytest.mark.slow
def test_a_judge_who_contradicts_itself_is_taken_for_a_tie(stage_campaign):
    rows = [
        {"segment": f"s{n}", "judge": judge, "system_a": a, "system_b": b, "preference": "a"}
        for n in range(12)
        for judge, a, b in (("gpt-4", "A", "B"), ("gpt-4", "B", "A"), ("ann", "A", "B"))
    ]
    built = build(stage_campaign, rows, tasks=[{"name": "*", "kind": "pairwise"}])
    [validation] = built.rows("judge_validation")
    assert validation["agreement"] == 0
    confusion = built.rows("validation_confusion")
    assert [(r["reference_answer"], r["model_answer"]) for r in confusion] == [("a", "tie")]
    estimates = {(r["system"], r["method"]): r["value"] for r in built.rows("estimates")}
    assert (estimates["A", "model"], estimates["A", "people"]) == (0.5, 1)


@pytest.mark.slow
def test_order_is_unknown_where_tools_shuffle(stage_campaign):
    rows = pair_rows()
    built = build(
        stage_campaign, rows, tasks=[{"name": "*", "kind": "pairwise"}],
        ranking={"shown_order": "unknown"},
    )  # fmt: skip
    for row in built.rows("judge_bias"):
        assert row["first_shown_share"] is None
        assert row["order_reason"] == "which output was shown first is unknown"
        assert row["n_both_orders"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "truth", "right"),
    [("A", "B", "a", True), ("A", "B", "b", False), ("B", "A", "a", True), ("B", "A", "b", False),
     ("B", "A", "B", True), ("B", "A", "A", False), ("A", "B", "s1/A", True),
     ("A", "B", "tie", False)],
)  # fmt: skip
def test_truths_of_pairs_are_sides_as_shown_or_names(stage_campaign, a, b, truth, right):
    row = {"segment": "s1", "judge": "gpt-4", "system_a": a, "system_b": b, "preference": "a"}
    built = build(
        stage_campaign, [row | {"truth": truth}], tasks=[{"name": "*", "kind": "pairwise"}]
    )
    [validation] = [r for r in built.rows("judge_validation") if r["reference"] == "truth"]
    assert validation["agreement"] == right
    [bias] = built.rows("judge_bias")
    assert bias["n_right_forward"] == (right and a == "A")
    assert bias["n_right_reverse"] == (right and a == "B")


def test_selection_probabilities_weigh_people(stage_campaign):
    draw = random.Random(6)
    rows = []
    for n in range(300):
        call = draw.choice("xyy")
        probability = 0.5 if call == "x" else 0.1
        rows.append(
            {"item": f"i{n:03d}", "judge": "gpt-4", "label": call, "selection_probability": ""}
        )
        if draw.random() < probability:
            label = call if draw.random() < 0.8 else "x"
            rows.append(
                {"item": f"i{n:03d}", "judge": draw.choice(PEOPLE), "label": label,
                 "selection_probability": probability}
            )  # fmt: skip
    built = build(stage_campaign, rows)
    asked = [row for row in rows if row["judge"] in PEOPLE]
    model = {row["item"]: row["label"] == "x" for row in rows if row["judge"] == "gpt-4"}
    weights = np.array([1 / row["selection_probability"] for row in asked])
    human = np.array([row["label"] == "x" for row in asked], float)
    same = np.array([model[row["item"]] for row in asked], float)
    estimates = {row["method"]: row for row in built.rows("estimates") if row["label"] == "x"}
    alone = np.average(human, weights=weights)
    assert estimates["people"]["value"] == pytest.approx(alone)
    corrected = estimates["prediction_powered"]
    beyond = np.mean([*model.values()]) - np.average(same, weights=weights)
    assert corrected["value"] == pytest.approx(alone + corrected["power"] * beyond)
    assert estimates["rogan_gladen"]["value"] is None
    assert abs(alone - human.mean()) > 0.1  # weights matter here


@pytest.mark.slow
def test_probabilities_of_some_items_are_of_no_use(stage_campaign):
    rows = [
        {"item": f"i{n}", "judge": judge, "label": "xy"[n % 2], "selection_probability": p}
        for n in range(30)
        for judge, p in (("gpt-4", ""), *([("ann", "0.5" if n else "")] * (n < 20)))
    ]
    built = build(stage_campaign, rows)
    reasons = {row["reason"] for row in built.rows("estimates") if row["method"] == "people"}
    assert reasons == {
        "selection_probability is known for 19 of 20 items of people: list the others under items, "
        "from selection_probabilities.csv of the batch"
    }


# --- what people's answers cannot tell ------------------------------------------------------


def few_rows(n_asked, label):
    draw = random.Random(7)
    rows = [
        {"item": f"i{n:03d}", "judge": draw.choice(PEOPLE), "label": label(draw)}
        for n in range(0, 2 * n_asked, 2)
    ]
    return rows + [
        {"item": f"i{n:03d}", "judge": "gpt-4", "label": draw.choice("xy")} for n in range(150)
    ]


def test_few_answers_of_people_have_no_interval_and_correct_nothing(stage_campaign):
    built = build(stage_campaign, few_rows(19, lambda draw: draw.choice("xy")))
    rows = {r["method"]: r for r in built.rows("estimates") if r["label"] == "x"}
    assert rows["people"]["value"] is not None
    assert rows["people"]["ci_low"] is None
    assert rows["people"]["reason"].startswith("fewer than 20 answers of people: no interval")
    assert rows["prediction_powered"]["value"] is None
    assert rows["prediction_powered"]["reason"].startswith("fewer than 20 answers of people on")
    more = build(stage_campaign, few_rows(20, lambda draw: draw.choice("xy")))
    rows = {r["method"]: r for r in more.rows("estimates") if r["label"] == "x"}
    assert 0 <= rows["prediction_powered"]["ci_low"] < rows["prediction_powered"]["ci_high"] <= 1


@pytest.mark.slow
def test_people_who_all_say_the_same_have_no_interval(stage_campaign):
    built = build(stage_campaign, few_rows(40, lambda _: "x"))
    for row in built.rows("estimates"):
        if row["method"] in ("people", "prediction_powered"):
            assert row["value"] == (row["label"] == "x")
            assert row["ci_low"] is None
            assert row["reason"].startswith("all of people's answers are equal")


def test_a_model_that_judged_some_of_peoples_items_says_so(stage_campaign):
    rows = label_rows()
    rows = [r for r in rows if r["judge"] != "gpt-4" or int(r["item"][1:]) % 3]
    built = build(stage_campaign, rows)
    estimates = {(r["method"], r["judge"]): r for r in built.rows("estimates") if r["label"] == "x"}
    assert estimates["people", None]["n_human"] == 60
    corrected = estimates["prediction_powered", "gpt-4"]
    assert corrected["n_human"] == 40
    assert "rests on 40 of people's 60 answers" in corrected["reason"]
    assert "rests on" not in (estimates["prediction_powered", "claude-3"]["reason"] or "")
