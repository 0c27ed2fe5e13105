"""What the questions about one place share: parameters, limits, the ball, and words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from whitecrow.anomaly import (
    AnomalyModel,
    CountingModel,
    DistanceAnomaly,
    model_type,
    models,
    read_model,
)
from whitecrow.anomaly.law import capped, error_cap, flip_probability
from whitecrow.anomaly.model import Ball, Judgement, record_type
from whitecrow.card import Card
from whitecrow.declaration import (
    Declared,
    Epsilon,
    Exact,
    Maybe,
    Names,
    Nested,
    Record,
    Value,
    json_object,
)
from whitecrow.errors import BrokenPlugin, InvalidInput, invalid
from whitecrow.limits import UNLIMITED, Limits, sorting, worst_case
from whitecrow.place.balls import Location, ball

M = TypeVar("M", bound=AnomalyModel)
FLOOR = Fraction(1, 10**12)
"""Errors rarer than this are not worth counting more neighbours for."""


class ErrorFloor(Exact):
    """An error probability that is not worth going below."""

    def __init__(self, *, default: Fraction = FLOOR) -> None:
        super().__init__(
            below=Fraction(1, 2),
            must="a probability above 0 and below 1/2",
            help="The smallest error worth counting for: neighbours are counted only so far.",
            label="Smallest error",
            default=default,
            group="details",
            former="floor",
        )


def checked_floor(value: object, owner: str) -> Fraction:
    return ErrorFloor().called("floor").parse(value, owner)


class Order(Names):
    """Which column is the latitude and which the longitude."""

    def __init__(self) -> None:
        super().__init__(
            ordered=True,
            help="For haversine in JSON: the latitude's column, then the longitude's.",
            group="details",
        )


class _AnyModel(Nested[M]):
    """What an anomaly is: any registered model, a distance model where nothing else is said."""

    type_text = "AnomalyModel"

    def __init__(self, **words: Any) -> None:
        declared: Any = DistanceAnomaly
        super().__init__(declared, **words)

    def parse(self, value: object, owner: str) -> M:
        if isinstance(value, str):
            value = {"kind": value}
        if isinstance(value, Mapping):
            return self.taken(read_model(value if "kind" in value else {**self.fixed, **value}))
        if not isinstance(value, AnomalyModel):
            must = "an AnomalyModel, such as DistanceAnomaly(beta=..., radius=...)"
            raise invalid(owner, self.name, must, value)
        if value.kind not in models() or model_type(value.kind) is not type(value):
            raise InvalidInput(
                f"The model {type(value).__name__} is not registered: see register_model. "
                "Without an account, hazmat.identify takes any."
            )
        return self.taken(value)

    def taken(self, model: AnomalyModel) -> M:
        """Return the model as the question takes it, or refuse it."""
        raise NotImplementedError

    def dump(self, value: M) -> dict[str, Any]:
        # A distance model has no kind: so it was written before there were others.
        kind = {} if type(value) is DistanceAnomaly else {"kind": value.kind}
        return {**kind, **value.to_json()}

    def schema(self) -> dict[str, Any]:
        listed = [DistanceAnomaly.json_schema()]
        for kind in models():
            if kind != DistanceAnomaly.kind:
                with suppress(BrokenPlugin):  # which is told to whoever asks for it
                    listed.append(model_type(kind).json_schema(kind=kind))
        return {"anyOf": listed}

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag) if text.lstrip().startswith("{") else {"kind": text}

    def to_text(self, value: Any) -> str:
        if not value:
            return ""
        return str(value["kind"]) if set(value) == {"kind"} else json.dumps(value)


class ModelChoice(_AnyModel[AnomalyModel]):
    """Any registered model, which terminals and forms ask for, too."""

    others = True

    def __init__(self) -> None:
        help = 'What an anomaly is, if not by --beta and --radius alone: a name, or {"kind": ...}.'
        super().__init__(help=help, label="Another model")

    def taken(self, model: AnomalyModel) -> AnomalyModel:
        return model


class DistanceChoice(_AnyModel[DistanceAnomaly]):
    """A model for which ``same`` returns a distance model that says the same, or refuses it."""

    def __init__(self, same: Callable[[AnomalyModel], DistanceAnomaly], **words: Any) -> None:
        super().__init__(**words)
        self._same = same

    def taken(self, model: AnomalyModel) -> DistanceAnomaly:
        return self._same(model)


def several_records(card: Card, owner: str, instead: str) -> InvalidInput:
    """Refuse sensitive privacy where one person may have several records.

    Its promise is about single records; several records of one person are a path in the graph of
    databases that need not stay inside the promise (docs/mechanisms.md 6, rule 7).
    """
    return InvalidInput(
        f"The card protects users with up to {card.contribution} records each, and sensitive "
        f"privacy protects single records. Ask {owner} with {instead}."
    )


def in_order(
    record: Mapping[str, Value], order: Sequence[str] | None, model: AnomalyModel, owner: str
) -> tuple[dict[str, Value], tuple[str, ...] | None]:
    """Return the record in its one order, and the order to write down where it means something.

    The keys of a JSON object have no order and the identity of a question sorts them, so for the
    one metric to which the order matters (which column is the latitude) it is written down.

    Examples
    --------
    >>> in_order({"b": 1, "a": 2}, None, DistanceAnomaly(3, 1.0), "Identify")
    ({'a': 2, 'b': 1}, None)
    >>> globe = DistanceAnomaly(3, 1.0, "haversine")
    >>> in_order({"north": 52, "east": 13}, None, globe, "Identify")
    ({'north': 52, 'east': 13}, ('north', 'east'))
    """
    if order is not None and sorted(order) != sorted(record):
        raise invalid(owner, "order", "the record's columns, in their order", list(order))
    if getattr(model, "metric", "") != "haversine":
        return {name: record[name] for name in sorted(record)}, None
    names = tuple(order or record)
    return {name: record[name] for name in names}, names


def cost(question: AtPlace, card: Card, records: int) -> Limits:
    """The worst case of a question about one place: an index of the records, or a pass over all.

    How long the code of others takes that reads the records, nobody knows.
    """
    balls = question.model.balls(question.columns, card)
    if not balls:
        return UNLIMITED
    width = len(question.columns)
    steps = len(balls) * sorting(records, width)
    return worst_case(steps, values=records * width, kept=records)


class AtPlace(Declared):
    """What questions about one place are asked with; an answer looks at the records of its ball."""

    record: Record = Record(
        help="The record; the columns named are the ones compared.",
        more="For haversine the first is the latitude and the second the longitude.",
        kw_only=False,
    )
    model: ModelChoice = ModelChoice()
    epsilon: Epsilon = Epsilon()
    error_floor: Exact = ErrorFloor(default=FLOOR)
    order: Maybe[tuple[str, ...], Sequence[str]] = Maybe(Order(), default=None, former="columns")

    def settle(self) -> None:
        """Put the columns into their one order."""
        record, order = in_order(self.record, self.order, self.model, type(self).__name__)
        self.put("record", record)
        self.put("order", order)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.record)

    def step(self, contribution: int) -> Fraction:
        """Return the loss of one record by which answers are turned over: ε, or a part of it."""
        return self.epsilon / (contribution * self.model.alpha)

    def balls(self, card: Card) -> tuple[Ball, ...]:
        """Return what an engine counts, the widest ball last; empty where records are read."""
        return self._on(card)[1]

    def _on(self, card: Card) -> tuple[Card, tuple[Ball, ...], list[float], Location | None]:
        """What follows from a card: checked, priced, charged and answered with one card."""
        derived: tuple[Card, tuple[Ball, ...], list[float], Location | None]
        derived = vars(self).get("_derived", (None,))
        if derived[0] is not card:
            balls = self.model.balls(self.columns, card)
            point = card.encode(self.record, owner=type(self).__name__)
            derived = card, balls, point, ball(balls[-1][1], point, card) if balls else None
            vars(self)["_derived"] = derived
        return derived

    counts_copies: ClassVar[bool] = True
    """Whether the answer depends on how many records equal the one asked about."""

    def of_counts(self, copies: int, weight: int) -> Judgement:
        """Return the answer and λ from what an engine counted, or from a guess of it."""
        raise NotImplementedError

    def of_records(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return the answer and λ on a database."""
        raise NotImplementedError

    def on_records(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return :meth:`of_records`, whatever the model's code does there.

        What it raises depends on private values, so it is an answer: no, as far from the other as
        is always right. The check of a model lets it raise.
        """
        try:
            truth, bound = self.of_records(records, i)
        except (MemoryError, ImportError):
            raise  # says nothing of the values
        except Exception:  # noqa: BLE001
            return False, 1
        whole = isinstance(bound, int) and bound >= 1
        return bool(truth), bound if bound is None or whole else 1

    def imagined(self, records: int) -> Judgement:
        """Return answer and λ where the data have so many copies of the record and nothing else."""
        if isinstance(self.model, CountingModel):
            return self.of_counts(records, records * self.model.own)
        i = record_type(self.columns)(*self.record.values())
        return self.on_records([i] * records, i)

    def bound(self, copies: int, neighbours: int, step: Fraction) -> int | None:
        """Return the λ that the mechanism uses for given counts; None for an exact answer."""
        return capped(self.of_counts(copies, neighbours)[1], error_cap(step, self.error_floor))

    def chance_of_error(self, judgement: Judgement, contribution: int) -> float:
        """Return how often an answer is wrong: a public function of a guess."""
        step = self.step(contribution)
        bound = capped(judgement[1], error_cap(step, self.error_floor))
        return flip_probability(bound, step)

    def place(self, card: Card) -> list[float]:
        """Return the record's coordinates as the data hold them."""
        return self._on(card)[2]

    def location(self, card: Card) -> Location | None:
        """Return the ball the answer depends on, for spatial accounting; None if on all records."""
        return self._on(card)[3]


def foretold(
    question: AtPlace, contribution: int, cases: Mapping[str, Any], typical: int | None
) -> tuple[str, dict[str, Any]]:
    """Say how often an answer will be wrong, from public facts, and return the figures.

    ``cases`` has for each figure the answer and λ in a clear case, and the case in words;
    ``typical`` is a guess of how much weighs around an anomaly.
    """
    step = question.step(contribution)
    figures: dict[str, Any] = {"worst_error": flip_probability(1, step)}
    clear = []
    for name, (judgement, case) in cases.items():
        figures[name] = question.chance_of_error(judgement, contribution)
        clear.append(f"{case} {chance(figures[name])}")
    figures["error_floor"] = flip_probability(error_cap(step, question.error_floor), step)
    words = (
        f"The answer is yes or no. It is wrong with probability at most "
        f"{chance(figures['worst_error'])}, the worst case at the boundary; {', '.join(clear)}."
    )
    if typical is not None:
        copies = 1 if question.counts_copies else 0
        figures["typical_neighbours"] = typical
        guessed = question.of_counts(copies, typical)
        figures["expected_error"] = question.chance_of_error(guessed, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    return words, figures


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
