"""What choosing a radius may take."""

from __future__ import annotations

from whitecrow.counting.cost import noisy_count_cost, pairs_cost
from whitecrow.data import Card
from whitecrow.limits import Limits, in_turn
from whitecrow.tune.question import Tune


def cost(question: Tune, card: Card, records: int) -> Limits:
    """A count for every radius, or a noisy count for every step of the bisection."""
    width = len(question.subspace(card))
    if question.chosen_method(card) == "exponential":
        return in_turn([pairs_cost(width, records)], times=len(question.radii))
    noise = question.noise(card)
    return in_turn([noisy_count_cost(width, records, noise, question.beta)], times=question.steps)
