"""Guessed campaigns: real exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.init.conftest import Guess
from tests.init.guessed import LABEL_STUDIO_FIELDS

MASC, SNOW = "masc-wordsense/munged", "snow2008/all_collected_data"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("folder", "records", "rejected", "fields"),
    [
        (SNOW, 21_690, 0, {"task", "judge", "item", "score", "truth"}),
        ("dawid-skene-1979", 315, 0, {"judge", "item", "label"}),
        ("dog-4class", 8_070, 0, {"judge", "item", "label"}),
        ("face-sentiment", 5_242, 0, {"judge", "item", "label"}),
        ("labelstudio-leoka", 32_931, 0, {*LABEL_STUDIO_FIELDS, "text"}),
        ("llmfao", 15_403, 0, {"judge", "segment", "system_a", "system_b", "preference"}),
        pytest.param(
            "wmt15-ranking/data", 179_098, 764,
            {"task", "judge", "hit", "ranking", "segment", "position", "system", "rank", "seconds"},
            marks=pytest.mark.slow,
        ),
        (
            "e2e-nlg", 36_090, 0,
            {"task", "judge", "system", "segment", "score", "position", "native_id"}
            | {"submitted_at", "ranking"},
        ),
        pytest.param(
            "wmt22-appraise/scores", 6_528, 0,
            {"task", "judge", "system", "segment", "score", "control", "submitted_at", "seconds"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "wmt22-appraise/calibration-HITs", 10_751, 0,
            {"task", "judge", "system", "segment", "document", "score", "control", "submitted_at",
             "seconds"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "wmt22-da-toen/derived", 187_734, 0,
            {"task", "judge", "system", "segment", "score", "control", "hit"},
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_real_exports(
    shared_data: Path,
    guess: Callable[..., Guess],
    folder: str,
    records: int,
    rejected: int,
    fields: set[str],
) -> None:
    actual = guess(shared_data / folder, rejected=rejected)
    assert actual.facts["records"] == records
    assert set(actual.fields()) == fields


@pytest.mark.slow
def test_masc_judges_and_tasks_are_told_by_file(
    shared_data: Path, guess: Callable[..., Guess]
) -> None:
    actual = guess(shared_data / MASC)
    assert set(actual.fields()) == {"task", "judge", "item", "label"}
    assert actual.facts["fates"]["used"] == 1_084_551
    assert len(actual.settings.sources) == 1
    assert len(actual.used("task")) == 45
    assert len(actual.used("task", "item")) == 44_682
    assert ("add-v", "add-v:1") in actual.used("task", "judge")


def test_snow_scales(shared_data: Path, guess: Callable[..., Guess]) -> None:
    actual = guess(shared_data / SNOW)
    scales = {task.name: task.scale for task in actual.settings.tasks if task.kind == "scalar"}
    emotions = ("anger", "disgust", "fear", "joy", "sadness", "surprise")
    assert scales == dict.fromkeys(emotions, (0, 100)) | {
        "valence": (-100, 100),
        "wordsim": (0, 10),
    }
    labelled = {name for name, kind in actual.task_kinds.items() if kind == "categorical"}
    assert labelled == {"rte", "temp", "wsd"}


@pytest.mark.parametrize("folder", ["dog-4class", "face-sentiment"])
def test_truth_tables_of_real_exports(
    shared_data: Path, guess: Callable[..., Guess], folder: str
) -> None:
    [table] = guess(shared_data / folder).settings.items
    assert Path(table.path).name == "truth.csv"
    assert set(table.fields) == {"item", "truth"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("easl-political", "no column says who judged"),
        ("graham-mturk-da", "Batch_1234_batch_results.csv"),
        ("dialogue-eval-run1/mturk", "no item has two judges, if WorkerId judged HITId"),
    ],
)
def test_real_exports_that_need_a_hand(
    shared_data: Path, tmp_path: Path, folder: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        guess_campaign([shared_data / folder], tmp_path)
