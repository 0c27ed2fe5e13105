"""A registered detector of another library, on the slow path."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly.detectors.base import Values
from whitecrow.anomaly.detectors.registry import registered

_LEAST = 3


class FittedDetector:
    """A registered detector, fitted anew on every population.

    It sees the population's values minus the record's own, in steps of the metric's resolution
    and in ascending order, so that its verdict is a function of the multiset of values.
    A population of fewer than three records, or one that the detector refuses, has no outliers.

    Parameters
    ----------
    name : str
        ``isolation_forest``, ``local_outlier_factor``, ``elliptic_envelope`` (scikit-learn),
        ``ecod``, ``knn``, ``mad`` (PyOD), or one that the operator registered
        (:func:`~whitecrow.anomaly.detectors.register_detector`).
    **parameters
        Its declared parameters; those left out have their defaults.

    Examples
    --------
    >>> detector = FittedDetector("local_outlier_factor", n_neighbors=3)
    >>> detector.outlier(np.array([0, 1, 2, 3, 4, 5, 60]), 60)
    True
    """

    kind: ClassVar[str] = "fitted"

    def __init__(self, name: str, /, **parameters: Any) -> None:
        self._detector = registered(name)
        self._parameters = self._detector.checked(parameters)

    def __repr__(self) -> str:
        return f"FittedDetector({self._listed(quoted=True)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedDetector) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self._detector.name, tuple(self._parameters.items())))

    def ready(self) -> None:
        """Refuse if the detector's package is not installed; loads nothing."""
        self._detector.origin()

    def outlier(self, values: Values, own: int) -> bool:
        if len(values) < _LEAST:
            return False
        column = (values - own).astype(np.float64).reshape(-1, 1)
        place = int(np.searchsorted(values, own))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its warnings would depend on private values
            try:
                return bool(self._detector.fit(column, **self._parameters)[place])
            except (MemoryError, ImportError):
                raise  # says nothing of the values, so it is no verdict on them
            except Exception:  # noqa: BLE001  whatever it raises depends on private values
                return False

    def words(self) -> str:
        """Say when a record is an outlier: the detector, every parameter, whose code decides."""
        return f"{self._listed()} of {self._detector.origin()}, fitted on the population, says so"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self._detector.name, "parameters": self._plain()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote; texts choose, and import nothing."""
        found = registered(data["name"])
        # Checked before they become keyword arguments, where any name would do.
        return cls(found.name, **found.checked(data.get("parameters", {})))

    def _plain(self) -> dict[str, Any]:
        return {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in self._parameters.items()
        }

    def _listed(self, *, quoted: bool = False) -> str:
        name = self._detector.name
        written = [f"{key}={value}" for key, value in self._plain().items()]
        return ", ".join([repr(name), *written]) if quoted else f"{name}({', '.join(written)})"
