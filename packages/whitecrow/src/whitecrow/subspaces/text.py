"""What ``describe`` says of a search for subspaces, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whitecrow.data import Card

if TYPE_CHECKING:
    from whitecrow.subspaces.question import Subspaces


def subspace_words(question: Subspaces, card: Card) -> tuple[str, dict[str, Any]]:
    """Return the words and the figures of a description."""
    candidates = question.candidates(card)
    largest = max(question.caps(card))
    rate = float(question.eta(card)) / largest
    # P(a draw misses the best by more than g) <= (number of candidates) e^(-rate g): McSherry and
    # Talwar's bound, at 1/2 and at 1/20.
    half, most = (math.log(len(candidates) / chance) / rate for chance in (0.5, 0.05))
    figures: dict[str, Any] = {
        "subspaces": len(candidates),
        "top": question.top,
        "median_shortfall": half,
        "shortfall_95": most,
        "global_sensitivity": largest,
    }
    words = (
        f"The {question.top} of {len(candidates)} subspaces with the most outliers, by the "
        f"exponential mechanism. Each one named has at most {half:.3g} outliers less than the best "
        f"one left with probability one half, at most {most:.3g} less with probability 95 %."
    )
    if question.count_share:
        counts = [question.count_noise(subspace, card) for subspace in candidates[:1]]
        expected = counts[0].expected_sensitivity(question.expected_cluster_size)
        figures |= {
            "count_mechanism": counts[0].mechanism,
            "count_median_error": counts[0].error(0.5, expected),
            "count_error_95": counts[0].error(0.95, expected),
        }
        words += (
            f" The number of outliers in each, by {counts[0].mechanism}: expected error "
            f"{figures['count_median_error']:.3g} (median) and "
            f"{figures['count_error_95']:.3g} (95 %)."
        )
    return words, figures
