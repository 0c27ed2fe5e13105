"""Any deterministic scikit-learn or PyOD detector, on the slow path."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly.detectors.base import Values
from whitecrow.errors import InvalidInput, Unavailable, invalid

__all__ = ["FittedDetector"]

_HOMES = ("sklearn.", "pyod.models.")
_LEAST = 3


class FittedDetector:
    """A scikit-learn or PyOD outlier detector, fitted anew on every population.

    The estimator sees the population's values minus the record's own, in steps of the metric's
    resolution and in ascending order, so that its verdict is a function of the multiset of values
    as long as the estimator itself is deterministic: a ``random_state`` must be a whole number.
    A population of fewer than three records, or one that the estimator refuses, has no outliers.

    Parameters
    ----------
    estimator : scikit-learn or PyOD outlier detector
        Unfitted; its parameters must be plain numbers, texts, booleans or None, and it is silent.

    Examples
    --------
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> detector = FittedDetector(LocalOutlierFactor(n_neighbors=3))
    >>> bool(detector.outlier(np.array([0, 1, 2, 3, 4, 5, 60]), 60))
    True
    """

    kind: ClassVar[str] = "fitted"

    def __init__(self, estimator: Any) -> None:
        owner = "FittedDetector"
        home = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        if not home.startswith(_HOMES) or not _detects(estimator):
            must = "an outlier detector of scikit-learn or PyOD"
            raise invalid(owner, "estimator", must, home)
        parameters = estimator.get_params(deep=False)
        if "random_state" in parameters and not isinstance(parameters["random_state"], int):
            hint = "A detector that draws its own randomness has no fixed verdict."
            raise invalid(owner, "random_state", "a whole number", parameters["random_state"], hint)
        if parameters.get("verbose"):
            hint = "What an estimator prints while it fits is read from private values."
            raise invalid(owner, "verbose", "off", parameters["verbose"], hint)
        try:
            json.dumps(parameters, allow_nan=False)
        except (TypeError, ValueError):
            must = "an estimator whose parameters are numbers, texts, booleans or None"
            raise invalid(owner, "estimator", must, home) from None
        self._class = type(estimator)
        self._home = f"{self._class.__module__}:{self._class.__qualname__}"
        self._parameters = dict(sorted(parameters.items()))

    def __repr__(self) -> str:
        return f"FittedDetector({self._class.__name__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedDetector) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self._home)

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ``values``."""
        if len(values) < _LEAST:
            return False
        estimator = self._class(**self._parameters)
        column = (values - own).astype(np.float64).reshape(-1, 1)
        place = int(np.searchsorted(values, own))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its warnings would depend on private values
            try:
                if self._home.startswith("pyod"):
                    return bool(estimator.fit(column).labels_[place] == 1)
                return bool(estimator.fit_predict(column)[place] == -1)
            except Exception:  # noqa: BLE001  whatever it raises depends on private values
                return False

    def words(self) -> str:
        """Say when a record is an outlier."""
        return f"{self._class.__name__}, fitted on the population, says so"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind, "estimator": self._home, "parameters": self._parameters}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote; only scikit-learn and PyOD are opened."""
        module, _, name = str(data["estimator"]).partition(":")
        if not f"{module}.".startswith(_HOMES):
            must = "an outlier detector of scikit-learn or PyOD"
            raise invalid("FittedDetector", "estimator", must, data["estimator"])
        try:
            found = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            raise Unavailable(
                "This detector needs scikit-learn or PyOD: pip install 'whitecrow[detectors]'."
            ) from None
        except AttributeError:
            raise InvalidInput(f"The module {module!r} has no detector {name!r}.") from None
        if not isinstance(found, type):
            raise InvalidInput(f"{name!r} of {module!r} is not an outlier detector.")
        try:
            return cls(found(**data["parameters"]))
        except TypeError:
            raise InvalidInput(f"{name!r} does not take these parameters.") from None


def _detects(estimator: Any) -> bool:
    """Whether scikit-learn or PyOD call this an outlier detector."""
    if type(estimator).__module__.startswith("pyod."):
        return hasattr(estimator, "decision_scores_") or hasattr(estimator, "decision_function")
    from sklearn.base import is_outlier_detector

    return hasattr(estimator, "fit_predict") and bool(is_outlier_detector(estimator))
