"""docs/notebook.ipynb is executed by Jupyter, and shows tables and figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def outputs(cell: Any) -> list[Any]:
    return [output.get("data", {}) for output in cell["outputs"]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own parts
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_it_runs_and_shows_tables_and_figures(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = {cell["source"]: cell for cell in notebook.cells if cell["cell_type"] == "code"}
    plots = [cell for source, cell in cells.items() if ".plot()" in source]
    assert len(plots) == 3
    assert all(any("<svg" in data.get("text/html", "") for data in outputs(cell)) for cell in plots)
    [labels] = [cell for source, cell in cells.items() if source.endswith("\nresult")]
    [page] = [data["text/html"] for data in outputs(labels) if "text/html" in data]
    assert "Result: 1,748 judgments" in page
    assert "t000" in page
    [ranking] = [cell for source, cell in cells.items() if "ranking.ranking" in source]
    assert "system 3" in outputs(ranking)[0]["text/html"]


def test_it_holds_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
