"""What a monitor may take."""

from __future__ import annotations

from whitecrow.data import Card
from whitecrow.learning import Learn
from whitecrow.learning.cost import CELLS_OF_TABLES
from whitecrow.learning.cost import cost as cost_of_learning
from whitecrow.limits import Limits, in_turn
from whitecrow.monitor.question import Monitor

_MORE = 2.0
"""Beside learning: sorting into periods, the alarm's histograms, and reading it all again."""
_KEPT = 40
"""Bytes of a released number, as it is kept and as it is read."""


def cost(question: Monitor, card: Card, records: int) -> Limits:
    """Every step counts the records of all periods so far, as ``learn`` does; one at a time."""
    learned = Learn(question.names(card), epsilon=question.epsilon, delta=question.delta)
    once = in_turn([cost_of_learning(learned, card, records)], times=_MORE)
    return Limits(once.seconds, once.bytes + _KEPT * CELLS_OF_TABLES * question.through)
