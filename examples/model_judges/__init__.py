"""Three systems graded by a model, and 200 of their answers by people: docs/model_judges.md."""
