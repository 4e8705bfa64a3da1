"""Why an item has its label: evidence, fates and places, in releases of small campaigns."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from math import log
from typing import Any

import pytest

from annot_pipeline.audit.trace.documents import trace
from annot_pipeline.audit.trace.weights import AVERAGE_DIFFERS, VOTES_ALONE, weigh_labels
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.tables import read_table
from tests.conftest import Built, build_file

RIGHT = (0.9, 0.75, 0.7, 0.6)
"""How often each of four judges says what is the case."""

DICE = random.Random(1)
ROWS = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'yes' if (i % 2 == 0) == (DICE.random() < right) else 'no'}\n"
    for i in range(20)
    for j, right in enumerate(RIGHT)
)
LENIENT = "gates.rejected_share.error=1"


def asked(built: Built, item: str, task: str | None = None) -> list[dict[str, Any]]:
    """The documents, through JSON without NaN or infinities."""
    release = built.publication.release
    actual = trace(release, item, task)
    again: list[dict[str, Any]] = json.loads(json.dumps(actual, allow_nan=False))
    assert again == actual
    return actual


def asked_each(built: Built) -> dict[str, dict[str, Any]]:
    """Return the document of each item of `ROWS`."""
    release = built.publication.release
    return {f"i{i}": trace(release, f"i{i}", "votes")[0] for i in range(20)}


def released(built: Built, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(
        built.publication.release.folder / f"{table}.parquet"
    ).to_pylist()
    return rows


PAPER = "label_model=dawid_skene"


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Twenty items, four judges, two classes, by Dawid-Skene alone."""
    return build_votes(tmp_path_factory, PAPER)


def build_votes(tmp_path_factory: pytest.TempPathFactory, *sets: str, rows: str = ROWS) -> Built:
    folder = tmp_path_factory.mktemp("votes")
    (folder / "votes.csv").write_text(rows)
    (folder / "items.csv").write_text("id,text,system\ni1,One,mt-9000\nlisted,Two,\n")
    document = {
        "campaign": "votes",
        "sources": [
            {
                "path": "votes.csv",
                "format": "csv",
                "fields": {"item": "item", "judge": "judge", "label": "label"},
            }
        ],
        "items": [
            {
                "path": "items.csv",
                "format": "csv",
                "fields": {"item": "id", "text": "text", "system": "system"},
            }
        ],
    }
    (folder / "campaign.yaml").write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return build_file(folder, *sets)


CLEAN = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'yes' if (i % 2 == 0) != (i == j == 3) else 'no'}\n"
    for i in range(20)
    for j in range(5)
    if (i, j) != (3, 4)
)
"""All are right but for w3 once, with a yes; w4 does not judge that item: neither ever says no to
what is a yes, so that has probability 0."""


@pytest.mark.sampled
@pytest.mark.parametrize("smoothing", [0.01, 0.0])
def test_evidence_adds_up_to_the_released_posterior(votes, tmp_path_factory, smoothing):
    built = votes
    if not smoothing:
        sets = (PAPER, "dawid_skene.smoothing=0", "dawid_skene.start=votes")
        built = build_votes(tmp_path_factory, *sets, rows=CLEAN)
        (actual,) = asked(built, "i1")
        ruled_out = [j for j in actual["judgments"] if j["rules_out"]]
        assert [(j["evidence"], j["rules_out"]) for j in ruled_out] == [(None, ["yes"])] * 2
        assert not any(row["flips"] for row in actual["without_judge"])
    prevalence = {r["label"]: r["prevalence"] for r in released(built, "prevalence")}
    theta = {
        (r["judge"], r["true_label"], r["observed_label"]): r["probability"]
        for r in released(built, "judge_confusion")
    }
    documents = asked_each(built)
    for row in released(built, "labels"):
        actual = documents[row["item"]]
        assert actual["label"]["label"] == row["label"]
        posterior = {r["label"]: r["probability"] for r in actual["distribution"]}
        assert posterior[row["label"]] == row["probability"]
        likelihood = dict(prevalence)
        for judgment in actual["judgments"]:
            for share in judgment["likelihoods"]:
                k, p = share["label"], share["probability"]
                assert p == theta[judgment["judge"], k, judgment["label"]]
                likelihood[k] *= p
            zeros = [s["label"] for s in judgment["likelihoods"] if s["probability"] == 0]
            assert judgment["rules_out"] == zeros
        total = sum(likelihood.values())
        assert posterior == pytest.approx({k: v / total for k, v in likelihood.items()}, abs=1e-9)
        evidence = [j["evidence"] for j in actual["judgments"]]
        if None not in evidence and all(posterior.values()):
            total = actual["prior_evidence"] + sum(evidence)
            by_sum = log(posterior[row["label"]] / posterior[actual["runner_up"]])
            assert total == pytest.approx(by_sum, abs=1e-9)
            mine, other = actual["label"]["model_label"], actual["runner_up"]
            odds = log(prevalence[mine] / prevalence[other]) + sum(evidence)
            assert odds == pytest.approx(log(posterior[mine] / posterior[other]), abs=1e-9)
        else:
            assert smoothing == 0


