"""What ``count`` must know of the data, and where it becomes an answer: a count and its noise."""

from __future__ import annotations

from whitecrow.count.question import Count
from whitecrow.counting.mechanism import OutlierFacts, noisy_count, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.noise import Source
from whitecrow.question import Progress


def gather(
    question: Count, dataset: Records, engine: Engine, progress: Progress | None = None
) -> OutlierFacts:
    """Count neighbours as far as the noise needs them, then outliers and sensitivity."""
    card = dataset.card
    relation, noise = question.neighbour_relation(card), question.calibration(card)
    if progress is not None:
        progress(0, 1, "counting outliers")
    facts = outlier_facts(dataset, engine, relation, question.model.beta, noise)
    if progress is not None:
        progress(1, 1, "counting outliers")
    return facts


def release(question: Count, facts: OutlierFacts, source: Source | None = None) -> int:
    """Return the noisy count, raised to 0 unless the raw value was asked for."""
    raw = noisy_count(facts, source)
    return raw if question.raw else max(0, raw)
