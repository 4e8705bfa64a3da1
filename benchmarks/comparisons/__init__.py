"""One module a comparison; `COMPARISONS` in the order of the report."""

from benchmarks.comparison import Comparison
from benchmarks.comparisons import (
    bradley_terry,
    build,
    commands,
    dawid_skene,
    dawid_skene_tasks,
    direct_assessment,
    judge_control,
    krippendorff,
    next_hits,
    reading,
    scaling_build,
    scaling_dawid_skene,
    second_build,
    trueskill,
)

COMPARISONS: dict[str, Comparison] = {
    module.__name__.rpartition(".")[2]: module.COMPARISON
    for module in (
        dawid_skene,
        dawid_skene_tasks,
        bradley_terry,
        trueskill,
        krippendorff,
        judge_control,
        direct_assessment,
        next_hits,
        reading,
        build,
        second_build,
        commands,
        scaling_dawid_skene,
        scaling_build,
    )
}
