"""Guessed campaigns: exports of well-known tools, each with the mapping and what a build makes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.init.conftest import Guess, write_csv
from tests.init.preset_exports import (
    ANSWERS,
    MAJORITY,
    TRIPLES,
    figure_eight,
    judged_rows,
    majority,
    write,
)

Guesses = Callable[..., Guess]


def refusal(path: Path, tmp_path: Path, **more: Any) -> str:
    with pytest.raises(ConfigError) as error:
        guess_campaign([path], tmp_path, **more)
    return str(error.value)


def option(actual: Guess, name: str) -> Any:
    source = actual.settings.sources[0].model_dump(by_alias=True, exclude_none=True)
    return source.get(name)


# --- one JSON document -----------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(("shape", "records"), [("list", None), ("by_id", "*"), ("in", "a.rows")])
def test_json_documents(tmp_path: Path, guess: Guesses, shape: str, records: str | None) -> None:
    rows = judged_rows(judge=lambda r: r.judge, item=lambda r: r.item, label=lambda r: r.label)
    by_id = {f"r{n}": row for n, row in enumerate(rows)}
    document = {"list": rows, "by_id": by_id, "in": {"v": 1, "a": {"rows": rows}}}[shape]
    actual = guess(write(tmp_path / "v.json", document))  # type: ignore[arg-type]
    assert (option(actual, "format"), option(actual, "records")) == ("json", records)
    assert actual.fields() == {"judge": "judge", "item": "item", "label": "label"}
    assert majority(actual) == MAJORITY


def test_label_studio_json_min(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        id=lambda r: r.item, text=lambda r: f"the planet {r.item}",
        kind=lambda r: r.label, annotator=lambda r: r.judge,
        annotation_id=lambda r: 70 + r.n, updated_at=lambda r: f"2026-03-0{r.n + 1}",
        lead_time=lambda r: 2.5 * r.n,
    )  # fmt: skip
    rows.append({**rows[0], "kind": "gas", "annotation_id": 99, "updated_at": "2026-03-20"})
    actual = guess(write(tmp_path / "min.json", rows))
    assert actual.fields() == {
        "judge": "annotator", "item": "id", "label": "kind", "native_id": "annotation_id",
        "submitted_at": "updated_at", "text": "text",
    }  # fmt: skip
    assert actual.settings.tasks[0].repeats == "last"
    assert majority(actual) == MAJORITY | {"mars": "gas"}  # ada changed her answer


def test_label_studio_csv_with_several_choices(tmp_path: Path, guess: Guesses) -> None:
    both = json.dumps({"choices": ["hot", "red"]})
    chosen = {"rock": both, "gas": "hot"}
    rows = judged_rows(
        annotation_id=lambda r: r.n, annotator=lambda r: r.judge,
        id=lambda r: r.item, traits=lambda r: chosen[r.label],
    )  # fmt: skip
    actual = guess(write(tmp_path / "min.csv", rows))
    assert option(actual, "each") == {"option": ("hot", "red")}
    red = {("traits:red", i): "yes" if a == "rock" else "no" for i, a in MAJORITY.items()}
    assert majority(actual) == red | {("traits:hot", i): "yes" for i in ANSWERS}


# --- tools -----------------------------------------------------------------------------------


def prodigy(**more: Any) -> list[dict[str, Any]]:
    return judged_rows(
        text=lambda r: r.item, _input_hash=lambda r: r.item,
        _task_hash=lambda r: f"t{r.item}", _timestamp=lambda r: 1_700_000_000 + r.n,
        _annotator_id=lambda r: r.judge, **more,
    )  # fmt: skip


def test_prodigy_choice(tmp_path: Path, guess: Guesses) -> None:
    rows = prodigy(accept=lambda r: [r.label], answer="accept")
    rows.append({**rows[0], "_annotator_id": "cy", "accept": ["ice"], "answer": "ignore"})
    actual = guess(write(tmp_path / "choice.jsonl", rows))
    assert actual.fields()["label"] == {"column": "accept", "json": "0"}
    assert actual.facts["fates"]["filtered"] == 1
    assert majority(actual) == MAJORITY
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}


def test_prodigy_several_choices(tmp_path: Path, guess: Guesses) -> None:
    both = {"rock": ["hot", "red"], "gas": []}
    rows = prodigy(accept=lambda r: both[r.label], answer="accept")
    actual = guess(write(tmp_path / "choice.jsonl", rows))
    assert actual.task_kinds == {"*": "categorical"}
    expected = {i: "yes" if a == "rock" else "no" for i, a in MAJORITY.items()}
    assert majority(actual) == {
        (f"choice:{o}", i): label for i, label in expected.items() for o in ("hot", "red")
    }


def test_prodigy_rejects_are_no(tmp_path: Path, guess: Guesses) -> None:
    said = {"rock": "accept", "gas": "reject"}
    rows = prodigy(label="ROCKY", answer=lambda r: said[r.label])
    rows.append({**rows[0], "_annotator_id": "dee", "answer": "ignore"})
    actual = guess(write(tmp_path / "textcat.jsonl", rows))
    assert actual.fields()["task"] == "label"
    assert majority(actual) == {i: "yes" if a == "rock" else "no" for i, a in MAJORITY.items()}
    assert actual.facts["fates"]["not_asked"] == 1


def test_prodigy_without_a_judge_is_asked_for_one(tmp_path: Path) -> None:
    rows = prodigy(accept=lambda r: [r.label], answer="accept")
    for row in rows:
        del row["_annotator_id"]
    assert "Who did?" in refusal(write(tmp_path / "c.jsonl", rows), tmp_path)


def test_potato(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        user=lambda r: r.judge, instance_id=lambda r: r.item,
        **{f"kind:::{o}": lambda r, o=o: "1" if r.label == o else "" for o in ("rock", "gas")},  # type: ignore[misc]
    )  # fmt: skip
    actual = guess(write(tmp_path / "annotated_instances.tsv", rows))
    assert actual.fields()["label"]["column"] == "kind:::{option}"
    assert (majority(actual), actual.facts["fates"]["used"]) == (MAJORITY, 8)


def test_zooniverse(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        classification_id=lambda r: 100 + r.n, user_name=lambda r: r.judge,
        created_at=lambda r: f"2026-02-23 16:17:0{r.n} UTC", subject_ids=lambda r: r.item,
        annotations=lambda r: json.dumps([{"task": "T0", "value": r.label}]),
    )  # fmt: skip
    actual = guess(write(tmp_path / "z.csv", rows))
    for row in rows:
        drawn = {"task": "T1", "value": [{"x": 1, "y": 2}]}
        row["annotations"] = json.dumps([drawn, *json.loads(row["annotations"])])
    drawing = guess_campaign([write(tmp_path / "drawing.csv", rows)], tmp_path)
    assert "in: [T0]" in drawing
    assert actual.fields()["item"] == "subject_ids"
    assert actual.fields()["submitted_at"] == "created_at"
    assert (majority(actual), actual.used("task")) == (MAJORITY, {("T0",)})


def test_toloka(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        **{
            "INPUT:image": lambda r: r.item,
            "OUTPUT:kind": lambda r: r.label,
            "GOLDEN:kind": lambda r: "rock" if r.item == "ceres" else "",
            "ASSIGNMENT:worker_id": lambda r: r.judge,
            "ASSIGNMENT:assignment_id": lambda r: f"p{r.judge}",
            "ASSIGNMENT:status": "APPROVED",
        }
    )
    actual = guess(write(tmp_path / "assignments.tsv", rows))
    assert actual.fields()["truth"] == "GOLDEN:kind"
    assert actual.facts["fates"]["control"] == 2
    assert majority(actual) == {"mars": "rock", "venus": "gas"}


def test_figure_eight(tmp_path: Path, guess: Guesses) -> None:
    rows = figure_eight(
        kind=lambda r: r.label, kind_gold=lambda r: "rock" if r.item == "ceres" else ""
    )
    actual = guess(write(tmp_path / "full.csv", rows))
    assert (actual.fields()["label"], actual.fields()["truth"]) == ("kind", "kind_gold")
    assert "# quality: {test: known_answer}" in actual.text
    file = tmp_path / "campaign folder" / "campaign.yaml"
    file.write_text(actual.text.replace("# quality:", "quality:"))
    assert load_campaign(file).settings.quality.test == "known_answer"
    assert actual.facts["fates"]["control"] == 2
    assert majority(actual) == {"mars": "rock", "venus": "gas"}


def test_qualtrics(tmp_path: Path, guess: Guesses) -> None:
    people = ("ada", "bea", "cy")
    heads = [
        {"ResponseId": "Response ID", "Status": "Response Type", "Q1_1": "Rate - mars",
         "Q1_2": "Rate - venus"},
        {n: json.dumps({"ImportId": n}) for n in ("ResponseId", "Status", "Q1_1", "Q1_2")},
        {"ResponseId": "R_0", "Status": "Survey Preview", "Q1_1": "gas", "Q1_2": "gas"},
    ]  # fmt: skip
    rows = [
        {"ResponseId": j, "Status": "IP Address", "Q1_1": ANSWERS["mars"][j],
         "Q1_2": ANSWERS["venus"][j]}
        for j in people
    ]  # fmt: skip
    actual = guess(write(tmp_path / "q.csv", [*heads, *rows]))
    assert actual.settings.sources[0].options.skip_rows == 2
    assert actual.used("task") == {("Q1",)}
    assert majority(actual) == {"Q1_1": "rock", "Q1_2": "gas"}
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}


LIME = {
    "code": ("{code}", "{code}", "Q1[{part}]", "Q1[comment]", "Q1Time"),
    "text": ("{text}", "{text}", "What is it? [{name}]", "What is it? [Comment]",
             "Question time: Q1"),
    "both": ("{code}. {text}", "{code}. {text}", "Q1[{part}]. What is it? [{name}]",
             "Q1[comment]. What is it? [Comment]", "Q1Time. Question time: Q1"),
}  # fmt: skip
"""Headings of LimeSurvey: of what it says of a response, of a person, of answers and of times."""


@pytest.mark.parametrize("headings", LIME)
def test_limesurvey(tmp_path: Path, guess: Guesses, headings: str) -> None:
    of_response, person, answer, comment, time = LIME[headings]
    own = {"id": "Response ID", "submitdate": "Date submitted", "lastpage": "Last page",
           "startlanguage": "Start language"}  # fmt: skip
    heads = [of_response.format(code=c, text=t) for c, t in own.items()]
    token = person.format(code="token", text="Access code")
    columns = {i: answer.format(part=f"SQ{n:03}", name=i) for n, i in enumerate(ANSWERS, 1)}
    rows = [
        dict(zip(heads, (str(n), f"2026-11-0{n} 10:00:00", "2", "en"), strict=True))
        | {token: j, comment: "red" if n < 3 else "hot", time: f"{n}"}
        | {column: ANSWERS[i].get(j, "") for i, column in columns.items()}
        for n, j in enumerate(("ada", "bea", "cy"), 1)
    ]
    actual = guess(write(tmp_path / "results-survey1.csv", rows))
    assert actual.used("task") == {("What is it?" if headings != "code" else "Q1",)}
    assert majority(actual) == {column: MAJORITY[i] for i, column in columns.items()}
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}


def test_surveymonkey(tmp_path: Path, guess: Guesses) -> None:
    own = ["Respondent ID", "Collector ID", "End Date", "Email Address"]
    rows = [
        [*own, "What is it?", *[""] * (len(ANSWERS) - 1), "Red?"],
        [*[""] * len(own), *ANSWERS, "Response"],
        *([j, "4001", f"11/0{n}/2026 10:04:00", "", *(a.get(j, "") for a in ANSWERS.values()),
           "yes"] for n, j in enumerate(("ada", "bea", "cy"), 1)),
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "Survey.csv", rows))
    assert actual.used("task") == {("What is it?",), ("Red?",)}
    labels = {("What is it?", f"What is it? [{i}]"): label for i, label in MAJORITY.items()}
    assert majority(actual) == labels | {("Red?", "Red?"): "yes"}
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}
    assert "# 3 different" in actual.text
    assert actual.facts["fates"]["filtered"] == 2 * (len(ANSWERS) + 1)


@pytest.mark.sampled
@pytest.mark.parametrize("email", [True, False])
def test_google_forms(tmp_path: Path, guess: Guesses, email: bool) -> None:
    rows = [
        {"Timestamp": f"2026/11/12 9:3{n}:10 AM GMT+2"}
        | ({"Email Address": f"{j}@example.org"} if email else {})
        | {"Is mars rock?": "yes" if n else "no", "Is it red?": "no" if n else "yes"}
        for n, j in enumerate(("ada", "bea", "cy"))
    ]
    actual = guess(write(tmp_path / "form.csv", rows))
    assert majority(actual) == {
        ("Is mars rock?", "Is mars rock?"): "yes", ("Is it red?", "Is it red?"): "no",
    }  # fmt: skip
    assert len(actual.used("judge")) == 3
    assert ("taken for another person" in actual.notes) is not email


def test_webmushra(tmp_path: Path, guess: Guesses) -> None:
    levels = {"reference": 100, "anchor35": 20, "C1": 60, "C2": 75}
    rows = [
        {"session_uuid": f"u{j}", "trial_id": f"t{t}", "rating_stimulus": s,
         "rating_score": levels[s] - j - t, "rating_time": 9}
        for j in range(3) for t in range(4) for s in levels
    ]  # fmt: skip
    actual = guess(write(tmp_path / "mushra.csv", rows))
    assert (actual.fields()["segment"], actual.fields()["system"]) == (
        "trial_id",
        "rating_stimulus",
    )
    assert actual.facts["fates"]["control"] == 24
    assert actual.facts["fates"]["used"] == 24
    assert "# quality: {test: reference_threshold}" in actual.text
    assert actual.used("system") == {("C1",), ("C2",)}


def test_mushra_of_other_names(tmp_path: Path, guess: Guesses) -> None:
    levels = {"hidden_ref": 100, "anchor35": 20, "C1": 60}
    rows = [
        {"listener": f"u{j}", "trial": f"t{t}", "stimulus": s, "score": levels[s] - j - t}
        for j in range(3) for t in range(4) for s in levels
    ]  # fmt: skip
    actual = guess(write(tmp_path / "mushra.csv", rows))
    assert (actual.fields()["segment"], actual.fields()["system"]) == ("trial", "stimulus")
    assert (actual.facts["fates"]["control"], actual.facts["fates"]["used"]) == (24, 12)
    for row in rows:
        row["stimulus"] = str(row["stimulus"]).replace("hidden_ref", "C3").replace("anchor35", "C4")
    assert "control:" not in guess_campaign([write(tmp_path / "other.csv", rows)], tmp_path)


@pytest.mark.parametrize("errors", [1, 2])
def test_a_row_an_error_is_no_judgment_of_its_segment(
    tmp_path: Path, guess: Guesses, errors: int
) -> None:
    rows = [
        {"system": s, "seg_id": i, "rater": j, "category": ("Fluency", "Style")[n],
         "severity": ("Minor", "Major")[i % 2]}
        for s in ("x", "y") for i in range(4) for j in ("ann", "bob") for n in range(errors)
    ]  # fmt: skip
    path = write(tmp_path / "mqm.tsv", rows)
    if errors == 2:
        assert "Which score should a segment have" in refusal(path, tmp_path)
    else:
        assert guess(path).facts["fates"]["used"] == 16, "one answer a segment"


# --- lists -----------------------------------------------------------------------------------


def test_hatexplain_objects_by_id(tmp_path: Path, guess: Guesses) -> None:
    document = {
        i: {
            "post_id": i,
            "annotators": [{"label": a, "annotator_id": j} for j, a in judged.items()],
            "post_tokens": [i, "it", "is"],
        }
        for i, judged in ANSWERS.items()
    }
    actual = guess(write(tmp_path / "dataset.json", document))  # type: ignore[arg-type]
    assert option(actual, "records") == "*"
    assert actual.fields()["judge"] == {"column": "{a.value}", "json": "annotator_id"}
    assert (majority(actual), actual.facts["fates"]["used"]) == (MAJORITY, 8)


def test_comma_lists(tmp_path: Path, guess: Guesses) -> None:
    document = {
        i: {"text": f"on {i}", "annotators": ",".join(judged),
            "annotations": ",".join(judged.values())}
        for i, judged in ANSWERS.items()
    }  # fmt: skip
    actual = guess(write(tmp_path / "train.json", document))  # type: ignore[arg-type]
    assert option(actual, "each")["a"]["split"] == ","
    assert (majority(actual), actual.facts["fates"]["used"]) == (MAJORITY, 8)
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}


def test_argilla_responses(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"id": i, "kind.responses": [*judged.values()], "kind.responses.users": [*judged]}
        for i, judged in ANSWERS.items()
    ]
    actual = guess(write(tmp_path / "argilla.jsonl", rows))
    assert option(actual, "each")["a"]["list"] == "kind.responses.users"
    assert majority(actual) == MAJORITY
    for row in rows:
        row["kind.responses.status"] = ["submitted"] * (len(row["kind.responses"]) - 1) + ["draft"]
    drafts = guess_campaign([write(tmp_path / "drafts.jsonl", rows)], tmp_path)
    assert 'json: "{a}", in: [submitted]' in drafts


def test_snli(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"pairID": i, "gold_label": MAJORITY[i], "annotator_labels": [*judged.values()]}
        for i, judged in ANSWERS.items()
    ]
    actual = guess(write(tmp_path / "snli.jsonl", rows))
    assert majority(actual) == MAJORITY
    assert "no persons" in actual.notes


def test_sagemaker_worker_responses(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"datasetObjectId": i, "annotations": [
            {"workerId": j, "annotationData": {"content": json.dumps({"kind": {"label": a}})}}
            for j, a in judged.items()
        ]}
        for i, judged in ANSWERS.items()
    ]  # fmt: skip
    actual = guess(write(tmp_path / "workers.json", rows))
    assert majority(actual) == MAJORITY


def test_doccano_users_by_file(tmp_path: Path, guess: Guesses) -> None:
    for judge in ("ada", "bea", "cy"):
        rows = [{"id": i, "text": f"on {i}", "label": [judged[judge]]}
                for i, judged in ANSWERS.items() if judge in judged]  # fmt: skip
        path = write(tmp_path / "users" / f"{judge}.jsonl", rows)
    actual = guess(tmp_path / "users")
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}
    assert majority(actual) == MAJORITY
    assert "Whose labels are these?" in refusal(path, tmp_path)


# --- wide tables -----------------------------------------------------------------------------


def wide(names: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"tweet": i} | {names[j]: judged.get(j, "") for j in names} for i, judged in ANSWERS.items()
    ]


def test_a_numbered_column_a_judge(tmp_path: Path, guess: Guesses) -> None:
    rows = wide({"ada": "rater_1", "bea": "rater_2", "cy": "rater_3"})
    actual = guess(write(tmp_path / "wide.csv", rows))
    assert option(actual, "each") == {"rater": {"columns": "rater_*"}}
    assert majority(actual) == MAJORITY
    assert (actual.facts["fates"]["used"], actual.facts["fates"]["not_asked"]) == (8, 1)


def test_a_named_column_a_judge_where_cells_are_blank(tmp_path: Path, guess: Guesses) -> None:
    rows = wide({"ada": "ada", "bea": "bea", "cy": "cy"})
    path = write(tmp_path / "wide.csv", rows)
    assert "judges or questions?" in refusal(path, tmp_path)  # ada and bea answered all
    more = {"tweet": "io", "ada": "", "bea": "", "cy": "gas"}
    actual = guess(write(path, [*rows, more]))
    assert option(actual, "each") == {"rater": ("ada", "bea", "cy")}
    assert majority(actual) == MAJORITY | {"io": "gas"}


def test_full_columns_of_one_alphabet_may_be_questions(tmp_path: Path) -> None:
    rows = [{"tweet": f"t{n}", "toxic": n % 2, "rude": n % 3 % 2} for n in range(12)]
    text = refusal(write(tmp_path / "gold.csv", rows), tmp_path)
    assert "Are these columns judges or questions?" in text
    assert "--each toxic,rude --judge each" in text


def test_labeling_functions_abstain(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"lf_a": n % 2, "lf_b": n % 2, "lf_c": -1} for n in range(6)]  # fmt: skip
    actual = guess(write(tmp_path / "L.csv", rows))
    assert option(actual, "abstain") == ("-1",)
    assert actual.fields()["item"] == {"row": True}
    assert majority(actual) == {str(n + 1): str(n % 2) for n in range(6)}
    assert actual.facts["fates"]["not_asked"] == 6


def test_a_survey_has_a_task_for_each_question(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"participant": f"p{n}", "clear": 1 + n % 5, "short": 1 + n * 2 % 5, "age": 20 + n}
            for n in range(10)]  # fmt: skip
    actual = guess(write(tmp_path / "survey.csv", rows))
    assert actual.used("task") == {("clear",), ("short",)}
    assert actual.facts["fates"]["used"] == 20


# --- models ----------------------------------------------------------------------------------


def test_inspect_log(tmp_path: Path, guess: Guesses) -> None:
    samples = [
        {"id": i, "epoch": 1, "scores": {j: {"value": "C" if a == "rock" else "I"}
                                         for j, a in judged.items()}}
        for i, judged in ANSWERS.items()
    ]  # fmt: skip
    for model in ("m1", "m2"):
        document = {"version": 2, "eval": {"model": model}, "samples": samples}
        write(tmp_path / "logs" / f"{model}.json", document)  # type: ignore[arg-type]
    actual = guess(tmp_path / "logs")
    assert option(actual, "records") == "samples"
    assert actual.fields()["system"] == "eval.model"
    labels = {"mars": "C", "venus": "I", "ceres": "C"}
    assert majority(actual) == {f"{i}/m{n}": labels[i] for i in labels for n in (1, 2)}


def test_promptfoo(tmp_path: Path, guess: Guesses) -> None:
    results = [{"provider": {"id": p}, "testIdx": n, "promptIdx": 0, "success": n < 3}
               for p in ("x", "y") for n in range(5)]  # fmt: skip
    document = {"evalId": "e", "results": {"version": 3, "results": results}}
    actual = guess(write(tmp_path / "output.json", document))  # type: ignore[arg-type]
    assert option(actual, "records") == "results.results"
    assert Counter(majority(actual).values()) == {"pass": 6, "fail": 4}


def test_langfuse(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        id=lambda r: f"s{r.n}", timestamp=lambda r: f"2026-03-01T10:00:0{r.n}Z",
        name="kind", value="", stringValue=lambda r: r.label,
        dataType="CATEGORICAL", source="ANNOTATION",
        authorUserId=lambda r: r.judge, traceId=lambda r: r.item,
    )  # fmt: skip
    actual = guess(write(tmp_path / "scores.csv", rows))
    assert (majority(actual), actual.used("task")) == (MAJORITY, {("kind",)})
    assert len(actual.used("judge")) == 3


def test_mlflow(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"trace_id": i, "assessments": [
            {"assessment_name": "kind", "source": {"source_type": "LLM_JUDGE", "source_id": j},
             "feedback": {"value": a}}
            for j, a in judged.items()
        ]}
        for i, judged in ANSWERS.items()
    ]  # fmt: skip
    actual = guess(write(tmp_path / "traces.jsonl", rows))
    assert (majority(actual), actual.used("task")) == (MAJORITY, {("kind",)})


def test_winners_in_three_columns(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"id": n, "model_a": "x", "model_b": "y"}
        | {w: int((0, 0, 1, 2)[n % 4] == k) for k, w in
           enumerate(("winner_model_a", "winner_model_b", "winner_tie"))}
        for n in range(8)
    ]  # fmt: skip
    path = write(tmp_path / "arena.csv", rows)
    assert "no column says who judged" in refusal(path, tmp_path)
    actual = guess(path, judge="file")
    preferences = Counter(actual.judgments["preference"].to_pylist())
    assert preferences == {"a": 4, "b": 2, "tie": 2}


def test_alpaca_eval(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"instruction": f"q{n}", "generator_1": "base", "generator_2": "new",
             "annotator": "gpt", "preference": (1.0, 1.7, 2.0)[n % 3]}
            for n in range(6)]  # fmt: skip
    actual = guess(write(tmp_path / "annotations.json", rows))
    assert option(actual, "strength") == (2, 1)
    assert Counter(actual.judgments["preference"].to_pylist()) == {"a": 2, "b": 4}


# --- refusals, presets by name -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.eval", b"PK\x03\x04", "inspect log convert --to json"),
        ("a.csv", b"<!DOCTYPE html><html><body>Sign in</body></html>", "is an HTML page"),
        ("a.csv", b"PK\x03\x04", "unpack it"),
    ],
)
def test_files_that_are_something_else(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert says in refusal(tmp_path / name, tmp_path)


def test_a_consolidated_manifest_has_no_judges(tmp_path: Path) -> None:
    rows = [{"source": f"s{n}", "job": n % 2,
             "job-metadata": {"class-name": "x", "job-name": "labeling-job/job"}}
            for n in range(4)]  # fmt: skip
    text = refusal(write(tmp_path / "output.jsonl", rows), tmp_path)
    assert "annotations/worker-response/" in text


def test_presets_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = prodigy(accept=lambda r: [r.label], answer="accept")
    path = write(tmp_path / "c.jsonl", rows)
    assert "accept" in guess_campaign([path], tmp_path, preset="prodigy_choice")
    assert "does not fit these columns. Potato has user, instance_id" in refusal(
        path, tmp_path, preset="potato"
    )
    output = ["-o", str(tmp_path / "c")]
    assert main(["init", str(path), "--preset", "nothing", *output]) == 2
    assert "prodigy_choice, prodigy_textcat, promptfoo" in capsys.readouterr().err


# --- what an item is ---------------------------------------------------------------------------


def test_a_part_of_the_item_is_joined(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"listener": f"j{j}", "item": f"i{i}", "trial": t, "label": "good" if i else "bad"}
            for j in range(3) for i in range(4) for t in range(5)]  # fmt: skip
    actual = guess(write(tmp_path / "v.csv", rows))
    assert actual.fields()["item"]["sep"] == ":"
    assert len(actual.used("item")) == 20


def test_a_constant_is_not_the_item(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        HITId=lambda r: r.item, AssignmentId=lambda r: f"a{r.n}",
        WorkerId=lambda r: r.judge, **{
            "Input.page": "v2", "Answer.kind": lambda r: r.label,
        },
    )  # fmt: skip
    actual = guess(write(tmp_path / "batch.csv", rows))
    assert actual.fields()["item"] == "HITId"
    assert majority(actual) == MAJORITY


def test_an_item_that_repeats_is_asked_for(tmp_path: Path) -> None:
    rows = [{"judge": f"j{j}", "item": f"i{i}", "colour": f"c{t}", "label": "ab"[t % 2]}
            for j in range(3) for i in range(4) for t in range(5)]  # fmt: skip
    text = refusal(write(tmp_path / "v.csv", rows), tmp_path)
    assert "judges answer one item 5.0 times on average, and colour tells" in text
    assert "--item item,colour (colour is a part of what was judged)" in text
    assert "--task colour (each colour is another question)" in text


def test_times_and_durations_are_no_answers(tmp_path: Path) -> None:
    rows = [{"judge": f"j{n % 3}", "item": f"i{n // 3}", "answer_time": n % 4} for n in range(30)]
    assert "no column says what was answered" in refusal(write(tmp_path / "v.csv", rows), tmp_path)


def test_dates_in_file_names_become_a_glob(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(judge=lambda r: r.judge, item=lambda r: r.item, label=lambda r: r.label)
    actual = guess(write(tmp_path / "exports" / "votes_2026-03-01.csv", rows))
    assert actual.settings.sources[0].path == "../exports/votes_*.csv"


@pytest.mark.parametrize("timed", [True, False])
def test_the_latest_answer_counts_where_times_are_known(
    tmp_path: Path, guess: Guesses, timed: bool
) -> None:
    rows = judged_rows(
        judge=lambda r: r.judge,
        item=lambda r: r.item,
        label=lambda r: r.label,
        **({"submitted_at": lambda r: f"2026-03-01T10:00:0{r.n}Z"} if timed else {}),
    )
    later = {"submitted_at": "2026-03-02T10:00:00Z"} if timed else {}
    actual = guess(write(tmp_path / "v.csv", [*rows, {**rows[0], "label": "gas", **later}]))
    assert actual.settings.tasks[0].repeats == ("last" if timed else None)
    assert actual.facts["fates"]["used"] == (8 if timed else 9)


def test_label_studio_edits_have_a_time(tmp_path: Path, guess: Guesses) -> None:
    tasks = [
        {"id": n, "data": {"text": item}, "annotations": [
            {"id": f"{n}{j}", "completed_by": j, "created_at": "2026-03-01T10:00:00Z",
             "updated_at": "2026-03-02T10:00:00Z",
             "result": [{"from_name": "kind", "type": "choices", "value": {"choices": [a]}}]}
            for j, a in judged.items()
        ]}
        for n, (item, judged) in enumerate(ANSWERS.items(), start=1)
    ]  # fmt: skip
    actual = guess(write(tmp_path / "project.json", tasks))
    assert actual.fields()["submitted_at"] == "updated_at"
    assert Counter(majority(actual).values()) == {"rock": 2, "gas": 1}


def studio(*results: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a task in which two people gave some answers."""
    return [{"id": 1, "data": {"l": "x", "r": "y"}, "annotations": [
        {"id": 10 + person, "completed_by": person, "created_at": "2026-03-01T10:00:00Z",
         "result": [{"from_name": kind, "type": kind, "value": value} for kind, value in results]}
        for person in (1, 2)
    ]}]  # fmt: skip


