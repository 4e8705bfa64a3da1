"""Processors that compute other digits are told apart, and the docs say how to make them alike."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from annot_pipeline.runtime.executors.digits import digits

ROOT = Path(__file__).parents[3]
ALIKE = dict(
    re.findall(
        r'^ *export (NPY_\w+|OPENBLAS_\w+)="?(.+?)"?$', (ROOT / "docs/spark.md").read_text(), re.M
    )
)


def dispatched() -> list[str]:
    """What numpy was built for beyond its baseline, if it is of x86-64."""
    from numpy._core import _multiarray_umath

    return [name for name in _multiarray_umath.__cpu_dispatch__ if name[:3] in ("X86", "AVX")]


on_x86 = pytest.mark.skipif(not dispatched(), reason="another kind of processor")


def digits_with(**environment: str) -> dict[str, str]:
    code = (
        "import json\n"
        "from annot_pipeline.runtime.executors.digits import digits\n"
        "print(json.dumps(digits()))"
    )
    actual = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=os.environ | environment
    )
    return json.loads(actual.stdout)


@pytest.mark.slow
def test_every_process_of_this_machine_computes_the_same():
    assert digits_with() == digits()
    assert digits_with(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1") == digits()


TWINS = {"math.exp": "exp", "math.log": "log"}
"""Whether two ways to a function agree to the last digit is the processor's affair."""


def test_no_two_functions_share_a_digest():
    functions = {name: digest for name, digest in digits().items() if name not in TWINS}
    assert len({*functions.values()}) == len(functions)


@pytest.mark.parametrize("name", ["exp", "log1p", "sin", "expit", "math.log"])
def test_one_last_digit_is_seen(name, monkeypatch):
    """Stands for another processor: the result of one number is the next one."""
    import numpy as np
    from scipy import special

    module = {"expit": special, "math.log": math}.get(name, np)
    attribute = name.removeprefix("math.")
    function = getattr(module, attribute)

    def other(values):
        results = np.array(function(values), ndmin=1)
        results[-1] = np.nextafter(results[-1], np.inf)
        return results if results.size > 1 else float(results[0])

    other.__name__ = attribute
    monkeypatch.setattr(module, attribute, other)
    changed = {key for key, digest in digits.__wrapped__().items() if digest != digits()[key]}
    assert changed == {name}


def test_the_settings_of_the_docs_name_all_kernels_of_numpy():
    features = ALIKE["NPY_DISABLE_CPU_FEATURES"].split()
    if dispatched():
        assert {*features, "X86_V3"} == {*dispatched()}, "numpy has other kernels: say so"
    assert ALIKE["OPENBLAS_CORETYPE"]


@pytest.mark.slow
@on_x86
def test_with_the_settings_of_the_docs_processors_are_alike():
    """Whether or not there is AVX-512, and whatever OpenBLAS would choose."""
    features = ALIKE["NPY_DISABLE_CPU_FEATURES"]
    alike = digits_with(**ALIKE)
    assert digits_with(**ALIKE | {"NPY_DISABLE_CPU_FEATURES": f"X86_V3 {features}"}) == alike


def test_all_that_methods_stand_on_is_looked_at():
    code = "\n".join(
        path.read_text() for path in (ROOT / "annot_pipeline" / "methods").rglob("*.py")
    )
    used = {
        name.strip()
        for names in re.findall(r"from scipy\.special import (.+)", code)
        for name in names.split(",")
    }
    rounded = "exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|tanh|logaddexp|einsum|power|hypot"
    used |= set(re.findall(rf"\bnp\.({rounded}|arc\w+)\b", code))
    used |= set(re.findall(r"\bnp\.linalg\.(\w+)\(", code))
    used |= {
        f"math.{name}" for name in re.findall(rf"\bmath\.({rounded}|pow|erf\w*|\w*gamma)\b", code)
    }
    assert used > {"exp", "betaincinv", "solve"}
    assert used <= digits().keys()
