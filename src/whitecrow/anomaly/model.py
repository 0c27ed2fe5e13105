"""The distance model of anomalies: few records within a radius."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import METRICS, Closeness

__all__ = ["DistanceAnomaly"]

_MIXED = ("hamming", "gower")


@dataclass(frozen=True)
class DistanceAnomaly:
    """A record is an anomaly if at most ``beta`` records, itself included, lie within ``radius``.

    This is the (β, r)-anomaly of Knorr and Ng; "fewer than k neighbours" is ``beta = k``.
    Choose both from expert knowledge or public data: a choice made by looking at the private
    records is itself a release.

    Parameters
    ----------
    beta : int
        The most records an anomaly may have within the radius; at least 1.
    radius : float
        Closed ball, in the metric's unit. 0 means the same place: equal values, and
        for haversine one point of the globe.
    metric : {"euclidean", "manhattan", "chebyshev", "hamming", "haversine", "gower"}
        How far apart two records are; see :class:`whitecrow.neighbours.Closeness`.

    Examples
    --------
    >>> DistanceAnomaly(beta=18, radius=0.148)
    DistanceAnomaly(beta=18, radius=0.148, metric='euclidean')
    >>> DistanceAnomaly(beta=0, radius=1)
    Traceback (most recent call last):
    ...
    whitecrow.errors.InvalidInput: The 'beta' parameter of DistanceAnomaly must be a whole number
    of at least 1. Got 0 instead. With beta 0 no record could ever be an anomaly.
    """

    beta: int
    radius: float
    metric: str = "euclidean"

    def __post_init__(self) -> None:
        owner = "DistanceAnomaly"
        if isinstance(self.beta, bool) or not isinstance(self.beta, int) or self.beta < 1:
            hint = "With beta 0 no record could ever be an anomaly." if self.beta == 0 else ""
            raise invalid(owner, "beta", "a whole number of at least 1", self.beta, hint)
        radius = self.radius
        numeric = isinstance(radius, int | float) and not isinstance(radius, bool)
        if not numeric or not (0 <= radius < math.inf):
            raise invalid(owner, "radius", "a finite number of at least 0", radius)
        object.__setattr__(self, "radius", float(radius))
        if self.metric not in METRICS:
            raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", self.metric)

    def closeness(self, columns: Sequence[str], card: Card) -> Closeness:
        """Return the relation "within the radius" over some columns of a card.

        Raises
        ------
        InvalidInput
            The card does not have a column, or the metric cannot compare its values.
        """
        for name in columns:
            self._check_column(name, card)
        ranges = tuple(_range(name, card) for name in columns) if self.metric == "gower" else ()
        return Closeness(tuple(columns), self.metric, self.radius, ranges)

    def _check_column(self, name: str, card: Card) -> None:
        kind = card.column(name).type
        if kind == "text":
            raise InvalidInput(
                f"The column {name!r} is text, which has no distances. Leave it out, or list its "
                'values on the card as type = "category".'
            )
        if kind == "category" and self.metric not in _MIXED and self.radius > 0:
            raise InvalidInput(
                f"The column {name!r} is a category, which {self.metric} cannot measure. "
                'Use metric="gower" or metric="hamming", or leave the column out.'
            )

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"beta": self.beta, "radius": self.radius, "metric": self.metric}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the model that :meth:`to_json` wrote."""
        if not isinstance(data, Mapping):
            raise invalid("a question", "model", 'an object with "beta" and "radius"', data)
        return cls(data["beta"], data["radius"], data.get("metric", "euclidean"))


def _range(name: str, card: Card) -> float:
    """Return the public range that gower divides by; 0 marks a column of categories."""
    column = card.column(name)
    if column.type == "category":
        return 0.0
    if column.lower is None or column.upper is None:
        raise InvalidInput(
            f"The column {name!r} has no bounds on the card, and gower divides by their distance. "
            "Give 'lower' and 'upper', from knowledge or public data."
        )
    return float(column.upper) - float(column.lower)
