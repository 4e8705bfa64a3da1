"""annot score on items whose class is known, by truth or an expert: figures worked by hand."""

from __future__ import annotations

import math

import pytest

from annot_pipeline.cli import main
from tests.scoring.conftest import Shares

N, ENOUGH = 60, 50
TRUE = ["no" if n % 3 else "yes" for n in range(N)]
"""Class of each item: of the first 50, 17 are yes."""
OTHER = {"yes": "no", "no": "yes"}


def item(n: int, prefix: str = "i") -> str:
    return f"{prefix}{n:02}"


def gold(wrong: int, prefix: str = "i") -> dict[str, dict[str, float]]:
    """Gold gives .9 to the class of each item, and of the first few to the other class."""
    labels = [OTHER[name] if n < wrong else name for n, name in enumerate(TRUE)]
    return {
        item(n, prefix): {name: 0.9 if name == label else 0.1 for name in ("yes", "no")}
        for n, label in enumerate(labels)
    }


def truths(n_known: int, prefix: str = "i") -> dict[str, str]:
    return {item(n, prefix): TRUE[n] for n in range(n_known)}


def model(wrong: range = range(0), n_items: int = N) -> str:
    """A model that gives .8 to the class of each item, and of some to the other class."""
    rows = []
    for n in range(n_items):
        label = OTHER[TRUE[n]] if n in wrong else TRUE[n]
        rows.append(f"{item(n)},{0.8 if label == 'yes' else 0.2},{0.8 if label == 'no' else 0.2}\n")
    return "item,yes,no\n" + "".join(rows)


def value(part, name):
    return part["figures"][name]["value"]


def baseline(part, guess, name):
    return part["baselines"][guess][name]["value"]


MOOD: Shares = {"mood": gold(3)}


def test_fifty_known_items_are_scored_alone(publish, scored):
    """Of 50 the model is wrong on 5, gold on 3, votes on 10; what it says of the others is left."""
    votes = {("mood", item(n)): OTHER[TRUE[n]] for n in range(10)}
    votes |= {("mood", item(n)): TRUE[n] for n in range(10, N)}
    publish(MOOD, majority=votes, truths=truths(ENOUGH))
    text = model(range(45, N))
    (task,) = scored("model.csv", text)[1]["tasks"]
    assert (task["scored_on"], task["n_items"], task["n_known"]) == ("known", 50, 50)
    assert (task["n_without_prediction"], task["n_adjudicated"]) == (0, 0)
    loss = -(45 * math.log(0.8) + 5 * math.log(0.2)) / 50
    assert value(task, "accuracy") == value(task, "expected_accuracy") == pytest.approx(45 / 50)
    assert value(task, "log_loss") == value(task, "log_loss_label") == pytest.approx(loss)
    assert (value(task, "kl"), value(task, "entropy")) == (pytest.approx(loss), 0)
    assert value(task, "brier") == pytest.approx((45 * 2 * 0.2**2 + 5 * 2 * 0.8**2) / 50)
    assert {*task["baselines"]} == {"majority_vote", "prevalence", "gold"}
    assert baseline(task, "majority_vote", "accuracy") == pytest.approx(40 / 50)
    assert baseline(task, "majority_vote", "expected_accuracy") == pytest.approx(40 / 50)
    assert baseline(task, "gold", "accuracy") == pytest.approx(47 / 50)
    assert baseline(task, "gold", "log_loss") == pytest.approx(
        -(47 * math.log(0.9) + 3 * math.log(0.1)) / 50
    )
    assert baseline(task, "prevalence", "accuracy") == pytest.approx(33 / 50)
    assert baseline(task, "prevalence", "log_loss") == pytest.approx(
        -(17 * math.log(17 / 50) + 33 * math.log(33 / 50)) / 50
    )
    classes = {row["label"]: row for row in task["by_class"]}
    assert (classes["yes"]["n_gold"], classes["yes"]["mass"]) == (17, pytest.approx(17))
    assert task["calibration"]["label_error"] == pytest.approx(0.1)  # .9 are right, it says .8
    # by gold's probability of its own label, not of the class that is known
    by_certainty = {row["certainty"]: row["n_items"] for row in task["by_certainty"]}
    assert by_certainty["0.8 to 0.95"] == 50
    assert sum(by_certainty.values()) == 50