def test_without_a_judge_by_hand(votes):
    prevalence = {r["label"]: r["prevalence"] for r in released(votes, "prevalence")}
    flips = 0
    for actual in asked_each(votes).values():
        answers = {j["judge"]: j for j in actual["judgments"]}
        assert [row["judge"] for row in actual["without_judge"]] == sorted(answers)
        for row in actual["without_judge"]:
            left = dict(prevalence)
            for judge, judgment in answers.items():
                for share in judgment["likelihoods"]:
                    left[share["label"]] *= share["probability"] if judge != row["judge"] else 1
            best = max(left, key=left.__getitem__)
            assert (row["n_judgments"], row["n_left"], row["label"]) == (1, 3, best)
            assert row["probability"] == pytest.approx(left[best] / sum(left.values()), abs=1e-9)
            assert row["flips"] == (best != actual["label"]["label"])
        assert actual["flipped_by"] == [r["judge"] for r in actual["without_judge"] if r["flips"]]
        flips += len(actual["flipped_by"])
        assert "as they are with all judgments" in actual["held_fixed"]
    assert flips


def dependent(prevalence, answers, repeats):
    """Probabilities of classes by judges who repeat each other."""
    p = dict(prevalence)
    for answer in answers:
        for share in answer["likelihoods"]:
            p[share["label"]] *= share["probability"]
    p = {k: v ** (1 / repeats) for k, v in p.items()}
    return {k: v / sum(p.values()) for k, v in p.items()}


@pytest.mark.slow
def test_without_a_judge_others_count_for_what_they_are_worth(tmp_path_factory):
    """As by hand above; but judges repeat each other, and no class without a vote is the label.

    What the average adds stays: the published odds over those of the confusion matrices.
    """
    built = build_votes(tmp_path_factory)
    prevalence = {r["label"]: r["prevalence"] for r in released(built, "prevalence")}
    [dependence] = [
        r["value"]
        for r in released(built, "label_calibration")
        if (r["model"], r["statistic"]) == ("published", "dependence")
    ]
    for actual in asked_each(built).values():
        answers = {j["judge"]: j for j in actual["judgments"]}
        for row in actual["without_judge"]:
            others = [a for judge, a in answers.items() if judge != row["judge"]]
            whole, p = (
                dependent(prevalence, by, 1 + (len(by) - 1) * dependence)
                for by in (answers.values(), others)
            )
            published = {r["label"]: r["probability"] for r in actual["distribution"]}
            p = {k: v * published[k] / whole[k] for k, v in p.items()}
            p = {k: v / sum(p.values()) for k, v in p.items()}
            votes = {answer["answer"] for answer in others}
            if len(votes) == 1:
                [other] = p.keys() - votes
                p[other] = min(p[other], 1 / 5)
                p = {k: v if k == other else 1 - p[other] for k, v in p.items()}
            best = max(p, key=p.__getitem__)
            assert row["label"] == best
            assert row["probability"] == pytest.approx(p[best], abs=1e-9)
            assert row["flips"] == (best != actual["label"]["label"])
    assert 0 < dependence < 1


