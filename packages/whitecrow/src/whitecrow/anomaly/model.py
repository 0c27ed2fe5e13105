"""The distance model of anomalies: few records within a radius."""

from __future__ import annotations

from collections.abc import Sequence

from whitecrow.data import Card
from whitecrow.declaration import Choice, Declared, Number, Whole
from whitecrow.neighbours import METRICS, NeighbourRelation, relation_on


class DistanceAnomaly(Declared):
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

    beta: Whole = Whole(
        help="An anomaly has at most this many records near it, itself included.",
        label="Most neighbours β",
        hint="With beta 0 no record could ever be an anomaly.",
        group="model",
        kw_only=False,
    )
    radius: Number = Number(
        least=0,
        must="a finite number of at least 0",
        help="How near a neighbour is, in the metric's unit; 0 means the same place.",
        label="Radius",
        group="model",
        kw_only=False,
    )
    metric: Choice[str] = Choice(
        METRICS,
        help="How far apart two records are.",
        more="See :class:`whitecrow.neighbours.NeighbourRelation`.",
        label="Distance",
        default="euclidean",
        group="model",
        kw_only=False,
    )

    def neighbour_relation(self, columns: Sequence[str], card: Card) -> NeighbourRelation:
        """Return the relation "within the radius" over some columns of a card.

        Raises
        ------
        InvalidInput
            The card does not have a column, or the metric cannot compare its values.
        """
        return relation_on(card, columns, self.metric, self.radius)