def test_label_studio_ratings_are_scores(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write(tmp_path / "project.json", studio(("rating", {"rating": 4}))))
    assert (actual.fields()["score"], actual.task_kinds) == ("score", {"*": "scalar"})
    assert actual.facts["fates"]["used"] == 2


def test_label_studio_ratings_beside_choices_are_a_task_of_scores(
    tmp_path: Path, guess: Guesses
) -> None:
    answers = studio(("choices", {"choices": ["a"]}), ("rating", {"rating": 4}))
    actual = guess(write(tmp_path / "project.json", answers))
    assert actual.task_kinds == {"choices": "categorical", "rating": "scalar"}
    assert actual.settings.tasks[1].scale == (1, 5)
    used = actual.used("task", "label", "score")
    assert used == {("choices", "a", None), ("rating", None, "4")}
    [note] = [line for line in actual.text.splitlines() if "# not mapped: " in line]
    assert "data.l" in note
    assert "score" not in note


@pytest.mark.parametrize(
    ("kind", "value", "question"),
    [
        ("pairwise", {"selected": "left"}, "Which columns of data hold the two sides?"),
        ("ranker", {"ranker": {"rank": ["x", "y"]}}, "map item: ranked_item"),
    ],
)
def test_label_studio_pairs_and_rankings_ask(
    tmp_path: Path, kind: str, value: dict[str, Any], question: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        guess_campaign([write(tmp_path / "project.json", studio((kind, value)))], tmp_path)
    assert question in str(caught.value.problems[0])


def test_an_id_that_repeats_with_its_answer_is_the_id_of_the_answer(
    tmp_path: Path, guess: Guesses
) -> None:
    rows = [{"id": n, "item": i, "judge": j, "label": a} for n, (i, j, a) in enumerate(TRIPLES)]
    actual = guess(write(tmp_path / "a.csv", [rows[0], *rows, rows[0]]))
    assert actual.fields()["native_id"] == "id"
    assert actual.facts["fates"]["duplicate"] == 2


def test_mean_opinion_scores_are_scores(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"clip": f"c{c}", "listener": f"l{n}", "mos": 1 + (c + n) % 5}
            for c in range(10) for n in range(4)]  # fmt: skip
    actual = guess(write(tmp_path / "mos.csv", rows))
    assert (actual.fields()["judge"], actual.fields()["score"]) == ("listener", "mos")
    assert actual.task_kinds == {"*": "scalar"}


