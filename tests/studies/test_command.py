"""`python -m studies`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studies.__main__ import main
from studies.registry import NAMES


def test_without_a_name_it_lists_studies_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"python -m studies {name}" in text for name in NAMES)
    assert "--set repeats=" in text
    assert main(["--json"]) == 0
    assert [study["name"] for study in json.loads(capsys.readouterr().out)["studies"]] == [*NAMES]


def test_a_study_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surprisal", "-o", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {Path(file).parent for file in document["files"]} == {tmp_path}
    assert all(Path(file).is_file() for file in document["files"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lexicl"], "did you mean lexical?"),
        (["lexical", "--set", "repeat=3"], "did you mean repeats?"),
        (["replay"], "name their campaign"),
    ],
)
def test_what_cannot_be_done_is_explained(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
