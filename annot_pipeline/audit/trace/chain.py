"""The stages that an answer went through: what made the tables it stands in, from what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]


def chain(runs: Sequence[Mapping[str, Any]], tables: Iterable[str]) -> list[Row]:
    """Return stages upstream of tables, in the order in which they ran.

    Parameters
    ----------
    runs
        As the manifest lists them: ``stage``, ``code_version``, ``run``, ``outputs`` and
        ``inputs`` (table to SHA-256). Where a manifest does not tell inputs, all stages are.
    tables
        Where the answer stands.
    """
    maker = {table: run for run in runs for table in run["outputs"]}
    if not all("inputs" in run for run in runs):
        stage_names = {run["stage"] for run in runs}
    else:
        stage_names, ahead = set(), [maker[table] for table in tables if table in maker]
        while ahead:
            run = ahead.pop()
            if run["stage"] not in stage_names:
                stage_names.add(run["stage"])
                ahead += [maker[table] for table in run["inputs"] if table in maker]
    return [
        {
            "stage": run["stage"],
            "code_version": run["code_version"],
            "run": run["run"],
            "data_versions": dict(run["outputs"]),
            "inputs": dict(run.get("inputs", {})),
        }
        for run in runs
        if run["stage"] in stage_names
    ]