def test_judges_and_answers_side_by_side(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"tweet_id": i}
            | {f"annotator_{n}": j for n, j in enumerate(judged, start=1)}
            | {f"label_{n}": a for n, a in enumerate(judged.values(), start=1)}
            for i, judged in ANSWERS.items() if len(judged) == 3]  # fmt: skip
    actual = guess(write(tmp_path / "v.csv", rows))
    assert (actual.fields()["judge"], actual.fields()["label"]) == ("annotator_{i}", "label_{i}")
    assert majority(actual) == {"mars": "rock", "venus": "gas"}
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}


def test_a_turn_is_part_of_the_segment(tmp_path: Path, guess: Guesses) -> None:
    rows = [{"judge": f"j{j}", "question_id": q, "model_a": "x", "model_b": "y", "turn": t,
             "winner": "model_a" if t == 1 else "model_b"}
            for j in range(3) for q in range(4) for t in (1, 2)]  # fmt: skip
    actual = guess(write(tmp_path / "v.csv", rows))
    assert actual.fields()["segment"]["join"] == ({"column": "question_id"}, {"column": "turn"})
    assert len(actual.used("segment")) == 8


def test_gold_that_is_mostly_blank_is_of_test_questions(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        judge=lambda r: r.judge,
        item=lambda r: r.item,
        label=lambda r: r.label,
        gold=lambda r: "rock" if r.item == "ceres" else "",
    )
    actual = guess(write(tmp_path / "v.csv", rows))
    assert actual.fields()["truth"] == "gold"
    assert actual.facts["fates"]["control"] == 2
    assert majority(actual) == {"mars": "rock", "venus": "gas"}


