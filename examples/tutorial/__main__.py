"""Write the exports of the tutorial: ``python -m examples.tutorial FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.tutorial.write import write_exports

if __name__ == "__main__":
    (folder,) = map(Path, sys.argv[1:])
    write_exports(folder)
    print(f"wrote {folder}/exports/answers.csv and {folder}/texts.csv")
