"""Small campaigns of labels: what the tests of the pipeline share."""

from __future__ import annotations

from collections import Counter

HEAD = "item,judge,label\n"
ROWS = [f"i{i},w{j},{'yes' if (i + j * j) % 3 else 'no'}" for i in range(20) for j in range(5)]


def export(rows, head=HEAD):
    return head + "".join(f"{row}\n" for row in rows)


def fates(built):
    return {fate: n for fate, n in built.metrics("settle_judgments")["fates"].items() if n}


def but_lineage(built):
    hashes = built.hashes()
    hashes.pop("lineage")
    return hashes


def used_answers(built):
    return Counter(
        (r["item"], r["judge"], r["label"]) for r in built.rows("controlled") if r["fate"] == "used"
    )
