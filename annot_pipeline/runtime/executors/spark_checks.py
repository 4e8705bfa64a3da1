"""What a session of Spark needs here, before it is asked for: Java, and a master that answers."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess

from annot_pipeline.errors import ConfigError, EngineError, Problem

JAVA = 17
"""The least version that Spark 4 runs on."""
SECONDS = 5.0
"""That a master has to answer a knock."""
CONNECT = "sc://"
"""Begins addresses of Spark Connect, which needs no Java here."""
CONNECT_PORT = 15002


def without_parameters(address: str) -> str:
    """Return an address without its parameters, one of which may be a token."""
    return address.partition("/;")[0]


def check_java() -> None:
    """Refuse to start where there is no Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    do = f"install Java {JAVA} or later (Debian: openjdk-{JAVA}-jre-headless), or set JAVA_HOME"
    version = None
    if java:
        try:
            output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)  # noqa: S603
            version = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
        except (OSError, subprocess.SubprocessError):
            pass
    if version is None:
        where = "JAVA_HOME" if home else "PATH"
        problem = Problem(where, f"no Java: {java or 'java'} does not run", do=do)
        raise ConfigError("Spark cannot run", [problem])
    if int(version[1]) < JAVA:
        what = f"{java} is Java {version[1]}"
        problem = Problem("", what, allowed=f"Java {JAVA} or later", do=do)
        raise ConfigError("Spark cannot run", [problem])


def check_masters(address: str) -> None:
    """Check that a standalone master, or a server of Spark Connect, can be reached.

    Spark itself tries for minutes, and then says little.
    """
    if not address.startswith(("spark://", CONNECT)):
        return
    wrong = []
    for master in address.partition("://")[2].partition("/")[0].split(","):
        host, port = re.fullmatch(r"(.*?)(?::(\d+))?", master).groups()  # type: ignore[union-attr]
        try:
            where = (host.strip("[]"), int(port or CONNECT_PORT))
            socket.create_connection(where, SECONDS).close()
        except OSError as error:
            wrong.append(f"{master}: {error}")
        else:
            return
    do = "start it, or correct engine.master"
    problem = Problem("engine.master", "; ".join(wrong), do=do)
    title = f"no master answers at {without_parameters(address)}"
    raise EngineError(title, [problem], may_pass=True)
