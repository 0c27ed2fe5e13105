"""What ``count`` must know of the data: the count, and the sensitivity its noise is scaled by."""

from __future__ import annotations

from whitecrow.count.question import Count
from whitecrow.counting.facts import OutlierFacts, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.question import Progress


def gather(
    question: Count, dataset: Records, engine: Engine, progress: Progress | None = None
) -> OutlierFacts:
    """Count neighbours as far as the noise needs them, then outliers and sensitivity."""
    if progress is not None:
        progress(0, 1, "counting outliers")
    facts = outlier_facts(
        dataset,
        engine,
        question.neighbour_relation(dataset.card),
        question.model.beta,
        question.calibration(dataset.card),
    )
    if progress is not None:
        progress(1, 1, "counting outliers")
    return facts
