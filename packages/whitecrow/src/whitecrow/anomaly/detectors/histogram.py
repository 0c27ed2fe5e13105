"""The histogram test: an outlier's bin holds too small a share of the population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly.detectors.base import Values
from whitecrow.errors import invalid
from whitecrow.privacy import exact

_MOST = 1_000_000


@dataclass(frozen=True)
class Histogram:
    """An outlier's bin holds fewer than a given share of the population.

    The bins have equal width and span the population from its smallest to its largest value; bin
    ``j`` of ``b`` holds the values x with ``floor((x - min) * b / (max - min)) = j``, and the
    largest value belongs to the last bin. A population of equal values is one bin.

    Parameters
    ----------
    bins : int or "sqrt"
        How many bins; ``"sqrt"`` is the square root of the population's size, rounded up.
    frequency : exact number
        A record is an outlier if its bin, itself included, holds strictly less than this share of
        the population. Above 0, at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> Histogram(bins=10, frequency="1/4").outlier(np.array([0, 1, 1, 2, 3, 3, 20]), 20)
    True
    """

    bins: int | str = "sqrt"
    frequency: Fraction = Fraction(1, 400)
    kind: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        if self.bins != "sqrt" and not (whole and 1 <= int(self.bins) <= _MOST):
            must = f'"sqrt" or a whole number between 1 and {_MOST}'
            raise invalid("Histogram", "bins", must, self.bins)
        frequency = exact(self.frequency, owner="Histogram", parameter="frequency")
        if frequency > 1:
            raise invalid("Histogram", "frequency", "a share of at most 1", self.frequency)
        if frequency.denominator > _MOST:
            hint = f"Its denominator may be at most {_MOST}."
            raise invalid("Histogram", "frequency", "a simple fraction", self.frequency, hint)
        object.__setattr__(self, "frequency", frequency)

    def count(self, size: int) -> int:
        """Return how many bins a population of this size has."""
        return isqrt(size - 1) + 1 if self.bins == "sqrt" else int(self.bins)

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ``values``."""
        size, low = len(values), int(values[0])
        width, bins = int(values[-1]) - low, self.count(len(values))
        if width == 0:
            start, stop = low, low
        else:
            place = min((own - low) * bins // width, bins - 1)
            start = low - (-place * width // bins)
            stop = low + (width if place == bins - 1 else ((place + 1) * width - 1) // bins)
        found = np.searchsorted(values, stop, "right") - np.searchsorted(values, start, "left")
        return int(found) * self.frequency.denominator < self.frequency.numerator * size

    def words(self) -> str:
        """Say when a record is an outlier."""
        bins = "the square root of the population" if self.bins == "sqrt" else str(self.bins)
        return f"its bin (of {bins}) holds under {self.frequency!s} of the population"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind, "bins": self.bins, "frequency": str(self.frequency)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote."""
        return cls(data["bins"], data["frequency"])
