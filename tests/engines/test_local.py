"""Jobs in threads: results in order, the first error, no job after it."""

from __future__ import annotations

import threading
import time

import pytest

from annot_pipeline.engines.local import TOLD, LocalEngine


def test_results_stand_in_the_order_of_the_jobs():
    def job(n):
        time.sleep(0.01 * (5 - n % 5))
        return n

    told = []
    jobs = [lambda n=n: job(n) for n in range(25)]
    assert LocalEngine(4).run(jobs, done=told.append) == list(range(25))
    assert told == [TOLD, 2 * TOLD]
    assert LocalEngine(4).run([]) == []


@pytest.mark.parametrize(("workers", "at_once", "most"), [(4, None, 4), (4, 2, 2), (1, 3, 1)])
def test_no_more_run_at_once_than_are_allowed(workers, at_once, most):
    lock, running, met = threading.Lock(), [], []

    def job():
        with lock:
            running.append(1)
            met.append(len(running))
        time.sleep(0.02)
        with lock:
            running.pop()

    LocalEngine(workers).run([job] * 12, at_once)
    assert max(met) == most


def test_after_an_error_no_other_job_starts():
    started = []

    def job(n):
        started.append(n)
        if n == 1:
            raise ValueError("job 1")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="job 1"):
        LocalEngine(2).run([lambda n=n: job(n) for n in range(50)])
    assert len(started) < 10
