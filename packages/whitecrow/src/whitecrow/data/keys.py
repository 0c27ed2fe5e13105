"""What records are grouped by: a column as it is, cut at edges, or rounded to steps.

Each key is computed from canonical columns by the same code wherever a record is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Plain:
    """The value as stored."""

    column: str

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values


@dataclass(frozen=True)
class Cut:
    """The place among edges: 0 below the first, 1 from there to below the second, and so on.

    Examples
    --------
    >>> Cut("age", (40.0, 65.0)).of(np.array([39.9, 40.0, 80.0]))
    array([0, 1, 2])
    """

    column: str
    edges: tuple[float, ...]

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.searchsorted(np.array(self.edges), values, side="right")


@dataclass(frozen=True)
class Rounded:
    """The nearest step, ties to even: ``rint((x - origin) / step)``, cut to ``+-most``.

    Examples
    --------
    >>> Rounded("pay", 0.0, 0.5, 2.0**36).of(np.array([1.25, 1.3, np.inf]))
    array([2.00000000e+00, 3.00000000e+00, 6.87194767e+10])
    """

    column: str
    origin: float
    step: float
    most: float

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        steps = np.clip(np.rint((values - self.origin) / self.step), -self.most, self.most)
        return steps + 0.0  # one zero


Key = Plain | Cut | Rounded
