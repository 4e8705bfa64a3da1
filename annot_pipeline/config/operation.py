"""Sections of campaign.yaml on how builds run: schedule, resources, limits, engine."""

from __future__ import annotations

import os
import re
import zoneinfo
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from annot_pipeline.config.strict_section import Section

MASTER = re.compile(
    r"""local (\[ ([1-9]\d*|\*) (,\s*\d+)? \])?
    | local-cluster \[ \s*\d+\s*,\s*\d+\s*,\s*\d+\s* \]
    | spark:// ([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+ (,([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+)*
    | k8s:// \S+ | yarn | sc:// \S+""",
    re.VERBOSE,
)


class Retries(Section):
    """Sets how often an unattended build tries again.

    Parameters
    ----------
    max
        Largest number of retries.
    delay_seconds
        Seconds before the first retry; each later one waits twice as long.
    """

    max: int = Field(default=3, ge=0, le=20)
    delay_seconds: float = Field(default=30, ge=0, le=86_400)


class Fresh(Section):
    """Sets how old the newest release may be; null: as the cron expression implies.

    Parameters
    ----------
    warn_hours
        Age of the newest release from which the freshness check warns, in hours.
    fail_hours
        Age of the newest release from which the freshness check fails, in hours.
    """

    warn_hours: float | None = Field(default=None, ge=1 / 60)
    fail_hours: float | None = Field(default=None, ge=1 / 60)

    @model_validator(mode="after")
    def _warns_first(self) -> Self:
        if self.warn_hours and not self.fail_hours:
            raise ValueError("warn_hours needs fail_hours")
        if self.warn_hours and self.fail_hours and not self.warn_hours < self.fail_hours:
            raise ValueError("warn_hours must be less than fail_hours")
        return self


class Sensor(Section):
    """Sets the sensor that looks for new exports.

    Parameters
    ----------
    active
        Whether the sensor runs as soon as a Dagster daemon runs.
    interval_seconds
        Seconds between two looks at the exports.
    """

    active: bool = False
    interval_seconds: int = Field(default=60, ge=1, le=86_400)


class Schedule(Section):
    """Sets when unattended builds run.

    Parameters
    ----------
    active
        Whether the schedule runs as soon as a Dagster daemon runs.
    cron
        When the nightly build runs, as a cron expression.
    timezone
        Time zone of the cron expression, such as UTC or Europe/Paris.
    sensor
        The sensor that builds when new exports arrive.
    retries
        How often an unattended build tries again after errors that may pass.
    fresh
        How old the newest release may be.
    """

    active: bool = False
    cron: str = Field(default="0 2 * * *", pattern=r"^([\d*/,\-A-Za-z]+\s+){4}[\d*/,\-A-Za-z#]+$")
    timezone: str = "UTC"
    sensor: Sensor = Sensor()
    retries: Retries = Retries()
    fresh: Fresh = Fresh()

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"unknown time zone {name!r}; write one such as UTC or Europe/Paris"
            ) from None
        return name


class Resources(Section):
    """Sets memory, disk and threads of a build; null: what the machine has.

    Parameters
    ----------
    memory_limit
        Memory of SQL queries, such as 4GB. null: 80% of the machine.
    spill
        Empty folder for what does not fit into memory. null: a folder in the store.
    threads
        Number of threads. null: one per core.
    """

    memory_limit: str | None = Field(default=None, pattern=r"^\d+(\.\d+)?\s?([KMGT]i?B|B)$")
    spill: str | None = None
    threads: int | None = Field(default=None, ge=1, le=1024)

    @property
    def workers(self) -> int:
        """Return how much is done side by side."""
        return self.threads or os.cpu_count() or 1


class Limits(Section):
    """Sets limits of an export; one beyond a limit is refused. Changes no number.

    Parameters
    ----------
    unpacked_bytes
        Largest size of an unpacked export, in bytes.
    unpacked_ratio
        Largest ratio of unpacked to packed size, from 64 MB on.
    row_bytes
        Largest size of a row or line, in bytes.
    document_bytes
        Largest size of a document that is read whole, in bytes.
    columns
        Largest number of columns.
    """

    unpacked_bytes: int = Field(default=1 << 38, ge=1)
    unpacked_ratio: int = Field(default=250, ge=1)
    row_bytes: int = Field(default=64 << 20, ge=1 << 10, le=1 << 30)
    document_bytes: int = Field(default=1 << 30, ge=1)
    columns: int = Field(default=20_000, ge=1)


class Engine(Section):
    """Sets where heavy steps run.

    With ``kind: local`` the other settings are ignored, so that ``--set engine.kind=local`` builds
    without the cluster.

    Parameters
    ----------
    kind
        local: this machine. spark: a Spark cluster.
    master
        Master of Spark: local[n], spark://, k8s://, yarn or sc://. null: Spark's own files and
        environment decide.
    config
        Settings of Spark by name, such as spark.executor.memory: 2g. Nested names are joined by
        dots.
    wait_seconds
        Seconds without progress on the cluster after which a build fails.
    """

    kind: Literal["local", "spark"] = "local"
    master: str | None = None
    config: dict[str, str] = Field(default_factory=dict)
    wait_seconds: float = Field(default=300, ge=1)

    @field_validator("master")
    @classmethod
    def _spark_takes_it(cls, master: str | None) -> str | None:
        if master is not None and re.search(r";\s*token=", master):
            raise ValueError(
                "a token belongs in the environment: leave master out and set SPARK_REMOTE to the "
                "whole address"
            )
        if master is not None and not MASTER.fullmatch(master):
            raise ValueError(
                f"{master!r} is not a Spark master; write local[2], local[*], spark://HOST:PORT, "
                "k8s://HOST:PORT, yarn or sc://HOST"
            )
        return master

    @field_validator("config", mode="before")
    @classmethod
    def _by_dotted_names(cls, config: object) -> object:
        return _dotted(config) if isinstance(config, dict) else config

    @field_validator("config")
    @classmethod
    def _of_spark(cls, config: dict[str, str]) -> dict[str, str]:
        names = sorted(name for name in config if not name.startswith("spark."))
        if names:
            raise ValueError(
                f"Spark ignores names that do not begin with spark.: {', '.join(names)}"
            )
        if meant := {"spark.master", "spark.remote"}.intersection(config):
            raise ValueError(f"{meant.pop()} is set by engine.master")
        return config

    @model_validator(mode="after")
    def _spark_alone_has_a_master(self) -> Self:
        if "kind" not in self.model_fields_set and (self.master or self.config):
            raise ValueError("master and config need kind: spark")
        return self


def _dotted(nested: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested settings into Spark's dotted names; values become texts."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat |= {
                f"{name}.{inner}": inner_value for inner, inner_value in _dotted(value).items()
            }
        elif isinstance(value, bool | int | float):
            flat[name] = str(value).lower()
        else:
            flat[name] = value
    return flat
