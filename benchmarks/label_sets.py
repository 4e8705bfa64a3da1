"""Labels of public sets with truths: majority, Dawid-Skene, EBCC, and what a release publishes.

For each set: the share of items whose label is right (ties count in parts), the mean log loss in
nats, the share of labels that are certain and how many of these are right. Votes are scaled by the
one temperature that suits the truths best, which no user knows: a bar, not a method. The truths
serve to count, not to infer, and all judges count, whatever their tests say.

    ANNOT_REAL_DATA=FOLDER python -m benchmarks.label_sets --write before.json
    ANNOT_REAL_DATA=FOLDER python -m benchmarks.label_sets --before before.json --more FOLDER

FOLDER: as tests/real_data/README.md describes it; sets that it lacks are left out. ``--more``: any
folder; each label.csv (item, judge, label) with a truth.csv (item, truth) beside it is a set.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import digamma

import annot_pipeline as annot
from annot_pipeline.arrays import Codes, Floats
from benchmarks.careless_judges import Answers, Truths, public_sets

CERTAIN = 0.95
GROUPS, OWN, OTHERS, SEEDS = 3, 4.0, 1.0, 3
"""Of EBCC: subtypes of a class, prior labels on and beside the diagonal, random starts."""
NO_LOSS = 1e-9
"""Probability of the true class at least."""
HEAD = (
    "set", "items", "judges", "majority", "Dawid-Skene", "EBCC", "published before", "published",
    "log loss: votes, scaled", "Dawid-Skene", "published", "certain", "right of these",
)  # fmt: skip


def more_sets(folder: Path) -> Iterator[tuple[str, Answers, Truths]]:
    """Yield the name, answers and truths of each set below a folder."""
    for path in sorted(folder.rglob("label.csv")):
        with path.open() as answers, (path.parent / "truth.csv").open() as truths:
            rows = [(row[0], row[1], row[2]) for row in list(csv.reader(answers))[1:]]
            if rows:
                name = path.parent.relative_to(folder).as_posix()
                yield name, rows, {row[0]: row[1] for row in list(csv.reader(truths))[1:]}


def mean_field(items: Codes, judges: Codes, labels: Codes, k: int, seed: int) -> Floats:
    """Return the classes of items by EBCC's mean field, ``(n_items, k)``, from a random start.

    Li, Rubinstein & Cohn 2019, section 4. A judge's repeats on an item count once.
    """
    n_items, n_judges = int(items.max()) + 1, int(judges.max()) + 1
    cells = np.unique((items * n_judges + judges) * k + labels)
    places = (cells // k // n_judges, cells % (n_judges * k))
    given = csr_array((np.ones(cells.size), places), shape=(n_items, n_judges * k))
    by_judge = given.T.tocsr()
    votes = given @ np.tile(np.eye(k), (n_judges, 1))
    classes = votes / votes.sum(axis=1, keepdims=True)
    random = np.random.default_rng(seed).dirichlet(np.ones(GROUPS), (n_items, k))
    rho = (classes[:, :, None] * random).reshape(n_items, -1)
    prior = np.repeat(np.full((k, k), OTHERS) + (OWN - OTHERS) * np.eye(k), GROUPS, axis=1)
    for _ in range(500):
        counts = (by_judge @ rho).reshape(n_judges, k, -1) + prior
        logs = digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))
        sizes = rho.sum(axis=0).reshape(k, GROUPS)
        of_group = digamma(sizes + 0.1 / GROUPS)
        of_group -= digamma(sizes.sum(axis=1, keepdims=True) + 0.1)
        log_prior = of_group + digamma(sizes.sum(axis=1, keepdims=True) + 1)
        logits = given @ logs.reshape(n_judges * k, -1) + log_prior.reshape(-1)
        rho = np.exp(logits - logits.max(axis=1, keepdims=True))
        rho /= rho.sum(axis=1, keepdims=True)
        before, classes = classes, rho.reshape(n_items, k, GROUPS).sum(axis=2)
        if np.abs(classes - before).max() < 1e-3:
            break
    return np.asarray(classes)


def accuracy(p: Floats, truth: Codes) -> float:
    """Return the share of items that are right; of tied classes the right one counts in part."""
    is_best = np.isclose(p, p.max(axis=1, keepdims=True), atol=1e-9)
    return float((is_best[np.arange(truth.size), truth] / is_best.sum(axis=1)).mean())


def log_loss(p: Floats, truth: Codes) -> float:
    """Return the mean log loss of items, in nats."""
    return float(-np.log(np.maximum(p[np.arange(truth.size), truth], NO_LOSS)).mean())


def scaled_votes_loss(votes: Floats, truth: Codes) -> float:
    """Return the log loss of smoothed votes, raised to the power that makes it least."""
    shares = votes + votes.sum(axis=0) / votes.sum()

    def loss(power: float) -> float:
        p = shares**power
        return log_loss(p / p.sum(axis=1, keepdims=True), truth)

    return float(minimize_scalar(loss, bounds=(0.05, 20), method="bounded").fun)


def measure(
    answers: Answers, truths: Truths, models: Sequence[dict[str, str]] = ()
) -> dict[str, float]:
    """Return the figures of a set; items whose truth nobody named are left out.

    ``models``: declarations of judges who are models.
    """
    columns = zip(*answers, strict=True)
    names, codes = zip(*(np.unique(c, return_inverse=True) for c in columns), strict=True)
    k = names[2].size
    place = {name: code for code, name in enumerate(names[2].tolist())}
    truth = np.array([place.get(truths.get(item, ""), -1) for item in names[0].tolist()])
    has_truth = truth >= 0
    frame = pa.table(dict(zip(("item", "judge", "label"), map(pa.array, zip(*answers, strict=True)),
                              strict=True)))  # fmt: skip
    settings = {"quality": {"labels": "measure"}, "judges": [*models]}
    inferred = annot.infer_labels(frame, labels=names[2].tolist(), settings=settings).gold
    assert inferred is not None
    table = inferred.table("label_distributions")
    rows = np.searchsorted(names[0], table["item"].to_numpy(zero_copy_only=False))
    cells = rows, np.array([place[label] for label in table["label"].to_pylist()])
    published, paper, votes = np.zeros((3, names[0].size, k))
    for values, name in ((published, "probability"), (paper, "dawid_skene_probability"),
                         (votes, "votes")):  # fmt: skip
        values[cells] = table[name].to_numpy()
    items, judges, labels = codes
    ebcc = np.mean([mean_field(items, judges, labels, k, seed) for seed in range(SEEDS)], axis=0)
    published, paper, votes, ebcc, truth = (
        array[has_truth] for array in (published, paper, votes, ebcc, truth)
    )
    is_certain = published.max(axis=1) >= CERTAIN
    is_right = published.argmax(axis=1) == truth
    return {
        "items": truth.size, "judges": names[1].size, "majority": accuracy(votes, truth),
        "dawid_skene": accuracy(paper, truth), "ebcc": accuracy(ebcc, truth),
        "published": accuracy(published, truth), "votes_loss": scaled_votes_loss(votes, truth),
        "dawid_skene_loss": log_loss(paper, truth), "published_loss": log_loss(published, truth),
        "certain": float(is_certain.mean()),
        "certain_right": float(is_right[is_certain].mean()) if is_certain.any() else float("nan"),
    }  # fmt: skip


def main() -> None:
    """Print the table, and the mean over sets."""
    parser = argparse.ArgumentParser(description="Labels of public sets with truths.")
    parser.add_argument("--more", type=Path, help="folder with further sets")
    parser.add_argument("--write", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--before", type=Path, help="figures of another version, to compare")
    options = parser.parse_args()
    if "ANNOT_REAL_DATA" not in os.environ:
        sys.exit("ANNOT_REAL_DATA is not set: see tests/real_data/README.md")
    warnings.simplefilter("ignore", UserWarning)  # of rows that do not count
    sets = [*public_sets(Path(os.environ["ANNOT_REAL_DATA"]))]
    sets += [*more_sets(options.more)] if options.more else []
    before = json.loads(options.before.read_text()) if options.before else {}
    figures: dict[str, dict[str, float]] = {}
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for name, answers, truths in sets:
        models = [{"name": "*", "kind": "model"}] if name.startswith("LLMBar") else []
        own = figures[name] = measure(answers, truths, models)
        old = before.get(name, {}).get("published", float("nan"))
        shares = (own["majority"], own["dawid_skene"], own["ebcc"], old, own["published"],
                  own["votes_loss"], own["dawid_skene_loss"], own["published_loss"],
                  own["certain"], own["certain_right"])  # fmt: skip
        cells = [name, f"{own['items']:,.0f}", f"{own['judges']:,.0f}"]
        print(f"| {' | '.join([*cells, *(f'{s:.3f}' for s in shares)])} |", flush=True)
    means = (np.nanmean([row[key] for row in figures.values()]) for key in next(iter(
        figures.values())))  # fmt: skip
    print("mean:", ", ".join(f"{key} {m:.3f}" for key, m in zip(own, means, strict=True)))
    if options.write:
        options.write.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
