"""Gates in the report: both levels, and what could not be checked apart from what is wrong."""

from __future__ import annotations

from annot_pipeline.report.sections.gates import _allowed, _failed_gate

CHECK = {
    "name": "label_flips", "level": "error", "value": 0.25, "warn": 0.05, "error": None,
    "question": "share of items", "detail": "small 10 of 40", "do": "look", "unchecked": "",
}  # fmt: skip


def test_both_levels_are_told():
    assert _allowed(CHECK) == "warns above 5.00%, never errors"
    assert _allowed(CHECK | {"warn": None, "error": 0.2}) == "never warns, errors above 20.00%"


def test_what_could_not_be_checked_is_told_apart():
    assert "Could not be checked" not in _failed_gate(CHECK)
    told = _failed_gate(CHECK | {"unchecked": "no <way>"})
    assert "<strong>Could not be checked:</strong> no &lt;way&gt;." in told
    old = {name: value for name, value in CHECK.items() if name != "unchecked"}
    assert _failed_gate(old) == _failed_gate(CHECK)
