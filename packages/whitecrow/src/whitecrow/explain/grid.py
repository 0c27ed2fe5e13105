"""The metric in whole steps: every detector works on integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Card
from whitecrow.data.keys import Rounded
from whitecrow.errors import InvalidInput

_FINE = 2**30
_TINIEST = 1e-290
_MOST = 2**36
"""Sums of 2^26 offsets and products with a million bins stay below 2^63."""


@dataclass(frozen=True)
class Grid:
    """A public rounding of the metric: ``rint((x - origin) / step)``, a function of x alone.

    Examples
    --------
    >>> from whitecrow.data import Card, Column
    >>> card = Card("toy", (Column("Salary", lower=100_000, upper=3_000_000),))
    >>> Grid.of("Salary", card).step
    Fraction(1, 1000)
    """

    origin: float  # the card's lower bound, or 0
    # The card's resolution; without one, 1 for integers and otherwise the largest power of ten that
    # cuts the card's bounds into at least 2^30 steps.
    step: Fraction

    @classmethod
    def of(cls, name: str, card: Card) -> Grid:
        """Read the grid of a metric from the card."""
        column = card.column(name)
        if not column.numeric:
            raise InvalidInput(
                f"The metric {name!r} is {column.type} on the card; outliers are found on a "
                "number or an integer."
            )
        bounds = None
        if column.lower is not None and column.upper is not None:
            bounds = (float(column.lower), float(column.upper))
        if column.resolution is not None:
            step = Fraction(repr(float(column.resolution)))
        elif column.type == "integer":
            step = Fraction(1)
        elif bounds is not None:
            width = float((Fraction(bounds[1]) - Fraction(bounds[0])) / _FINE)
            step = Fraction(10) ** math.floor(math.log10(max(width, _TINIEST)))
        else:
            raise InvalidInput(
                f"The metric {name!r} has neither bounds nor a resolution on the card. Give "
                "'lower' and 'upper', or the 'resolution' to which values are rounded."
            )
        if bounds is not None and (bounds[1] - bounds[0]) / step > _MOST:
            raise InvalidInput(
                f"The resolution of the metric {name!r} cuts its bounds into more than 2^36 "
                "steps; give a coarser one on the card."
            )
        return cls(bounds[0] if bounds else 0.0, step)

    def key(self, metric: str) -> Rounded:
        """Return what records are grouped by; what lies beyond 2^36 steps is moved there."""
        return Rounded(metric, self.origin, float(self.step), float(_MOST))

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.key("").of(values).astype(np.int64)
