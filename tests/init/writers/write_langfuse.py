"""Scores of Langfuse, as its API answers."""

import datetime as dt
import json
import sys
from pathlib import Path

from answers import ITEMS, PEOPLE, label, score
from langfuse.api import Score_Boolean, Score_Categorical, Score_Numeric

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
scores = []
for n, item in enumerate(ITEMS):
    for judge, name in enumerate(PEOPLE):
        common = {
            "trace_id": item, "source": "ANNOTATION", "author_user_id": name, "timestamp": NOW,
            "created_at": NOW, "updated_at": NOW, "environment": "default", "metadata": {},
        }  # fmt: skip
        is_right = label(n, judge) == "kind"
        scores += [
            Score_Numeric(
                data_type="NUMERIC", id=f"{item}{name}1", name="quality",
                value=float(score(n, judge)), **common,
            ),
            Score_Categorical(
                data_type="CATEGORICAL", id=f"{item}{name}2", name="tone", value=0,
                string_value=label(n, judge), **common,
            ),
            Score_Boolean(
                data_type="BOOLEAN", id=f"{item}{name}3", name="right", value=float(is_right),
                string_value=str(is_right), **common,
            ),
        ]  # fmt: skip
page = {"data": [json.loads(one.json(by_alias=True)) for one in scores], "meta": {"page": 1}}
Path(sys.argv[1], "scores.json").write_text(json.dumps(page))
