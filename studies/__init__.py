"""`python -m studies`: what a way of asking would buy, on simulated judges or recorded judgments.

From low to high: ``params`` (settings), ``scalar_judges``, ``recorded``, ``oracles`` (who judges,
what is true), ``item_asking`` and ``system_asking`` (DA, RA, EASL at equal cost), ``curves``,
``item_*`` and ``system_*`` (whole studies), ``tables``, ``figures``, ``findings`` and ``write``
(what came out), ``registry`` (the studies by name). Campaigns to test the pipeline on are drawn
elsewhere (studies.simulators).
"""

from studies.registry import NAMES, STUDIES, run_study

__all__ = ["NAMES", "STUDIES", "run_study"]
