"""What assignments were paid: rewards as exports write them become amounts.

What does not belong here: which judgments an assignment holds, and the sums (sql/audit/cost.sql).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa

from annot_pipeline.contracts import INT, REAL, TEXT

AMOUNT = re.compile(
    r"\s*+(?:(?P<before>[$€£¥₹]|[A-Z]{3}|[A-Z]{2}\$)\s*+)?"
    r"(?P<number>\d{1,9}(?:\.\d{1,6})?|\d{1,9},\d{1,2}|\.\d{1,6})"
    r"(?:\s*+(?P<after>[$€£¥₹]|[A-Z]{3}|[A-Z]{2}\$))?\s*+",
    re.ASCII,
)
"""Takes time in proportion to the text, whatever it holds: blanks are not split in two ways.

0.05, $0.05, 0.05 USD, €1,20. A comma before three digits could mean two things: no amount."""

REWARDS = pa.schema([("reward", TEXT), ("amount", pa.decimal128(15, 6)), ("currency", TEXT)])

COSTS = pa.schema(
    [
        ("task", TEXT),
        ("currency", TEXT),
        ("n_assignments", INT),
        ("n_paid_assignments", INT),
        ("paid", REAL),
        ("n_judgments", INT),
        ("n_used", INT),
        ("n_items", INT),
        ("n_gold", INT),
        ("cost_per_gold", REAL),
        ("cost_per_judgment", REAL),
        ("one_more_per_item", REAL),
        ("reason", TEXT),
    ]
)
"""One row is a task and currency; see sql/audit/cost.sql."""


def read_rewards(rewards: Iterable[str]) -> tuple[pa.Table, list[str]]:
    """Return the amounts of the different rewards, and those that are no amount of money.

    The currency is the sign or code as it is written: a dollar sign does not say whose dollar.
    """
    rows, unread = [], []
    for reward in sorted(rewards):
        match = AMOUNT.fullmatch(reward)
        if match is None or (match["before"] and match["after"]):
            unread.append(reward)
            continue
        amount = Decimal(match["number"].replace(",", "."))
        currency = match["before"] or match["after"]
        rows.append({"reward": reward, "amount": amount, "currency": currency})
    return pa.Table.from_pylist(rows, REWARDS), unread
