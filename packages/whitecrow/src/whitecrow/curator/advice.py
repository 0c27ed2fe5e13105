"""Advice before spending, from public facts only: what accuracy costs, and what epsilon means."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import Guarantee, odds_factor, rounded_up
from whitecrow.question import Question

_ERRORS = (
    "expected_error",
    "error_if_alone",
    "median_error",
    "median_shortfall",
    "margin_for_95",
    "mean_deviation",
    "deviation",
    "noise_standard_deviation",
    "worst_error",
)
"""Figures of a description that say how wrong an answer will be, the most telling first."""

_DIGITS = 100  # prices are advised on two significant digits and a half: 1.00, 1.01, ..., 9.99
_LEAST, _MOST = -4 * 900, 3 * 900  # steps of the grid: from 0.0001 up to 1000


@dataclass(frozen=True)
class Reference:
    """An epsilon that somebody used, for comparison."""

    epsilon: str
    who: str
    source: str


REFERENCES = (
    Reference(
        "0.15 a query (delta 1e-10)",
        "LinkedIn, audience engagement statistics",
        "Rogers et al., LinkedIn's Audience Engagements API, 2020",
    ),
    Reference(
        "2 to 8 a day and use",
        "Apple, what people type and visit (noise added on the device)",
        "Apple, Differential Privacy Technical Overview, 2017",
    ),
    Reference(
        "2.64 a person and day",
        "Google, mobility reports during the pandemic",
        "Aktay et al., Google COVID-19 Community Mobility Reports: Anonymization Process, 2020",
    ),
    Reference(
        "19.61 (17.14 for persons, 2.47 for housing units)",
        "US Census Bureau, redistricting data of 2020",
        "Census Bureau, 2020 Census redistricting production settings, 2021",
    ),
)
"""What others spent. The notions and units differ; none of them is a recommendation."""


@dataclass(frozen=True)
class Advice:
    """What a question would have to cost, or how wrong it would be.

    Parameters
    ----------
    question : Question
        The question at the advised price.
    price : Guarantee
        What it would promise.
    figure : str
        Which figure of its description stands for the error.
    error : float
        That figure.
    odds : float
        What the price means: the factor by which the odds of any conclusion may change.
    references : tuple of Reference
        What others spent.
    """

    question: Question
    price: Guarantee
    figure: str
    error: float
    odds: float
    references: tuple[Reference, ...] = REFERENCES

    def __str__(self) -> str:
        epsilon = rounded_up(_epsilon(self.question))
        return (
            f"At ε = {epsilon} the {self.figure.replace('_', ' ')} is {self.error:.3g}. The odds "
            f"of any conclusion about a covered record change by at most "
            f"{odds_factor(_epsilon(self.question))} times."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "question": {"kind": self.question.kind, **self.question.to_json()},
            "price": self.price.to_json(),
            "figure": self.figure,
            "error": self.error,
            "odds": self.odds,
            "references": [vars(reference) for reference in self.references],
        }


def price_for(
    question: Question, card: Card, *, error: float | None = None, public: dict[str, Any]
) -> Advice:
    """Find the smallest price for a wanted error, or the error at the question's own price.

    The error is in the unit of the question's figure; ``public`` are guesses for ``describe``.
    """
    if error is None:
        return _advice(question, card, public)
    if isinstance(error, bool) or not isinstance(error, int | float) or not error > 0:
        raise invalid("price_for", "error", "a number above 0", error)

    def good(step: int) -> bool:
        return _advice(_at(question, _price(step)), card, public).error <= error

    if not good(_MOST):
        raise InvalidInput(
            f"No epsilon up to {rounded_up(_price(_MOST))} brings the error of this question to "
            f"{error:g}; change the model or the question."
        )
    # The error falls as the price rises: the first step that is good enough.
    step = _LEAST + bisect_left(range(_LEAST, _MOST), True, key=good)
    return _advice(_at(question, _price(step)), card, public)


def _price(step: int) -> Fraction:
    """The prices of the grid: 900 a decade, exact decimals."""
    decade, rest = divmod(step, 900)
    return (_DIGITS + rest) * Fraction(10) ** decade / _DIGITS


def _at(question: Question, epsilon: Fraction) -> Question:
    parameters = question.to_json()
    if parameters.get("epsilon") is None:
        raise InvalidInput(
            f"Advice on a wanted error needs a {question.kind} question priced by epsilon."
        )
    return type(question).from_json({**parameters, "epsilon": str(epsilon)})


def _epsilon(question: Question) -> Fraction:
    return Fraction(question.to_json().get("epsilon") or 0)


def _advice(question: Question, card: Card, public: dict[str, Any]) -> Advice:
    described = question.describe(card, **public)
    for figure in _ERRORS:
        if figure in described.figures:
            value = described.figures[figure]
            if isinstance(value, list):  # a series: its end is what it comes to
                value = value[-1]
            odds = math.exp(min(700.0, float(_epsilon(question))))
            return Advice(question, described.price, figure, float(value), odds)
    raise InvalidInput(f"A {question.kind} question says no error in advance.")
