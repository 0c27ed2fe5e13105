"""Where the count becomes an answer: Construction 1 with the exact distance."""

from __future__ import annotations

from whitecrow.anomaly.law import flip
from whitecrow.noise import Source
from whitecrow.screen.facts import ScreenFacts
from whitecrow.screen.question import Screen


def release(question: Screen, facts: ScreenFacts, source: Source | None = None) -> bool:
    """Return whether the record would be an anomaly, turned over with a small probability."""
    truth = facts.exact_neighbours < question.model.beta
    return truth != flip(question.bound(facts.exact_neighbours, facts.step), facts.step, source)
