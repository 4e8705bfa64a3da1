"""Studies by name: refusals, settings, documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from studies.registry import STUDIES, run_study
from tests.studies.study_runs import silent


def refusal(name: str, folder: Path, **given: Any) -> str:
    arguments: dict[str, Any] = {"settings": {}, "campaign": None, "oracle": None} | given
    with pytest.raises(ConfigError) as caught:
        run_study(name, **arguments, folder=folder, progress=silent)
    return str(caught.value)


def test_studies_that_cannot_be(tmp_path: Path) -> None:
    assert "did you mean lexical?" in refusal("lexicl", tmp_path)
    assert "name their campaign" in refusal("replay", tmp_path)
    assert "surprisal: takes no oracle" in refusal("surprisal", tmp_path, oracle=Path("x"))
    (tmp_path / "file").write_text("")
    assert "file: is a file" in refusal("lexical", tmp_path / "file")


def test_a_campaign_must_be_asked_for_and_must_not_read_the_study(tmp_path: Path) -> None:
    source = {
        "path": "*/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "score": "score"},
    }  # fmt: skip
    (tmp_path / "campaign.yaml").write_text(json.dumps({"campaign": "c", "sources": [source]}))
    campaign = load_campaign(tmp_path)
    assert "takes no campaign" in refusal("lexical", tmp_path / "out", campaign=campaign)
    said = refusal("replay", tmp_path / "out", campaign=campaign)
    assert said.startswith("the next build would read it as an export")
    assert not (tmp_path / "out").exists()


def test_every_study_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "research" / "studies.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted({*rows} & {*STUDIES}) == sorted(STUDIES)
