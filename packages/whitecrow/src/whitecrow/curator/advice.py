"""Advice before spending, from public facts only: what accuracy costs, and which model to take.

A model for a wanted share of outliers is tried on made-up records. They are drawn uniformly within
the card's bounds, or, where a profile was bought, from its quantiles and counts, each column by
itself. What columns have to do with each other is in neither, so the radius is a start. The
question that comes with it buys the radius from the data, at a price and with an error that are
known before.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator.dummy import simulated, with_bounds
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import open_engine, relation_on
from whitecrow.neighbours.relation import SCALED
from whitecrow.privacy import Exactly, Guarantee, exact, guarantee, odds_factor, rounded_up
from whitecrow.question import Description, Question, coin_warning, error_words
from whitecrow.questions import read_question

if TYPE_CHECKING:
    from whitecrow.histogram.table import TableProfile
    from whitecrow.tune import Tune

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
)  # figures of a description that say how wrong an answer will be, the most telling first

_PRICES = range(-4 * 900, 3 * 900)
"""Steps from 0.0001 up to 1000, 900 a decade: 1.00, 1.01, ..., 9.99."""


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
        epsilon, figure = _epsilon(self.question), self.figure.replace("_", " ")
        return (
            f"At ε = {rounded_up(epsilon)} the {figure} is {self.error:.3g}. The odds of any "
            f"conclusion about a covered record change by at most {odds_factor(epsilon)} times."
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
    parameters = question.to_json()
    if parameters.get("epsilon") is None:
        raise InvalidInput(
            f"Advice on a wanted error needs a {question.kind} question priced by epsilon."
        )

    def at(step: int) -> Advice:
        decade, rest = divmod(step, 900)
        epsilon = (100 + rest) * Fraction(10) ** decade / 100
        priced = type(question).from_json({**parameters, "epsilon": str(epsilon)})
        return _advice(priced, card, public)

    if not at(_PRICES.stop).error <= error:
        raise InvalidInput(
            f"No epsilon up to 1000 brings the error of this question to {error:g}; change the "
            "model or the question."
        )
    # The error falls as the price rises: the first step that is good enough.
    step = bisect_left(_PRICES, True, key=lambda step: at(step).error <= error)
    return at(_PRICES.start + step)


def _advice(question: Question, card: Card, public: dict[str, Any]) -> Advice:
    described = question.describe(card, **public)
    figure = next((figure for figure in _ERRORS if figure in described.figures), None)
    if figure is None:
        raise InvalidInput(f"A {question.kind} question says no error in advance.")
    value = described.figures[figure]
    if isinstance(value, list):  # a series: its end is what it comes to
        value = value[-1]
    odds = math.exp(min(700.0, float(_epsilon(question))))
    return Advice(question, described.price, figure, float(value), odds)


def _epsilon(question: Question) -> Fraction:
    return Fraction(question.to_json().get("epsilon") or 0)


_MOST_DRAWN = 3000
_HALVINGS = 24
_STEPS = range(-8, 9)


@dataclass(frozen=True)
class ModelAdvice:
    """A model for a wanted share of outliers, and how to buy a better one.

    Parameters
    ----------
    model : DistanceAnomaly
        What made about that share of the made-up records outliers.
    columns : tuple of str
        Over which columns.
    share : float
        The share of the made-up records that it makes outliers.
    drawn_from : str
        ``"card"`` or ``"profile"``.
    question : Tune
        Ask it to have the radius chosen by the data, around the model's.
    description : Description
        Its price and expected error.
    """

    model: DistanceAnomaly
    columns: tuple[str, ...]
    share: float
    drawn_from: str
    question: Tune
    description: Description

    def __str__(self) -> str:
        return (
            f"beta {self.model.beta}, radius {self.model.radius:.4g} ({self.model.metric} over "
            f"{', '.join(self.columns)}) makes {self.share:.2%} of made-up records outliers. They "
            f"were drawn from the {self.drawn_from}, each column by itself, and tell nothing of "
            f"how columns go together. To have the radius chosen by the data, ask the tune "
            f"question that comes with this: {self.description.price!r}; {self.description.error}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model.to_json(),
            "columns": list(self.columns),
            "share": self.share,
            "drawn_from": self.drawn_from,
            "question": {"kind": self.question.kind, **self.question.to_json()},
            "description": self.description.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelAdvice:
        from whitecrow.tune import Tune

        question = read_question(data["question"])
        assert isinstance(question, Tune)
        described = {**data["description"], "labels": question.figures}
        described["price"] = guarantee(described["price"])
        return cls(
            DistanceAnomaly.from_json(data["model"]),
            tuple(data["columns"]),
            float(data["share"]),
            str(data["drawn_from"]),
            question,
            Description(**described),
        )


def advised_model(
    card: Card,
    contamination: Exactly,
    *,
    columns: Sequence[str] | None = None,
    metric: str = "standardised",
    beta: int = 20,
    records: int | None = None,
    profile: TableProfile | None = None,
    epsilon: Exactly = "1",
) -> ModelAdvice:
    """Find a radius for a wanted share of outliers (below 1/2), from public facts alone.

    Parameters
    ----------
    columns : sequence of str, optional
        Which columns are compared; by default all that the metric takes.
    records : int, optional
        About how many records there are; by default the profile's number or the card's.
    profile : TableProfile, optional
        What a priced profile released; records are drawn from it instead of the card.
    epsilon : exact number
        The price of the question that has the radius chosen by the data.
    """
    from whitecrow.tune import Tune

    share = exact(contamination, owner="advise", parameter="contamination")
    if share >= Fraction(1, 2):
        raise invalid("advise", "contamination", "below 1/2", contamination)
    number = records or (profile.records if profile is not None else card.most_records)
    if number is None or number < 1:
        raise InvalidInput(
            "Say about how many records there are (records=...): how many of them lie within a "
            "radius depends on it, and the card does not say."
        )
    columns = compared(card, metric) if columns is None else columns
    basis = card if profile is None else with_bounds(card, profile)
    drawn = simulated(basis, min(number, _MOST_DRAWN), profile=profile)
    near = max(1, round(beta * drawn.size / number))
    engine = open_engine(drawn)

    def outliers(radius: float) -> float:
        relation = relation_on(basis, columns, metric, radius)
        return float((engine.degrees(relation, near + 1) <= near).mean())

    low, high = 1e-6, 1.0
    while outliers(high) > share and high < 1e12:
        high *= 4.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if outliers(middle) > share else (low, middle)
    radius = float(f"{high:.3g}")
    tune = Tune(
        columns,
        share=share,
        radii=[float(f"{radius * 2 ** (step / 4):.4g}") for step in _STEPS],
        beta=beta,
        metric=metric,
        epsilon=epsilon,
    )
    described = tune.describe(card)
    return ModelAdvice(
        model=DistanceAnomaly(beta, radius, metric),
        columns=tuple(columns),
        share=outliers(radius),
        drawn_from="card" if profile is None else "profile",
        question=tune,
        description=replace(
            described,
            error=error_words(tune, described.figures),
            warning=coin_warning(tune, described.figures),
            labels=tune.figures,
        ),
    )


def compared(card: Card, metric: str) -> tuple[str, ...]:
    """Return the columns that a metric can compare as the card is."""
    types = ("number", "integer", "date")
    names = tuple(
        column.name
        for column in card.columns
        if (column.type in types and (column.scale is not None or metric not in SCALED))
        or (column.type == "category" and metric == "mixed")
    )
    if not names:
        raise InvalidInput(
            f"The card has no column that {metric!r} can compare. Give columns a 'scale' on the "
            "card (a profile drafts one), or name the columns and another metric."
        )
    return names
