"""Processors that compute other digits are told apart, and the docs say how to make them alike."""

from __future__ import annotations

import json
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


def test_every_process_of_this_machine_computes_the_same():
    assert digits_with() == digits()
    assert digits_with(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1") == digits()
    assert len(set(digits().values())) == len(digits())


@pytest.mark.slow
@on_x86
def test_other_kernels_give_other_digits():
    old = digits_with(OPENBLAS_CORETYPE="Nehalem")
    assert old["solve"] != digits_with(OPENBLAS_CORETYPE="Haswell")["solve"]
    from numpy._core._multiarray_umath import __cpu_features__

    if __cpu_features__["X86_V4"]:
        avx2 = digits_with(NPY_DISABLE_CPU_FEATURES=ALIKE["NPY_DISABLE_CPU_FEATURES"])
        others = {name for name, of in digits().items() if avx2[name] != of}
        assert others >= {"exp", "log", "log1p", "expm1", "power"}


@pytest.mark.slow
@on_x86
def test_with_the_settings_of_the_docs_processors_are_alike():
    """Whether or not there is AVX-512, and whatever OpenBLAS would choose."""
    features = ALIKE["NPY_DISABLE_CPU_FEATURES"]
    assert {*features.split(), "X86_V3"} == {*dispatched()}, "numpy has other kernels: say so"
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
