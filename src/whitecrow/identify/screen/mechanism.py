"""Where the count becomes an answer: Construction 1 with the exact distance."""

from __future__ import annotations

from whitecrow.identify.mechanism import flip
from whitecrow.identify.screen.facts import ScreenFacts
from whitecrow.identify.screen.question import Screen
from whitecrow.noise import Source

__all__ = ["release"]


def release(question: Screen, facts: ScreenFacts, source: Source | None = None) -> bool:
    """Return whether the record would be an anomaly, turned over with a small probability."""
    truth = facts.neighbours < question.model.beta
    return truth != flip(question.bound(facts.neighbours, facts.step), facts.step, source)
