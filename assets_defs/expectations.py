"""Suites of Great Expectations as asset checks: released tables held to their contracts once more.

The gates of a build hold them before they are published (annot_pipeline.gates). These checks run
after that and stop nothing: an engine of its own says what was checked, in Dagster's own words.
"""

from collections.abc import Iterator

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.gates.expectations import hold_to_suite
from annot_pipeline.gates.rules import rules_of
from annot_pipeline.storage.manifest import stored_table
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.tables import read_table
from assets_defs.keys import gold_key

CHECK = "great_expectations"
MOST_ROWS = 100_000
"""Of a table: seven expectations on ten million rows take 21 s and 4.8 GB."""


def expectation_checks(campaign: LoadedCampaign) -> dg.AssetChecksDefinition:
    """Return a check for each gold table; they run when the release is published."""
    tables = [name for name, contract in GOLD.items() if rules_of(contract)]

    @dg.multi_asset_check(
        name=f"{campaign.settings.campaign}__{CHECK}",
        specs=[
            dg.AssetCheckSpec(
                CHECK,
                asset=gold_key(campaign, name),
                description="Checks values, ranges and keys against the contract with a Great "
                "Expectations suite. If it fails: please report it, as the gate of the build "
                "passed.",
            )
            for name in tables
        ],
    )
    def checks() -> Iterator[dg.AssetCheckResult]:
        release = Releases.for_campaign(campaign).latest()
        for name in tables:
            yield _result(campaign, release, name)

    return checks


def _result(campaign: LoadedCampaign, release: Release | None, name: str) -> dg.AssetCheckResult:
    """Hold a table of the newest release to its suite."""
    tables = {} if release is None else {t["name"]: t for t in release.manifest["tables"]}
    rules, table = rules_of(GOLD[name]), tables.get(name)
    problems: list[str] = []
    summary = "no row to check"
    if release and table and table["rows"] > MOST_ROWS:
        summary = f"more than {MOST_ROWS:,} rows: checked by the gate of the build alone"
    elif release and table and table["rows"]:
        summary = f"{len(rules)} expectations on {table['rows']:,} rows of {release.version}"
        breaches, unchecked = hold_to_suite(
            name, rules, read_table(stored_table(release.folder, table))
        )
        problems = [*(breach.text([]) for breach in breaches), *unchecked]
    return dg.AssetCheckResult(
        passed=not problems,
        asset_key=gold_key(campaign, name),
        check_name=CHECK,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join([summary, *problems]),
    )
