"""An answer on a page: what it says, how wrong it may be, and what it means for privacy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from whitecrow.privacy import Guarantee, ZeroConcentrated, odds_factor
from whitecrow.question import Question
from whitecrow.rendering import figure_rows
from whitecrow_server.console import _show as show


def figures(question: Question, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The expected error of a description as rows of a table, in the question's own words."""
    return figure_rows(question.figures, found)


def meaning(price: Guarantee) -> str:
    """What a price means for somebody in the data, in one sentence."""
    if isinstance(price, ZeroConcentrated):
        return (
            f"Gaussian noise with ρ = {show.up(price.rho)}: typical losses are about "
            f"{show.number(float(2 * price.rho) ** 0.5)}, large ones are exponentially rare."
        )
    factor = odds_factor(Fraction(price.epsilon))
    whom = {
        "differential": "anybody",
        "sensitive": "a covered record",
        "conditional": "anybody else, while the condition holds,",
    }[price.notion]
    return (
        f"Whatever you believe about {whom} before the answer, the odds of it change by at most "
        f"{factor} times."
    )
