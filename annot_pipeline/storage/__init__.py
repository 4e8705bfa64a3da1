"""Disk: the raw archive, the store of stage results, SQL over Parquet, releases.

The only code, with exports, that opens anything. What does not belong here: methods, Dagster.
"""
