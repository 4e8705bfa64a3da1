# What the README promises. Everything is installed from files in this folder into .venv.
PYTHON ?= python3
BIN := .venv/bin
export DAGSTER_DISABLE_TELEMETRY := yes
unexport PYTHONDONTWRITEBYTECODE  # else each of hundreds of processes compiles all modules again
# compiled at once: a library's syntax that Python warns of is an error of a test that imports it first
INSTALL := UV_COMPILE_BYTECODE=1 bash .ci/install $(BIN)/python

.PHONY: build test check types suite docs study bench bench-quick bench-spark soak spark tools clean help

help:
	@echo "make build   install into .venv and build the examples into build/"
	@echo "make test    install into .venv and run the tests, but the slow ones"
	@echo "make check   tests, and ruff, format, types, layers"
	@echo "make docs    the documentation as a site, into build/docs; a broken link is an error"
	@echo "make study   a study of docs/research/studies.md: make study NAME=lexical"
	@echo "make bench   time against named peers, some 45 minutes; NAME=\"dawid_skene build\": these alone"
	@echo "make bench-quick   the same at small sizes, once"
	@echo "make bench-spark   a build on this machine and on Spark, some 12 minutes; OPTIONS=\"--labels 20000000\""
	@echo "make soak    all tests, the long counts, make tools and make spark"
	@echo "make tools   exports of Argilla, Inspect, Label Studio and others, written by their own code"
	@echo "make spark   tests with Apache Spark, in .venv-spark; they need Java 17"

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("annot-pipeline needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] + "; try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else 0'
	@echo "installing into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) -e '.[web,dg,s3,dev]'
	@touch $@

build: .venv/installed
	@$(BIN)/python -m examples.build_all

test: .venv/installed
	@echo "running the tests"
	@$(BIN)/python -m pytest -q -n auto --dist worksteal
	@echo "next: make build, or make check before a commit"

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory --jobs 2 types suite  # mypy takes one core: tests the other

types: .venv/installed
	$(BIN)/mypy

suite: .venv/installed
	$(BIN)/python -m pytest -q -n auto --dist worksteal

.venv/docs: .venv/installed
	@$(INSTALL) -e '.[docs]'
	@touch $@

docs: .venv/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "next: open build/docs/index.html"

.venv/peers: .venv/installed
	@$(INSTALL) -e '.[bench]'
	@touch $@

study: .venv/installed
	@$(BIN)/python -m studies $(NAME)

bench: .venv/peers
	@$(BIN)/python -m benchmarks.run $(NAME)

bench-quick: .venv/peers
	@$(BIN)/python -m benchmarks.run --quick $(NAME)

soak: .venv/installed .venv-tools/installed
	@SOAK=1 $(BIN)/python -m pytest -q -n auto --dist worksteal
	@SOAK=1 $(MAKE) spark

# a venv of their own: what these tools need fits no other
.venv-tools/installed: tests/init/writers/requirements.txt
	@test -x .venv-tools/bin/python || $(PYTHON) -m venv .venv-tools
	@.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

tools: .venv/installed .venv-tools/installed
	@$(BIN)/python -m pytest -q tests/init/test_tool_writers.py

# apart: Great Expectations imports pyspark wherever it is installed
.venv-spark/installed: pyproject.toml constraints.txt
	@test -x .venv-spark/bin/python || $(PYTHON) -m venv .venv-spark
	@bash .ci/install .venv-spark/bin/python -e '.[web,dg,s3,spark,dev]'
	@touch $@

bench-spark: .venv-spark/installed
	@.venv-spark/bin/python -m benchmarks.engines $(OPTIONS)

spark: .venv-spark/installed
	@.venv-spark/bin/python -m pytest -q tests/spark tests/runtime/executors
	@SPARK_MASTER='local[2]' .venv-spark/bin/python -m pytest -q tests/published

clean:
	rm -rf .venv .venv-spark .venv-tools build dist
