"""A model for a wanted share of outliers: tried on made-up records, and a question that buys it.

The records are drawn from public facts: uniformly within the card's bounds, or, where a profile was
bought, from its quantiles and counts, each column by itself. What columns have to do with each
other is in neither, so the radius is a start. The question that comes with it buys the radius from
the data, at a price and with an error that are known before.
"""

from __future__ import annotations

import math
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
from whitecrow.privacy import Exactly, exact, guarantee
from whitecrow.question import Description, coin_warning, error_words
from whitecrow.questions import read_question

if TYPE_CHECKING:
    from whitecrow.histogram.table import TableProfile
    from whitecrow.tune import Tune

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
    """Find a radius for a wanted share of outliers, from public facts alone.

    Parameters
    ----------
    card : Card
        The public facts.
    contamination : exact number
        The wanted share of outliers, above 0 and below 1/2.
    columns : sequence of str, optional
        Which columns are compared; by default all that the metric takes.
    metric, beta
        Of the model.
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
