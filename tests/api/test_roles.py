"""What a frame says is used, or refused: roles by name, shapes of other tools, winners, times."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import annot_pipeline as annot
from annot_pipeline.config.sources import CANONICAL_FIELDS
from annot_pipeline.errors import AnnotError, ConfigError, InputError

NAMES = {"item": "question", "judge": "worker", "label": "answer"}
SCORES = {"segment": "part", "system": "model", "judge": "worker", "score": "points"}


def two_tasks(votes: pd.DataFrame) -> pd.DataFrame:
    """The same questions twice, answers of the second task turned round."""
    return pd.concat([votes.assign(task="t1"), votes.assign(task="t2", answer=2 - votes["answer"])])


# --- roles -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_tasks_are_kept_apart(votes):
    alone = annot.infer_labels(votes, **NAMES)
    both = annot.infer_labels(two_tasks(votes), **NAMES)
    labels = both.labels
    first = labels[labels["task"] == "t1"].drop(columns="task").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, alone.labels)
    assert labels["task"].value_counts().to_dict() == {"t1": len(first), "t2": len(first)}
    for table in (both.distributions, both.confusion, both.prevalence):
        assert set(table["task"]) == {"t1", "t2"}
    assert both.classes == [0, 1, 2]
    pd.testing.assert_frame_equal(both.soft_labels("t1"), alone.soft_labels())
    with pytest.raises(ConfigError, match="select one task"):
        both.soft_labels()
    with pytest.raises(InputError, match="select one task"):
        annot.soft_labels(both.distributions, item="question", label="answer")
    statistics = annot.agreement(two_tasks(votes), **NAMES)
    assert statistics["t1", "alpha_nominal"] == annot.agreement(votes, **NAMES)["alpha_nominal"]
    with pytest.raises(KeyError, match="t2, alpha_nominal"):
        statistics["alpha_nominal"]
    judges = annot.judges(two_tasks(votes), **NAMES).judges
    assert len(judges) == 2 * votes["worker"].nunique()


def test_known_labels_are_those_of_a_release(votes, stage_campaign):
    """From 50 items on they calibrate probabilities."""
    gold = votes["question"].map(lambda n: str(n % 3) if n % 3 else None)
    known = votes.assign(gold=gold)
    ours = annot.infer_labels(known, **NAMES, truth="gold")
    items = known[["question", "gold"]].drop_duplicates().to_csv(index=False)
    built = stage_campaign(
        {"a.csv": votes.to_csv(index=False), "items.txt": items},
        sources=[{"path": "exports/a.csv", "format": "csv", "fields": NAMES}],
        items=[{
            "path": "exports/items.txt", "format": "csv",
            "fields": {"item": "question", "truth": "gold"},
        }],
    )  # fmt: skip
    released = {int(row["item"]): row["probability"] for row in built.rows("labels")}
    assert dict(zip(ours.labels["question"], ours.labels["probability"], strict=True)) == released
    without = annot.infer_labels(votes, **NAMES)
    assert ours.labels["probability"].tolist() != without.labels["probability"].tolist()
    by_name = annot.infer_labels(known.rename(columns={"gold": "truth"}), **NAMES)
    pd.testing.assert_frame_equal(by_name.labels, ours.labels)
    with pytest.raises(InputError, match="an item has two truths"):
        annot.infer_labels(votes, **NAMES, truth="answer")


def test_the_last_answer_is_that_of_the_last_time(votes):
    early, late = pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")
    changed = votes[:40].assign(answer=(votes["answer"][:40] + 1) % 3, when=late)
    twice = pd.concat([changed, votes.assign(when=early)])
    with pytest.warns(UserWarning, match="40 of 520 rows do not count"):
        last = annot.infer_labels(twice, **NAMES, submitted_at="when", task={"repeats": "last"})
    plain = annot.infer_labels(
        pd.concat([changed, votes[40:]]).drop(columns="when"), **NAMES
    ).labels  # fmt: skip
    pd.testing.assert_frame_equal(last.labels, plain)


@pytest.mark.parametrize("repeats", ["first", "last"])
@pytest.mark.parametrize("infer", [annot.infer_labels, annot.agreement, annot.judges])
def test_no_first_or_last_answer_without_an_order(votes, infer, repeats):
    twice = pd.concat([votes, votes[:10].assign(answer=0)])
    with pytest.raises(ConfigError, match="no column says when answers were given"):
        infer(twice, **NAMES, task={"repeats": repeats})


FUNCTIONS: dict[str, Any] = {
    "infer_labels": lambda f: annot.infer_labels(f, **NAMES),
    "dawid_skene": lambda f: annot.dawid_skene(f, **NAMES),
    "agreement": lambda f: annot.agreement(f, **NAMES),
    "judges": lambda f: annot.judges(f, **NAMES),
}
OF_ANY = {
    "document", "criterion", "votes", "score", "preference", "winner", "strength", "ranking",
    "rank", "rank_a", "rank_b", "item_a", "item_b", "system_a", "system_b", "reward",
    "selection_probability",
}  # fmt: skip
TAKEN = {"item", "judge", "label"}


@pytest.mark.sampled
@pytest.mark.parametrize("function", FUNCTIONS)
def test_columns_that_would_be_ignored_are_refused_with_the_reason(votes, function):
    roles = set(CANONICAL_FIELDS) - TAKEN
    refused = roles if function == "dawid_skene" else OF_ANY
    if function in ("agreement", "judges"):
        refused = refused - {"score"}  # labels or scores?
    for role in sorted(refused):
        with pytest.raises(ConfigError, match=rf'column "{role}": is not used: ') as error:
            FUNCTIONS[function](votes.assign(**{role: "1"}))
        assert "drop it, if the result shall not depend on it" in str(error.value)
    assert FUNCTIONS[function](votes.assign(**dict.fromkeys(refused)))  # blank: says nothing


def test_criteria_may_be_named_tasks(votes):
    both = two_tasks(votes).rename(columns={"task": "criterion"})
    with pytest.raises(ConfigError, match="several criteria would count as one\n") as error:
        annot.infer_labels(both, **NAMES)
    assert "rename it to task, which makes each criterion a task" in str(error.value)
    with pytest.raises(ConfigError) as error:
        annot.infer_labels(both.assign(task="t"), **NAMES)
    assert "makes each criterion" not in str(error.value)


def test_predictions_and_splits_refuse_what_they_ignore(votes):
    gold = annot.infer_labels(votes, **NAMES)
    predictions = gold.labels[["question", "answer"]].assign(document="d")
    with pytest.raises(ConfigError, match='column "document": is not used'):
        annot.score(predictions, gold, item="question", label="answer", rounds=0)
    groups = votes.assign(document=votes["question"] // 10)
    with pytest.raises(ConfigError, match="documents would have items in several parts"):
        annot.split(groups, item="question")
    assert annot.split(groups, item="document").groupby("document")["split"].nunique().max() == 1
    assert "split" in annot.split(votes.assign(document=votes["question"]), item="question")


# --- documents -------------------------------------------------------------------------------


def evaluation(seed: int, n_documents: int = 12, sd: float = 8.0) -> pd.DataFrame:
    """Scores of three equal systems; documents suit one system more than another."""
    draw = np.random.default_rng(seed)
    suits = draw.normal(0, sd, (n_documents, 3))
    rows = [
        (f"d{d}", f"d{d}p{part}", f"m{m}", f"j{j}", 50 + suits[d, m] + draw.normal(0, 6))
        for d in range(n_documents)
        for part in range(6)
        for j in draw.choice(12, 2, replace=False)
        for m in range(3)
    ]
    return pd.DataFrame(rows, columns=["document", "part", "model", "worker", "points"])


@pytest.mark.slow
def test_documents_are_what_intervals_count(stage_campaign):
    frame = evaluation(1)
    with_documents = annot.rank(frame, **SCORES)
    named = annot.rank(frame.rename(columns={"document": "doc"}), **SCORES, document="doc")
    pd.testing.assert_frame_equal(named.comparisons, with_documents.comparisons)
    without = annot.rank(frame.drop(columns="document"), **SCORES)
    widths = [
        (result.comparisons["ci_high"] - result.comparisons["ci_low"]).mean()
        for result in (without, with_documents)
    ]
    assert widths[1] > 1.5 * widths[0]
    assert "documents" in with_documents.ranking["reason"][0]
    fields = {**SCORES, "document": "document"}
    built = stage_campaign(
        {"a.csv": frame.to_csv(index=False)},
        sources=[{"path": "exports/a.csv", "format": "csv", "fields": fields}],
    )
    released = [row["ci_low"] for row in built.rows("system_comparisons") if row["headline"]]
    assert with_documents.comparisons["ci_low"].tolist() == pytest.approx(released)


@pytest.mark.slow
def test_intervals_cover_the_difference_of_equal_systems():
    """95% nominal; without documents .77 and less, and false wins in a third of evaluations."""
    covered: dict[bool, list[bool]] = {True: [], False: []}
    false: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(100):
        frame = evaluation(seed)
        for has_documents in covered:
            one = frame if has_documents else frame.drop(columns="document")
            pairs = annot.rank(one, **SCORES).comparisons
            covered[has_documents] += ((pairs["ci_low"] <= 0) & (pairs["ci_high"] >= 0)).tolist()
            false[has_documents].append(bool(pairs["a_beats_b"].any()))
    assert np.mean(covered[True]) > 0.91
    assert np.mean(false[True]) < 0.12
    assert np.mean(covered[False]) < 0.85
    assert np.mean(false[False]) > 0.2


# --- comparisons -----------------------------------------------------------------------------


def pairs_of(battles: pd.DataFrame) -> pd.DataFrame:
    return battles.rename(columns={"left": "system_a", "right": "system_b", "worker": "judge"})


@pytest.mark.slow
def test_winners_may_be_named_in_several_ways(battles):
    frame = pairs_of(battles).rename(columns={"winner": "preference"})
    expected = annot.rank(frame).ranking
    sides = frame["preference"]
    names = np.select([sides == "a", sides == "b"], [frame["system_a"], frame["system_b"]], "tie")
    lefts = sides.map({"a": "left", "b": "Right", "tie": "tie"})
    columns = sides.map({"a": "model_a", "b": "model_b", "tie": "tie (bothbad)"})
    for winner in (names, lefts):
        frames = frame.drop(columns="preference").assign(winner=winner)
        pd.testing.assert_frame_equal(annot.rank(frames).ranking, expected)
    arena = frame.drop(columns="preference").rename(
        columns={"system_a": "model_a", "system_b": "model_b"}
    )
    ranked = annot.rank(arena.assign(winner=columns), system_a="model_a", system_b="model_b")
    pd.testing.assert_frame_equal(ranked.ranking, expected)
    by_label = frame.drop(columns="preference").assign(label=names)  # as crowd-kit has it
    pd.testing.assert_frame_equal(annot.rank(by_label, winner="label").ranking, expected)


def winners(*rows: tuple[str, str, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["system_a", "system_b", "winner"])
    return frame.assign(judge=[f"j{n % 5}" for n in range(len(frame))])


@pytest.mark.sampled
@pytest.mark.parametrize("names", ["ABC", "abc", ["left", "right", "tie"], "bac"])
def test_names_of_systems_win_over_words_for_sides(names):
    pairs = [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] * 5
    better = [min(pair) if n % 4 else max(pair) for n, pair in enumerate(pairs)]
    expected = annot.rank(winners(*(
        (f"m{a}", f"m{b}", f"m{best}") for (a, b), best in zip(pairs, better, strict=True)
    ))).ranking  # fmt: skip
    actual = annot.rank(winners(*(
        (names[a], names[b], names[best]) for (a, b), best in zip(pairs, better, strict=True)
    ))).ranking  # fmt: skip
    plain = {name: f"m{n}" for n, name in enumerate(names)}
    actual = actual.assign(system=actual["system"].map(plain)).set_index("system").sort_index()
    columns = ["rank", "score", "n_judgments"]
    expected = expected.set_index("system").sort_index()
    pd.testing.assert_frame_equal(actual[columns], expected[columns])


@pytest.mark.parametrize("winner", ["B", "X"])
def test_a_winner_that_is_a_system_of_other_rows_does_not_count(winner):
    rows = [("B", "C", "B"), ("X", "B", "X"), ("C", "D", winner), ("D", "C", "tie")]
    with pytest.warns(UserWarning, match="1 of 4 rows do not count") as caught:
        result = annot.rank(winners(*rows))
    assert f"winner is neither side: '{winner}'" in str(caught[0].message)
    assert result.excluded["row"].tolist() == [2]


def test_a_word_for_a_side_is_none_where_another_system_has_the_name():
    with pytest.warns(UserWarning, match="1 of 2 rows do not count"):
        result = annot.rank(winners(("A", "C", "A"), ("C", "D", "a")))
    assert result.excluded["row"].tolist() == [1]


def test_a_frame_has_one_kind_of_answer(battles):
    frame = pairs_of(battles)
    with pytest.raises(ConfigError, match="scores or comparisons"):
        annot.rank(frame.assign(preference="a"))
    for role in ("label", "item", "criterion", "system", "rank", "rank_a"):
        with pytest.raises(ConfigError, match=rf'column "{role}": is not used: '):
            annot.rank(frame.assign(**{role: "x"}))
    scores = evaluation(1)
    for role in ("label", "rank", "system_a"):
        with pytest.raises(ConfigError, match=rf'column "{role}": is not used: '):
            annot.rank(scores.assign(**{role: "x"}), **SCORES)


def test_a_system_that_never_loses_is_not_last():
    """x was always shown first; no pair was shown in both orders."""
    rows = [("x", "y", "tie"), ("x", "y", "tie"), ("x", "z", "tie"), ("y", "z", "a"),
            ("y", "z", "a")]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["system_a", "system_b", "preference"])
    ranking = annot.rank(frame.assign(judge=["j1", "j2", "j1", "j1", "j2"])).ranking
    assert ranking["system"].tolist()[-1] == "z"


@pytest.mark.slow
def test_tasks_are_ranked_apart(battles):
    frame = pairs_of(battles)
    turned = frame.assign(winner=frame["winner"].map({"a": "b", "b": "a", "tie": "tie"}), task=2)
    result = annot.rank(pd.concat([frame.assign(task=1), turned]))
    best = result.ranking[result.ranking["rank"] == 1].set_index("task")["system"].to_dict()
    assert best == {1: "m3", 2: "m0"}
    assert "Ranking by bradley_terry, 1" in result.plot()


# --- names and shapes ------------------------------------------------------------------------


def call_in(error: pytest.ExceptionInfo[AnnotError]) -> str:
    """Return the call that a message proposes."""
    return re.search(r"annot\..*", str(error.value))[0]  # type: ignore[index]


def run(error: pytest.ExceptionInfo[AnnotError], frame: Any) -> Any:
    return eval(
        call_in(error), {"annot": annot, "frame": frame, "polars": pl}
    )  # of our own message


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["infer_labels", "dawid_skene", "agreement", "judges"])
def test_frames_of_crowd_kit_get_the_call_that_reads_them(votes, name):
    frame = votes.set_axis(["task", "worker", "label"], axis=1)
    with pytest.raises(ConfigError) as error:
        getattr(annot, name)(frame)
    assert call_in(error) == f'annot.{name}(frame, item="task", judge="worker")'
    run(error, frame)


@pytest.mark.slow
def test_comparisons_of_crowd_kit_get_the_call_that_reads_them(battles):
    names = np.select(
        [battles["winner"] == "a", battles["winner"] == "b"],
        [battles["left"], battles["right"]], "tie",
    )  # fmt: skip
    frame = battles.drop(columns="winner").assign(label=names)
    with pytest.raises(ConfigError) as error:
        annot.rank(frame)
    assert run(error, frame).ranking["system"].tolist()[0] == "m3"


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("shape", ["judges in columns", "items in columns"])
def test_wide_frames_get_the_line_that_reshapes_them(votes, shape, kind):
    index, columns = ("question", "worker") if shape == "judges in columns" else (
        "worker", "question"
    )  # fmt: skip
    wide = votes.astype(str).pivot(index=index, columns=columns, values="answer").reset_index()
    frame: Any = wide
    if kind != "pandas":
        frame = pl.from_pandas(wide) if kind == "polars" else pl.from_pandas(wide).to_arrow()
    with pytest.raises(ConfigError) as error:
        annot.infer_labels(frame)
    with pytest.warns(UserWarning, match="do not count"):  # cells of judges who were not asked
        labels = run(error, frame).labels
    assert len(labels) == votes["question"].nunique()


@pytest.mark.slow
def test_systems_in_columns_get_the_line_that_reshapes_them():
    scores = evaluation(1).drop(columns="document")
    scores = scores.rename(columns={"part": "segment", "worker": "judge"})
    frame = scores.pivot(index=["segment", "judge"], columns="model", values="points").reset_index()
    with pytest.raises(ConfigError) as error:
        annot.rank(frame)
    assert len(run(error, frame).ranking) == 3


@pytest.mark.slow
@pytest.mark.parametrize("index", [["question"], ["batch", "question"]])
def test_an_index_gets_the_line_that_makes_it_columns(votes, index):
    """As pivot leaves it: levels of the index are no columns to reshape."""
    wide = votes.pivot(index="question", columns="worker", values="answer")
    wide["batch"] = 1
    frame = wide.set_index("batch", append=True).reorder_levels(["batch", "question"])
    frame = frame.droplevel("batch") if len(index) == 1 else frame
    with pytest.raises(ConfigError) as error:
        annot.infer_labels(frame)
    assert 'frame.reset_index().melt(id_vars=["question"' in call_in(error)
    with pytest.warns(UserWarning, match="do not count"):
        labels = run(error, frame).labels
    expected = annot.infer_labels(votes, **NAMES).labels
    assert labels["question"].tolist() == expected["question"].tolist()
    assert labels["label"].tolist() == expected["answer"].tolist()


def wide_scores() -> pd.DataFrame:
    """Scores of 3 systems by segment and judge: ``segment, judge, m0, m1, m2``."""
    scores = evaluation(1).drop(columns="document")
    scores = scores.rename(columns={"part": "segment", "worker": "judge"})
    frame = scores.pivot(index=["segment", "judge"], columns="model", values="points")
    return frame.reset_index().rename_axis(columns=None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "index"])
def test_columns_of_roles_stay_where_systems_become_rows(kind):
    """A segment is no item."""
    wide = wide_scores()
    frame: Any = wide.set_index(["segment", "judge"]) if kind == "index" else wide
    if kind in ("polars", "arrow"):
        frame = pl.from_pandas(wide) if kind == "polars" else pl.from_pandas(wide).to_arrow()
    with pytest.raises(ConfigError, match=r"label= or score=, as annot\.agreement") as error:
        annot.agreement(frame)
    rows = wide.melt(["segment", "judge"], var_name="system", value_name="score")
    expected = annot.agreement(rows)["alpha_interval"]
    assert run(error, frame)["alpha_interval"] == expected
    with pytest.raises(ConfigError) as error:
        annot.rank(frame)
    ranking = run(error, frame).ranking
    assert set(ranking["system"]) == {"m0", "m1", "m2"}


def test_misspelt_columns(votes):
    with pytest.raises(ConfigError, match='did you mean "answer"') as error:
        annot.dawid_skene(votes, item="question", judge="wroker", label="anwser")
    run(error, votes)
    with pytest.raises(ConfigError, match='did you mean "question"'):
        annot.split(votes, item="qestion")


# --- look-alikes and majorities --------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("infer", [annot.infer_labels, annot.dawid_skene, annot.agreement])
def test_values_that_look_alike_are_warned_of(votes, infer):
    names = votes["answer"].map({0: "no", 1: "yes", 2: "?"})
    frame = votes.assign(answer=np.where(votes.index % 7, names, names.str.upper()))
    with pytest.warns(UserWarning, match="look the same, but count as different: .*'?yes"):
        infer(frame, **NAMES)


@pytest.mark.parametrize("infer", [annot.infer_labels, annot.dawid_skene])
def test_the_majority_is_one_of_judges_not_of_rows(votes, infer):
    """Of the first question a judge says a class four times, two others say another class once."""
    rest = votes[votes["question"] > 1000]
    more = [(1000, "w1", 2)] * 4 + [(1000, "w2", 0), (1000, "w3", 0)]
    frame = pd.concat([pd.DataFrame(more, columns=list(votes)), rest])
    with pytest.warns(UserWarning, match="answered an item more than once"):
        result = infer(frame, **NAMES)
    assert result.labels.set_index("question")["majority_label"][1000] == 0
    votes_of = result.distributions.set_index(["question", "answer"])["votes"]
    assert votes_of[(1000, 2)] == 4
