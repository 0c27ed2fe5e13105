"""Models that weigh the records near one: the distance model, and four more.

Everything follows from two numbers taken around the record that is asked about: its copies, and
what all records weigh together, copies included (:mod:`whitecrow.anomaly.law`, ``proof.md``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from whitecrow.anomaly.law import discrepancy, is_anomaly, novelty_discrepancy
from whitecrow.anomaly.model import AnomalyModel, Ball, Judgement, comparable, shipped
from whitecrow.data import Card, Column
from whitecrow.declaration import Choice, Names, Number, Numbers, Weights, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import METRICS, NeighbourRelation, relation_on

_MOST_PAIRS = 4096
"""How many weights of pairs a model remembers, for universes that are looked at over and over."""


class CountingModel(AnomalyModel):
    """A record is an anomaly if the records near it weigh at most a threshold, itself included.

    One rule for all: weights are whole numbers, none above what the record itself weighs; say
    ``weight`` or ``balls``, and label, λ and who is covered follow (``proof.md``).

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
        weights: dict[Hashable, int] = vars(self).setdefault("_weights", {})
        if (i, other) not in weights:
            if len(weights) >= _MOST_PAIRS:
                weights.clear()
            a, b = ((record if isinstance(record, tuple) else (record,)) for record in (i, other))
            columns = getattr(i, "_fields", tuple(f"column {n}" for n in range(len(a))))
            numeric = [isinstance(value, int | float) for value in a]
            card = Card("records", tuple(map(_column, columns, numeric)))
            here, there = (
                [float(value) if number else float(value != own) for value, own, number in row]
                for row in (zip(a, a, numeric, strict=True), zip(b, a, numeric, strict=True))
            )
            weights[i, other] = sum(
                weight
                for weight, relation in self.balls(columns, card)
                if relation.close(here, there)
            )
        return weights[i, other]

    def label(self, records: Sequence[Any], i: Any) -> bool:
        """Say whether the records weigh no more than the threshold."""
        return sum(self.weight(i, record) for record in records) <= self.threshold

    def bound(self, records: Sequence[Any], i: Any, k: int | None) -> int | None:
        """Return λ* of the two numbers (:func:`~whitecrow.anomaly.discrepancy`)."""
        weight = sum(self.weight(i, record) for record in records)
        return self.of_counts(records.count(i), weight, k)[1]

    def sensitive(self, records: Sequence[Any], i: Any, k: int) -> bool:
        """Say whether ``k`` more copies would make it normal (Lemma 1)."""
        return sum(self.weight(i, record) for record in records) >= self.tau(k)

    def everyone(self, k: int) -> bool:
        """Whether a record that is alone is covered already."""
        return self.tau(k) <= self.own

    def tau(self, k: int) -> int:
        """A record around which so much weighs, itself included, is covered."""
        return self.threshold + 1 - k * self.own

    def foreseen(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return what ``i`` would be if it were added, at the exact distance."""
        return self.if_added(sum(self.weight(i, record) for record in records))

    def of_counts(self, copies: int, weight: int, k: int | None) -> Judgement:
        """Return the answer and λ from how many copies there are and what all weigh."""
        bound = discrepancy(
            copies,
            weight,
            beta=self.threshold,
            k=self.threshold if k is None else k,
            radius_is_zero=self.alone,
            tight=True,
            own=self.own,
        )
        return is_anomaly(copies, weight, beta=self.threshold), bound

    def if_added(self, weight: int) -> Judgement:
        """Return what a record would be that is added where so much weighs."""
        bound = novelty_discrepancy(weight, beta=self.threshold, own=self.own)
        return weight + self.own <= self.threshold, bound

    @property
    def alone(self) -> bool:
        """Whether nothing but copies weighs anything."""
        return False

    @property
    def near(self) -> str:
        """What an anomaly has at most, in words."""
        return f"{self.threshold} records like it ({self.kind})"

    def says(self, verb: str, *, anomalous: bool = True, fully: bool = False) -> str:
        """Say how much is around a record that is an anomaly, or is none."""
        much = self.described if fully else self.near
        return f"{verb} {'at most' if anomalous else 'more than'} {much}"

    @property
    def described(self) -> str:
        """The same with all that a reader must know."""
        return self.near

    def zone(self, columns: Sequence[str], card: Card, k: int) -> tuple[int, float, str]:
        """Return tau, the widest radius, and the metric with what weighs how much."""
        widest = max((relation.radius for _, relation in self.balls(columns, card)), default=0.0)
        return self.tau(k), widest, self.measure(columns, card)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        """Name how records are weighed: a text that no other way of weighing has."""
        return f"weighed by the model {self.kind} {self.to_json()}"


def _column(name: str, numeric: bool) -> Column:
    return Column(name) if numeric else Column(name, "category", categories=("same", "other"))


_RADIUS = "How near a neighbour is, in the metric's unit; 0 means the same place."
_METRIC = "How far apart two records are."
_METRICS_ARE = "See :class:`whitecrow.neighbours.NeighbourRelation`."
_COMPARE_CATEGORIES = ("hamming", "gower", "mixed")


class WithinRadius(CountingModel):
    """Counts the records within one radius."""

    if TYPE_CHECKING:  # parameters of those below

        @property
        def radius(self) -> float: ...
        @property
        def metric(self) -> str: ...

    @property
    def alone(self) -> bool:
        """Whether neighbours are the records of one place."""
        return self.radius == 0

    @property
    def near(self) -> str:
        return f"{self.threshold} records, itself included, within {self.radius:g}"

    @property
    def described(self) -> str:
        return f"{self.near} of it ({self.metric})"

    def neighbour_relation(self, columns: Sequence[str], card: Card) -> NeighbourRelation:
        """Return the relation "within the radius" over some columns of a card.

        Raises
        ------
        InvalidInput
            The card does not have a column, or the metric cannot compare its values.
        """
        return relation_on(card, columns, self.metric, self.radius)

    def compared(self, card: Card) -> tuple[str, ...]:
        return comparable(card, categories=self.alone or self.metric in _COMPARE_CATEGORIES)

    def balls(self, columns: Sequence[str], card: Card) -> tuple[Ball, ...]:
        """Every record within the radius counts 1."""
        return ((1, self.neighbour_relation(columns, card)),)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        return self.neighbour_relation(columns, card).metric_name


class _FewWithinRadius(WithinRadius):
    """At most ``beta`` records lie within ``radius``."""

    beta: Whole = Whole(
        help="An anomaly has at most this many records near it, itself included.",
        label="Most neighbours β",
        hint="With beta 0 no record could ever be an anomaly.",
        group="model",
        kw_only=False,
    )
    radius: Number = Number(least=0, help=_RADIUS, group="model", kw_only=False)

    @property
    def threshold(self) -> int:  # type: ignore[override]
        return self.beta


class DistanceAnomaly(_FewWithinRadius):
    """A record is an anomaly if at most ``beta`` records, itself included, lie within ``radius``.

    This is the (β, r)-anomaly of Knorr and Ng; "fewer than k neighbours" is ``beta = k``.
    Choose both from expert knowledge or public data: a choice made by looking at the private
    records is itself a release.

    Examples
    --------
    >>> DistanceAnomaly(beta=18, radius=0.148)
    DistanceAnomaly(beta=18, radius=0.148)
    >>> DistanceAnomaly(beta=0, radius=1)
    Traceback (most recent call last):
    ...
    whitecrow.errors.InvalidInput: The 'beta' parameter of DistanceAnomaly must be a whole number
    of at least 1. Got 0 instead. With beta 0 no record could ever be an anomaly.
    """

    kind = "distance"
    metric: Choice[str] = Choice(
        METRICS,
        help=_METRIC,
        more=_METRICS_ARE,
        label="Distance",
        default="euclidean",
        group="model",
        kw_only=False,
    )


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
    radius: Number = Number(least=0, help=_RADIUS, group="model", kw_only=False)
    metric: Choice[str] = Choice(
        METRICS,
        help=_METRIC,
        more=_METRICS_ARE,
        label="Distance",
        default="euclidean",
        group="model",
        kw_only=False,
    )

    @property
    def threshold(self) -> int:  # type: ignore[override]
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
        help=_METRIC,
        more=_METRICS_ARE,
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
        return self.most

    @property
    def own(self) -> int:  # type: ignore[override]
        """The weight at distance 0."""
        return int(self.heights[-1])

    def compared(self, card: Card) -> tuple[str, ...]:
        return comparable(card, categories=self.metric in _COMPARE_CATEGORIES)

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


class ContextualAnomaly(_FewWithinRadius):
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
    group: Names = Names(help="Columns of categories that neighbours share with it.", group="model")
    metric: Choice[str] = Choice(
        ("manhattan", "mixed"),
        help="How far apart two records of a group are: mixed divides by the card's scales.",
        label="Distance",
        default="manhattan",
        group="model",
    )

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
        scale = 1.0 / (2.0 * self.radius + 1.0)
        scales = dict.fromkeys(self.group, scale)
        if self.metric == "mixed":
            others = [name for name in columns if name not in self.group]
            if others:
                relation = relation_on(card, others, "mixed", 0.0)
                scales.update(zip(others, relation.ranges, strict=True))
        return _mixed(columns, card, scales, self.radius)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        return f"{self.metric} within the same {' and '.join(map(repr, self.group))}"


class SimilarityAnomaly(_FewWithinRadius):
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
    radius: Number = Number(
        least=0,
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


shipped(DistanceAnomaly, KthNeighbourAnomaly, KernelAnomaly, ContextualAnomaly, SimilarityAnomaly)
