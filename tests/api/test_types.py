"""Type checkers see the API as users write against it: one script, by pyright and by mypy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from annot_pipeline.contracts import GOLD, TableName

BIN = Path(sys.executable).parent
SCRIPT = """
import pandas as pd

import annot_pipeline as annot
from assets_defs import build_definitions

frame = pd.read_csv("votes.csv")
result = annot.infer_labels(frame, item="question", judge="worker", label="answer")
labels = annot.open("gold").table("labels").to_pandas()
first: str = labels.columns[0]
soft: pd.DataFrame = annot.open("gold").soft_labels().to_pandas()
rows = annot.load_gold("gold", "labels", "v0001", store="store")
fit = annot.dawid_skene(frame, params=annot.DawidSkeneParams(smoothing=0.0))
alpha: float | None = annot.agreement(frame)["alpha_nominal"]
ranked = annot.rank(frame, document="doc", settings={"ranking": {"shown_order": "unknown"}})
definitions = build_definitions("campaign", campaign="trial", gold="gold2")

annot.load_gold("gold", "lables")  # error
annot.open("gold").table("label")  # error
annot.open("gold").table("labels", kind="pandas")  # error
annot.infer_labels(frame, jugde="worker")  # error
annot.rank(frame, documents="doc")  # error
not_a_frame: int = result  # error
annot.DawidSkeneParams(smooth=0)  # error
result.lables  # error
build_definitions(campaign="campaign")  # error
"""
EXPECTED = [n for n, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# error")]


def pyright_errors(folder: Path) -> list[int]:
    config = {"typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    output = run(folder, "basedpyright", "--pythonpath", sys.executable, "--outputjson")
    diagnostics = json.loads(output)["generalDiagnostics"]
    return [
        one["range"]["start"]["line"] + 1 for one in diagnostics if one["severity"] == "error"
    ]  # fmt: skip


def mypy_errors(folder: Path) -> list[int]:
    output = run(folder, "mypy", "--strict", "--python-executable", sys.executable)
    return [int(line) for line in re.findall(r"^script\.py:(\d+): error", output, re.MULTILINE)]


def run(folder: Path, tool: str, *options: str) -> str:
    command = [str(BIN / tool), *options, "script.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.sampled
@pytest.mark.parametrize("errors", [pyright_errors, mypy_errors])
def test_wrong_names_are_type_errors_and_right_ones_are_none(errors, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    assert sorted(set(errors(tmp_path))) == EXPECTED


def test_the_names_of_tables_are_those_of_gold():
    assert get_args(TableName) == tuple(GOLD)


def test_packages_say_that_they_have_types():
    for package in ("annot_pipeline", "assets_defs"):
        assert (Path(__file__).parents[2] / package / "py.typed").is_file()
