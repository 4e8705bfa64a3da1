"""Suites of Great Expectations as asset checks: released tables held to their contracts once more.

The gates of a build hold them before they are published (annot_pipeline.gates). These checks run
after that and stop nothing: an engine of its own says what was checked, in Dagster's own words.
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
    """Return the check of the release that holds its gold tables to Great Expectations suites."""
    tables = [name for name in GOLD if name in assets.tables and rules_of(GOLD[name])]

    @dg.asset_check(
        name=CHECK,
        asset=assets.release_key,
        description="Checks values, ranges and keys of gold tables against the contract with Great "
        "Expectations suites. If it fails: please report it, as the gates of the build passed.",
    )
    def check() -> dg.AssetCheckResult:
        release = Releases.for_campaign(assets.campaign).latest()
        problems, summary = {}, []
        for name in tables:
            problems[name], text = _held(release, name)
            summary.append(f"{name}: {text}")
        failed = [f"{name}: {p}" for name, of_table in problems.items() for p in of_table]
        return dg.AssetCheckResult(
            passed=not failed,
            severity=dg.AssetCheckSeverity.WARN,
            description="; ".join(failed)
            or f"{counted(len(tables), 'table')} as the contract says",
            metadata={"tables": dg.MetadataValue.md("\n".join(f"- {line}" for line in summary))},
        )

    return check


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
