"""What the tests of judges of labels do to public labels with truths, and on simulated judges.

For each set: the judges whose answers do not count with quality.labels: drop, how often they and
the rest are right, and how many labels are right before and after, by the label model of a release
and by majority (ties count in parts). The truths serve to count, not to test or to infer.

    ANNOT_REAL_DATA=FOLDER python -m benchmarks.careless_judges
    python -m benchmarks.careless_judges --simulated 300
    python -m benchmarks.careless_judges --preferences 300

FOLDER: as tests/real_data/README.md describes it; sets that it lacks are left out.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

import annot_pipeline as annot
from annot_pipeline.config import Quality
from annot_pipeline.contracts import VERDICTS
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.label_judges import label_judges

Answers = list[tuple[str, str, str]]
"""Item, judge, label."""
Truths = dict[str, str]

PAIRS = {
    "ZenCrowd": ("zencrowd-us", "label.csv"), "Barzan": ("barzan", "label.csv"),
    "dogs": ("dog-4class", "answer.csv"), "faces": ("face-sentiment", "answer.csv"),
}  # fmt: skip
SNOW = {"RTE": "rte", "TEMP": "temp", "WSD": "wsd"}
JUDGES, RANDOM = 10, 2
"""Of a simulated task, and those among them who do not look at the item."""
ACCURACIES = np.linspace(0.6, 0.9, JUDGES - RANDOM)
"""Of the others."""
GOOD = 0.7
RARE = 0.1
"""Share of items of a rare class."""
KINDS = ("random", "weak", "good")
"""Of simulated judges: the accuracy of weak ones is below `GOOD`."""
PREFERRING = {"careful": 16, "random": 3, "reversed": 1, "left": 1}
"""Simulated judges of preferences by kind; whoever takes the left does so whatever is there."""
TIE = 0.3
"""Difference in quality, in its standard deviations, up to which a judge says that two tie."""
SEED = 17


# --- public sets -------------------------------------------------------------------------


def public_sets(data: Path) -> Iterator[tuple[str, Answers, Truths]]:
    """Yield the name, answers and truths of each set that the folder holds."""
    for name, (folder, file) in PAIRS.items():
        if (data / folder).is_dir():
            with (
                (data / folder / file).open() as answers,
                (data / folder / "truth.csv").open() as t,
            ):
                rows = [(row[0], row[1], row[2]) for row in list(csv.reader(answers))[1:]]
                yield name, rows, {row[0]: row[1] for row in list(csv.reader(t))[1:]}
    for name, stem in SNOW.items():
        path = data / "snow2008" / "all_collected_data" / f"{stem}.standardized.tsv"
        if path.is_file():
            with path.open() as file_:
                table = list(csv.reader(file_, delimiter="\t"))[1:]
            yield name, [(r[2], r[1], r[3]) for r in table], {r[2]: r[4] for r in table}
    yield from _llmbar_sets(data / "llmbar" / "judgments.csv.gz")


def _llmbar_sets(path: Path) -> Iterator[tuple[str, Answers, Truths]]:
    """Yield runs of model judges as written: which of two answers follows the instruction."""
    if not path.is_file():
        return
    sets: dict[str, tuple[Answers, Truths]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name, _, judge = row["run"].partition("/evaluators/")
            answers, truths = sets.setdefault(name.rpartition("/")[2], ([], {}))
            truths[row["item"]] = row["truth"]
            if row["order"] == "as_written" and row["winner"]:
                answers.append((row["item"], judge, row["winner"]))
    for name, (answers, truths) in sets.items():
        yield f"LLMBar {name}", answers, truths


def share_right(labels: Truths, truths: Truths) -> float:
    """Return the share of items with a truth whose label is right; no label is wrong."""
    return float(np.mean([labels.get(item) == truth for item, truth in truths.items()]))


def majority_right(answers: Answers, truths: Truths) -> float:
    """Return the same of the most frequent answer; of a tie the right one counts in part."""
    votes: dict[str, dict[str, int]] = {}
    for item, _, label in answers:
        votes.setdefault(item, {})[label] = votes.get(item, {}).get(label, 0) + 1
    total = 0.0
    for item, truth in truths.items():
        counts = votes.get(item, {})
        top = [label for label, n in counts.items() if n == max(counts.values())]
        total += (truth in top) / max(len(top), 1)
    return total / len(truths)


def set_row(name: str, answers: Answers, truths: Truths) -> list[str]:
    """Return the cells of a set; judges of LLMBar are declared as models."""
    models = [{"name": "*", "kind": "model"}] if name.startswith("LLMBar") else []

    def settings(labels: str) -> dict[str, object]:
        return {"quality": {"labels": labels, "suspected": "drop"}, "judges": models}

    frame = pa.table(dict(zip(("item", "judge", "label"), zip(*answers, strict=True), strict=True)))
    tested = annot.judges(frame, settings=settings("drop"))
    rows = tested.judges.to_pylist()
    removed = {row["judge"]: row["test"] for row in rows if row["dropped"] and not row["suspected"]}
    n_suspected = sum(row["suspected"] for row in rows)
    tests = [*removed.values()]
    by_test = ", ".join(f"{tests.count(test)} {test}" for test in sorted({*tests}))
    rest = [answer for answer in answers if answer[1] not in removed]
    right = {
        has_failed: [label == truths[item] for item, judge, label in answers
                     if (judge in removed) == has_failed and item in truths]
        for has_failed in (True, False)
    }  # fmt: skip
    by_model = [
        share_right(
            {
                row["item"]: row["label"]
                for row in annot.infer_labels(frame, settings=settings(labels)).labels.to_pylist()
            },
            truths,
        )
        for labels in ("measure", "drop")
    ]
    by_majority = [majority_right(some, truths) for some in (answers, rest)]
    return [
        name, f"{len(rows):,}", f"{len(removed):,}" + f" ({by_test})" * bool(removed),
        f"{1 - len(rest) / len(answers):.1%}", str(n_suspected),
        f"{np.mean(right[True]):.3f}" if removed else "", f"{np.mean(right[False]):.3f}",
        *(f"{before:.3f}, {after:.3f} ({after - before:+.3f})"
          for before, after in (by_model, by_majority)),
    ]  # fmt: skip


SET_HEAD = (
    "set", "judges", "removed", "of the judgments", "suspected", "right, removed", "right, rest",
    "labels before, after", "majority before, after",
)  # fmt: skip


# --- simulated judges --------------------------------------------------------------------


def simulated(
    rng: np.random.Generator,
    n_labels_of_judge: int,
    per_item: int,
    n_classes: int,
    share: float | None = None,
) -> Answers:
    """Return answers of honest judges of some accuracy, and of judges who answer at random.

    ``share``: of the second of two classes; None: classes are equally frequent.
    """
    n_items = n_labels_of_judge * JUDGES // per_item
    truth = rng.integers(0, n_classes, n_items)
    if share is not None:
        truth = (rng.random(n_items) < share).astype(np.int64)
    answers = []
    for item in range(n_items):
        for judge in rng.permutation(JUDGES)[:per_item].tolist():
            label = rng.integers(0, n_classes)
            if judge >= RANDOM:
                is_right = rng.random() < ACCURACIES[judge - RANDOM]
                wrong = (truth[item] + rng.integers(1, n_classes)) % n_classes
                label = truth[item] if is_right else wrong
            kind = _kind(judge)
            answers.append((f"i{item}", f"{kind}{judge}", str(label)))
    return answers


def _kind(judge: int) -> str:
    if judge < RANDOM:
        return "random"
    return "good" if ACCURACIES[judge - RANDOM] >= GOOD else "weak"


def simulated_preferences(
    rng: np.random.Generator, n_of_judge: int, per_pair: int, taste: float
) -> Answers:
    """Return preferences of judges who see quality through noise of half to twice its spread.

    ``taste``: standard deviation of the weight that a careful judge gives to what the others do not
    care for, where quality has weight 1.
    """
    kinds = [kind for kind, n in PREFERRING.items() for _ in range(n)]
    n_pairs = len(kinds) * n_of_judge // per_pair
    quality, other = rng.normal(0, 1, (2, n_pairs))
    slots = np.repeat(np.arange(n_pairs), per_pair)
    rng.shuffle(slots)
    answers = []
    for judge, kind in enumerate(kinds):
        pairs = np.unique(slots[judge * n_of_judge : (judge + 1) * n_of_judge])
        weight, noise = rng.normal(0, taste), 2 ** rng.uniform(-1, 1)
        seen = quality[pairs] + weight * other[pairs] + rng.normal(0, noise, pairs.size)
        if kind in ("random", "left"):  # which output is on the left is drawn
            seen = rng.normal(0, 1, pairs.size) * (1 if kind == "random" else np.inf)
        if kind == "reversed":
            seen = -seen
        labels = np.where(np.abs(seen) < TIE, "tie", np.where(seen > 0, "a", "b"))
        answers += [(f"p{p}", f"{kind}{judge}", str(x)) for p, x in zip(pairs, labels, strict=True)]
    return answers


def shares_failed(
    answers: Answers, kinds: Sequence[str] = KINDS, *, are_preferences: bool = False
) -> dict[str, float]:
    """Return the share of judges who fail, of each kind."""
    items, judges, labels = zip(*answers, strict=True)
    table = pa.table({
        "task": ["t"] * len(answers), "judge_id": [*judges], "item": [*items], "label": [*labels],
        "adjudicated": [False] * len(answers),
    })  # fmt: skip
    units = Units.of_controls(table, Quality())
    labelled = label_judges(table, {}, set(), units, Quality(), are_preferences=are_preferences)
    verdict = labelled.verdict.tolist()
    fails: dict[str, list[bool]] = {kind: [] for kind in kinds}
    for judge, code in zip(units.judge.names, verdict, strict=True):
        fails[judge.rstrip("0123456789")].append(VERDICTS[code] == "failed")
    return {kind: float(np.mean(values)) for kind, values in fails.items()}


def power_rows(replications: int) -> Iterator[list[str]]:
    """Yield the cells of each design."""
    classes = ((2, None), (4, None), (2, RARE))
    for (n_classes, rare), per_item, n_labels in product(classes, (3, 5, 10), (16, 40, 80)):
        rng = np.random.default_rng(SEED)
        shares = [
            shares_failed(simulated(rng, n_labels, per_item, n_classes, rare))
            for _ in range(replications)
        ]
        failed = (np.mean([share[kind] for share in shares]) for kind in KINDS)
        name = str(n_classes) if rare is None else f"{n_classes}, one with {rare:.0%}"
        yield [name, str(per_item), str(n_labels), *(f"{s:.3f}" for s in failed)]


def preference_rows(replications: int) -> Iterator[list[str]]:
    """Yield the cells of each design."""
    for (n_of_judge, per_pair), taste in product(
        ((40, 3), (80, 3), (80, 5), (200, 5)), (0, 0.7, 1.5)
    ):
        rng = np.random.default_rng(SEED)
        drawn = (
            simulated_preferences(rng, n_of_judge, per_pair, taste) for _ in range(replications)
        )
        shares = [shares_failed(one, [*PREFERRING], are_preferences=True) for one in drawn]
        failed = (np.mean([share[kind] for share in shares]) for kind in PREFERRING)
        yield [str(per_pair), str(n_of_judge), f"{taste:g}", *(f"{share:.3f}" for share in failed)]


PREFERENCE_HEAD = ("judges a pair", "preferences a judge", "taste", *PREFERRING)
POWER_HEAD = (
    "classes", "judges an item", "labels a judge", "random judges failed",
    "of accuracy .60 to .69", ".73 to .90",
)  # fmt: skip


def _print_rows(head: Sequence[str], rows: Iterator[list[str]]) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print the table of public sets, or one of simulated judges."""
    parser = argparse.ArgumentParser(description="What tests of judges of labels do to labels.")
    parser.add_argument("--simulated", type=int, metavar="N", help="replications a design")
    parser.add_argument("--preferences", type=int, metavar="N", help="the same, of preferences")
    options = parser.parse_args()
    if options.simulated:
        _print_rows(POWER_HEAD, power_rows(options.simulated))
    elif options.preferences:
        _print_rows(PREFERENCE_HEAD, preference_rows(options.preferences))
    elif "ANNOT_REAL_DATA" in os.environ:
        warnings.simplefilter("ignore", UserWarning)  # of rows that do not count: the table does
        sets = public_sets(Path(os.environ["ANNOT_REAL_DATA"]))
        _print_rows(SET_HEAD, (set_row(*each) for each in sets))
    else:
        sys.exit("ANNOT_REAL_DATA is not set: see tests/real_data/README.md")


if __name__ == "__main__":
    main()
