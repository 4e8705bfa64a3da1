"""What README.md shows is what the commands and functions give."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pandas as pd
import pytest

import annot_pipeline as annot
from annot_pipeline.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXPORT = ROOT / "examples" / "anaesthetists" / "exports" / "ratings.csv"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme") / "fitness"
    assert main(["init", str(EXPORT), "-o", str(folder)]) == 0
    assert main(["build", str(folder)]) == 0
    return folder


def test_the_rows_of_gold_are_those_of_the_first_commands(campaign):
    (block,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    labels = annot.open(campaign / "gold").table("labels").to_pandas()
    columns = block.splitlines()[0].split()
    shown = labels[columns].head(5).round(4).to_string(index=False)
    assert [line.split() for line in block.splitlines()] == [
        line.split() for line in shown.splitlines()
    ]
    assert f"({len(columns)} of its {len(labels.columns)} columns)" in README


def test_the_python_of_the_readme_runs(campaign, monkeypatch):
    code = next(
        block
        for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if "annot." in block
    )
    gold = annot.open(campaign / "gold")
    rows = gold.table("labels").to_pandas()[["item", "label"]]
    scores = pd.DataFrame(
        [(j, s, y, 50 + 10 * (y == "A") + j + s) for j in range(3) for s in range(3) for y in "AB"],
        columns=["judge", "segment", "system", "score"],
    )
    monkeypatch.chdir(EXPORT.parent)
    code = code.replace('"my-campaign/gold"', repr(str(campaign / "gold")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(code, "README.md", "exec"), {"predictions": rows, "scores": scores})


def test_linked_pages_and_pictures_exist():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 180