def test_every_record_has_a_fate_and_a_place(build_campaign):
    """w0 says it twice, w1 another thing in the later file; w2's label is no class, w3's blank."""
    first = "item,judge,label\ni,w0,yes\ni,w1,yes\ni,w2,maybe\ni,w3,\nk,w0,no\nk,w1,no\n"
    second = "item,judge,label\ni,w0,yes\ni,w1,no\n"
    classes = [{"name": "*", "kind": "categorical", "labels": ["no", "yes"]}]
    built = build_campaign(
        {"a.csv": first, "b.csv": second}, LENIENT, tasks=classes, privacy={"pseudonymize": False}
    )
    (actual,) = asked(built, "i")
    assert [(j["judge"], j["answer"], j["fate"]) for j in actual["judgments"]] == [
        ("w0", "yes", "used"), ("w1", "no", "used"),
    ]  # fmt: skip
    places = [
        [(p["source_file"], p["source_row"], p["fate"]) for p in j["places"]]
        for j in actual["judgments"]
    ]
    assert places == [
        [("exports/b.csv", 1, "used"), ("exports/a.csv", 1, "duplicate")],
        [("exports/b.csv", 2, "used"), ("exports/a.csv", 2, "superseded")],
    ]
    assert [(r["judge"], r["fate"], r["source_row"]) for r in actual["other_records"]] == [
        ("w2", "rejected", 3), ("w3", "rejected", 4),
    ]  # fmt: skip
    assert "maybe" in actual["other_records"][0]["reason"]
    records = [p for j in actual["judgments"] for p in j["places"]] + actual["other_records"]
    lineage = [r for r in released(built, "lineage") if r["item"] == "i"]
    assert len(records) == len(lineage) == 6


@pytest.mark.slow
def test_a_rejected_item_has_a_trace_too(build_campaign):
    text = ROWS + "only,w0,\n"
    built = build_campaign({"a.csv": text}, LENIENT)
    (actual,) = asked(built, "only")
    assert (actual["label"], actual["distribution"], actual["judgments"]) == (None, [], [])
    assert [r["reason"] for r in actual["other_records"]] == ["label is blank"]


@pytest.mark.slow
def test_an_item_of_several_tasks(build_campaign):
    fields = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    text = "task,item,judge,label\n" + "".join(
        f"{task},{item},w{j},{'no' if j == 2 and task == 'u' else 'yes'}\n"
        for task in "tu"
        for item in ("i", "k")
        for j in range(3)
    )
    source = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    built = build_campaign({"a.csv": text + ",i,w9,yes\n"}, LENIENT, sources=source)
    both = asked(built, "i")
    assert [d["task"] for d in both] == ["t", "u"]
    assert asked(built, "i", "u") == both[1:]
    assert all({r["task"] for r in d["judges"]} == {d["task"]} for d in both)
    for document in both:  # nobody knows of which task the record is
        assert [r["task"] for r in document["other_records"]] == [None]
    with pytest.raises(StoreError, match="no task v") as error:
        asked(built, "i", "v")
    assert error.value.problems[0].allowed == "t, u"


def test_an_unknown_item_lists_the_nearest(votes):
    with pytest.raises(StoreError) as error:
        asked(votes, "I11 ")
    assert "no judgment about item 'I11 '" in error.value.title
    assert error.value.problems[0].do.startswith("the nearest are 'i11', ")
    for far in ("x" * 10_000, "nope/zzz"):
        with pytest.raises(StoreError) as error:
            asked(votes, far)
        assert error.value.problems[0].do.startswith("no id is near to it")
    with pytest.raises(StoreError) as error:
        asked(votes, "mt-9000")
    assert error.value.problems[0].do == "it is a system: its 1 outputs are items, as 'i1'"


def test_an_item_that_nobody_judged(votes):
    assert asked(votes, "i1")[0]["text"] == "One"
    with pytest.raises(StoreError) as error:
        asked(votes, "listed")
    assert error.value.problems[0].what == "listed, but never judged"


def test_the_chain_holds_what_the_answer_came_from(votes):
    runs = {run["stage"]: run for run in votes.publication.release.manifest["runs"]}
    (actual,) = asked(votes, "i1")
    stages = [run["stage"] for run in actual["chain"]]
    assert stages[:5] == [
        "archive_exports", "read_records", "settle_judgments", "pair_controls", "control_judges",
    ]  # fmt: skip
    assert {"infer_labels", "list_judgments", "trace_lineage"} < set(stages)
    assert not {"rank_systems", "measure_agreement", "plan_hits", "score_items"} & set(stages)
    made: dict[str, str] = {}
    for run in actual["chain"]:  # each takes what one before it made
        assert run["inputs"].items() <= made.items()
        assert run["data_versions"] == runs[run["stage"]]["outputs"]
        assert run["code_version"] == runs[run["stage"]]["code_version"]
        made |= run["data_versions"]
    tables = {t["name"]: t["sha256"] for t in votes.publication.release.manifest["tables"]}
    assert made["labels"] == tables["labels"]


