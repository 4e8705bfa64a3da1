"""What goes wrong on executors is said in words; each of these was a trace of a hundred lines."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from annot_pipeline.config import Engine
from annot_pipeline.engines import spark_workers
from annot_pipeline.engines.spark import SparkEngine
from annot_pipeline.engines.spark_session import end_session, spark_session
from annot_pipeline.errors import ConfigError, EngineError, InputError

MASTER = "local[1]"
# said once a process by the session, which outlives the first of these tests
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


@pytest.fixture
def engine(tmp_path):
    return SparkEngine(Engine(kind="spark", master=MASTER), tmp_path)


@pytest.fixture
def session():
    return spark_session(MASTER, ())


@pytest.fixture
def rows(session):
    return partial(session.rows, wait=60, progress=print)


def fails(error):
    raise error


def test_results_stand_in_the_order_of_the_jobs(engine, tmp_path):
    assert engine.run([partial(divmod, n, 3) for n in range(12)]) == [
        divmod(n, 3) for n in range(12)
    ]
    assert engine.run([]) == []
    assert not list(tmp_path.iterdir()), "no job is left behind"


def test_a_job_that_is_broken_is_named(engine, tmp_path):
    with pytest.raises(EngineError, match="Spark gave up") as error:
        engine.run([partial(int, "no number")])
    assert "ValueError: invalid literal for int() with base 10: 'no number'" in str(error.value)
    assert error.value.may_pass
    assert not list(tmp_path.iterdir())


def test_after_a_cluster_that_went_away_the_next_try_has_a_session(engine, session):
    jobs = [partial(divmod, n, 3) for n in range(3)]
    session.spark._jsparkSession.sparkContext().stop()  # as it does when it has lost its master
    with pytest.raises(EngineError, match="Spark gave up"):
        engine.run(jobs)
    assert engine.run(jobs) == [(0, 0), (0, 1), (0, 2)]


def test_ctrl_c_stops_what_runs(engine, tmp_path):
    """As a KeyboardInterrupt, not as an error of Spark; the one core is free for the next jobs."""
    jobs = [partial(divmod, n, 3) for n in range(3)]
    engine.run(jobs)
    stopped_by_ctrl_c(engine)
    assert engine.run(jobs) == [(0, 0), (0, 1), (0, 2)]
    assert not list(tmp_path.iterdir())


def stopped_by_ctrl_c(engine):
    stop = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
    # what a shell starts in the background ignores Ctrl-C, tests too
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            engine.run([partial(time.sleep, 120)])
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_session_of_somebody_else_goes_on(tmp_path):
    """As in a notebook: it is taken as it is; what Ctrl-C stops is our jobs, on its one core."""
    from pyspark.sql import SparkSession

    end_session()
    starting = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false").getOrCreate
    with ThreadPoolExecutor(1) as thread:  # where Spark does not take over Ctrl-C
        theirs = thread.submit(starting).result()
    try:
        jobs = [partial(divmod, n, 3) for n in range(3)]
        engine = SparkEngine(Engine(kind="spark", master="spark://not.asked:7077"), tmp_path)
        assert engine.run(jobs) == [(0, 0), (0, 1), (0, 2)]
        stopped_by_ctrl_c(engine)
        started = time.monotonic()
        assert theirs.range(3).count() == 3
        assert time.monotonic() - started < 60, "the job that was stopped holds the core"
    finally:
        theirs.stop()


def test_the_first_error_for_the_user_is_raised_as_it_is(engine):
    errors = [InputError(f"export {n} cannot be read", may_pass=True) for n in range(2)]
    with pytest.raises(InputError, match="export 0 cannot be read") as error:
        engine.run([partial(divmod, 7, 2), *(partial(fails, of) for of in errors)])
    assert error.value.may_pass


def test_workers_that_see_another_disk(rows, tmp_path, monkeypatch):
    look = spark_workers._look
    monkeypatch.setattr(
        spark_workers, "_look", lambda token, names: look(f"/nowhere{token}", names)
    )
    with pytest.raises(ConfigError, match="executors cannot make") as error:
        spark_workers.check_workers(rows, tmp_path)
    assert "No such file or directory" in str(error.value)
    assert "set store to a folder that the driver and all executors share" in str(error.value)
    assert len(error.value.problems) == 1, "sixteen executors of one machine say it once"


def test_workers_with_other_packages(rows, tmp_path, monkeypatch):
    here = spark_workers.numeric_packages() | {"numpy": "1.0", "no-such-package": "2.0"}
    monkeypatch.setattr(spark_workers, "numeric_packages", lambda: here)
    with pytest.raises(ConfigError) as error:
        spark_workers.check_workers(rows, tmp_path)
    told = str(error.value)
    assert "allowed: 1.0, as here" in told
    assert "no-such-package is not installed" in told
    assert "install no-such-package==2.0 where executors run" in told
