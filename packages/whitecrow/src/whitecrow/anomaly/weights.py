"""Models that weigh the records near one; the distance model is the first of them.

Everything follows from two numbers taken around the record that is asked about: its copies, and
what all records weigh together, copies included (:mod:`whitecrow.anomaly.law`, ``proof.md``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from whitecrow.anomaly.law import discrepancy, is_anomaly, novelty_discrepancy
from whitecrow.anomaly.model import AnomalyModel, Ball, Judgement, comparable, shipped
from whitecrow.data import Card, Column
from whitecrow.declaration import Choice, Number, Whole
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
        """Return λ* of the two numbers (:func:`~whitecrow.anomaly.discrepancy`)."""
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
        return self.tau(k), self._radius(columns, card), self.measure(columns, card)

    def _radius(self, columns: Sequence[str], card: Card) -> float:
        return max((relation.radius for _, relation in self.balls(columns, card)), default=0.0)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        """Name how records are weighed: a text that no other way of weighing has."""
        return f"weighed by the model {self.kind} {self.to_json()}"


def _column(name: str, numeric: bool) -> Column:
    return Column(name) if numeric else Column(name, "category", categories=("same", "other"))


BETA = "An anomaly has at most this many records near it, itself included."
RADIUS = "How near a neighbour is, in the metric's unit; 0 means the same place."
METRIC = "How far apart two records are."
METRICS_ARE = "See :class:`whitecrow.neighbours.NeighbourRelation`."
NEVER = "With beta 0 no record could ever be an anomaly."


def compared_by(metric: str, card: Card, *, alone: bool = False) -> tuple[str, ...]:
    """Name the columns that a metric can compare."""
    categories = alone or metric in ("hamming", "gower", "mixed")
    return comparable(card, categories=categories)


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
        return compared_by(self.metric, card, alone=self.alone)

    def balls(self, columns: Sequence[str], card: Card) -> tuple[Ball, ...]:
        """Every record within the radius counts 1."""
        return ((1, self.neighbour_relation(columns, card)),)

    def measure(self, columns: Sequence[str], card: Card) -> str:
        return self.neighbour_relation(columns, card).metric_name


class DistanceAnomaly(WithinRadius):
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
        """Most neighbours."""
        return self.beta


shipped(DistanceAnomaly)
