"""Pages that promise or compare: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import annot_pipeline
from annot_pipeline.cli import COMMANDS
from annot_pipeline.contracts import SCHEMA_VERSION

ROOT = Path(__file__).parents[1]
VERSIONING = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
OTHER_TOOLS = (ROOT / "docs" / "other_tools.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def heading_anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
            for heading in headings}  # fmt: skip


def test_links_of_the_security_policy_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", SECURITY)
    assert {path for path, _ in links} == {"docs/threat_model.md", "docs/versioning.md"}
    for path, anchor in links:
        assert (ROOT / path).is_file(), path
        assert not anchor or anchor in heading_anchors(ROOT / path), anchor


def test_what_is_called_public_exists():
    assert callable(annot_pipeline.load_gold)
    assert "`annot_pipeline.load_gold`" in VERSIONING
    names = {command.name for command in COMMANDS}
    assert {*re.findall(r"`annot (\w+)[^`]*`", VERSIONING)} <= names


def test_schemas_of_all_versions_are_recorded():
    """What `docs/versioning.md` says of the test that compares schemas."""
    files = (ROOT / "tests" / "contracts").glob("schema_v*.json")
    recorded = sorted(int(path.stem.removeprefix("schema_v")) for path in files)
    assert recorded == list(range(1, SCHEMA_VERSION + 1))


def test_what_is_said_of_crowd_kit_is_so():
    aggregation = pytest.importorskip("crowdkit.aggregation")
    names = (
        "GLAD", "KOS", "MMSR", "Wawa", "ZeroBasedSkill", "MACE", "MajorityVote", "DawidSkene",
        "OneCoinDawidSkene", "BradleyTerry", "SegmentationEM", "TextRASA",
    )  # fmt: skip
    assert all(hasattr(aggregation, name) for name in names)
    assert callable(pytest.importorskip("crowdkit.metrics.data").alpha_krippendorff)
    assert "DawidSkene(n_iter=100).fit_predict(df)" in OTHER_TOOLS


def test_comparisons_are_dated_and_have_sources():
    assert re.search(r"^State of \w+ 20\d\d\.", OTHER_TOOLS, re.MULTILINE)
    tools = re.findall(
        r"^\| ([\w -]+?) \| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \|$", OTHER_TOOLS, re.MULTILINE
    )
    sources = OTHER_TOOLS.split("## Sources")[1].lower()
    assert len(tools) == 8
    for tool in tools[1:]:
        assert f"[{tool.lower()}" in sources, tool
