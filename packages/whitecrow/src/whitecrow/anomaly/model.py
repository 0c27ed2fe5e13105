"""What an anomaly is: the contract of a model, and the models there are, by name.

A model says which records are anomalies (the paper's g), how far at least the other answer is (λ),
whom the promise covers, and what it must know of the data. ``identify`` and ``screen`` answer for
any model: Construction 1 of Asif et al. asks for nothing else.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from whitecrow import plugins
from whitecrow.data import Card
from whitecrow.declaration import Declared
from whitecrow.errors import BrokenPlugin, InvalidInput
from whitecrow.neighbours import NeighbourRelation

Ball = tuple[int, NeighbourRelation]
"""A weight and a relation: every record that is close adds the weight."""

Judgement = tuple[bool, int | None]
"""Whether a record is an anomaly, and λ."""


def record_type(columns: Iterable[str]) -> Callable[..., Any]:
    """Return what makes a record of its values: a tuple with the columns as attributes."""
    return namedtuple("Record", columns, rename=True)


def comparable(card: Card, *, categories: bool = True) -> tuple[str, ...]:
    """Name the columns that are neither text nor persons, and no categories where told so."""
    names = (
        column.name
        for column in card.columns
        if column.type != "text" and (categories or column.type != "category")
    )
    return tuple(sorted(name for name in names if name != card.user_column))


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

    def compared(self, card: Card) -> tuple[str, ...]:
        """Name the columns that are compared where none are named: all that it can compare."""
        return comparable(card)

    def judged(self, records: Sequence[Any], i: Any, k: int | None) -> Judgement:
        """Return the answer and λ on a database; an absent record is no anomaly."""
        return i in records and bool(self.label(records, i)), self.bound(records, i, k)

    def foreseen(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return the answer and λ, for everyone, to what ``i`` would be if it were added."""
        return self.judged([*records, i], i, None)

    def says(self, verb: str, *, anomalous: bool = True, fully: bool = False) -> str:
        """Say what a record is that is an anomaly, or is none, after a form of "to have"."""
        verb = {"has": "is", "would have": "would be", "have": "be", "with": "and"}[verb]
        if anomalous:
            return f"{verb} an anomaly by the model {self.kind} ({self.means})"
        return f"{verb} none by the model {self.kind} (it is not so that {self.means})"

    def zone(self, columns: Sequence[str], card: Card, k: int) -> tuple[int, float, str]:
        """Return tau, radius and the name of the measure: who is covered, for the ledger."""
        return 2, 0.0, f"sensitive to the model {self.kind} {self.to_json()} with k = {k}"


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


def added_models() -> list[tuple[str, str]]:
    """Name what :func:`register_model` added: its module, and its name there."""
    return [(model.__module__, model.__qualname__) for model in _registered.values()]


def model_type(kind: object) -> type[AnomalyModel]:
    """Return the class of a model; a text that is no installed name imports nothing."""
    if isinstance(kind, str):
        if model := _own.get(kind) or _registered.get(kind):
            return model
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
    model = plugins.load(plugins.MODELS, kind, type)
    if not issubclass(model, AnomalyModel) or model.kind != kind:
        raise BrokenPlugin(
            f"What an installed package offers as {kind!r} in the entry-point group "
            f"{plugins.MODELS!r} is no AnomalyModel of that kind."
        )
    return model
