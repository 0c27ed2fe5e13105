"""What records are grouped by: a column as it is, cut at edges, or rounded to steps.

Each key is computed here by numpy and elsewhere by SQL, with the same IEEE operations in the same
order, so that a record has the same key wherever it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data._dialect import Dialect

__all__ = ["Cut", "Key", "Plain", "Rounded"]


@dataclass(frozen=True)
class Plain:
    """The value as stored."""

    column: str

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the key of each value."""
        return values

    def sql(self, value: str, dialect: Dialect) -> str:
        """Write the key of a value."""
        return value


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
        """Return the key of each value."""
        return np.searchsorted(np.array(self.edges), values, side="right")

    def sql(self, value: str, dialect: Dialect) -> str:
        """Write the key of a value."""
        cases = "".join(
            f"WHEN {value} < {dialect.number(edge)} THEN {dialect.number(place)} "
            for place, edge in enumerate(self.edges)
        )
        last = dialect.number(len(self.edges))
        return f"CASE {cases}ELSE {last} END" if cases else last


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
        """Return the key of each value."""
        return np.clip(np.rint((values - self.origin) / self.step), -self.most, self.most)

    def sql(self, value: str, dialect: Dialect) -> str:
        """Write the key of a value."""
        # Cut before the division: a database may refuse what is too large for a double.
        reach = self.most * self.step * (1.0 + 2.0**-40)
        near = dialect.clipped(value, self.origin - reach, self.origin + reach)
        steps = f"({near} - {dialect.number(self.origin)}) / {dialect.number(self.step)}"
        return dialect.clipped(dialect.rint.format(f"({steps})"), -self.most, self.most)


Key = Plain | Cut | Rounded