def test_counts_are_of_the_items_that_figures_are_of(publish, scored):
    """Two of the ties are on known items, one is not."""
    publish(MOOD, truths=truths(ENOUGH))
    rows = model().splitlines()
    for n in (0, 1, N - 1):
        rows[n + 1] = f"{item(n)},0.5,0.5"
    (task,) = scored("model.csv", "\n".join(rows) + "\n")[1]["tasks"]
    assert (task["scored_on"], task["n_tied"]) == ("known", 2)


def test_fewer_are_scored_against_gold_without_the_votes_that_made_it(publish, scored):
    publish(MOOD, truths=truths(ENOUGH - 1))
    _, actual, _ = scored("model.csv", model(range(45, N)))
    (task,) = actual["tasks"]
    assert (task["scored_on"], task["n_items"], task["n_known"]) == ("gold", 60, 49)
    assert value(task, "accuracy") == pytest.approx((60 - 15 - 3) / 60)
    assert value(task, "expected_accuracy") == pytest.approx((42 * 0.9 + 18 * 0.1) / 60)
    entropy = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert value(task, "entropy") == pytest.approx(entropy)
    assert baseline(task, "gold", "log_loss") == pytest.approx(entropy)
    for part in (task, actual["micro"], actual["macro"]):
        assert {*part["baselines"]} == {"prevalence", "gold"}


def test_a_model_that_is_always_right_scores_1_on_known_items_though_gold_is_wrong(publish, scored):
    publish(MOOD, truths=truths(ENOUGH))
    publish(MOOD)
    text = "item,label\n" + "".join(f"{item(n)},{TRUE[n]}\n" for n in range(N))
    (known,) = scored("labels.csv", text, "--release", "v0001")[1]["tasks"]
    (against_gold,) = scored("labels.csv", text, "--release", "v0002")[1]["tasks"]
    assert (known["scored_on"], against_gold["scored_on"]) == ("known", "gold")
    assert value(known, "accuracy") == value(known, "expected_accuracy") == 1
    assert known["mean_f1"]["value"] == known["mean_expected_f1"]["value"] == 1
    assert value(against_gold, "accuracy") == pytest.approx(57 / 60)


def test_ignored_columns_are_named(publish, folder, capsys):
    publish(MOOD)
    (folder / "model.csv").write_text(model().replace("\n", ",x\n").replace("no,x", "no,note", 1))
    assert main(["score", str(folder), str(folder / "model.csv")]) == 0
    assert "  ignored columns: note\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n_truths", "advice"),
    [
        (ENOUGH, "nothing to do, the model gives each known item its class"),
        (ENOUGH - 1, "list the truth of 50 items, or let experts decide them: the model agrees"),
    ],
)
def test_a_model_without_errors_is_right_only_by_known_items(publish, scored, n_truths, advice):
    publish({"mood": gold(0)}, truths=truths(n_truths))
    text = "item,label\n" + "".join(f"{item(n)},{TRUE[n]}\n" for n in range(N))
    assert scored("labels.csv", text)[1]["next"].startswith(advice)


@pytest.mark.parametrize(("n_truths", "scored_on"), [(49, "known"), (48, "gold")])
def test_what_an_expert_decided_is_known(publish, scored, n_truths, scored_on):
    """A decision on an item without truth; and one against the truth of another, which counts."""
    decisions = {("mood", item(0)): OTHER[TRUE[0]], ("mood", item(59)): TRUE[59]}
    publish(MOOD, decisions, truths=truths(n_truths))
    (task,) = scored("model.csv", model())[1]["tasks"]
    assert (task["scored_on"], task["n_known"]) == (scored_on, n_truths + 1)
    assert task["n_adjudicated"] == 2
    if scored_on == "known":
        assert value(task, "accuracy") == pytest.approx(49 / 50)
        assert baseline(task, "gold", "accuracy") == pytest.approx(48 / 50)  # wrong on i01, i02


