"""The distance model on one metric: few records within a reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly.detectors.base import Values
from whitecrow.anomaly.weights import DistanceAnomaly
from whitecrow.errors import invalid


@dataclass(frozen=True)
class FewWithin:
    """An outlier has at most ``beta`` records, itself included, within ``reach`` steps.

    This is :class:`~whitecrow.DistanceAnomaly` on one numeric column, with the radius in whole
    steps of the column's resolution.

    Parameters
    ----------
    beta : int
        The most records an outlier may have within reach; at least 1.
    reach : int
        Steps, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> FewWithin(beta=1, reach=5).outlier(np.array([0, 1, 2, 9]), 9)
    True
    """

    beta: int
    reach: int
    kind: ClassVar[str] = "distance"

    def __post_init__(self) -> None:
        for parameter, least in (("beta", 1), ("reach", 0)):
            value = getattr(self, parameter)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                must = f"a whole number of at least {least}"
                raise invalid("FewWithin", parameter, must, value)

    @classmethod
    def of(cls, model: DistanceAnomaly, step: Fraction) -> Self:
        """Return the model on a grid: ``|a-b| <= radius`` of grid values, decided exactly."""
        return cls(model.beta, Fraction(model.radius) // step)

    def near(self, values: Values, own: int) -> int:
        """Return how many records, itself included, lie within reach."""
        return int(
            np.searchsorted(values, own + self.reach, "right")
            - np.searchsorted(values, own - self.reach, "left")
        )

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ``values``."""
        return self.near(values, own) <= self.beta

    def words(self) -> str:
        """Say when a record is an outlier."""
        return f"at most {self.beta} records, itself included, lie within {self.reach} steps of it"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind, "beta": self.beta, "reach": self.reach}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote."""
        return cls(data["beta"], data["reach"])
