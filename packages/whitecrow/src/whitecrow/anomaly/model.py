"""What an anomaly is: the contract of a model, and the models there are, by name.

A model says which records are anomalies (the paper's g), how far at least the other answer is (λ),
whom the promise covers, and what it must know of the data. ``identify`` and ``screen`` answer for
any model: Construction 1 of Asif et al. asks for nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from whitecrow import plugins
from whitecrow.anomaly import law
from whitecrow.data import Card, Column
from whitecrow.declaration import Declared
from whitecrow.errors import BrokenPlugin, InvalidInput
from whitecrow.neighbours import NeighbourRelation

Ball = tuple[int, NeighbourRelation]
"""A weight and a relation: every record that is close adds the weight."""

_MOST_PAIRS = 4096
"""How many weights of pairs a model remembers, for universes that are looked at over and over."""

Judgement = tuple[bool, int | None]
"""Whether a record is an anomaly, and λ."""


class AnomalyModel(Declared):
    """The contract of a model: subclass it, and say :meth:`label`.

    Records are tuples with the names of their columns as attributes, numbers as numbers and
    categories as texts; ``records`` has one for every record, in no order that means anything, and
    ``i`` is the record asked about. :func:`whitecrow.testing.check_model` computes on a small
    universe whether :meth:`bound` may be what it says, and what the best one is. To ask a curator,
    register the class: :func:`register_model`, or the entry-point group ``whitecrow.models``.

    Examples
    --------
    >>> class Rare(AnomalyModel):
    ...     '''A record that fewer than two others equal.'''
    ...     kind = "rare"
    ...     means = "fewer than two others equal it"
    ...     def label(self, records, i):
    ...         return records.count(i) < 3
    >>> Rare().label([(1, 2), (1, 2), (5, 6)], (5, 6))
    True
    """

    kind: ClassVar[str] = ""
    """What programs call it."""

    means: ClassVar[str] = ""
    """What an anomaly is, as a clause: "fewer than two others equal it"."""

    alpha: ClassVar[int] = 1
    """By how much :meth:`bound` may change where one record comes or goes; ε is divided by it."""

    def label(self, records: Sequence[Any], i: Any) -> bool:
        """Say whether ``i``, which is one of the records, is an anomaly among them.

        A function of the multiset: neither the order of the records nor anything else matters.
        """
        raise NotImplementedError

    def bound(self, records: Sequence[Any], i: Any, k: int | None) -> int | None:
        """Return λ: at least 1, and no more than the number of steps to the other answer.

        A step adds or removes one record that is sensitive at level ``k`` (any record, for None).
        A record that is absent is no anomaly, so ``i`` need not be among the records. λ changes
        by at most ``alpha`` at a step and is 1 on both sides of a step that changes the answer;
        None, everywhere that steps lead to, means that no steps change it. The default, 1, is
        right for every model, and the answer is then a coin that falls right e^ε times as often.
        """
        return 1

    def sensitive(self, records: Sequence[Any], i: Any, k: int) -> bool:
        """Say whether the promise at level ``k`` covers a record ``i`` that comes or goes.

        It must cover every record that at most ``k`` insertions and removals make normal, that is,
        present and no anomaly. The default is everyone: differential privacy.
        """
        return True

    def everyone(self, k: int) -> bool:
        """Whether all records are sensitive at level ``k``, whatever the data are."""
        return type(self).sensitive is AnomalyModel.sensitive

    def balls(self, columns: Sequence[str], card: Card) -> tuple[Ball, ...]:
        """Say what an engine must count; empty where the records themselves are read.

        With balls, an answer depends on the records inside the widest one alone (which must be the
        last), and is accounted for by place.
        """
        return ()

    def judged(self, records: Sequence[Any], i: Any, k: int | None) -> Judgement:
        """Return the answer and λ on a database; an absent record is no anomaly."""
        return i in records and bool(self.label(records, i)), self.bound(records, i, k)

    def foreseen(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return the answer and λ, for everyone, to what ``i`` would be if it were added."""
        return self.judged([*records, i], i, None)

    def zone(self, columns: Sequence[str], card: Card, k: int) -> tuple[int, float, str]:
        """Return tau, radius and the name of the measure: who is covered, for the ledger."""
        return 2, 0.0, f"sensitive to the model {self.kind} {self.to_json()} with k = {k}"


