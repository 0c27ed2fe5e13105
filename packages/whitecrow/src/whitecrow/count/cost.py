"""What a count may take."""

from __future__ import annotations

from whitecrow.count.question import Count
from whitecrow.counting.cost import noisy_count_cost
from whitecrow.data import Card
from whitecrow.limits import Limits


def cost(question: Count, card: Card, records: int) -> Limits:
    """One noisy count."""
    width = len(question.subspace(card))
    return noisy_count_cost(width, records, question.calibration(card), question.model.beta)
