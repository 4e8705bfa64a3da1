"""Who follows the fit of labels, from the build to the arithmetic, opens few files."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import annot_pipeline

PACKAGE = Path(annot_pipeline.__file__).parent
MOST_FRAMES, MOST_FILES = 18, 13
ARITHMETIC = {"e_step.py": "expected_counts", "hierarchical.py": "m_step"}
"""The functions that hand arrays to numpy, by file."""

Chain = tuple[tuple[str, str], ...]


@contextmanager
def recorded_calls(chains: set[Chain]) -> Iterator[None]:
    """Record file and function of the calls that lead to arithmetic, outermost first."""

    def profile(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or ARITHMETIC.get(path.name) != frame.f_code.co_name:
            return
        calls = []
        caller: FrameType | None = frame
        while caller is not None:
            path = Path(caller.f_code.co_filename)
            if path.is_relative_to(PACKAGE) and not caller.f_code.co_name.startswith("<"):
                calls.append((path.relative_to(PACKAGE).as_posix(), caller.f_code.co_name))
            caller = caller.f_back
        chains.add(tuple(reversed(calls)))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def test_the_fit_is_a_few_calls_below_the_stage(stage_campaign: Callable[..., Any]) -> None:
    rows = [f"i{n},w{judge},{'ab'[(n + judge // 3) % 2]}" for n in range(20) for judge in range(4)]
    staged = stage_campaign({"a.csv": "\n".join(["item,judge,label", *rows, ""])})
    staged.run("controlled", "tasks", "items")
    chains: set[Chain] = set()
    with recorded_calls(chains):
        staged.run("labels")
    start = ("stages/build.py", "run_stage")
    fits = [
        chain[chain.index(start) :]
        for chain in chains
        if start in chain and ("methods/labels/label_em.py", "run_em") in chain
    ]
    assert {chain[-1][1] for chain in fits} == {*ARITHMETIC.values()}
    assert max(map(len, fits)) <= MOST_FRAMES, max(fits, key=len)
    assert len({file for chain in fits for file, _ in chain}) <= MOST_FILES
