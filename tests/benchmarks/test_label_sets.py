"""Labels by language models are held against truths as the benchmark does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.careless_judges import public_sets
from benchmarks.label_sets import measure

MODELS = [{"name": "*", "kind": "model"}]


@pytest.mark.parametrize("name", ["LLMEval^2", "MT-Bench"])
@pytest.mark.slow
def test_models_who_share_mistakes_make_no_label_certain(shared_data: Path, name: str):
    """As if people had labelled, 27% and 52% were certain, and one in seven of these wrong."""
    [(answers, truths)] = [rest for own, *rest in public_sets(shared_data) if own.endswith(name)]
    as_people, as_models = measure(answers, truths), measure(answers, truths, MODELS)
    assert as_people["certain"] > 0.2
    assert as_people["certain_right"] < 0.9
    assert as_models["certain"] == 0
    assert as_models["published_loss"] < as_people["published_loss"] - 0.02
    assert as_models["published_loss"] < as_models["votes_loss"] + 0.035
