"""Presets: mappings of well-known exports, each written out in full by `annot init`.

A preset is a function from `Facts` to a `Draft`; None: the columns are others. It refuses by
`NoJudgmentsError` what it recognises and cannot map, with the question to answer. A preset whose
columns are there is chosen without being named; shapes are tried where columns cannot be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.init.answers import NoJudgmentsError
from annot_pipeline.init.drafts import Draft
from annot_pipeline.init.groups import Group
from annot_pipeline.init.presets import counts, lists, matrices, models, platforms, surveys
from annot_pipeline.init.presets.facts import Facts

Preset = Callable[[Facts], Draft | list[Draft] | None]

PRESETS: dict[str, Preset] = {
    "prodigy_choice": platforms.prodigy_choice,
    "prodigy_textcat": platforms.prodigy_textcat,
    "potato": platforms.potato,
    "zooniverse": platforms.zooniverse,
    "toloka": platforms.toloka,
    "figure_eight": platforms.figure_eight,
    "label_studio_flat": platforms.label_studio_flat,
    "mqm": platforms.mqm,
    "qualtrics": surveys.qualtrics,
    "google_forms": surveys.google_forms,
    "webmushra": surveys.webmushra,
    "inspect": models.inspect_log,
    "promptfoo": models.promptfoo,
    "langfuse": models.langfuse,
    "mlflow": models.mlflow,
    "lmsys": models.lmsys,
    "alpaca_eval": models.alpaca_eval,
    "sagemaker_manifest": models.sagemaker_manifest,
    "argilla": lists.argilla,
    "snli": lists.snli,
    "doccano": lists.doccano,
    "list_of_answers": lists.objects_in_list,
    "parallel_lists": lists.parallel,
    "list_of_labels": lists.plain_labels,
    "vote_counts": counts.vote_counts,
    "judge_columns": matrices.judge_columns,
    "wide": matrices.wide,
}
"""In the order in which they are tried."""

ONLY_BY_NAME = frozenset({"wide"})
MISSING = re.compile("who judged|what was judged")
FORMATS = ("csv", "json", "jsonl", "parquet")


def preset_drafts(group: Group, name: str | None = None) -> list[Draft]:
    """Return the mappings of the preset that fits the files; [] if none does.

    Raises
    ------
    ConfigError
        There is no preset of that name.
    NoJudgmentsError
        The preset that was named does not fit, or one recognises what it cannot map.
    """
    if name is not None and name not in PRESETS:
        problem = Problem("--preset", f"no preset {name}", allowed=", ".join(PRESETS))
        raise ConfigError("no such preset", [problem])
    if group.first.format not in FORMATS:
        return []
    facts = Facts(group)
    chosen = [n for n in PRESETS if n not in ONLY_BY_NAME] if name is None else [name]
    for preset in chosen:
        if drafts := PRESETS[preset](facts):
            return drafts if isinstance(drafts, list) else [drafts]
    if name is not None:
        what = (PRESETS[name].__doc__ or "").splitlines()[0]
        raise NoJudgmentsError(f"preset {name} does not fit these columns. {what}")
    return []


def shape_drafts(group: Group, error: NoJudgmentsError) -> list[Draft]:
    """Return the mapping of a wide table; [] if it is none.

    Raises
    ------
    NoJudgmentsError
        It is one, and what its columns are is for people to say.
    """
    if group.first.format not in FORMATS or not MISSING.search(str(error)):
        return []
    draft = matrices.wide(Facts(group))
    return [draft] if draft else []
