"""What a monitor may take."""

from __future__ import annotations

from whitecrow.data import Card
from whitecrow.learn import Learn
from whitecrow.learn.cost import cost as cost_of_learning
from whitecrow.limits import Limits, in_turn
from whitecrow.monitor.question import Monitor

__all__ = ["cost"]

_MORE = 2.0
"""Beside learning: sorting into periods, the alarm's histograms, and reading it all again."""


def cost(question: Monitor, card: Card, records: int) -> Limits:
    """Every step counts the records of all periods so far, as ``learn`` does."""
    learned = Learn(question.names(card), epsilon=question.epsilon, delta=question.delta)
    once = cost_of_learning(learned, card, records)
    taken = in_turn([once], times=_MORE * question.through)
    return Limits(taken.seconds, taken.bytes * (1 + question.through / 8))