def test_lists_in_a_cell_are_tasks_for_each_option(tmp_path: Path, guess: Guesses) -> None:
    both = {"rock": ["hot", "red"], "gas": ["hot"]}
    rows = judged_rows(
        worker_id=lambda r: r.judge, doc=lambda r: r.item, tags=lambda r: both[r.label]
    )
    actual = guess(write(tmp_path / "v.jsonl", rows))
    red = {("tags:red", i): "yes" if a == "rock" else "no" for i, a in MAJORITY.items()}
    assert majority(actual) == red | {("tags:hot", i): "yes" for i in ANSWERS}


def test_qualtrics_times_and_browsers_are_no_questions(tmp_path: Path, guess: Guesses) -> None:
    own = ("Q2_First Click", "Q2_Page Submit", "Q2_Click Count", "meta_Browser", "meta_Resolution")
    rows = [
        {"ResponseId": j, "Status": "IP Address", "Q1_1": ANSWERS["mars"][j],
         "Q1_2": ANSWERS["venus"][j], **dict.fromkeys(own, "2")}
        for j in ("ada", "bea", "cy")
    ]  # fmt: skip
    actual = guess(write(tmp_path / "q.csv", rows))
    assert actual.settings.sources[0].each["question"] == ("Q1_1", "Q1_2")


def test_spans_of_one_doccano_user_are_refused_before_it_is_asked_who(tmp_path: Path) -> None:
    rows = [{"id": n, "text": f"text {n}", "label": [[0, 4, "Org"]]} for n in range(6)]
    path = tmp_path / "admin.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(ConfigError, match="doccano spans: label holds start, end and name"):
        guess_campaign([path], tmp_path)
