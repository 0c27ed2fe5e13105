"""The question ``screening``: any number of new records, screened at one price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from whitecrow.anomaly import AnomalyModel, CountingModel
from whitecrow.anomaly.model import Ball
from whitecrow.data import Card
from whitecrow.declaration import (
    Declared,
    Delta,
    Epsilon,
    Maybe,
    Names,
    Record,
    RecordList,
    Value,
    Whole,
)
from whitecrow.errors import InvalidInput, invalid
from whitecrow.place.question import ModelChoice
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.question import Question, Said
from whitecrow.screening.law import MOST_FLAGS, Law
from whitecrow.screening.text import described, opened, said_of

MOST_AT_ONCE = 1000
"""How many records one question asks about at the most."""
_HEAVIEST = 1_000_000
_MOST_WEIGHT = 10**15
"""What one record, and all in a ball, may weigh: sums of weights fit into 64 bits."""


class Screening(Question):
    """Would these records, added to the data, be anomalies: have at most ``beta`` records near?

    Paid once, when it is first asked, for any number of records after that: without a record it
    opens the series, with one it asks about it. A record of the data pays for answers "anomaly" in
    whose ball it lies, and is left out of all counts after ``limit`` of them; answers "normal" are
    free for everybody. A record that was asked about before gets the same answer again.

    References
    ----------
    ``proof.md`` beside this file.

    Examples
    --------
    >>> from whitecrow import DistanceAnomaly
    >>> model = DistanceAnomaly(beta=200, radius=0.5)
    >>> series = Screening(model=model, epsilon=1, delta="1e-6")
    >>> series.of({"age": 61, "bmi": 24.1}).paid_as() == series
    True
    """

    kind = "screening"
    stops_early = True
    asks = "Would these new records be anomalies among the data? Any number, at one price"
    example = (
        "transactions.parquet --card transactions.toml --beta 300 --radius 0.5 "
        "--epsilon 1 --delta 1e-6 --records new.csv --out flags.csv"
    )
    reply_seconds = 0.25
    light = True
    coin = ("expected_error", "error_if_alone")
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected_error": ("wrong with probability, for your guess", "chance"),
        "error_if_alone": ("missed with probability, for a record with nothing near", "chance"),
        "clear_above": ("records near it from which on false alarms are under 1 %", "number"),
        "clear_below": ("records near it up to which anomalies are missed under 1 %", "number"),
        "limit": ("anomaly answers after which a record is left out", "number"),
    }

    record: Maybe[Mapping[str, Value], Mapping[str, Any]] = Maybe(
        Record(help="The record to ask about; none opens the series, or says that it is open."),
        default=None,
        kw_only=False,
    )
    batch: Maybe[tuple[Mapping[str, Value], ...], Sequence[Mapping[str, Any]]] = Maybe(
        RecordList(
            most=MOST_AT_ONCE,
            help="Several records, answered in this order; the answer is a list.",
            group="details",
        ),
        default=None,
    )
    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        Names(
            ordered=True,
            help="The columns that are compared. All that the model can compare, unless given.",
            more="For haversine the first is the latitude and the second the longitude.",
            types=("number", "integer", "category", "date"),
        ),
        default=None,
    )
    model: ModelChoice = ModelChoice()
    epsilon: Epsilon = Epsilon(
        help="The price of any number of answers, exact: 1 or 1/2.", label="Price ε"
    )
    delta: Delta = Delta(help="The chance that the promise may fail with: 1e-6, say.")
    limit: Maybe[int, int] = Maybe(
        Whole(
            most=MOST_FLAGS,
            help="How many anomaly answers a record takes part in before it is left out. Chosen "
            "from beta and the price, unless given: more is less sharp, and lasts longer.",
            group="details",
        ),
        default=None,
    )

    class guesses(Declared):
        """A guess for the expected error."""

        typical_neighbours: Maybe[int, int] = Maybe(
            Whole(
                least=0,
                help="How many records the data have near such a record.",
                label="Neighbours of a typical record",
            ),
            default=None,
        )

    def settle(self) -> None:
        """Put the columns into their one order, and the records' values into it."""
        if self.record is not None and self.batch is not None:
            raise InvalidInput("Screening takes a record or a batch of them, not both.")
        if self.columns is not None and getattr(self.model, "metric", "") != "haversine":
            self.put("columns", tuple(sorted(self.columns)))
        self.put("record", None if self.record is None else dict(sorted(self.record.items())))
        if self.batch is not None:
            self.put("batch", tuple(dict(sorted(one.items())) for one in self.batch))

    def made(self) -> None:
        """Write it down; all questions of one series have the same price, statement and figures."""
        super().made()
        if self.asked:
            self.put("_alike", self.paid_as().canonical)

    @property
    def asked(self) -> tuple[Mapping[str, Value], ...]:
        """The records that are asked about."""
        return self.batch or (() if self.record is None else (self.record,))

    def paid_as(self) -> Screening:
        """Return the series that this asks for answers of."""
        return self.replace(record=None, batch=None) if self.asked else self

    def of(self, record: Mapping[str, Any]) -> Screening:
        """Return the question about one record."""
        return self.replace(record=record, batch=None)

    def of_all(self, records: Sequence[Mapping[str, Any]]) -> Screening:
        """Return the question about several records."""
        return self.replace(record=None, batch=records)

    def names(self, card: Card) -> tuple[str, ...]:
        """Return the columns that are compared."""
        return self.columns if self.columns is not None else self.model.compared(card)

    def balls(self, card: Card) -> tuple[Ball, ...]:
        """Return what is counted, the widest ball last: who lies in it pays for a flag.

        Raises
        ------
        InvalidInput
            What the model's answers depend on is not a number of records around a place.
        """
        return counted_balls(self.model, self.names(card), card)

    def law(self, card: Card) -> Law:
        """Return with which chance an answer is "anomaly"."""
        model = counting(self.model)
        if not model.own <= model.threshold <= _MOST_WEIGHT:
            must = f"at least what a record weighs, {model.own}, and at most {_MOST_WEIGHT:,}"
            raise invalid(type(model).__name__, "threshold", must, model.threshold)
        return Law.chosen(
            beta=model.threshold - model.own + 1,
            epsilon=self.epsilon,
            delta=self.delta,
            contribution=card.contribution,
            own=model.own,
            limit=self.limit,
        )

    def places(self, card: Card) -> npt.NDArray[np.float64]:
        """Return the coordinates of the records asked about, as the data hold them."""
        known: tuple[Card, npt.NDArray[np.float64]] | None = vars(self).get("_places")
        if known is None or known[0] is not card:  # checked, priced and asked with one card
            known = card, self._encoded(card)
            vars(self)["_places"] = known
        return known[1]

    def _encoded(self, card: Card) -> npt.NDArray[np.float64]:
        names = self.names(card)
        for one in self.asked:
            if set(one) != set(names):
                raise invalid(
                    "Screening",
                    "record",
                    f"one with the columns of the series: {', '.join(names)}",
                    list(one),
                    "Name the columns that are compared with columns=...",
                )
        found = [
            card.encode({name: one[name] for name in names}, owner="Screening")
            for one in self.asked
        ]
        # 0.0 and -0.0 are one number.
        return np.array(found, dtype=np.float64).reshape(-1, len(names)) + 0.0

    def check(self, card: Card) -> None:
        if not self.names(card):
            raise InvalidInput("The card has no column that this model can compare.")
        if card.user_column in self.names(card):
            raise invalid("Screening", "columns", "without the column that names persons", "it")
        self.balls(card)
        self.law(card)
        self.places(card)

    def price(self, card: Card) -> DifferentialPrivacy:
        """Return what all answers together promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.delta)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).typical_neighbours
        return described(counting(self.model), self.law(card), guess)

    def says(self, answer: Any) -> Said:
        if isinstance(answer, Mapping):
            return opened(answer)
        return said_of(counting(self.model), answer)


def counting(model: AnomalyModel) -> CountingModel:
    """Return a model whose answers depend on a count of records, or refuse any other."""
    if isinstance(model, CountingModel):
        return model
    raise InvalidInput(
        f"Screening takes models that count records around a place, and {model.kind!r} is none: "
        "its answer may depend on all records, so each anomaly would use up all of them at once. "
        "Ask screen, or write it as a CountingModel with balls."
    )


def counted_balls(model: AnomalyModel, columns: Sequence[str], card: Card) -> tuple[Ball, ...]:
    """Return the balls of a model that counts, checked for what the proof needs of them."""
    balls = counting(model).balls(columns, card)
    shapes = {replace(relation, radius=0.0) for _, relation in balls}
    radii = [relation.radius for _, relation in balls]
    weights = [weight for weight, _ in balls]
    if len(shapes) != 1 or radii != sorted(radii) or min(weights) < 1:
        raise InvalidInput(
            f"Screening needs to know around a place who counts, and the model {model.kind!r} does "
            "not say so: its 'balls' must be at least one, with weights of at least 1, and differ "
            "in their radius alone, the widest last. Ask screen, or add them."
        )
    if sum(weights) != counting(model).own or sum(weights) > _HEAVIEST:
        must = f"what its balls weigh together, {sum(weights):,}, and at most {_HEAVIEST:,}"
        raise invalid(type(model).__name__, "own", must, counting(model).own)
    return balls
