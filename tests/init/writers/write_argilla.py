"""Records of Argilla, as `Dataset.records.to_json` writes them."""

import sys
import uuid
from pathlib import Path

import argilla
from answers import ITEMS, PEOPLE, label, score, topics
from argilla.records._io import JsonIO

USERS = [uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in PEOPLE]
records = [
    argilla.Record(
        id=item,
        fields={"text": f"review {n}"},
        metadata={"source": "web"},
        suggestions=[argilla.Suggestion("tone", "kind", agent="a model", score=0.9)],
        responses=[
            argilla.Response(question, value(n, judge), user_id=user, status="submitted")
            for judge, user in enumerate(USERS)
            for question, value in (("tone", label), ("quality", score), ("topics", topics))
        ],
    )
    for n, item in enumerate(ITEMS)
]
JsonIO.to_json(records, Path(sys.argv[1]) / "records.json")
