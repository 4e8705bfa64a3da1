"""The documentation says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts.records import FATES
from annot_pipeline.gates import check_gate_names

ROOT = Path(__file__).parents[1]
CAMPAIGN = (ROOT / "docs" / "campaign.md").read_text()


def yaml_blocks(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)


def test_the_documented_campaign_and_judges_can_be_written(tmp_path):
    (block,) = yaml_blocks(CAMPAIGN)
    (tmp_path / "campaign.yaml").write_text(block)
    settings = load_campaign(tmp_path).settings
    check_gate_names(settings.gates)
    judges = re.search(r"```text\n(judges:.*?)```", CAMPAIGN, re.DOTALL)[1]
    (tmp_path / "judges.csv").write_text("judge,kind\n")
    least = re.sub(r"^judges:.*?(?=^\w)", "", block, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "campaign.yaml").write_text(least + judges)
    assert len(load_campaign(tmp_path).settings.judges.declared) == 2


def test_every_fate_is_documented():
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\|$", CAMPAIGN.split("## Ids")[1], re.MULTILINE)
    assert sorted(rows) == sorted(FATES)


def test_the_campaign_of_the_readme_is_complete(tmp_path):
    (block,) = yaml_blocks((ROOT / "README.md").read_text())
    (tmp_path / "campaign.yaml").write_text(block)
    assert load_campaign(tmp_path).settings.campaign == "sentiment"


@pytest.mark.parametrize(
    "block", yaml_blocks((ROOT / "docs" / "methods.md").read_text()), ids=lambda b: b[:7]
)
def test_settings_shown_for_methods_are_valid(block, tmp_path):
    least = {
        "campaign": "c",
        "sources": [{"path": "x.csv", "format": "csv",
                     "fields": {"judge": "j", "item": "i", "label": "l"}}],
    }  # fmt: skip
    said = YAML(typ="safe", pure=True).load(block)
    (tmp_path / "campaign.yaml").write_text(json.dumps(least | said))
    assert load_campaign(tmp_path)


def test_what_operators_see_is_what_the_code_says():
    """Words of messages in docs/operations.md, as they stand in the source."""
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.split("| what you see |")[1].split("\n\n")[0]
    seen = [line.split("|")[1] for line in table.splitlines()[2:]]
    words = [word for cell in seen for word in re.findall(r"`([^`]+)`", cell)]
    packages = ("annot_pipeline", "assets_defs")
    files = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    code = "\n".join(path.read_text() for path in files)
    code = re.sub(r'"\s*f?"', "", code)
    assert len(words) > 10
    for word in words:
        if not word.startswith("annot "):
            fixed = [part for part in re.split(r"\.\.\.|v\d{4}|store|gold", word) if part.strip()]
            assert all(part in code for part in fixed), word
