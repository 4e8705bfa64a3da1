"""Writes the campaign: ``python -m examples.model_judges [FOLDER]`` (build/graded unless named)."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.model_judges.write import write_campaign

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "graded"
    print(f"wrote {write_campaign(folder)}")
