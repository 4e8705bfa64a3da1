"""Candidates: complete tables of builds that published nothing, to be looked at and decided on.

A candidate lies in the store as a release lies in gold: ``candidates/RUN/VERSION``, the version
being the one that it would get. No reader of gold sees it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.gates.gate import GateResult
from annot_pipeline.storage.gold_folder import Fill, GoldFolder
from annot_pipeline.storage.release import Release

Typed = Callable[[Mapping[str, Any]], str | None] | None
CANDIDATES = "candidates"
CANDIDATE = "candidate"
"""What commands take in the place of a version: the newest candidate."""
MOST = 3
"""Candidates that are kept beside those that somebody wants to keep."""
MARKER = "keep"
"""File of a candidate that no publication removes."""
SHORT = 8
"""Characters of a run's id in messages."""


def failed_gates(manifest: Mapping[str, Any]) -> list[GateResult]:
    """Return the gates that failed, by the manifest of a candidate."""
    return [GateResult(**check) for check in manifest["checks"] if check["level"] == "error"]


def candidate_steps(manifest: Mapping[str, Any], typed: str, name: str = CANDIDATE) -> list[str]:
    """Return commands for a candidate: compare it, publish it in spite of gates that failed."""
    failures = failed_gates(manifest)
    steps = [f"annot diff {typed} latest {name}"] if manifest["parent"] else []
    if all(check.is_acceptable for check in failures):
        accept = "".join(f" --accept {check.name}" for check in failures)
        because = ' --because "..."' if failures else ""
        run = manifest["candidate"]["run"][:SHORT]
        steps.append(f"annot publish {typed} --candidate {run}{accept}{because}")
    return steps


class Candidates:
    """The candidates of a store.

    Parameters
    ----------
    store
        The store.
    typed
        The campaign as commands take it, for messages.
    """

    def __init__(self, store: Path, typed: str = "CAMPAIGN") -> None:
        self.folder, self.typed = store / CANDIDATES, typed

    def runs(self) -> list[str]:
        """Return the runs that candidates are of, oldest first."""
        folders = [path for path in self.folder.glob("*") if GoldFolder(path).versions()]
        return [f.name for f in sorted(folders, key=lambda f: (f.stat().st_mtime_ns, f.name))]

    def get(self, run: str = "latest") -> Release:
        """Return the candidate of a run, by the first characters of its id; or the newest.

        Raises
        ------
        StoreError
            There is none, or several runs begin so; or its manifest is damaged.
        """
        runs = self.runs()
        chosen = [name for name in runs if run and name.startswith(run)]
        chosen = runs[-1:] if run == "latest" else chosen
        if len(chosen) != 1:
            short = [name[:SHORT] for name in runs[::-1]]
            what = f"the store has those of {first_of(short)}" if runs else "the store has none"
            do = f"annot build {self.typed} --candidate makes one" if not runs else "name one run"
            title = "no candidate" if run == "latest" else f"no candidate of run {run}"
            raise StoreError(title, [Problem("", what, do=do)])
        gold = GoldFolder(self.folder / chosen[0])
        version = gold.versions()[-1]
        release = gold.release(version, gold.manifest(version, None), self.typed)
        return replace(release, version=CANDIDATE)

    def listed(self, newest: str | None = None, typed: Typed = None) -> Iterator[dict[str, Any]]:
        """Yield each candidate, oldest first, with commands.

        Only that of the ``newest`` release can be published; None: there is no release yet.
        ``typed`` gives the campaign with the settings of a manifest, where they are others now.
        """
        for run in self.runs():
            gold = GoldFolder(self.folder / run)
            row: dict[str, Any] = {"run": run[:SHORT], "kept": (gold.folder / MARKER).exists()}
            row |= {"bytes": gold.size(gold.versions()[-1]), "parent": None, "created_at": None}
            try:
                manifest = self.get(run).manifest
            except StoreError as error:
                yield row | {"do": f"{error.title}: delete its folder"}
                continue
            row["parent"] = manifest["parent"] and manifest["parent"]["version"]
            campaign = (typed and typed(manifest)) or self.typed
            steps = candidate_steps(manifest, campaign, run[:SHORT])
            steps = steps if row["parent"] == newest else steps[: row["parent"] is not None]
            yield row | {"do": "; ".join(steps), "created_at": manifest["created_at"]}

    def add(self, run: str, version: str, fill: Fill, *, keep: bool) -> Release:
        """Let ``fill`` make the candidate of a run; the oldest of many are removed."""
        self._remove(run)
        if keep:
            self.keep(run)
        GoldFolder(self.folder / run).add(version, fill)
        self.clear(MOST)
        return self.get(run)

    def keep(self, run: str) -> None:
        """Let a candidate stay after the next publication."""
        (self.folder / run).mkdir(parents=True, exist_ok=True)
        (self.folder / run / MARKER).touch()

    def clear(self, most: int = 0) -> None:
        """Remove all candidates but the kept ones, and those that another build writes just now.

        ``most``: the newest of the others stay, so many of them.
        """
        passing = [run for run in self.runs() if not (self.folder / run / MARKER).exists()]
        for run in passing[: -most or None]:
            self._remove(run)

    def clean(self) -> list[str]:
        """Remove what killed builds left, while no build runs; return the runs that stay."""
        runs = self.runs()
        for folder in {*self.folder.glob("*")} - {self.folder / run for run in runs}:
            self._remove(folder.name)
        return runs

    def _remove(self, run: str) -> None:
        shutil.rmtree(self.folder / run, ignore_errors=True)