def test_only_known_items_that_the_model_predicts_count(publish, scored):
    publish(MOOD, truths=truths(N))
    (few,) = scored("model.csv", model(n_items=ENOUGH - 1))[1]["tasks"]
    assert (few["scored_on"], few["n_known"], few["n_items"]) == ("gold", 49, 49)
    (enough,) = scored("model.csv", model(n_items=ENOUGH))[1]["tasks"]
    assert (enough["scored_on"], enough["n_known"], enough["n_items"]) == ("known", 50, 50)
    assert enough["n_without_prediction"] == few["n_without_prediction"] - 1 == 10


def test_a_truth_that_is_no_class_is_not_known(publish, scored):
    publish(MOOD, truths=truths(N) | {item(n): "maybe" for n in range(5)})
    (task,) = scored("model.csv", model())[1]["tasks"]
    assert (task["scored_on"], task["n_known"], task["n_items"]) == ("known", 55, 55)
    publish(MOOD, truths=truths(N) | {item(n): "maybe" for n in range(11)})
    (task,) = scored("model.csv", model())[1]["tasks"]
    assert (task["scored_on"], task["n_known"], task["n_items"]) == ("gold", 49, 60)


TWO_TASKS: Shares = {"mood": gold(3), "tone": gold(6, "j")}


def labels_of_two_tasks() -> str:
    rows = (
        f"{task},{item(n, prefix)},{TRUE[n]}\n"
        for task, prefix in (("mood", "i"), ("tone", "j"))
        for n in range(N)
    )
    return "task,item,label\n" + "".join(rows)


def test_baselines_over_tasks_are_those_that_all_of_them_have(publish, scored):
    publish(TWO_TASKS, truths=truths(ENOUGH))
    publish(TWO_TASKS, truths=truths(ENOUGH) | truths(N, "j"))
    _, actual, _ = scored("labels.csv", labels_of_two_tasks(), "--release", "v0001")
    assert [task["scored_on"] for task in actual["tasks"]] == ["known", "gold"]
    assert "majority_vote" in actual["tasks"][0]["baselines"]
    assert value(actual["micro"], "accuracy") == pytest.approx((50 + 54) / 110)
    assert value(actual["macro"], "accuracy") == pytest.approx((1 + 54 / 60) / 2)
    for part in (actual["micro"], actual["macro"]):
        assert {*part["baselines"]} == {"prevalence", "gold"}
    assert baseline(actual["micro"], "gold", "accuracy") == pytest.approx((47 + 60) / 110)
    assert baseline(actual["macro"], "gold", "accuracy") == pytest.approx((47 / 50 + 1) / 2)
    _, actual, _ = scored("labels.csv", labels_of_two_tasks())
    assert [task["scored_on"] for task in actual["tasks"]] == ["known", "known"]
    assert actual["micro"]["n_items"] == 110
    assert baseline(actual["micro"], "majority_vote", "accuracy") == pytest.approx((47 + 54) / 110)
    assert baseline(actual["macro"], "majority_vote", "accuracy") == pytest.approx(
        (47 / 50 + 54 / 60) / 2
    )


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (truths(N) | truths(N, "j"), "scored on items whose class is known"),
        ({}, "scored on gold, which was inferred"),
        (truths(N), "some tasks are scored on known items, the others on gold"),
    ],
)
def test_people_are_told_what_was_scored_on(publish, folder, capsys, known, says):
    publish(TWO_TASKS, truths=known)
    (folder / "m.csv").write_text(labels_of_two_tasks())
    assert main(["score", str(folder), str(folder / "m.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert says in " ".join(lines)
    assert max(len(line) for line in lines[1:] if line.startswith("  ")) <= 80
