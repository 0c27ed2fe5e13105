"""The question ``screening``: any number of new records, screened at one price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
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
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.place.question import ModelChoice, chance
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.question import Question, Said
from whitecrow.screening.law import MOST_FLAGS, Law

MOST_AT_ONCE = 1000  # how many records one question asks about at the most
MOST_REPLAYED = 64  # how many flags are taken in at once where the counters are computed anew
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
            )
        )

    def settle(self) -> None:
        """Put the columns into their one order, and the records' values into it."""
        if self.record is not None and self.batch is not None:
            raise InvalidInput("Screening takes a record or a batch of them, not both.")
        if self.columns is not None and getattr(self.model, "metric", "") != "haversine":
            self.put("columns", tuple(sorted(self.columns)))
        self.put("record", None if self.record is None else dict(sorted(self.record.items())))
        if self.batch is not None:
            self.put("batch", tuple(dict(sorted(record.items())) for record in self.batch))

    @cached_property
    def cache_key(self) -> str:
        """All questions of one series have the same price, statement and figures."""
        return self.paid_as().canonical

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
        return self.columns or self.model.compared(card)

    def balls(self, card: Card) -> tuple[Ball, ...]:
        """Return what is counted, the widest ball last: who lies in it pays for a flag.

        A model is refused whose answers depend on more than a number of records around a place.
        """
        model = counting(self.model)
        balls = model.balls(self.names(card), card)
        shapes = {replace(relation, radius=0.0) for _, relation in balls}
        radii = [relation.radius for _, relation in balls]
        weights = [weight for weight, _ in balls]
        if len(shapes) != 1 or radii != sorted(radii) or min(weights) < 1:
            raise InvalidInput(
                f"Screening needs to know around a place who counts, and the model {model.kind!r} "
                "does not say so: its 'balls' must be at least one, with weights of at least 1, "
                "and differ in their radius alone, the widest last. Ask screen, or add them."
            )
        if sum(weights) != model.own or sum(weights) > _HEAVIEST:
            must = f"what its balls weigh together, {sum(weights):,}, and at most {_HEAVIEST:,}"
            raise invalid(type(model).__name__, "own", must, model.own)
        return balls

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
        cached: tuple[Card, npt.NDArray[np.float64]] | None = vars(self).get("_places")
        if cached is not None and cached[0] is card:  # checked, priced and asked with one card
            return cached[1]
        names, encoded = self.names(card), []
        for record in self.asked:
            if set(record) != set(names):
                must = f"one with the columns of the series: {', '.join(names)}"
                hint = "Name the columns that are compared with columns=..."
                raise invalid("Screening", "record", must, list(record), hint)
            encoded.append(card.encode({name: record[name] for name in names}, owner="Screening"))
        # 0.0 and -0.0 are one number.
        places = np.array(encoded, dtype=np.float64).reshape(-1, len(names)) + 0.0
        vars(self)["_places"] = card, places
        return places

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
        """Say what the series will answer, how sharp it is, and what happens as records run out."""
        typical = self.guesses.from_json(guesses).typical_neighbours
        model, law = counting(self.model), self.law(card)
        misses, alarms = law.within(0.01)
        beta, unit = law.beta, "weight" if law.own > 1 else "records"
        below = None if misses >= beta else beta - 1 - misses
        # None, on both sides of the threshold, and far above it.
        less = (beta - 1 - misses * quarter // 4 for quarter in range(5))
        more = (beta + alarms * quarter // 4 for quarter in (0, 1, 2, 3, 4, 8))
        shown = sorted({0, *(count for count in less if count > 0), *more})
        figures: dict[str, Any] = {
            "limit": law.limit,
            "order": law.order,
            "clear_below": below,
            "clear_above": beta + alarms,
            "error_if_alone": law.wrong(0),
            "error_by_neighbours": {str(count): law.wrong(count) for count in shown},
        }
        words = (
            f"Any number of new records, each answered yes or no: would it "
            f"{model.says('have', fully=True)}? The price is paid once, for all of them. One with "
            f"{beta + alarms:,} {unit} or more near it is called an anomaly by mistake at most 1 "
            "time in 100, "
        )
        if below is None:
            least = model.threshold + misses + 1 - beta
            called = "beta" if "beta" in model.parameters else "the threshold"
            words += (
                f"and one with nothing near it is missed {chance(figures['error_if_alone'])}: for "
                f"this price {called} should be {least:,} or more. "
            )
        else:
            words += f"and one with {below:,} or fewer is missed at most 1 time in 100. "
        words += (
            f"A record of the data counts until {law.limit:,} anomalies were found around it, and "
            "is then left out: after very many flags in one region, answers there lean towards "
            "anomaly."
        )
        if typical is not None:
            figures["typical_neighbours"] = typical
            figures["expected_error"] = law.wrong(typical)
            words += (
                f" With {typical} {unit} near it (your public guess), and none left out yet, an "
                f"answer is wrong with probability {chance(law.wrong(typical))}."
            )
        return words, figures

    def says(self, answer: Any) -> Said:
        if isinstance(answer, Mapping):
            return Said("Open: ask about any number of records, at no further price")
        if isinstance(answer, Sequence):
            return Said(f"{sum(answer):,} of {len(answer):,} would be anomalies")
        words = counting(self.model).says("would have", anomalous=answer)
        return Said(
            "Yes, it would be an anomaly" if answer else "No", f"Among the data it {words}."
        )


def counting(model: AnomalyModel) -> CountingModel:
    """Return a model whose answers depend on a count of records, or refuse any other."""
    if isinstance(model, CountingModel):
        return model
    raise InvalidInput(
        f"Screening takes models that count records around a place, and {model.kind!r} is none: "
        "its answer may depend on all records, so each anomaly would use up all of them at once. "
        "Ask screen, or write it as a CountingModel with balls."
    )


def cost(question: Screening, card: Card, records: int) -> Limits:
    """The worst case: every place is a flag, and each looks at all records."""
    width = len(question.names(card))
    flags = MOST_REPLAYED + max(1, len(question.asked))
    balls = len(question.balls(card))
    steps = balls * (sorting(records, width) + 4.0 * flags * records * width)
    return worst_case(steps, values=records * width, kept=records)
