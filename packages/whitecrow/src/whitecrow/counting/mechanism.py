"""Where an outlier count becomes an answer: noise scaled by its sensitivity."""

from __future__ import annotations

from whitecrow.counting.calibration import draw
from whitecrow.counting.facts import OutlierFacts
from whitecrow.noise import Source


def noisy_count(facts: OutlierFacts, source: Source | None = None) -> int:
    """Return the count with its noise: any whole number, also below 0."""
    return facts.exact_outliers + draw(facts.calibration, facts.exact_sensitivity, source)
