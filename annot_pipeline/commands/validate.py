"""`annot validate`: reads everything and writes nothing, and says what a build would see."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.audit.arrived_exports import other_key
from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import (
    Expression,
    JoinExpression,
    LoadedCampaign,
    Source,
)
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.name_key import name_key
from annot_pipeline.errors import AnnotError, counted
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.build import Build, Progress, StageRun, stages_for
from annot_pipeline.stages.ingest.metrics import ExportMetrics, JudgmentMetrics
from annot_pipeline.stages.ingest.present_exports import check_exports
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.last_build import failed_build_advice
from annot_pipeline.storage.keys import present_key
from annot_pipeline.storage.places import check_places
from annot_pipeline.storage.published_settings import SHORTEST_NAME
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.tables import read_table
from annot_pipeline.storage.temporary import temporary_store

CONTROLLED = "controlled"
"""The table in which each judgment has its fate."""
EXAMPLES = 3
PSEUDONYM = re.compile(r"\bj[0-9a-f]{20}\b")


def validate(campaign: LoadedCampaign, progress: Progress) -> dict[str, Any]:
    """Return the mapping of each source, records that would be rejected, and failing gates.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read, a mapping names a column that it lacks, or store,
        gold and spill cannot be used.
    """
    check_places(campaign)
    check_exports(campaign)  # of its own store and gold, not of the temporary ones
    with temporary_store(campaign, campaign.settings, continues_previous=False) as temporary:
        build = Build(temporary, progress=progress)
        runs = {stage.name: build.run_stage(stage) for stage in stages_for([CONTROLLED])}
        document = _document(campaign, runs, build.store.records)
    advice = failed_build_advice(Build(campaign))
    newest: Release | None = None
    with suppress(AnnotError):  # gold cannot be read, which is for status to say
        newest = Releases.for_campaign(campaign).latest()
    missing = other_key(campaign, newest.manifest if newest else None)
    is_keyed = present_key(campaign.settings, campaign.store) is not None
    return document | {
        "names_of_this_run": not is_keyed and bool(PSEUDONYM.search(str(document))),
        "failed_build": {"do": list(advice)} if advice else None,
        "other_key": missing and {"what": missing.what, "do": missing.do},
    }


def _document(campaign: LoadedCampaign, runs: dict[str, StageRun], records: Path) -> dict[str, Any]:
    judgment_metrics = runs["settle_judgments"].metrics(JudgmentMetrics)
    controlled = runs["control_judges"].metrics(ControlMetrics)
    files = read_table(runs["read_records"].result.tables["record_files"]).to_pylist()
    tasks = read_table(runs["settle_judgments"].result.tables["tasks"]).to_pylist()
    return {
        "campaign": campaign.settings.campaign,
        "sources": [
            _source(source, [f for f in files if f["source_order"] == number], records)
            for number, source in enumerate(campaign.settings.sources)
        ],
        "tasks": [
            {key: t[key] for key in ("task", "kind", "guessed", "by_votes", "labels")}
            | {"scale": None if t["scale_low"] is None else [t["scale_low"], t["scale_high"]]}
            for t in tasks
        ],
        "records": judgment_metrics.records,
        "fates": controlled.fates,
        "rejections": judgment_metrics.rejections,
        "look_alikes": judgment_metrics.look_alikes,
        "excluded": runs["archive_exports"].metrics(ExportMetrics).excluded,
        "gates": [gate.document() for run in runs.values() for gate in run.gates],
    }


def _source(source: Source, files: list[dict[str, Any]], records: Path) -> dict[str, Any]:
    """Return what a source reads: its files, and what each field maps to."""
    return {
        "path": source.path, "format": source.format, "files": len(files),
        **{noun: sum(f[noun] for f in files) for noun in ("rows", "records")},
        "ignored": _ignored(f["ignored"] for f in files),
        "fields": _fields(source, [records / f["filename"] for f in files]),
    }  # fmt: skip


def _ignored(notes: Iterable[str]) -> dict[str, int]:
    """Return what the exports hold besides records, by kind."""
    total: Counter[str] = Counter()
    for note in notes:
        total.update(parse_bounded_json(note))
    return dict(sorted(total.items()))


def _fields(source: Source, paths: list[Path]) -> list[dict[str, Any]]:
    """Return each field: expression, how many records have it, how many values, a few of them.

    Records that are filtered or were not asked are left out.
    """
    judges = {
        name_key(judge)
        for path in (paths if "judge" in source.fields else ())
        for judge in _answered(path, "judge").unique().to_pylist()
        if judge and len(judge) >= SHORTEST_NAME
    }
    return [
        {
            "field": name, "expression": expression_text(expression),
            "filled": filled, "distinct": len(distinct),
            "examples": [] if name == "judge" else _examples(distinct, judges),
        }
        for name, expression in source.fields.items()
        for filled, distinct in [filled_cells([_answered(path, name) for path in paths])]
    ]  # fmt: skip


def _answered(path: Path, name: str) -> pa.ChunkedArray:
    rows = read_table(path, [name, "early_fate"])
    return rows.filter(pc.is_null(rows["early_fate"]))[name]


def filled_cells(columns: list[pa.ChunkedArray]) -> tuple[int, pa.Array]:
    """Count the cells of a column that are not blank, over files, and return distinct values."""
    if not columns:
        return 0, pa.nulls(0, TEXT)
    column = pa.chunked_array([chunk for part in columns for chunk in part.chunks], columns[0].type)
    column = column.unify_dictionaries()
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)  # -0 is 0
    values = column.unique()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = values.drop_null()
    blank = pc.equal(pc.utf8_trim_whitespace(values.cast(TEXT)), "")
    n_blank = pc.sum(is_in(column, values.filter(blank))).as_py() if pc.any(blank).as_py() else 0
    return len(column) - column.null_count - n_blank, values.filter(pc.invert(blank))


def _examples(values: pa.Array, judges: set[str]) -> list[str]:
    """Return a few values.

    Who judged stays out of terminals and logs, in whatever field it stands.
    """
    texts = (str(value.as_py()) for value in values)
    public_texts = (text for text in texts if not any(judge in name_key(text) for judge in judges))
    return list(islice(public_texts, EXAMPLES))


def expression_text(expression: Expression) -> str:
    """Return an expression as campaign.yaml has it, with the number of values of a map."""
    keys = _expression_keys(expression)
    return keys if isinstance(keys, str) else json.dumps(keys, ensure_ascii=False)


def _expression_keys(expression: Expression) -> str | dict[str, Any]:
    """Return the name of a column, or the keys of an expression."""
    keys = expression.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if isinstance(expression, JoinExpression):
        keys["join"] = list(map(_expression_keys, expression.join))
    if expression.map:
        keys["map"] = counted(len(expression.map), "value")
    if keys.keys() == {"column"}:
        return str(keys["column"])
    steps = {step: keys.pop(step) for step in ("match", "map", "else", "time") if step in keys}
    return keys | steps
