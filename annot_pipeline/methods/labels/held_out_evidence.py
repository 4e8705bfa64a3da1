"""How well models predict labels that are held out: each from the item's other judges."""

from __future__ import annotations

from dataclasses import dataclass

CLEARLY, LEAST_GAIN = 2.0, 3.0
"""Standard errors, and nats over all labels, by which votes must predict better."""
Score = tuple[float, float]
"""Mean log probability, nats a label, and its standard error; NaN without labels."""


def is_clear(gain: Score, n_labels: float) -> bool:
    """Return whether a gain lies above 0, beyond chance."""
    mean, error = gain
    return bool(mean > CLEARLY * error and mean * n_labels > LEAST_GAIN)


@dataclass(frozen=True)
class Evidence:
    """Mean log probabilities of labels that are held out.

    Parameters
    ----------
    published, dawid_skene, votes
        Of the published model, Dawid-Skene, and smoothed votes.
    gain_of_votes
        How much better votes do than the model; where that is clear, votes are published.
    n_labels
        Labels that are predicted, those of one family on an item as one.
    """

    published: Score
    dawid_skene: Score
    votes: Score
    gain_of_votes: Score
    n_labels: int

    def mean_of(self, model: str) -> Score:
        """Return the score of a model by its name."""
        score: Score = getattr(self, model)
        return score

    @property
    def votes_predict_better(self) -> bool:
        """Return whether votes predict held-out labels better, beyond chance."""
        return is_clear(self.gain_of_votes, self.n_labels)
