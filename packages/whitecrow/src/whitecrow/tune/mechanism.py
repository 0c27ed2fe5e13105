"""Where facts become an answer: a search by noisy counts, or the exponential mechanism."""

from __future__ import annotations

from whitecrow.counting.calibration import draw
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.tune.facts import TuneFacts
from whitecrow.tune.question import Tune


def release(question: Tune, facts: TuneFacts, source: Source | None = None) -> float:
    """Return the radius: the first one, by noisy counts, with no more outliers than wanted."""
    part = question.share
    if facts.method == "exponential":
        utilities = [
            -abs(facts.count(index).exact_outliers - part * facts.exact_size)
            for index in range(len(question.radii))
        ]
        return question.radii[exponential_mechanism(utilities, facts.eta, source)]
    low, high = 0, len(question.radii)
    for _ in range(question.steps):
        middle = min((low + high) // 2, len(question.radii) - 1)
        counted = facts.count(middle)
        # In units of the share's denominator everything is a whole number, and the rounded noise
        # on it is a rounding of the ideal mechanism.
        unit = part.denominator
        excess = unit * counted.exact_outliers - part.numerator * facts.exact_size
        moved = unit * (counted.exact_sensitivity + question.drift())
        noise = draw(counted.calibration, moved, source)
        if excess + noise > 0:
            low = min(middle + 1, high)
        else:
            high = middle
    return question.radii[min(low, len(question.radii) - 1)]
