"""Where facts become an answer: the count plus noise scaled by its sensitivity."""

from __future__ import annotations

from whitecrow.count.question import Count
from whitecrow.counting.facts import OutlierFacts
from whitecrow.counting.mechanism import noisy_count
from whitecrow.noise import Source


def release(question: Count, facts: OutlierFacts, source: Source | None = None) -> int:
    """Return the noisy count, raised to 0 unless the raw value was asked for."""
    raw = noisy_count(facts, source)
    return raw if question.raw else max(0, raw)
