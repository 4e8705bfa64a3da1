"""Plays the week: ``python -m examples.week [FOLDER]`` (build/week unless named)."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.week.play import play

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "week"
    for scene in play(folder):
        print(f"\n# {scene.title}\n", flush=True)
        print(scene.said, end="", flush=True)
