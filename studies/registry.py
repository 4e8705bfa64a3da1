"""The studies by name: what each is, its settings, and how it is run.

A new study is one entry here. What does not belong here: what is drawn and asked.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.read_back import refuse_read_back
from studies.agreement_study import AGREEMENT, run_agreement
from studies.audit_study import AUDITS, run_audits
from studies.certainty import TABLES as CERTAINTY
from studies.certainty import run_certainty, run_crowds
from studies.coverage_study import COVERAGE, run_coverage
from studies.curve_figures import surprisal_figures
from studies.findings import surprisal_findings
from studies.floods import FLOODS, run_floods
from studies.item_replay import run_item_replay
from studies.item_study import run_item_study
from studies.label_replay import LABELS, run_label_replay
from studies.model_judge_study import MODEL_JUDGES, run_model_judges
from studies.params import (
    AgreementIntervals,
    Audits,
    Certainty,
    Crowds,
    Floods,
    ItemReplay,
    ItemStudy,
    LabelReplay,
    ModelJudgeCoverage,
    RankingCoverage,
    SurprisalCurves,
    SystemReplay,
    SystemStudy,
    Topology,
    with_settings,
)
from studies.progress import Progress
from studies.results import item_result, system_result
from studies.surprisal_curves import surprisal_curves
from studies.system_replay import run_system_replay
from studies.system_study import run_system_study
from studies.tables import surprisal_tables
from studies.topology_result import TABLES as TOPOLOGY
from studies.topology_result import run_topology
from studies.write import PAGE, Result, Section, write_study

Run = Callable[[Any, LoadedCampaign | None, Path | None, Progress], Result]


@dataclass(frozen=True)
class Study:
    """One study.

    Parameters
    ----------
    name, description
        For the command line, and for people.
    defaults
        Its params.
    needs_campaign
        Whether recorded judgments are drawn.
    oracle
        What an ``--oracle`` file says; empty if it takes none.
    run
        Does it.
    """

    name: str
    description: str
    defaults: Any
    needs_campaign: bool
    oracle: str
    run: Run

    def settings(self) -> list[tuple[str, Any, str]]:
        """Name, default and meaning of each setting."""
        return [
            (field.name, getattr(self.defaults, field.name), field.metadata["description"])
            for field in dataclasses.fields(self.defaults)
        ]


def run_study(
    name: str,
    settings: Mapping[str, Any],
    campaign: LoadedCampaign | None,
    oracle: Path | None,
    folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Run a study and write what came out.

    Parameters
    ----------
    name
        One of `NAMES`.
    settings
        Of that study; what is not named has its default. Texts are read as numbers.
    campaign, oracle
        Where the study takes them.
    folder
        For ``study.html`` and the csv files.
    progress
        Told now and then, at most every half second.

    Returns
    -------
    dict
        ``study``, ``parameters``, ``folder``, ``files``, ``findings`` (two sentences),
        ``notes``, ``numbers`` (by task), ``next``.

    Raises
    ------
    AnnotError
        There is no such study or setting, it does not fit, or exports cannot be read.
    """
    study = _named(name)
    _check(study, campaign, oracle, folder)
    params = with_settings(study.defaults, settings)
    result = study.run(params, campaign, oracle, progress)
    parameters = dataclasses.asdict(params)
    if campaign is not None:
        parameters |= {"campaign": campaign.settings.campaign}
    if oracle is not None:
        parameters |= {"oracle": oracle.name}
    title = f"Study: {name}"
    files = write_study(folder, title, study.description, result, parameters)
    return {
        "study": name,
        "parameters": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in parameters.items()
        },
        "folder": str(folder),
        "files": [str(file) for file in files],
        "findings": list(result.findings),
        "notes": list(result.notes),
        "numbers": list(result.numbers),
        "next": f"open {folder / PAGE}",
    }


def _named(name: str) -> Study:
    if name in STUDIES:
        return STUDIES[name]
    likely = difflib.get_close_matches(name, NAMES, 1, cutoff=0.5)
    do = f"did you mean {likely[0]}?" if likely else ""
    raise ConfigError("no such study", [Problem(name, "unknown", ", ".join(NAMES), do)])


def _check(
    study: Study, campaign: LoadedCampaign | None, oracle: Path | None, folder: Path
) -> None:
    """Refuse what the study does not take, before anything long is begun."""
    name = study.name
    problems = []
    if study.needs_campaign and campaign is None:
        do = f"python -m studies {name} CAMPAIGN"
        problems.append(Problem(name, "draws recorded judgments: name their campaign", do=do))
    if campaign is not None and not study.needs_campaign:
        problems.append(Problem(name, "takes no campaign: its judges are simulated"))
    if oracle is not None and not study.oracle:
        problems.append(Problem(name, "takes no oracle"))
    if folder.exists() and not folder.is_dir():
        problems.append(Problem(str(folder), "is a file", do="name a folder with -o"))
    if problems:
        raise ConfigError("a study that cannot be", problems)
    if campaign is not None:
        names = ("curves", "gains", "reaches", "scores", "examples", *TOPOLOGY, *CERTAINTY)
        refuse_read_back(campaign, [folder / PAGE, *(folder / f"{n}.csv" for n in names)])


# --- how they run --------------------------------------------------------------------------


def _of_items(name: str) -> Run:
    def run(
        params: ItemStudy, _: LoadedCampaign | None, oracle: Path | None, progress: Progress
    ) -> Result:
        return item_result([run_item_study(name, params, oracle, progress)], [], params)

    return run


