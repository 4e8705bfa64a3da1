"""`annot publish`: a candidate becomes a release, in spite of gates that a person accepts."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from datetime import UTC, datetime

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of
from annot_pipeline.gates import Decision, GateResult
from annot_pipeline.stages.build import STAGES, Build, Progress
from annot_pipeline.stages.last_build import CHANGED, GONE, changed_exports
from annot_pipeline.storage.candidates import Candidates


def decision(because: str, by: str | None, **what: str | tuple[str, ...]) -> Decision:
    """Return the decision of whoever runs the command.

    Raises
    ------
    ConfigError
        It has no reason.
    """
    if not because.strip():
        problem = Problem("--because", "is missing", do='say why: --because "..."')
        raise ConfigError("a decision needs a reason", [problem])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Decision(by or _user(), now, because, **what)  # type: ignore[arg-type]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        return "unknown"


def publish_candidate(
    campaign: LoadedCampaign,
    run: str,
    accept: Sequence[str],
    *,
    because: str,
    by: str | None,
    progress: Progress,
) -> tuple[Publication, Build]:
    """Publish the tables of a candidate.

    Parameters
    ----------
    campaign
        As it is now.
    run
        Run of the candidate, the first characters of it, or ``latest``.
    accept
        Gates that failed and are accepted.
    because, by
        Why, and who accepts them; None: the user of this process.
    progress
        Called with messages about the progress.

    Raises
    ------
    ConfigError
        A gate did not fail, or nobody can accept it; or the reason is missing.
    StoreError
        There is no such candidate; or settings, code, exports or the newest release are others now.
    GateError
        A gate that failed is not accepted.
    """
    candidate = Candidates(campaign.store, campaign.typed).get(run)
    run = candidate.manifest["candidate"]["run"]
    failed = {
        check["name"]: GateResult(**check)
        for check in candidate.manifest["checks"]
        if check["level"] == "error"
    }
    _check_accepted(accept, failed)
    decided = decision(because, by, accepted=tuple(accept)) if accept or because else None
    build = Build(campaign, run, progress, decision=decided)
    exports = build.recorded(STAGES[0], own=True).result.tables["exports"]
    news = changed_exports(build, exports)
    if lost := [f"{what}: {first_of(news[what])}" for what in (GONE, CHANGED) if what in news]:
        do = f"put it back, or annot build {campaign.typed}"
        problem = Problem("", "; ".join(lost), do=do)
        raise StoreError("the candidate was made of other exports", [problem])
    return publish(build), build


def _check_accepted(accept: Sequence[str], failed: dict[str, GateResult]) -> None:
    problems = [
        Problem("--accept", f"{name} did not fail", first_of(list(failed)) or "no gate failed")
        for name in accept
        if name not in failed
    ]
    problems += [
        Problem("--accept", f"{name} cannot be accepted", do=failed[name].do)
        for name in accept
        if name in failed and not failed[name].is_acceptable
    ]
    if problems:
        raise ConfigError("only gates that failed can be accepted", problems)
