"""Four more models, which weigh the records near one by what engines count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whitecrow.anomaly.model import Ball, comparable, shipped
from whitecrow.anomaly.weights import (
    BETA,
    METRIC,
    METRICS_ARE,
    NEVER,
    RADIUS,
    CountingModel,
    WithinRadius,
    compared_by,
)
from whitecrow.data import Card
from whitecrow.declaration import Choice, Names, Number, Numbers, Whole
from whitecrow.declaration.parameter import Weights
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import METRICS, NeighbourRelation, relation_on


class KthNeighbourAnomaly(WithinRadius):
    """A record is an anomaly if its ``nth`` nearest other record is farther away than ``radius``.

    That is, fewer than ``nth`` others lie within the radius: the (β, r)-anomaly with β = ``nth``,
    with the same answers, the same λ and the same records covered, so that the two share one
    account (Ramaswamy, Rastogi and Shim rank by this distance).

    Examples
    --------
    >>> model = KthNeighbourAnomaly(nth=2, radius=1)
    >>> model.label([0, 1, 5, 6], 5), model.label([0, 1, 1, 6], 1)
    (True, False)
    """

    kind = "kth-neighbour"
    nth: Whole = Whole(
        help="The distance to this nearest other record is looked at.",
        label="Which neighbour",
        group="model",
        kw_only=False,
    )
    radius: Number = Number(
        least=0,
        must="a finite number of at least 0",
        help=RADIUS,
        group="model",
        kw_only=False,
    )
    metric: Choice[str] = Choice(
        METRICS,
        help=METRIC,
        more=METRICS_ARE,
        label="Distance",
        default="euclidean",
        group="model",
        kw_only=False,
    )

    @property
    def threshold(self) -> int:  # type: ignore[override]
        """Others within the radius, and itself."""
        return self.nth


class KernelAnomaly(CountingModel):
    """A record is an anomaly if the density around it, a sum of weights, is at most ``most``.

    A record within the first radius weighs the largest of the ``heights``, one within the second
    the next, and so on; beyond the last radius nothing. Heights are whole numbers: multiply
    rational ones by their denominator, and ``most`` with them. The record itself weighs the
    largest.

    Examples
    --------
    >>> model = KernelAnomaly(most=6, radii=[1, 2], heights=[3, 1])
    >>> [model.weight(0, other) for other in (0, 1, 2, 3)]
    [3, 3, 1, 0]
    >>> model.label([0, 1, 9], 0), model.label([0, 1, 2, 9], 0)
    (True, False)
    """

    kind = "kernel"
    most: Whole = Whole(
        help="The records around an anomaly weigh at most this, its own weight included.",
        label="Most weight",
        group="model",
        kw_only=False,
    )
    radii: Numbers = Numbers(help="Distances at which the weight falls.", group="model")
    heights: Numbers = Numbers(help="The weight within each, whole numbers.", group="model")
    metric: Choice[str] = Choice(
        METRICS,
        help=METRIC,
        more=METRICS_ARE,
        label="Distance",
        default="euclidean",
        group="model",
        kw_only=False,
    )

    def settle(self) -> None:
        """Check that every radius has its weight, and that the record itself may be an anomaly."""
        heights = self.heights
        if any(height != int(height) for height in heights) or len(heights) != len(self.radii):
            must = "whole numbers, one for each radius and each once"
            raise invalid("KernelAnomaly", "heights", must, list(heights))
        if self.most < self.own:
            must = f"at least what the record itself weighs, {self.own}"
            raise invalid("KernelAnomaly", "most", must, self.most)

    @property
    def threshold(self) -> int:  # type: ignore[override]
        """Most weight."""
        return self.most

    @property
    def own(self) -> int:  # type: ignore[override]
        """The weight at distance 0."""
        return int(self.heights[-1])

    def compared(self, card: Card) -> tuple[str, ...]:
        return compared_by(self.metric, card)

    @property
    def near(self) -> str:
        return f"weight {self.most}, its own {self.own} included, {self._falls()}"

    @property
    def described(self) -> str:
        return f"{self.near} ({self.metric})"

    def _falls(self) -> str:
        steps = zip(self.radii, reversed(self.heights), strict=True)
        return "where a record " + " and ".join(
            f"within {radius!r} counts {height:.0f}" for radius, height in steps
        )

    def balls(self, columns: Sequence[str], card: Card) -> tuple[Ball, ...]:
        """A falling staircase is a sum of balls: each adds by how much the weight falls there."""
        falls = [int(b - a) for a, b in zip((0.0, *self.heights), self.heights, strict=False)]
        return tuple(
            (fall, relation_on(card, columns, self.metric, radius))
            for fall, radius in zip(reversed(falls), self.radii, strict=True)
        )

    def measure(self, columns: Sequence[str], card: Card) -> str:
        (_, widest) = self.balls(columns, card)[-1]
        return f"{widest.metric_name} {self._falls()}"


class ContextualAnomaly(WithinRadius):
    """A record is an anomaly if few of *its own group* are near it.

    At most ``beta`` records, itself included, that equal it in the columns of ``group`` (which are
    categories) lie within ``radius`` in the other columns.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Patient(NamedTuple):
    ...     age: float
    ...     ward: str
    >>> model = ContextualAnomaly(beta=1, radius=5, group=["ward"])
    >>> others = [Patient(30, "A"), Patient(31, "A"), Patient(3, "B")]
    >>> model.label([*others, Patient(32, "B")], Patient(32, "B"))
    True
    """

    kind = "contextual"
    beta: Whole = Whole(
        help=BETA, label="Most neighbours β", hint=NEVER, group="model", kw_only=False
    )
    radius: Number = Number(
        least=0,
        must="a finite number of at least 0",
        help=RADIUS,
        group="model",
        kw_only=False,
    )
    group: Names = Names(help="Columns of categories that neighbours share with it.", group="model")
    metric: Choice[str] = Choice(
        ("manhattan", "mixed"),
        help="How far apart two records of a group are: mixed divides by the card's scales.",
        label="Distance",
        default="manhattan",
        group="model",
    )

    @property
    def threshold(self) -> int:  # type: ignore[override]
        """Most neighbours of its group."""
        return self.beta

    @property
    def near(self) -> str:
        return f"{super().near} in its {' and '.join(self.group)}"

    @property
    def described(self) -> str:
        return f"{super().near} of it in its {' and '.join(self.group)} ({self.metric})"

    def compared(self, card: Card) -> tuple[str, ...]:
        """Name all columns: categories that differ are as far apart as 1."""
        return comparable(card)

    def neighbour_relation(self, columns: Sequence[str], card: Card) -> NeighbourRelation:
        """Return "within the radius, and of one group": another group is farther than that."""
        for name in self.group:
            if name not in columns:
                must = "columns of the record"
                raise invalid("ContextualAnomaly", "group", must, list(self.group))
            if card.column(name).type != "category":
                raise InvalidInput(f"The column {name!r} is no category, so it makes no groups.")
        apart = 1.0 / (2.0 * self.radius + 1.0)
        scales = dict.fromkeys(self.group, apart)
        if self.metric == "mixed":
            others = [name for name in columns if name not in self.group]
            found = relation_on(card, others, "mixed", 0.0) if others else None
            scales.update(zip(others, found.ranges if found else (), strict=True))
        return _mixed(columns, card, scales, self.radius)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        return f"{self.metric} within the same {' and '.join(map(repr, self.group))}"


class SimilarityAnomaly(WithinRadius):
    """A record is an anomaly if few records are similar, by weights you give to the columns.

    A column in which two records differ costs its weight if it has categories, and its weight
    times the difference if it has numbers; two records are similar if all of it is at most
    ``radius``. With weights of 1 and categories, "agrees in at least two of three columns" is
    ``radius=1``.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Person(NamedTuple):
    ...     age: float
    ...     job: str
    >>> model = SimilarityAnomaly(beta=2, radius=1, weights={"age": 0.1, "job": 1})
    >>> people = [Person(30, "nurse"), Person(38, "nurse"), Person(30, "judge")]
    >>> model.label(people, Person(38, "nurse")), model.label(people, Person(30, "nurse"))
    (True, False)
    """

    kind = "similarity"
    beta: Whole = Whole(
        help=BETA, label="Most neighbours β", hint=NEVER, group="model", kw_only=False
    )
    radius: Number = Number(
        least=0,
        must="a finite number of at least 0",
        help="How much two similar records may differ, over all columns.",
        group="model",
        kw_only=False,
    )
    weights: Weights = Weights(
        help="What a difference costs, column by column.",
        more="Numbers: the weight times the difference; categories: the weight.",
        group="model",
    )

    @property
    def threshold(self) -> int:  # type: ignore[override]
        """Most similar records."""
        return self.beta

    @property
    def near(self) -> str:
        return f"{super().near} by {self.measure((), None)}"

    @property
    def described(self) -> str:
        return self.near

    def compared(self, card: Card) -> tuple[str, ...]:
        return tuple(sorted(self.weights))

    def neighbour_relation(self, columns: Sequence[str], card: Card) -> NeighbourRelation:
        """Return "the weighted differences add up to no more than the radius"."""
        if set(columns) != set(self.weights):
            must = f"weights of the record's columns, {', '.join(columns)}"
            raise invalid("SimilarityAnomaly", "weights", must, sorted(self.weights))
        scales = {name: 1.0 / weight for name, weight in self.weights.items()}
        return _mixed(columns, card, scales, self.radius)

    def measure(self, columns: Sequence[str], card: Card | None) -> str:
        return "weights " + ", ".join(f"{name!r} {w!r}" for name, w in self.weights.items())


def _mixed(
    columns: Sequence[str], card: Card, scales: Mapping[str, float], radius: float
) -> NeighbourRelation:
    """Return the relation ``mixed`` with scales of its own; 1 where none is given."""
    for name in columns:
        relation_on(card, (name,), "hamming", 0.0)  # refuses text
    levels = tuple(len(card.column(name).categories or ()) for name in columns)
    ranges = tuple(scales.get(name, 1.0) for name in columns)
    return NeighbourRelation(tuple(columns), "mixed", radius, ranges, levels)


shipped(KthNeighbourAnomaly, KernelAnomaly, ContextualAnomaly, SimilarityAnomaly)
