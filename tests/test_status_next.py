"""`annot status` says what is left to do."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.cli.status import _status_text


def document(*levels: str, **more: Any) -> dict[str, Any]:
    checks = [
        {
            "level": level,
            "name": f"gate{n}",
            "question": "number of things",
            "detail": "",
            "do": "x",
        }
        for n, level in enumerate(levels)
    ]
    release = {"version": "v0001", "created_at": "2024", "path": "gold/v0001", "checks": checks}
    release |= {"damaged": [], "decisions": {"decided": 0, "overridden": 0}}
    return {
        "campaign": "c", "release": release, "unpointed": [], "arrived": {}, "unread": [],
        "settings_changed": False, "changed_settings": [], "not_compared": None, "last_build": None,
        "unended_build": None, "build_due": False, "failing": [], "rolled_back": None,
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (document("pass"), "nothing to do"),
        (document("pass", "warn"), "1 warning to resolve (see above)"),
        (document("warn", "pass", "warn"), "2 warnings to resolve (see above)"),
        (document("pass", unread=["b.txt"]), "1 warning to resolve (see above)"),
        (document("warn", build_due=True), "annot build CAMPAIGN"),
        (document() | {"release": None}, "nothing to do"),
    ],
)
def test_the_next_step_does_not_pass_over_warnings(found, step):
    assert _status_text("CAMPAIGN", found).splitlines()[-1] == f"next: {step}"
