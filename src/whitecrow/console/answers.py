"""An answer on a page: what it says, how wrong it may be, and what it means for privacy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from whitecrow.console import show
from whitecrow.privacy import Guarantee, ZeroConcentrated

__all__ = ["figures", "meaning"]

_FIGURES: dict[str, tuple[str, str]] = {
    "expected_error": ("wrong with probability, for your guess", "chance"),
    "error_if_alone": ("wrong with probability, for a record with nothing near", "chance"),
    "error_if_absent": ("wrong with probability, for an absent record far from all", "chance"),
    "worst_error": ("wrong with probability, in the worst case at the boundary", "chance"),
    "median_error": ("off by (median)", "number"),
    "error_95": ("off by at most, 95 % of the time", "number"),
    "worst_median_error": ("off by (median), whatever the data", "number"),
    "subspaces": ("subspaces to choose from", "number"),
    "median_shortfall": ("outliers short of the best (median)", "number"),
    "shortfall_95": ("short of the best by at most, 95 % of the time", "number"),
    "count_median_error": ("counts off by (median)", "number"),
    "count_error_95": ("counts off by at most, 95 % of the time", "number"),
    "free_values": ("free values (contexts: 2 to that power)", "number"),
    "margin_for_95": ("margin needed to be right 95 % of the time", "number"),
    "probability_at_most_margin": ("right with probability, for the largest margin", "chance"),
    "mean_deviation": ("standard deviation, first to last period", "range"),
    "deviation": ("standard deviation of the sum, first to last period", "range"),
}
"""Figures of a description that a page shows: in which words, and written how."""


def figures(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The expected error of a description as rows of a table."""
    rows = []
    for key, (words, form) in _FIGURES.items():
        if key not in found or found[key] is None:
            continue
        value = found[key]
        if form == "chance":
            rows.append((words, show.chance(float(value))))
        elif form == "range":
            rows.append((words, f"{show.number(value[0])} to {show.number(value[-1])}"))
        else:
            rows.append((words, show.number(value)))
    return rows


def meaning(price: Guarantee) -> str:
    """What a price means for somebody in the data, in one sentence."""
    if isinstance(price, ZeroConcentrated):
        return (
            f"Gaussian noise with ρ = {show.up(price.rho)}: typical losses are about "
            f"{show.number(float(2 * price.rho) ** 0.5)}, large ones are exponentially rare."
        )
    factor = show.factor(Fraction(price.epsilon))
    whom = {
        "differential": "anybody",
        "sensitive": "a covered record",
        "conditional": "anybody else, while the condition holds,",
    }[price.notion]
    return (
        f"Whatever you believe about {whom} before the answer, the odds of it change by a factor "
        f"of at most {factor}."
    )
