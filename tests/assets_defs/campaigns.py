"""Small campaigns to run in Dagster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS = "".join(f"i{i},w{j},{'ab'[(i * j) % 2]}\n" for i in range(9) for j in range(4))


def write_campaign(
    folder: Path, name: str = "small", rows: str | None = ROWS, **settings: Any
) -> Path:
    """A campaign of one export, or with none yet."""
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    if rows is not None:
        write_export(folder, rows)
    document = {
        "campaign": name,
        "owners": ["team:annotation"],
        "schedule": {
            "cron": "30 3 * * *", "timezone": "Europe/Paris", "retries": {"delay_seconds": 0},
        },
        "sources": [
            {
                "path": "exports/*.csv", "format": "csv",
                "fields": {"item": "item", "judge": "judge", "label": "label"},
            }
        ],
    } | settings  # fmt: skip
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def write_export(folder: Path, rows: str = ROWS, name: str = "a.csv") -> Path:
    """An export that a campaign reads."""
    path = folder / "exports" / name
    path.write_text("item,judge,label\n" + rows)
    return path
