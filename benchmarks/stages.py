"""A build's time and memory by stage: ``python -m benchmarks.stages campaign.yaml``.

The stages run one after the other in this process, as `annot build` runs them, but for Dagster.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import STAGES, Build

MB = 2**20


@dataclass(frozen=True)
class Spent:
    """What a stage took: seconds of the clock and of all cores, and the most memory meanwhile."""

    stage: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def measured(name: str, work: Callable[[], object]) -> Spent:
    """Do some work and say what it took."""
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(name, time.perf_counter() - wall, time.process_time() - cpu, peak())


def forget_peak() -> None:
    """Let the kernel count this process's peak memory anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Most resident memory since it was last forgotten, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def build_by_stage(path: Path) -> list[Spent]:
    """Build and publish a campaign; what each stage took."""
    build = Build(load_campaign(path))
    spent = [measured(stage.name, partial(build.run_stage, stage)) for stage in STAGES]
    return [*spent, measured("publish", lambda: publish(build))]


def main() -> None:
    """Print a line a stage; with ``--profile STAGE`` also where a stage's time goes."""
    if len(sys.argv) == 4:
        path, _, wanted = sys.argv[1:]
        build = Build(load_campaign(Path(path)))
        for stage in STAGES:
            if stage.name == wanted:
                profile = cProfile.Profile()
                profile.runcall(build.run_stage, stage)
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
            else:
                build.run_stage(stage)
        if wanted == "publish":
            profile = cProfile.Profile()
            profile.runcall(publish, build)
            pstats.Stats(profile).sort_stats("cumtime").print_stats(60)
        return
    spent = build_by_stage(Path(sys.argv[1]))
    total = sum(stage.seconds for stage in spent)
    print(f"{'stage':<24} {'s':>7} {'CPU s':>7} {'share':>6} {'peak MB':>8}")
    for of in spent:
        print(
            f"{of.stage:<24} {of.seconds:7.2f} {of.cpu_seconds:7.2f} "
            f"{of.seconds / total:6.1%} {of.peak_bytes / MB:8.0f}"
        )
    cpu = sum(stage.cpu_seconds for stage in spent)
    print(f"{'all':<24} {total:7.2f} {cpu:7.2f} {1:6.0%} "
          f"{max(stage.peak_bytes for stage in spent) / MB:8.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