@pytest.mark.parametrize("table", ["labels", "judge_confusion", "lineage"])
def test_a_changed_table_is_refused(votes, tmp_path, table):
    release = votes.publication.release
    other = shutil.copytree(release.folder, tmp_path / release.version)
    damaged = dataclasses.replace(release, folder=other, campaign="my.yaml")
    path = other / f"{table}.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=f"{table}.parquet: not the bytes that were") as error:
        trace(damaged, "i1")
    assert "annot verify my.yaml" in error.value.problems[0].do
    path.unlink()
    with pytest.raises(StoreError, match="half a release") as error:
        trace(damaged, "i1")
    assert error.value.problems[0].what == f"{table}.parquet is missing"
    path.mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        trace(damaged, "i1")


def item_rows(label, likelihoods):
    """An item of two classes with a label by each of some judges, who gave a, then b, then a."""
    given = {f"w{n}": "ab"[n % 2] for n in range(len(likelihoods))}
    return (
        {"model_label": label},
        [{"label": k, "label_order": n, "prevalence": 0.5} for n, k in enumerate("ab")],
        [
            {"judge": judge, "observed_label": given[judge], "likelihoods": by_class}
            for judge, by_class in zip(given, likelihoods, strict=True)
        ],
        [
            {"judge": judge, "label": given[judge], "fate": "used", "judgment_id": judge}
            for judge in given
        ],
    )


def figure(statistic, value):
    return {"model": "published", "statistic": statistic, "value": value}


def distribution(*probabilities):
    return [{"label": k, "probability": p} for k, p in zip("abc", probabilities, strict=False)]


def test_an_item_on_which_fits_differ_names_no_judge():
    """The published label is another than that of the confusion matrices: no judge decides it."""
    likelihoods = ({"a": 0.9, "b": 0.2}, {"a": 0.4, "b": 0.6})
    dependence = [figure("dependence", 0.2)]
    actual = weigh_labels(*item_rows("b", likelihoods), distribution(0.4, 0.6), dependence)
    assert actual.without_judge == ()
    assert actual.held_fixed == AVERAGE_DIFFERS
    assert actual.of_judgment["w0"]["evidence"] == pytest.approx(log(0.2 / 0.9))
    agreed = weigh_labels(*item_rows("a", likelihoods), distribution(0.6, 0.4), dependence)
    assert [row["judge"] for row in agreed.without_judge] == ["w0", "w1"]


def test_without_a_judge_who_tells_nothing_the_published_probability_stays():
    """What the average and known items add stays too; more judges repeat each other less."""
    likelihoods = ({"a": 0.9, "b": 0.2}, {"a": 0.4, "b": 0.6}, {"a": 0.5, "b": 0.5})
    rows, published = item_rows("a", likelihoods), distribution(0.83, 0.17)
    actual = weigh_labels(*rows, published, [figure("dependence", 0.0)])
    without = {row["judge"]: row["probability"] for row in actual.without_judge}
    assert without["w2"] == pytest.approx(0.83)
    odds = 0.83 / 0.17 / (0.4 / 0.6)
    assert without["w1"] == pytest.approx(odds / (1 + odds))


def test_votes_alone_have_no_evidence():
    likelihoods = ({"a": 0.9, "b": 0.2}, {"a": 0.4, "b": 0.6})
    calibration = [figure("dependence", 0.2), figure("weight_of_votes", 1.0)]
    actual = weigh_labels(*item_rows("a", likelihoods), distribution(0.6, 0.4), calibration)
    assert (actual.of_judgment, actual.without_judge, actual.runner_up) == ({}, (), None)
    assert actual.held_fixed == VOTES_ALONE


def test_the_runner_up_is_the_second_of_the_published_probabilities():
    rows = list(item_rows("a", ({"a": 0.9, "b": 0.3, "c": 0.01}, {"a": 0.1, "b": 0.5, "c": 0.4})))
    rows[1].append({"label": "c", "label_order": 2, "prevalence": 0.1})
    actual = weigh_labels(*rows, distribution(0.6, 0.1, 0.3))
    assert actual.runner_up == "c"
    assert actual.prior_evidence == pytest.approx(log(0.5 / 0.1))
