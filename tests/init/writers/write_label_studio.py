"""Exports of Label Studio: JSON as its server has it, and what its converter makes of that."""

import json
import sys
from pathlib import Path

from answers import ITEMS, PEOPLE, TOPICS, label, score, topics
from label_studio_sdk.converter import Converter

CONFIG = f"""<View>
  <Text name="text" value="$text"/>
  <Choices name="tone" toName="text"><Choice value="kind"/><Choice value="rude"/></Choices>
  <Rating name="quality" toName="text" maxRating="5"/>
  <Choices name="topics" toName="text" choice="multiple">
    {"".join(f'<Choice value="{topic}"/>' for topic in TOPICS)}
  </Choices>
</View>"""


def result(name: str, kind: str, value: object) -> dict[str, object]:
    return {"id": name, "from_name": name, "to_name": "text", "type": kind, "value": value}


tasks = []
for n in range(len(ITEMS)):
    annotations = [
        {
            "id": 10 * n + judge + 1, "completed_by": {"id": judge, "email": f"{name}@x.example"},
            "created_at": f"2026-11-{n + 1:02}T10:00:00Z", "lead_time": 4.0 + judge,
            "updated_at": f"2026-11-{n + 1:02}T10:05:00Z", "was_cancelled": False,
            "ground_truth": False, "task": n + 1,
            "result": [
                result("tone", "choices", {"choices": [label(n, judge)]}),
                result("quality", "rating", {"rating": score(n, judge)}),
                result("topics", "choices", {"choices": topics(n, judge)}),
            ],
        }
        for judge, name in enumerate(PEOPLE)
    ]  # fmt: skip
    tasks.append({"id": n + 1, "data": {"text": f"review {n}"}, "annotations": annotations})
folder = Path(sys.argv[1])
source = folder / "tasks.json"
source.write_text(json.dumps(tasks))
converter = Converter(CONFIG, project_dir=None)
for form in ("JSON", "JSON_MIN", "CSV"):
    (folder / form).mkdir()
    converter.convert(str(source), str(folder / form), form, is_dir=False)
