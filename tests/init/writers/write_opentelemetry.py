"""Spans of OpenTelemetry with the evaluations that its conventions for generative AI name."""

import sys
from pathlib import Path

from answers import EVALUATORS, ITEMS, score
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

with Path(sys.argv[1], "spans.jsonl").open("w") as file:
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(
        out=file, formatter=lambda span: span.to_json(indent=None) + "\n"
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("an application")
    for n, item in enumerate(ITEMS):
        attributes = {"gen_ai.request.model": "m1", "gen_ai.response.id": item}
        with tracer.start_as_current_span("chat", attributes=attributes) as span:
            span.add_event("gen_ai.choice", {"index": 0})
            for judge, name in enumerate(EVALUATORS):
                span.add_event("gen_ai.evaluation.result", {
                    "gen_ai.evaluation.name": name,
                    "gen_ai.evaluation.score.value": score(n, judge) / 5,
                    "gen_ai.evaluation.explanation": "so it reads",
                })  # fmt: skip
