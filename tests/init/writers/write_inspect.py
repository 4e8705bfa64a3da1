"""Logs of Inspect: two models, two epochs, a scorer of labels and one of numbers."""

import math
import sys

from answers import ITEMS, label, score
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, mean, scorer
from inspect_ai.solver import solver


@scorer(metrics=[accuracy()])
def tone():
    async def scored(state, target):  # noqa: ARG001  # as Inspect calls it
        return Score(value=label(int(state.sample_id[1:]), state.epoch), explanation="so it sounds")

    return scored


@scorer(metrics=[mean()])
def quality():
    async def scored(state, target):  # noqa: ARG001  # as Inspect calls it
        number = int(state.sample_id[1:])
        return Score(value=math.nan if number == 0 else score(number, state.epoch))

    return scored


@solver
def answered():
    async def solve(state, generate):  # noqa: ARG001  # as Inspect calls it
        state.output = ModelOutput.from_content(str(state.model), "an answer")
        return state

    return solve


task = Task(
    dataset=[Sample(id=item, input=f"question {item}", target="kind") for item in ITEMS],
    solver=answered(),
    scorer=[tone(), quality()],
)
for model in ("m1", "m2"):
    evaluate(
        task, model=get_model(f"mockllm/{model}"), epochs=2, log_dir=sys.argv[1],
        log_format="json", display="none",
    )  # fmt: skip
