"""`annot score`: a model's labels or distributions against gold.

Gold's distribution of an item is made in `scoring.gold` and nowhere else. What does not belong
here: arithmetic (methods.labels.prediction_scores, class_scores, reliability).
"""

from __future__ import annotations

from annot_pipeline.scoring.score import Options, PredictionScores, score, score_predictions

__all__ = ["Options", "PredictionScores", "score", "score_predictions"]
