"""`annot status`: what gold and the store say, without building."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annot_pipeline.audit.arrived_exports import arrived_exports, other_key, weak_key
from annot_pipeline.commands.publish import exclusions_since, last_candidate
from annot_pipeline.commands.release_manifest import changed_settings
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import VERDICTS
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.gates import GATES, standing_decision, without_diff
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.ingest import present_exports
from annot_pipeline.stages.last_build import failed_build_advice, failing_gates
from annot_pipeline.storage.candidates import Candidates, candidate_steps
from annot_pipeline.storage.exclusions import exclusions
from annot_pipeline.storage.forgotten import unfinished
from annot_pipeline.storage.keys import exposed_secrets
from annot_pipeline.storage.places import check_places
from annot_pipeline.storage.releases import Release, Releases

EXPOSED = next(gate for gate in GATES if gate.name == "exposed_secrets")
"""Looked at anew: a build that publishes nothing leaves no warning in a release."""
DECIDED = ("decided", "overridden")


def status(campaign: LoadedCampaign) -> dict[str, Any]:
    """Return the newest release, the last build, and what has arrived since; write nothing.

    Reads every file of the newest release and every export for their checksums. Without the key of
    the judges' names nobody knows whether settings have changed, since the key is one of them:
    that, and whether a build is due for it, is None then.
    """
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    release = releases.latest()
    lying = [] if release else releases.gold.versions()
    manifest = release.manifest if release else None
    missing = weak_key(campaign) or other_key(campaign, manifest)
    exports = arrived_exports(campaign, manifest, has_key=not missing)
    arrived = {"new": exports.new, "changed": exports.changed, "gone": exports.gone}
    build = Build(campaign)
    settings = None if missing else [row["path"] for row in changed_settings(campaign, manifest)]
    changed = None if settings is None else bool(settings)
    due = release is None or any(arrived.values()) or changed
    if not due:
        build.decision = standing_decision(manifest)
    failing = failing_gates(build)
    candidate = last_candidate(build, release) if failing else None
    candidates = {row["run"]: row["bytes"] for row in Candidates(campaign.store).listed()}
    shown = candidate.manifest["candidate"]["run"] if candidate else ""
    dropped = (manifest or {}).get("dropped")
    dropped = present_exports.exports_among(campaign, dropped) if dropped and not missing else {}
    because = ((release and release.manifest.get("decision")) or {}).get("because", "...")
    excluded, unused = present_exports.excluded_exports(campaign, manifest)
    return {
        "campaign": campaign.settings.campaign,
        "release": release
        and {
            "version": release.version, "path": release.location,
            "created_at": release.manifest["created_at"],
            "decision": release.manifest.get("decision"),
            "checks": _checks(release, releases.versions()), "decisions": _decisions(release),
            "judges": _judges(release),
            "anonymous_votes": release.manifest["facts"]["anonymous_votes"],
            "damaged": [*release.damaged(), *release.strangers()],
        },
        "excluded": excluded, "unused_exclusions": unused,
        "exposed_secrets": exposed_secrets(campaign.settings.privacy, campaign.store),
        "unpointed": lying,
        "rolled_back": _problem(releases.rolled_back()),
        "arrived": arrived, "exports_not_compared": exports.not_compared,
        "unread": [build.mask_text(text) for text in present_exports.unread_files(campaign)],
        "settings_changed": changed, "changed_settings": settings,
        "not_compared": missing and {"what": missing.what, "do": missing.do},
        "last_build": build.store.last_outcome(),
        "damaged_note": _problem(build.store.damaged_outcome()),
        "unended_build": build.store.interrupted_build(),
        "unfinished_forgets": unfinished(campaign.store, campaign.typed),
        "failing": [{"what": gate.what, "do": gate.do} for gate in failing],
        "other_candidates": [run for run in candidates if not shown.startswith(run)],
        "candidate": candidate
        and {
            "run": shown, "path": str(candidate.folder), "bytes": sum(candidates.values()),
            "do": candidate_steps(candidate.manifest, campaign.typed),
            "exclude": exclusions_since(campaign, release, candidate),
        },
        "dropped": dropped, "exclude": exclusions(campaign, dropped, because),
        "failed_build": {"do": list(advice)} if (advice := failed_build_advice(build)) else None,
        "refused_folders": _refused_folders(campaign), "build_due": due,
    }  # fmt: skip


def _checks(release: Release, versions: Sequence[str]) -> list[dict[str, Any]]:
    """Return how gates went, without advice to look at the release before where it is gone."""
    checks = [c for c in release.manifest["checks"] if c["name"] != EXPOSED.name]
    if (release.manifest["parent"] or {}).get("version") in versions:
        return checks
    return [check | {"do": without_diff(check["do"])} for check in checks]


def _decisions(release: Release) -> dict[str, int]:
    """Return labels that experts decided, and those of which the model says otherwise."""
    tasks = release.manifest["facts"]["adjudications"].values()
    return {name: sum(task[name] for task in tasks) for name in DECIDED}


def _judges(release: Release) -> dict[str, Any]:
    """Return how many judges have which verdict, and the published names of those of concern."""
    facts = release.manifest["facts"]
    failed, suspected = facts["failed_judges"], facts["suspected_judges"]
    careless = {name for names in facts["careless_judges"].values() for name in names}
    return {
        **{
            name: {verdict: facts.get(name, {}).get(verdict, 0) for verdict in VERDICTS}
            for name in ("verdicts", "label_verdicts")
        },
        "failed": failed,
        "random": sorted(careless.difference(suspected, *failed.values())),
        "suspected": suspected,
    }


def _refused_folders(campaign: LoadedCampaign) -> dict[str, str] | None:
    """Return why builds refuse the store, gold or spill folder, and what to do; else None."""
    try:
        check_places(campaign)
    except ConfigError as error:
        do = "; ".join(dict.fromkeys(problem.do for problem in error.problems))
        whats = (f"{problem.where}: {problem.what}" for problem in error.problems)
        return {"what": f"{error.title} ({'; '.join(whats)})", "do": do}
    return None


def _problem(problem: Problem | None) -> dict[str, str] | None:
    """Return what is wrong with a file, and what to do."""
    if problem is None:
        return None
    return {"file": problem.where, "what": problem.what, "do": problem.do}
