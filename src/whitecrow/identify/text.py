"""What the three questions say of themselves before they are asked, from public facts only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whitecrow.identify.law import error_cap, flip_probability

if TYPE_CHECKING:
    from whitecrow.identify.lookahead.question import Lookahead
    from whitecrow.identify.question import Identify
    from whitecrow.identify.screen.question import Screen

__all__ = ["chance", "identify_words", "lookahead_words", "screen_words"]

Words = tuple[str, dict[str, Any]]

_TIME = (
    "Counting stops where more neighbours would not change the answer's law, so the time it takes "
    "depends on the data; where that can be seen, pad it."
)


def chance(probability: float) -> str:
    """Say a probability so that people can picture it.

    Examples
    --------
    >>> chance(0.475), chance(0.00214547), chance(0.0), chance(1e-20)
    ('47.5 %', '1 in 466', 'never', 'less than 1 in a billion')
    """
    if probability == 0:
        return "never"
    if probability >= 0.01:
        return f"{100 * probability:.3g} %"
    if probability < 1e-9:
        return "less than 1 in a billion"
    return f"1 in {round(1 / probability):,}"


def identify_words(question: Identify, contribution: int, typical: int | None) -> Words:
    """Say what ``identify`` will release and how often it will be wrong."""
    model, step = question.model, question.epsilon / contribution
    figures: dict[str, Any] = {
        "worst_error": flip_probability(1, step),
        "error_if_alone": question.wrong(1, 1, contribution),
        "error_if_absent": question.wrong(0, 0, contribution),
        "error_floor": flip_probability(error_cap(step, question.error_floor), step),
    }
    words = (
        f"Is this record in the data with at most {model.beta} records, itself included, within "
        f"{model.radius:g} of it ({model.metric})? The answer is yes or no. It is wrong with "
        f"probability at most {chance(figures['worst_error'])}, the worst case at the boundary; "
        f"for a record alone within the radius {chance(figures['error_if_alone'])}, for a record "
        f"that is absent with nothing near it {chance(figures['error_if_absent'])}."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = question.wrong(1, typical, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    if question.covers_everyone and question.notion == "sensitive":
        words += " Since k is at least beta, sensitive privacy covers everyone here."
    return f"{words} {_TIME}", figures


def screen_words(question: Screen, contribution: int, typical: int | None) -> Words:
    """Say what ``screen`` will release and how often it will be wrong."""
    model, step = question.model, question.epsilon / contribution
    figures: dict[str, Any] = {
        "worst_error": flip_probability(1, step),
        "error_if_alone": question.wrong(0, contribution),
        "error_floor": flip_probability(error_cap(step, question.error_floor), step),
    }
    words = (
        f"Would this record, added to the data, have at most {model.beta} records, itself "
        f"included, within {model.radius:g} of it ({model.metric})? The answer is yes or no. It is "
        f"wrong with probability at most {chance(figures['worst_error'])}, the worst case at the "
        f"boundary; with no record near it {chance(figures['error_if_alone'])}."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = question.wrong(typical, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    return f"{words} {_TIME}", figures


def lookahead_words(
    question: Lookahead, cells: int, contribution: int, typical: int | None
) -> Words:
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
