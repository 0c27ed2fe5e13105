"""What ``lookahead`` says of itself before it is asked, from public facts only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whitecrow.place.question import chance

if TYPE_CHECKING:
    from whitecrow.lookahead.question import Lookahead


def lookahead_words(
    question: Lookahead, cells: int, contribution: int, typical: int | None
) -> tuple[str, dict[str, Any]]:
    """Say what ``lookahead`` will release and how far off its counts will be."""
    beta, threshold = question.model.beta, question.threshold
    rate = max(1e-300, float(question.epsilon / contribution))
    a = math.exp(-rate)
    figures: dict[str, Any] = {
        "cells": cells,
        "perturbed_from": threshold,
        "noise_standard_deviation": math.sqrt(2 * a) / -math.expm1(-rate),
        "noise_within_95": _quantile(rate),
    }
    if threshold > 0:
        words = (
            f"How many records have each of the {cells:,} combinations of "
            f"{', '.join(question.columns)}. Counts of at least {threshold} get noise (standard "
            f"deviation {figures['noise_standard_deviation']:.3g}, within "
            f"{figures['noise_within_95']} in 95 of 100 cells). COUNTS BELOW {threshold} ARE "
            "RELEASED AS THEY ARE: records with so few like them are not covered by the promise."
        )
    else:
        # An empty cell is released with 1 to beta records when its noise lies there.
        figures["expected_false_anomalies"] = cells * a * (1 - a**beta) / (1 + a)
        words = (
            f"How many records have each of the {cells:,} combinations of "
            f"{', '.join(question.columns)}, every count with noise (standard deviation "
            f"{figures['noise_standard_deviation']:.3g}, within {figures['noise_within_95']} in 95 "
            f"of 100 cells). If all cells were empty, about "
            f"{figures['expected_false_anomalies']:,.3g} of them would still be listed as "
            "anomalies."
        )
    if typical is not None:
        figures["typical_count"] = typical
        figures["expected_error"] = _label_error(typical, beta, threshold, a)
        words += (
            f" A cell of {typical} records (your public guess) is listed on the wrong side of "
            f"{beta} with probability {chance(figures['expected_error'])}."
        )
    return words, figures


def _quantile(rate: float) -> int:
    """Return the smallest m with P(|noise| <= m) >= 0.95; P(|noise| > m) = 2 a^(m+1) / (1+a)."""
    return max(0, math.ceil(-math.log(0.025 * (1 + math.exp(-rate))) / rate) - 1)


def _label_error(count: int, beta: int, threshold: int, a: float) -> float:
    """Return the chance that a cell of this count is listed with the wrong label."""
    if count < threshold:
        return 0.0

    def at_most(value: int) -> float:
        """P(count + noise <= value) for the two-sided geometric law."""
        steps = value - count
        tail = a ** (abs(steps) + (steps >= 0)) / (1 + a)
        return 1 - tail if steps >= 0 else tail

    anomalous = at_most(beta) - at_most(0)
    return 1 - anomalous if 1 <= count <= beta else anomalous
