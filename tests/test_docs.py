"""The documentation says what the code does."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import FATES
from annot_pipeline.gates import check_gate_names
from tests.audit.two_releases import SETTINGS, build_two

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


ALERTS = (ROOT / "docs" / "operations.md").read_text().split("| alert |")[1].split("\n\n")[0]
PLACES = {
    "ITEM": "i1", "RUN": "latest", "GATE": "unseen_judges", "TEXT": "it is wrong", "V1": "v0001",
    "V2": "v0002", "METRIC": "used", "NAME": "w2",
}  # fmt: skip


def test_every_alert_has_commands_to_look_and_to_end_it():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ALERTS.splitlines()[2:]]
    assert len(rows) > 15
    assert all(len(row) == 4 for row in rows)
    for alert, look, _, over in rows:
        assert re.search("`(annot|df|free) ", look), alert
        assert re.search("`annot (build|verify|releases|status|diff) C", over), alert


def _two_releases_and_a_candidate(folder: Path) -> None:
    build_two(folder)
    gates = {"unseen_judges": {"error": 0.0, "minimum": 1}}
    (folder / "campaign.yaml").write_text(json.dumps(SETTINGS | {"gates": gates}))
    (folder / "exports" / "c.csv").write_text("item,judge,label\ni1,w9,a\n")
    assert main(["build", str(folder)]) == 1
    (folder / "exports" / "c.csv").rename(folder / "c.csv")


def typed_commands() -> list[str]:
    """Return the commands of the runbook, each once."""
    spans = re.findall(r"`([^`]+)`", ALERTS)
    names = "annot|df|free|ls|dagster|dagster-daemon"
    return list(dict.fromkeys(span for span in spans if re.match(rf"(?:{names}) ", span)))


@pytest.mark.slow
@pytest.mark.parametrize("typed", typed_commands())
def test_a_command_of_the_runbook_works_as_written(typed, copy_campaign, tmp_path, capsys):
    """On a campaign with two releases and a candidate."""
    campaign = copy_campaign(_two_releases_and_a_candidate, tmp_path / "campaign")
    if "candidate" in typed or "publish" in typed:
        (campaign / "c.csv").rename(campaign / "exports" / "c.csv")
    places = PLACES | {"C": str(campaign), "FOLDER": str(tmp_path / "spilled"), "V": "v0001"}
    words = [places.get(word, word) for word in shlex.split(typed)]
    words = [word.replace("=FOLDER", f"={places['FOLDER']}") for word in words]
    if words[0] == "annot":
        (tmp_path / "spilled").mkdir()
        assert main(words[1:]) == 0, capsys.readouterr().err
    else:
        folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
        assert shutil.which(words[0], path=os.pathsep.join(folders))


def test_what_operators_see_is_what_the_code_says():
    """Words of messages in docs/operations.md, as they stand in the source."""
    seen = [line.split("|")[1] for line in ALERTS.splitlines()[2:]]
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


def test_pages_link_to_pages_of_the_site_alone():
    """A link out of docs/ fails the build of the site, which is strict."""
    links = [
        (page.name, link)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / link).resolve().is_relative_to((ROOT / "docs").resolve())
    ]
    assert not links


def test_outcomes_of_public_exports_are_those_of_the_list():
    """Counts of docs/research/public_exports.md, from the files beside it."""
    folder = ROOT / "docs" / "research"
    page = (folder / "public_exports.md").read_text("utf-8")
    with (folder / "public_exports.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    repositories = len({row["repository"].lower() for row in rows})
    assert f"{sum(int(row['files']) for row in rows)} files" in page
    assert f"{repositories} public repositories" in page
    outcomes: list[list[int]] = []
    for when in ("before", "after"):
        counts = Counter({"right": 0, "asked": 0, "refused": 0, "other": 0})
        for row in rows:
            outcome = "asked" if row[when] in ("1", "2", "3") else row[when]
            counts[outcome if outcome in counts else "other"] += int(row["files"])
        counts["asked"] += counts["right"]
        outcomes.append(list(counts.values()))
    shown = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+)[^|]* \|$", page, re.MULTILINE)
    assert [[int(n) for n in column] for column in zip(*shown, strict=True)] == outcomes
