"""Builds the bundled campaigns and holds them against what is known of them.

Run by ``make build``, from the root of the repository: ``python -m examples.build_all``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from annot_pipeline import cli
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.keys import judge_key, pseudonym
from studies.simulators.label_exports import write_label_campaign
from studies.simulators.labels import simulate_labels
from studies.simulators.preference_exports import write_preference_campaign
from studies.simulators.preferences import (
    SimulatedPreferences,
    simulate_preferences,
)
from studies.simulators.score_exports import write_score_campaign
from studies.simulators.scores import SimulatedScores, simulate_scores

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CAMPAIGNS = ("anaesthetists", "simulated", "direct_assessment", "preferences")

PUBLISHED_PREVALENCE = {"1": 0.40, "2": 0.42, "3": 0.11, "4": 0.07}
"""Dawid & Skene 1979, share of the patients in each class of fitness."""

PUBLISHED_EFFORT = (11_292, 3_630)
"""Pighin, Formiga & Marquez 2012, Table 2: outputs, and how many of them were asked about."""


def main() -> int:
    """Build all campaigns; the exit status is that of the first build that fails."""
    print(f"writing simulated exports to {_shown(BUILD)}", flush=True)
    write_label_campaign(simulate_labels(), BUILD / "simulated")
    scores = simulate_scores()
    write_score_campaign(scores, BUILD / "direct_assessment", dirty=2)
    preferences = simulate_preferences()
    write_preference_campaign(preferences, BUILD / "preferences")
    before = {name: latest_release(BUILD / name / "gold") for name in CAMPAIGNS}
    for name in CAMPAIGNS:
        campaign = _shown(ROOT / "examples" / name)
        print(f"\nannot build {campaign}", flush=True)
        status = cli.main(["build", campaign])
        if status:
            print(f"the {name} campaign was not built; see above", file=sys.stderr)
            return status
    releases = {name: _published(name) for name in CAMPAIGNS}
    print()
    for name, release in releases.items():
        news = "nothing new, still" if release == before[name] else "published"
        print(f"{name}: {news} {_shown(release)}")
    print("\n".join(["", *prevalence_lines(releases["anaesthetists"])]))
    print("\n".join(["", *accuracy_lines(releases["simulated"])]))
    print("\n".join(["", *ranking_lines(releases["direct_assessment"], scores)]))
    print("\n".join(judge_lines(releases["direct_assessment"], scores)))
    print("\n".join(["", *preference_lines(releases["preferences"], preferences)]))
    print("\n".join(["", *adequacy_lines(releases["preferences"], preferences)]))
    print("\n".join(["", *_next_steps()]))
    return 0


def latest_release(gold: Path) -> Path | None:
    """Folder of the newest release, if there is one."""
    pointer = gold / "latest.json"
    if not pointer.is_file():
        return None
    version: str = json.loads(pointer.read_text(encoding="utf-8"))["version"]
    return gold / version


def prevalence_lines(release: Path) -> list[str]:
    """The estimated share of each class beside the published one."""
    rows = pq.read_table(
        release / "prevalence.parquet", columns=["label", "dawid_skene_prevalence"]
    )
    estimated = {row["label"]: row["dawid_skene_prevalence"] for row in rows.to_pylist()}
    lines = ["anaesthetists, prevalence      " + "".join(f"{c:>8}" for c in PUBLISHED_PREVALENCE)]
    for name, shares in (
        ("this build", estimated),
        ("Dawid & Skene 1979", PUBLISHED_PREVALENCE),
    ):
        digits = 4 if shares is estimated else 2
        figures = "".join(f"{shares[label]:>8.{digits}f}" for label in PUBLISHED_PREVALENCE)
        lines.append(f"  {name:<29}{figures}")
    return lines


def accuracy_lines(release: Path) -> list[str]:
    """How often the majority and the model are right, over the items whose truth is known."""
    truth = _column_by_item(release / "items.parquet", "truth")
    columns = ["item", "label", "dawid_skene_label", "majority_label", "certain"]
    labels = pq.read_table(release / "labels.parquet", columns=columns).to_pylist()
    known = [row for row in labels if truth.get(row["item"]) is not None]
    certain = [row for row in known if row["certain"]]
    lines = [f"simulated, accuracy against the truth, {len(known):,} items"]
    for name, rows, column in (
        ("majority vote", known, "majority_label"),
        ("Dawid-Skene", known, "dawid_skene_label"),
        ("published", known, "label"),
        (f"published, {len(certain):,} certain items", certain, "label"),
    ):
        right = sum(row[column] == truth[row["item"]] for row in rows)
        share = f"{right / len(rows):8.4f}" if rows else "     n/a"
        lines.append(f"  {name:<37}{share}")
    return lines


def ranking_lines(release: Path, simulated: SimulatedScores) -> list[str]:
    """How well each ranking agrees with the true order of the systems; clusters found."""
    ranked = pq.read_table(release / "system_rankings.parquet").to_pylist()
    pairs = simulated.params.language_pairs
    title = "direct_assessment, Spearman with the true order (clusters)"
    lines = [f"{title}{''.join(f'{pair:>12}' for pair in pairs)}"]
    for name, method, clusters in (
        ("adjusted for judges and segments", "adjusted", "cluster"),
        ("raw mean, all judges", "raw_mean", "wmt_cluster"),
        ("raw mean, judges kept", "filtered_mean", "wmt_cluster"),
        ("z, judges kept", "z_mean", "wmt_cluster"),
    ):
        cells = []
        for pair, quality in zip(pairs, simulated.quality, strict=True):
            rows = [r for r in ranked if (r["task"], r["method"]) == (pair, method)]
            rows.sort(key=lambda row: row["system"])  # as the true qualities are
            found = np.array([row["score"] for row in rows])
            rho = _spearman(found, quality)
            cells.append(f"{rho:8.3f} ({max(row[clusters] or 0 for row in rows)})")
        lines.append(f"  {name:<56}{''.join(f'{cell:>12}' for cell in cells)}")
    return lines


def judge_lines(release: Path, simulated: SimulatedScores) -> list[str]:
    """Careless judges who were caught, and careful ones who were dropped."""
    campaign = load_campaign(ROOT / "examples" / "direct_assessment")
    key = judge_key(campaign.settings, campaign.store)
    rows = pq.read_table(release / "judges.parquet", columns=["judge", "verdict"]).to_pylist()
    failed = {row["judge"] for row in rows if row["verdict"] == "failed"}
    names = [pseudonym(key, name) for name in simulated.judges]
    careless = {name for name, lazy in zip(names, simulated.careless, strict=True) if lazy}
    careful = set(names) - careless
    return [
        f"  careless judges caught   {len(failed & careless):>3} of {len(careless)}",
        f"  careful judges dropped   {len(failed & careful):>3} of {len(careful)}",
    ]


def preference_lines(release: Path, simulated: SimulatedPreferences) -> list[str]:
    """How well each method that there is agrees with the true order; clusters found."""
    quality = dict(zip(simulated.systems, simulated.quality.tolist(), strict=True))
    ranked = pq.read_table(release / "system_rankings.parquet").to_pylist()
    ranked = [row for row in ranked if row["task"] == "preference"]
    lines = ["preferences, Spearman with the true order (clusters)"]
    for method in sorted({row["method"] for row in ranked}):
        rows = [row for row in ranked if row["method"] == method]
        found = np.array([row["score"] for row in rows], np.float64)  # null: NaN
        rho = _spearman(found, np.array([quality[row["system"]] for row in rows]))
        n_clusters = max(row["cluster"] or 0 for row in rows)
        cell = "     n/a" if np.isnan(rho) else f"{rho:8.3f}"
        lines.append(f"  {method:<37}{cell}{f' ({n_clusters})' if n_clusters else ''}")
    return lines


def adequacy_lines(release: Path, simulated: SimulatedPreferences) -> list[str]:
    """How many outputs had to be asked about, and how many labels are right."""
    truth = {
        (segment, system): bool(simulated.adequate[i, j])
        for i, segment in enumerate(simulated.segments)
        for j, system in enumerate(simulated.systems)
    }
    columns = ["segment", "system", "adequate", "adequacy_source"]
    rows = pq.read_table(release / "segment_ranks.parquet", columns=columns).to_pylist()
    asked = [row for row in rows if row["adequacy_source"] == "asked"]
    inferred = [row for row in rows if row["adequacy_source"] in ("reference", "spread")]
    title = "preferences, good enough or not"
    lines = [f"{title:<37}{'outputs':>10}{'asked':>8}{'saved':>8}"]
    for name, n_outputs, n_asked in (
        ("this build", len(rows), len(asked)),
        ("Pighin et al. 2012, other data", *PUBLISHED_EFFORT),
    ):
        lines.append(f"  {name:<35}{n_outputs:>10,}{n_asked:>8,}{1 - n_asked / n_outputs:>8.1%}")
    for name, known in (("asked", asked), ("inferred", inferred)):
        right = sum(row["adequate"] == truth[row["segment"], row["system"]] for row in known)
        share = f"{right / len(known):8.4f}" if known else "     n/a"
        lines.append(f"  {f'right of {len(known):,} {name}':<37}{share}")
    return lines


def _spearman(found: npt.NDArray[np.float64], quality: npt.NDArray[np.float64]) -> float:
    """Rank correlation with mean ranks for ties; NaN if a score is missing or all are alike."""
    from scipy.stats import rankdata

    if np.isnan(found).any() or np.ptp(found) == 0:
        return np.nan
    return float(np.corrcoef(rankdata(found), rankdata(quality))[0, 1])


def _column_by_item(path: Path, column: str) -> dict[str, Any]:
    table = pq.read_table(path, columns=["item", column])
    return dict(zip(table["item"].to_pylist(), table[column].to_pylist(), strict=True))


def _published(name: str) -> Path:
    """The release that a build which went through has left."""
    release = latest_release(BUILD / name / "gold")
    if release is None:
        raise RuntimeError(f"annot build went through, but {name} has no release")
    return release


def _next_steps() -> list[str]:
    simulated = _shown(ROOT / "examples" / "simulated")
    reports = [
        latest_release(BUILD / name / "gold") or BUILD
        for name in ("simulated", "direct_assessment", "preferences")
    ]
    return [
        "next:",
        *(f"  open {_shown(report / 'report.html')}" for report in reports),
        f"  {_command('annot')} status {simulated}",
        f"  {_command('annot')} releases {simulated}",
        f"  {_command('annot')} validate {simulated}",
        f"  {_command('dagster')} dev -w {_shown(ROOT / 'workspace.yaml')}",
    ]


def _command(name: str) -> str:
    """A command as it can be typed here, whether or not the environment is activated."""
    installed = Path(sys.executable).with_name(name)  # not resolved: .venv's python is a link
    return _shown(installed) if installed.is_relative_to(ROOT) else name


def _shown(path: Path) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    sys.exit(main())
