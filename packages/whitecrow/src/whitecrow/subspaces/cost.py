"""What ranking subspaces may take."""

from __future__ import annotations

from collections import Counter

from whitecrow.counting.cost import noisy_count_cost, pairs_cost
from whitecrow.data import Card
from whitecrow.limits import Limits, in_turn
from whitecrow.subspaces.question import Subspaces


def cost(question: Subspaces, card: Card, records: int) -> Limits:
    """Every candidate is counted; with counts in the answer, the best ones with their noise."""
    candidates = question.candidates(card)
    # By their widths, and not one by one: this is what refuses a question with very many of them.
    widths = Counter(map(len, candidates))
    parts = [in_turn([pairs_cost(width, records)], times) for width, times in widths.items()]
    if question.count_share:
        widest = max(candidates, key=len)
        noise, beta = question.count_noise(widest, card), question.model.beta
        parts += [noisy_count_cost(len(widest), records, noise, beta)] * question.top
    return in_turn(parts)
