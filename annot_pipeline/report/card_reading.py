"""The part of a data card that says how to read a release, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import first_of
from annot_pipeline.report.card_front_matter import main_table
from annot_pipeline.report.markdown import escape

WHICH = {
    "labels": "`label` is the answer, an expert's where `adjudicated`, else the model's "
    "(`model_label`). To train or test on labels that hold, keep the rows where `certain`: "
    "decisions are. To weigh the others as they should, take `soft`, a row a class with its "
    "`probability`: the published distribution, and 1 for what an expert decided. "
    "`label_distributions` is the model's alone: it undoes decisions. `dawid_skene_label` and "
    "`dawid_skene_probability` are Dawid-Skene's own, for comparison with papers: they are too "
    "sure where judges err together; `label_calibration` says by how much. `majority_label` is for "
    "comparison.",
    "scores": "`z_mean` is the mean of standardized scores, free of how each judge uses the scale; "
    "`raw_mean` is in points of the scale. `n_judgments` says how much either rests on.",
    "system_rankings": "Read the rows where `headline`: their intervals, tests and clusters hold "
    "where judges and segments repeat. Other "
    "methods are descriptions. Say that one system is better than another where `a_beats_b` in "
    "`system_comparisons`, with `difference`, `ci_low` and `ci_high`. `segment_ranks` ranks the "
    "outputs of each segment.",
}  # fmt: skip
"""Which column to use, by main table."""

RECIPES = {
    "labels": (
        'gold = labels[labels["certain"]]',
        'decided, keys = labels[labels["adjudicated"]], ["task", "item"]',
        'model = pandas.read_parquet("label_distributions.parquet").set_index(keys)',
        'model = model.drop(pandas.MultiIndex.from_frame(decided[keys]), errors="ignore")',
        'decided = decided[[*keys, "label"]].assign(probability=1.0)',
        "soft = pandas.concat([model.reset_index(), decided])",
    )
}
"""What follows on reading the main table with pandas."""

SOFT_VOTES = (
    'counts = pandas.read_parquet("label_distributions.parquet")  # soft labels of votes alone',
    'totals = counts.groupby(["task", "item"])["votes"].transform("sum")',
    'counts["share"] = counts["votes"] / totals',
)
"""What follows where votes come as counts, and labels have no probability."""


def how_to_read(manifest: Mapping[str, Any]) -> list[str]:
    """Return lines of the section."""
    main, version = main_table(manifest), manifest["version"]
    file = f"{main}.parquet"
    return [
        "In this folder (`load_dataset` takes the folder's whole path: a dot is no name for it):",
        "",
        "```python",
        "import pandas",
        f'{main} = pandas.read_parquet("{file}")',
        *RECIPES.get(main, ()),
        *(SOFT_VOTES if manifest["facts"].get("anonymous_votes") else ()),
        "",
        "import pyarrow.parquet  # fields carry descriptions",
        f'{main} = pyarrow.parquet.read_table("{file}")',
        "",
        "import duckdb",
        f'{main} = duckdb.read_parquet("{file}", hive_partitioning=False)',
        "",
        "import polars",
        f'{main} = polars.read_parquet("{file}")',
        "",
        "import os",
        "from datasets import load_dataset",
        f'{main} = load_dataset(os.getcwd(), "{main}", split="train")',
        "",
        "import annot_pipeline  # the checksum is verified",
        f'{main} = annot_pipeline.load_gold("..", "{main}", version="{version}")',
        "```",
        "",
        *([WHICH[main], ""] if main in WHICH else []),
        "Columns are null where a figure is undefined; there is no NaN, and no -1 that means "
        "nothing. Tables join by `task` and `item`, `items`, which has no task, by `item` alone; "
        "`judgments` and `lineage` by `judgment_id`, "
        "which leads to the file and row of every answer.",
        "",
    ]


def tables(manifest: Mapping[str, Any]) -> list[str]:
    """Return lines of the section: every table; of those with rows the columns, to open."""
    lines = [
        "| table | one row per | rows |",
        "|---|---|---|",
        *(f"| `{t['file']}` | {escape(t['row'])} | {t['rows']:,} |" for t in manifest["tables"]),
        "",
    ]
    for table in filter(lambda table: table["rows"], manifest["tables"]):
        allowed = {c.name: first_of(c.allowed, 20) for c in GOLD[table["name"]].columns}
        key = ", ".join(f"`{name}`" for name in table["key"])
        lines += [
            f"<details><summary>Columns of {table['name']}</summary>",
            "",
            f"Sorted by {key}.",
            "",
            "| column | type | null | what it says |",
            "|---|---|---|---|",
            *(
                f"| `{c['name']}` | {c['type']} | {'yes' if c['nullable'] else ''} "
                f"| {escape(_meaning(c['description'], allowed[c['name']]))} |"
                for c in table["columns"]
            ),
            "",
            "</details>",
            "",
        ]
    return lines


def _meaning(description: str, allowed: str) -> str:
    return f"{description}: {allowed}" if allowed else description
