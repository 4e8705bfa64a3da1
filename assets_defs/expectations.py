"""Suites of Great Expectations as asset checks: released tables held to their contracts once more.

The gates of a build hold them before they are published (annot_pipeline.gates). These checks stop
nothing: an engine of its own says what was checked, in Dagster's own words. The step that publishes
runs them. As a step of the nightly job, which is planned before, Dagster would show the check as
failed wherever a gate stops the release.
"""

import dagster as dg

from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import counted
from annot_pipeline.gates.expectations import hold_to_suite
from annot_pipeline.gates.rules import rules_of
from annot_pipeline.storage.manifest import stored_table
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.tables import read_table
from assets_defs.campaign_assets import CampaignAssets

CHECK = "great_expectations"
MOST_ROWS = 100_000
"""Of a table: seven expectations on ten million rows take 21 s and 4.8 GB."""


def expectation_check(assets: CampaignAssets) -> dg.AssetChecksDefinition:
    """Return the check of the release, for people who run it by itself."""

    @dg.asset_check(
        name=CHECK,
        asset=assets.release_key,
        description="Checks values, ranges and keys of gold tables against the contract with Great "
        "Expectations suites. If it fails: please report it, as the gates of the build passed.",
    )
    def check() -> dg.AssetCheckResult:
        return expectation_result(assets)

    return check


def expectation_result(assets: CampaignAssets) -> dg.AssetCheckResult:
    """Hold the gold tables of the newest release to Great Expectations suites."""
    tables = [name for name in GOLD if name in assets.tables and rules_of(GOLD[name])]
    release = Releases.for_campaign(assets.campaign).latest()
    held = {name: _held(release, name) for name in tables}
    failed = [f"{name}: {problem}" for name, (problems, _) in held.items() for problem in problems]
    lines = "\n".join(f"- {name}: {text}" for name, (_, text) in held.items())
    return dg.AssetCheckResult(
        passed=not failed,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join(failed) or f"{counted(len(tables), 'table')} as the contract says",
        metadata={"tables": dg.MetadataValue.md(lines)},
        check_name=CHECK,
    )


def _held(release: Release | None, name: str) -> tuple[list[str], str]:
    """Hold a table of the newest release to its suite; returns what is wrong, and what was done."""
    tables = {} if release is None else {t["name"]: t for t in release.manifest["tables"]}
    rules, table = rules_of(GOLD[name]), tables.get(name)
    if not (release and table and table["rows"]):
        return [], "no row to check"
    if table["rows"] > MOST_ROWS:
        return [], f"more than {MOST_ROWS:,} rows: checked by the gate of the build alone"
    rows = read_table(stored_table(release.folder, table))
    breaches, unchecked = hold_to_suite(name, rules, rows)
    summary = f"{len(rules)} expectations on {table['rows']:,} rows of {release.version}"
    return [*(breach.text([]) for breach in breaches), *unchecked], summary