class CountingModel(AnomalyModel):
    """A record is an anomaly if the records near it weigh at most a threshold, itself included.

    One rule for all: weights are whole numbers, none above what the record itself weighs; say
    :meth:`weight` or :meth:`balls`, and label, λ and who is covered follow (``proof.md``).

    Examples
    --------
    >>> class FewAgree(CountingModel):
    ...     '''A record with which at most two, itself included, agree in two columns.'''
    ...     kind, threshold = "few-agree", 2
    ...     def weight(self, i, other):
    ...         return int(sum(a == b for a, b in zip(i, other)) >= 2)
    >>> records = [(1, 2, 3), (1, 2, 4), (7, 8, 9)]
    >>> FewAgree().label(records, (1, 2, 3)), FewAgree().bound(records, (7, 8, 9), 1)
    (True, 2)
    """

    own: ClassVar[int] = 1
    """What the record itself weighs, and at least what any other does."""

    threshold: ClassVar[int]
    """What an anomaly weighs at most, itself included."""

    def weight(self, i: Any, other: Any) -> int:
        """Return what a record weighs for ``i``: from 0 to :attr:`own`, which is that of ``i``."""
        known: dict[Hashable, int] = vars(self).setdefault("_weights", {})
        if (i, other) not in known:
            if len(known) >= _MOST_PAIRS:
                known.clear()
            a, b = ((one if isinstance(one, tuple) else (one,)) for one in (i, other))
            columns = getattr(i, "_fields", tuple(f"column {n}" for n in range(len(a))))
            numeric = [isinstance(value, int | float) for value in a]
            card = Card("records", tuple(map(_column, columns, numeric)))
            rows = (
                [float(one) if number else float(one != own) for one, own, number in row]
                for row in (zip(a, a, numeric, strict=True), zip(b, a, numeric, strict=True))
            )
            here, there = rows
            known[i, other] = sum(
                weight
                for weight, relation in self.balls(columns, card)
                if relation.close(here, there)
            )
        return known[i, other]

    def label(self, records: Sequence[Any], i: Any) -> bool:
        """Say whether the records weigh no more than the threshold."""
        return sum(self.weight(i, one) for one in records) <= self.threshold

    def bound(self, records: Sequence[Any], i: Any, k: int | None) -> int | None:
        """Return λ* of the two numbers (:func:`~whitecrow.anomaly.law.discrepancy`)."""
        weight = sum(self.weight(i, one) for one in records)
        return self.of_counts(records.count(i), weight, k)[1]

    def sensitive(self, records: Sequence[Any], i: Any, k: int) -> bool:
        """Say whether ``k`` more copies would make it normal (Lemma 1)."""
        return sum(self.weight(i, one) for one in records) >= self.tau(k)

    def everyone(self, k: int) -> bool:
        """Whether a record that is alone is covered already."""
        return self.tau(k) <= self.own

    def tau(self, k: int) -> int:
        """A record around which so much weighs, itself included, is covered."""
        return self.threshold + 1 - k * self.own

    def foreseen(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return what ``i`` would be if it were added, at the exact distance."""
        return self.if_added(sum(self.weight(i, one) for one in records))

    def of_counts(self, copies: int, weight: int, k: int | None) -> Judgement:
        """Return the answer and λ from how many copies there are and what all weigh."""
        bound = law.discrepancy(
            copies,
            weight,
            beta=self.threshold,
            k=self.threshold if k is None else k,
            radius_is_zero=self.alone,
            tight=True,
            own=self.own,
        )
        return law.is_anomaly(copies, weight, beta=self.threshold), bound

    def if_added(self, weight: int) -> Judgement:
        """Return what a record would be that is added where so much weighs."""
        bound = law.novelty_discrepancy(weight, beta=self.threshold, own=self.own)
        return weight + self.own <= self.threshold, bound

    @property
    def alone(self) -> bool:
        """Whether nothing but copies weighs anything."""
        return False

    @property
    def near(self) -> str:
        """What an anomaly has at most, in words."""
        return f"{self.threshold} records like it ({self.kind})"

    def zone(self, columns: Sequence[str], card: Card, k: int) -> tuple[int, float, str]:
        """Return tau, the widest radius, and the metric with what weighs how much."""
        return self.tau(k), self._radius(columns, card), self.measure(columns, card)

    def _radius(self, columns: Sequence[str], card: Card) -> float:
        return max((relation.radius for _, relation in self.balls(columns, card)), default=0.0)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        """Name how records are weighed: a text that no other way of weighing has."""
        return f"weighed by the model {self.kind} {self.to_json()}"


def _column(name: str, numeric: bool) -> Column:
    return Column(name) if numeric else Column(name, "category", categories=("same", "other"))


# The models there are

_registered: dict[str, type[AnomalyModel]] = {}
_own: dict[str, type[AnomalyModel]] = {}


def shipped(*models: type[AnomalyModel]) -> None:
    """Name whitecrow's own models, which nobody replaces."""
    _own.update({model.kind: model for model in models})


def register_model(model: type[AnomalyModel]) -> type[AnomalyModel]:
    """Let the curators of this process ask about one more model; a decorator as well.

    Its code is trusted like whitecrow's own: promises hold if λ is what it says.
    :func:`whitecrow.testing.check_model` tests that. The same kind registered again is replaced.
    """
    if not (isinstance(model, type) and issubclass(model, AnomalyModel) and model.kind):
        raise InvalidInput("A model is a subclass of AnomalyModel with a 'kind'.")
    if model.kind in _own or model.kind in _installed():
        raise InvalidInput(f"There is a model {model.kind!r} already.")
    _registered[model.kind] = model
    return model


def models() -> tuple[str, ...]:
    """Name the models: whitecrow's own, then what others added."""
    return tuple(dict.fromkeys([*_own, *_installed(), *_registered]))


def added_models() -> list[str]:
    """Name the modules of what :func:`register_model` added."""
    return [model.__module__ for model in _registered.values()]


def model_type(kind: object) -> type[AnomalyModel]:
    """Return the class of a model; a text that is no installed name imports nothing."""
    if isinstance(kind, str):
        if found := _own.get(kind) or _registered.get(kind):
            return found
        if kind in _installed():
            return _plugged_in(kind)
    raise InvalidInput(f"There is no model {kind!r}; there are {', '.join(sorted(models()))}.")


def read_model(data: Mapping[str, Any]) -> AnomalyModel:
    """Build a model from ``{"kind": ..., ...}``; without a kind it is a distance model."""
    rest = {key: value for key, value in data.items() if key != "kind"}
    return model_type(data.get("kind", "distance")).from_json(rest)


@cache
def _installed() -> frozenset[str]:
    return frozenset(plugins.offered(plugins.MODELS, _own))


@cache
def _plugged_in(kind: str) -> type[AnomalyModel]:
    found = plugins.load(plugins.MODELS, kind, type)
    if not issubclass(found, AnomalyModel) or found.kind != kind:
        raise BrokenPlugin(
            f"What an installed package offers as {kind!r} in the entry-point group "
            f"{plugins.MODELS!r} is no AnomalyModel of that kind."
        )
    return found
