"""What goes wrong on executors is said in words; each of these was a trace of a hundred lines."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from annot_pipeline.config import Engine
from annot_pipeline.errors import EngineError, InputError, StoreError
from annot_pipeline.runtime.executors import spark
from annot_pipeline.runtime.executors.spark import SparkEngine
from annot_pipeline.runtime.executors.spark_session import end_session, spark_session
from tests.runtime.executors.test_local import context_of, write_campaign

MASTER = "local[1]"
# said once a process by the session, which outlives the first of these tests
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


@pytest.fixture
def engine(tmp_path):
    return SparkEngine(Engine(kind="spark", master=MASTER), tmp_path)


@pytest.fixture
def session():
    return spark_session(MASTER, ())


def fails(error):
    raise error


def test_results_stand_in_the_order_of_the_jobs(engine, tmp_path):
    assert engine.run([partial(divmod, n, 3) for n in range(12)]) == [
        divmod(n, 3) for n in range(12)
    ]
    assert engine.run([]) == []
    assert not list(tmp_path.iterdir()), "no job is left behind"


def wait_for(path):
    until = time.monotonic() + 300
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path}: nobody has written it")
        time.sleep(0.02)


def test_long_stages_tell_how_many_parts_are_done(tmp_path, monkeypatch):
    """In the words of the other engine. Each job but the first waits for the message before it."""
    monkeypatch.setattr("annot_pipeline.runtime.executors.spark_session.LOOK", 0.1)
    messages = [f"settle judgments: {n} of 5 parts" for n in range(1, 5)]
    files = [tmp_path / f"message {n}" for n in range(1, 5)]
    told = []

    def on_progress(message):
        told.append(message)
        files[messages.index(message)].touch()

    asked = ("engine.kind=spark", f"engine.master={MASTER}")
    context = context_of(write_campaign(tmp_path), on_progress, *asked)
    context.store.prepare()
    context.run([partial(divmod, 7, 2), *(partial(wait_for, file) for file in files)])
    assert told == messages


def test_jobs_are_for_one_user_and_run_as_they_were_handed_over(engine, tmp_path, monkeypatch):
    maker, modes = spark._maker, []
    evil = pickle.dumps(partial((tmp_path / "evil").write_text, "ran"))

    def changed(folder, hashes, here):
        modes.extend(path.stat().st_mode & 0o777 for path in (folder, *Path(folder).iterdir()))
        (Path(folder) / "1").write_bytes(evil)
        return maker(folder, hashes, here)

    monkeypatch.setattr(spark, "_maker", lambda folder, *of: changed(Path(folder), *of))
    before = os.umask(0)
    try:
        with pytest.raises(StoreError, match="a job was changed in the store") as error:
            engine.run([partial(divmod, n, 3) for n in range(3)])
    finally:
        os.umask(before)
    assert f"{tmp_path}/.tmp-jobs-" in str(error.value)
    assert "who may write into the store" in str(error.value)
    assert modes == [0o700, 0o600, 0o600, 0o600]
    assert not list(tmp_path.iterdir())


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
