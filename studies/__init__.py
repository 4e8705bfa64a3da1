"""`python -m studies`: what a way of asking would buy, on simulated judges or recorded judgments.

From low to high: ``params`` (settings), ``scalar_judges``, ``recorded``, ``oracles`` (who judges,
what is true), ``item_asking`` and ``system_asking`` (DA, RA, EASL at equal cost), ``curves``,
``item_*`` and ``system_*`` (whole experiments), ``tables``, ``figures``, ``findings`` and ``write``
(what came out), ``registry`` (the experiments by name). Campaigns to test the pipeline on are drawn
elsewhere (studies.simulators).
"""

from studies.registry import EXPERIMENTS, NAMES, run_experiment

__all__ = ["EXPERIMENTS", "NAMES", "run_experiment"]
