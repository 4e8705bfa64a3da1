"""`annot releases`: what gold holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from annot_pipeline.commands.release_manifest import changed_settings
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.forgotten import forgotten_releases, read_forgotten
from annot_pipeline.storage.pins import read_pins
from annot_pipeline.storage.releases import Releases

HIDDEN = ("sources", "judges", "privacy")
"""Sections of settings that are not published as they are."""
PLAIN = (str, int, float)


def typed_with_settings(campaign: LoadedCampaign, manifest: Mapping[str, Any]) -> str | None:
    """Return the campaign as typed with settings of a manifest; None: campaign.yaml has them."""
    changes = changed_settings(campaign, manifest)
    then = {row["path"]: f"{row['path']}={json.dumps(row['old'])}" for row in changes}
    others = [each for each in campaign.sets if each.partition("=")[0] not in then]
    if any(row["path"].startswith(HIDDEN) or not isinstance(row["old"], PLAIN) for row in changes):
        return None
    return replace(campaign, sets=(*others, *then.values())).typed


def list_releases(campaign: LoadedCampaign) -> dict[str, Any]:
    """Return all releases, the oldest first, people forgotten, and whether gold was put back."""
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    pins, retracted = read_pins(releases), releases.retracted()
    versions, forgotten = releases.versions(), forgotten_releases(campaign.store)
    rows: list[dict[str, Any]] = []
    for version in versions:
        mark = retracted.get(version)
        why = f"{mark.because} ({mark.by})" if mark else None
        row = {"version": version, "pinned": version in pins, "retracted": why}
        try:
            manifest = releases.get(version).manifest
        except StoreError as error:  # the others can be listed all the same
            whats = "; ".join(problem.what for problem in error.problems)
            do = "; ".join(dict.fromkeys(problem.do for problem in error.problems))
            rows.append(row | {"problem": f"{error.title} ({whats})", "do": do})
            continue
        changes = manifest["changes"] or {}
        tables = {table["name"]: table["rows"] for table in manifest["tables"]}
        parent = manifest["parent"] and manifest["parent"]["version"]
        gone = "forgotten" if parent in forgotten else "pruned"
        rows.append(row | {
            "problem": None, "created_at": manifest["created_at"], "parent": parent,
            "content_sha256": manifest["content_sha256"],
            "parent_gone": gone if parent and parent not in versions else None,
            "records": manifest["facts"]["records"], "tables": tables,
            "labels": tables.get("labels", 0), "scores": tables.get("scores", 0),
            "changes": changes, "settings_changed": changes.get("settings_changed", False),
            "decision": manifest.get("decision"),
            "certificates": manifest["facts"].get("certificates", {}),
        })  # fmt: skip
    back = releases.rolled_back()
    problem = back and {"file": back.where, "what": back.what, "do": back.do}
    people = [
        {name: getattr(person, name) for name in ("at", "by", "because", "finished")}
        for person in read_forgotten(campaign.store)
    ]
    listed = Candidates(campaign.store, campaign.typed).listed
    candidates = [*listed([None, *versions][-1], partial(typed_with_settings, campaign))]
    return {"releases": rows, "candidates": candidates, "forgotten": people, "rolled_back": problem}
