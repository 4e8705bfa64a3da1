"""Gates in the report: both levels, and what could not be checked apart from what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from annot_pipeline.report.report import section_html
from annot_pipeline.report.sections.gates import gates

CHECK = {
    "name": "label_flips", "level": "error", "value": 0.25, "warn": 0.05, "error": None,
    "question": "share of items", "detail": "small 10 of 40", "do": "look", "unchecked": "",
}  # fmt: skip


def failed_gate(check: dict[str, Any]) -> str:
    contents: Any = SimpleNamespace(manifest={"checks": [check]})
    return section_html("gates", gates(contents))


def test_both_levels_are_told():
    assert "; warns above 5.00%, never errors." in failed_gate(CHECK)
    section = failed_gate(CHECK | {"warn": None, "error": 0.2})
    assert "; never warns, errors above 20.00%." in section


def test_what_could_not_be_checked_is_told_apart():
    assert "Could not be checked" not in failed_gate(CHECK)
    section = failed_gate(CHECK | {"unchecked": "no <way>"})
    assert "<strong>Could not be checked:</strong> no &lt;way&gt;." in section
