"""Published results of model judges, from the tables that `annot build` publishes.

Calderon et al. 2025 (alternative annotator test), Zeng et al. 2024 (LLMBar: right answers in each
order, equal answers in both), Chatzi et al. 2024 (comparisons of people and three models).
"""

from __future__ import annotations

import csv
import gzip
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.conftest import Built, build_file, write_small_campaign

HALF_A_DIGIT = 0.0051


def build(folder: Path, export: Path, fields: dict[str, Any], **settings: Any) -> Built:
    path = write_small_campaign(
        folder, {}, privacy={"pseudonymize": False},
        sources=[{"path": "exports/*.csv.gz", "format": "csv", "fields": fields}], **settings,
    )  # fmt: skip
    shutil.copy(export, path / "exports" / export.name)
    return build_file(path)


def published(folder: Path) -> list[dict[str, str]]:
    with (folder / "published.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_alternative_annotator_test_of_each_data_set(shared_data: Path, tmp_path: Path) -> None:
    rows = published(shared_data / "alt-test")
    assert len(rows) == 46
    for name in {row["dataset"]: None for row in rows}:
        wanted = {row["model_judge"]: row for row in rows if row["dataset"] == name}
        first = next(iter(wanted.values()))
        field = "label" if first["kind"] == "label" else "score"
        built = build(
            tmp_path / name, shared_data / "alt-test" / f"{name}.csv.gz",
            {"judge": "judge", "item": "item", field: "answer"},
            judges={
                "declared": [{"name": model, "kind": "model"} for model in wanted],
                "epsilon": float(first["epsilon"]),
            },
        )  # fmt: skip
        validations = {row["judge"]: row for row in built.rows("judge_validation")}
        assert set(validations) == set(wanted)
        for model, row in wanted.items():
            validation = validations[model]
            rates = validation["winning_rate"], validation["advantage_probability"]
            expected = float(row["winning_rate"]), float(row["advantage_probability"])
            assert rates == pytest.approx(expected, abs=HALF_A_DIGIT), (name, model)


@pytest.mark.slow
def test_right_and_equal_answers_of_all_runs(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "llmbar"
    built = build(
        tmp_path / "campaign", folder / "judgments.csv.gz",
        {
            "judge": "run", "winner": "winner", "truth": "truth",
            "segment": {
                "join": [{"column": "run", "match": "Dataset/(.+)/evaluators/.*"}, "item"],
                "sep": "/",
            },
            "system_a": {"column": "order", "map": {"as_written": "1", "swapped": "2"}},
            "system_b": {"column": "order", "map": {"as_written": "2", "swapped": "1"}},
        },
        judges=[{"name": "*", "kind": "model"}],
    )  # fmt: skip
    bias = {row["judge"]: row for row in built.rows("judge_bias")}
    truths = {
        row["judge"]: row for row in built.rows("judge_validation") if row["reference"] == "truth"
    }
    rows = published(folder)
    assert len(rows) == len(bias) == 499
    for row in rows:
        of_run = bias[row["run"]]
        counts = of_run["n_right_forward"], of_run["n_right_reverse"]
        assert counts == (int(row["correct_first_order"]), int(row["correct_swapped"])), row["run"]
        # the authors count two answers that could not be read as equal
        same = of_run["n_consistent"] + of_run["n_unanswered"]
        assert same == int(row["same_in_both_orders"]), row["run"]
        assert truths[row["run"]]["n_items"] <= int(row["items"])


ARENA = {
    "judge": "judge", "segment": "question_id", "system_a": "model_a", "system_b": "model_b",
    "preference": {"column": "winner", "map": {"model_a": "a", "model_b": "b", "~tie.*": "tie"}},
}  # fmt: skip
ARENA_MODELS = [
    {"name": "gpt-*", "kind": "model", "family": "openai"},
    {"name": "claude-*", "kind": "model", "family": "anthropic"},
]


@pytest.mark.slow
def test_shares_of_the_first_shown(shared_data: Path, tmp_path: Path) -> None:
    export = shared_data / "arena-judges" / "judgments.csv.gz"
    built = build(tmp_path / "campaign", export, ARENA, judges=ARENA_MODELS)
    shares = {row["judge"]: row["first_shown_share"] for row in built.rows("judge_bias")}
    assert shares == pytest.approx(
        {
            "human": 0.503, "gpt-4-0125-preview": 0.551, "claude-3-opus-20240229": 0.395,
            "gpt-3.5-turbo": 0.863,
        },
        abs=0.0005,
    )  # fmt: skip


@pytest.mark.slow
def test_estimates_of_win_rates_from_a_thousand_people(shared_data: Path, tmp_path: Path) -> None:
    export = tmp_path / "some.csv.gz"
    source = shared_data / "arena-judges" / "judgments.csv.gz"
    with gzip.open(source, "rt") as file, gzip.open(export, "wt") as target:
        reader = csv.DictReader(file)
        writer = csv.DictWriter(target, reader.fieldnames or ())
        writer.writeheader()
        rows = sorted(reader, key=lambda row: (row["judge_kind"], row["question_id"]))
        people = [row for row in rows if row["judge_kind"] == "human"]
        writer.writerows(people[:: len(people) // 1000])  # ids are hashes: any order is random
        writer.writerows(row for row in rows if row["judge_kind"] == "model")
    built = build(tmp_path / "campaign", export, ARENA, judges=ARENA_MODELS)
    queries = duckdb.connect()
    queries.register("estimates", built.table("estimates"))
    queries.execute(
        f"""CREATE TABLE truth AS SELECT system, avg(share) AS truth FROM (
            SELECT model_a AS system, CASE winner WHEN 'model_a' THEN 1 WHEN 'model_b' THEN 0
                ELSE 0.5 END AS share, * FROM read_csv('{source}')
            UNION ALL BY NAME
            SELECT model_b AS system, CASE winner WHEN 'model_b' THEN 1 WHEN 'model_a' THEN 0
                ELSE 0.5 END AS share, * FROM read_csv('{source}')
        ) WHERE judge_kind = 'human' GROUP BY system"""
    )
    covered = queries.execute(
        """SELECT method, judge, avg((truth BETWEEN ci_low AND ci_high)::INT) AS coverage,
            avg(abs(value - truth)) AS error, count(ci_low) AS n
        FROM estimates JOIN truth USING (system) GROUP BY ALL"""
    ).fetchall()
    by_method = {(method, judge): rest for method, judge, *rest in covered}
    people_error = by_method["people", None][1]
    for judge in ("gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo", "all models"):
        coverage, error, n = by_method["prediction_powered", judge]
        assert n == 20
        assert coverage >= 0.8  # one draw of 20 win rates that share comparisons
        assert error < 1.1 * people_error  # a judge who is of no use costs nothing
    assert by_method["people", None][0] >= 0.8
