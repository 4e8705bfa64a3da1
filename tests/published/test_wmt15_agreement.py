"""WMT15: the agreement that the campaign published, to each printed digit and count.

``wmt15.scores.readme.txt`` prints pA, pE, kappa, and the counts behind them, for ten language
pairs, inter and intra, expanded and collapsed: forty lines. The XML is read here anew.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from annot_pipeline.methods.agreement.ternary_agreement import ternary_agreement

pytestmark = pytest.mark.slow

LANGUAGES = {"Czech": "ces", "English": "eng", "Finnish": "fin", "French": "fre",
             "German": "deu", "Russian": "rus"}  # fmt: skip
LINE = re.compile(r"(\w+)-(\w+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+)")
Ranking = tuple[str, str, list[tuple[list[str], int]]]  # segment, judge, outputs with rank


@pytest.fixture(scope="module")
def wmt15(shared_data) -> Path:
    return shared_data / "wmt15-ranking" / "data"


@pytest.fixture(scope="module")
def rankings(wmt15) -> dict[str, list[Ranking]]:
    with gzip.open(wmt15 / "wmt15.users-hashed.xml.gz") as file:
        root = ElementTree.parse(file).getroot()
    actual = defaultdict(list)
    for hit in root:
        pair = f"{hit.get('source-language')}-{hit.get('target-language')}"
        for task in hit:
            for result in task:
                outputs = [(o.get("system").split(","), int(o.get("rank"))) for o in result]
                ranked = [output for output in outputs if output[1] != -1]
                actual[pair].append((task.get("id"), result.get("user"), ranked))
    return actual


def published(wmt15: Path) -> Iterator[tuple[str, str, bool, list[str]]]:
    text = (wmt15 / "wmt15.scores.readme.txt").read_text("utf-8-sig")
    collapsed, pairs = False, ""
    for line in text.splitlines():
        if "mjpost" in line:  # the command of what follows; long lines are broken
            collapsed = "collapsed" in line
        mode = re.search(r"--(int\w+)", line)
        pairs = mode[1] if mode else pairs
        if row := LINE.search(line):
            yield (
                f"{LANGUAGES[row[1]]}-{LANGUAGES[row[2]]}",
                pairs,
                collapsed,
                list(row.groups())[2:],
            )


def decisions(rankings: list[Ranking], *, collapsed: bool, as_shown: bool) -> list[np.ndarray]:
    """Codes of items, judges, decisions and segments."""
    rows = []
    for segment, judge, outputs in rankings:
        named = [
            (name, rank)
            for systems, rank in outputs
            for name in ([",".join(systems)] if collapsed else systems)
        ]
        for (a, rank_a), (b, rank_b) in combinations(named, 2):
            if not as_shown and b < a:
                a, rank_a, b, rank_b = b, rank_b, a, rank_a
            rows.append(((segment, a, b), judge, int(np.sign(rank_b - rank_a)), segment))
    codes = []
    for column in zip(*rows, strict=True):
        names = {name: place for place, name in enumerate(sorted(set(column)))}
        codes.append(np.array([names[name] for name in column]))
    codes[2] = np.array([row[2] for row in rows])
    return codes


def test_every_number_of_the_readme(wmt15, rankings):
    """Items are of the order shown, and `inter` takes one judge's pairs in, as the program did."""
    lines = list(published(wmt15))
    assert len(lines) == 40
    for pair, pairs, collapsed, printed in lines:
        actual = ternary_agreement(
            *decisions(rankings[pair], collapsed=collapsed, as_shown=True),
            pairs="all" if pairs == "inter" else "intra", rounds=0, rng=1,
        )  # fmt: skip
        shown = [
            *(
                f"{v:.3f}"
                for v in (actual.percent_agreement.value, actual.chance, actual.kappa.value)
            ),
            *(str(n) for n in (actual.agree, actual.comparable, actual.ties, actual.total)),
        ]
        assert shown == printed, (pair, pairs, collapsed)


def test_pairs_of_two_judges_in_either_order(rankings):
    """As the pipeline counts, held against a plain loop, with an interval that holds the value."""
    codes = decisions(rankings["fin-eng"], collapsed=True, as_shown=False)
    actual = ternary_agreement(*codes, pairs="inter", rounds=200, rng=5)
    by_item = defaultdict(list)
    for item, judge, decision, _ in zip(*(c.tolist() for c in codes), strict=True):
        by_item[item].append((judge, decision))
    counted = [
        a[1] == b[1] for of in by_item.values() for a, b in combinations(of, 2) if a[0] != b[0]
    ]
    assert (actual.agree, actual.comparable) == (sum(counted), len(counted))
    assert actual.kappa.ci_low < actual.kappa.value < actual.kappa.ci_high
    assert actual.kappa.ci_high - actual.kappa.ci_low < 0.15