def _systems(
    params: SystemStudy, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return system_result([run_system_study(params, progress)], [], params)


def _replay(
    params: ItemReplay, campaign: LoadedCampaign | None, oracle: Path | None, progress: Progress
) -> Result:
    return item_result(
        *run_item_replay(_require_campaign(campaign), params, oracle, progress), params
    )


def _replay_systems(
    params: SystemReplay, campaign: LoadedCampaign | None, oracle: Path | None, progress: Progress
) -> Result:
    return system_result(
        *run_system_replay(_require_campaign(campaign), params, oracle, progress), params
    )


def _topology(
    params: Topology, campaign: LoadedCampaign | None, _: Path | None, progress: Progress
) -> Result:
    return run_topology(_require_campaign(campaign), params, progress)


def _crowds(
    params: Crowds, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_crowds(params, progress)


def _floods(
    params: Floods, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_floods(params, progress)


def _audits(
    params: Audits, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_audits(params, progress)


def _labels(
    params: LabelReplay, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_label_replay(params, progress)


def _coverage(
    params: RankingCoverage, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_coverage(params, progress)


def _agreement(
    params: AgreementIntervals, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_agreement(params, progress)


def _model_judges(
    params: ModelJudgeCoverage, _: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_model_judges(params, progress)


def _certainty(
    _: Certainty, campaign: LoadedCampaign | None, __: Path | None, progress: Progress
) -> Result:
    return run_certainty(_require_campaign(campaign), progress)


def _surprisal(
    params: SurprisalCurves, _: LoadedCampaign | None, __: Path | None, ___: Progress
) -> Result:
    curves = surprisal_curves(params)
    return Result(
        surprisal_findings(curves, params.epsilon),
        ["There is no chance in these curves: they are the methods' own functions."],
        surprisal_tables(curves),
        [Section("Surprisal of an outcome", surprisal_figures(curves, params.epsilon))],
        [],
    )


def _require_campaign(campaign: LoadedCampaign | None) -> LoadedCampaign:
    if campaign is None:  # `_check` has refused it
        raise TypeError("a replay without a campaign")
    return campaign


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "lexical",
            "Simulated judges score 150 items whose truth is skewed like log frequencies of words.",
            ItemStudy(),
            needs_campaign=False,
            oracle="items",
            run=_of_items("lexical"),
        ),
        Study(
            "political",
            "Simulated judges score 150 items whose truth is U-shaped like stances in politics.",
            ItemStudy(),
            needs_campaign=False,
            oracle="items",
            run=_of_items("political"),
        ),
        Study(
            "systems",
            "Simulated judges score outputs, to rank the systems that made them.",
            SystemStudy(),
            needs_campaign=False,
            oracle="",
            run=_systems,
        ),
        Study(
            "replay",
            "Recorded judgments of items are drawn as each method would have asked for them.",
            ItemReplay(),
            needs_campaign=True,
            oracle="items",
            run=_replay,
        ),
        Study(
            "replay_systems",
            "Recorded judgments of outputs are drawn to rank systems, as each method would ask.",
            SystemReplay(),
            needs_campaign=True,
            oracle="systems",
            run=_replay_systems,
        ),
        Study(
            "surprisal",
            "How much the outcome of a comparison changes what is believed of both items.",
            SurprisalCurves(),
            needs_campaign=False,
            oracle="",
            run=_surprisal,
        ),
        Study(
            "topology",
            "Full rankings of a campaign are rebuilt from the comparisons a tournament would ask.",
            Topology(),
            needs_campaign=True,
            oracle="",
            run=_topology,
        ),
        Study(
            "crowds",
            "Simulated crowds label items: whether the probabilities of labels hold.",
            Crowds(),
            needs_campaign=False,
            oracle="",
            run=_crowds,
        ),
        Study(
            "certainty",
            "Labels of a campaign that knows the truth: whether their probabilities hold.",
            Certainty(),
            needs_campaign=True,
            oracle="",
            run=_certainty,
        ),
        Study(
            AUDITS,
            "Samples of labels of public sets, answered by the truth: whether certificates hold.",
            Audits(),
            needs_campaign=False,
            oracle="",
            run=_audits,
        ),
        Study(
            LABELS,
            "Recorded labels of public sets are asked for by gain, up to a level of probability.",
            LabelReplay(),
            needs_campaign=False,
            oracle="",
            run=_labels,
        ),
        Study(
            FLOODS,
            "Careless people flood a crowd: whether the build stops, or labels stay as they were.",
            Floods(),
            needs_campaign=False,
            oracle="",
            run=_floods,
        ),
        Study(
            COVERAGE,
            "Simulated evaluations of systems: whether intervals, tests and clusters hold.",
            RankingCoverage(),
            needs_campaign=False,
            oracle="",
            run=_coverage,
        ),
        Study(
            AGREEMENT,
            "Simulated judges label and score items: whether intervals of agreement hold.",
            AgreementIntervals(),
            needs_campaign=False,
            oracle="",
            run=_agreement,
        ),
        Study(
            MODEL_JUDGES,
            "Few human and many model judgments: whether intervals of estimates from both hold.",
            ModelJudgeCoverage(),
            needs_campaign=False,
            oracle="",
            run=_model_judges,
        ),
    )
}
"""By name, in the order of the papers' studies."""

NAMES: tuple[str, ...] = tuple(STUDIES)
