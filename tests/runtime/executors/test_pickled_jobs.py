"""Jobs and what they return survive pickling: where executors run them, as on Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from annot_pipeline.runtime.executors.local import LocalEngine
from tests.conftest import KEY, build_file
from tests.full_campaign import write_full_campaign


@pytest.mark.slow
def test_every_job_of_a_build_can_be_pickled(tmp_path, monkeypatch):
    run = LocalEngine.run
    n_jobs = []

    def pickled(
        engine: LocalEngine, jobs: Sequence[Callable[[], Any]], *args: Any, **kwargs: Any
    ) -> list[Any]:
        copies = [pickle.loads(pickle.dumps(job)) for job in jobs]
        n_jobs.append(len(copies))
        return [pickle.loads(pickle.dumps(one)) for one in run(engine, copies, *args, **kwargs)]

    monkeypatch.setenv("ANNOT_KEY", KEY)
    expected = build_file(write_full_campaign(tmp_path / "as they are/full")).hashes()
    monkeypatch.setattr(LocalEngine, "run", pickled)
    assert build_file(write_full_campaign(tmp_path / "pickled/full")).hashes() == expected
    assert sum(n_jobs) > 40
