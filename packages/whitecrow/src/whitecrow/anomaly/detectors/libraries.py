"""Detectors of scikit-learn and PyOD that suit one column, with the ranges a question may use.

Each is a deterministic function of the sorted column: those that draw take a public seed. The
ranges bound time and memory of one fit by the number of records. Detectors whose cost grows with
the square of the number of records (the one-class support vector machine) are left out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.detectors.registry import Parameter, Registered

Column = NDArray[np.float64]
Outliers = NDArray[np.bool_]

_LEAST, _MOST = Fraction(1, 1000), Fraction(1, 2)
_SEED = Parameter("seed", "whole", 0, least=0, most=2**32 - 1)
_OWN_CUT = Parameter("contamination", "number", None, least=_LEAST, most=_MOST)
_CONTAMINATION = Parameter("contamination", "number", Fraction(1, 10), least=_LEAST, most=_MOST)


def _auto(contamination: Fraction | None) -> float | str:
    """scikit-learn's word for the library's own cut, where no share is given."""
    return "auto" if contamination is None else float(contamination)


def _isolation_forest(
    column: Column,
    *,
    n_estimators: int,
    max_samples: int,
    contamination: Fraction | None,
    seed: int,
) -> Outliers:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(
        n_estimators=n_estimators,
        max_samples=min(max_samples, len(column)),
        contamination=_auto(contamination),
        random_state=seed,
    )
    return _is_minus_one(forest.fit_predict(column))


def _local_outlier_factor(
    column: Column, *, n_neighbors: int, contamination: Fraction | None
) -> Outliers:
    from sklearn.neighbors import LocalOutlierFactor

    factor = LocalOutlierFactor(n_neighbors=n_neighbors, contamination=_auto(contamination))
    return _is_minus_one(factor.fit_predict(column))


def _elliptic_envelope(column: Column, *, contamination: Fraction, seed: int) -> Outliers:
    from sklearn.covariance import EllipticEnvelope

    envelope = EllipticEnvelope(contamination=float(contamination), random_state=seed)
    return _is_minus_one(envelope.fit_predict(column))


def _ecod(column: Column, *, contamination: Fraction) -> Outliers:
    from pyod.models.ecod import ECOD

    return _labelled(ECOD(contamination=float(contamination)), column)


def _knn(column: Column, *, n_neighbors: int, method: str, contamination: Fraction) -> Outliers:
    from pyod.models.knn import KNN

    share = float(contamination)
    return _labelled(KNN(n_neighbors=n_neighbors, method=method, contamination=share), column)


def _mad(column: Column, *, threshold: Fraction) -> Outliers:
    from pyod.models.mad import MAD

    return _labelled(MAD(threshold=float(threshold)), column)


def _is_minus_one(labels: Any) -> Outliers:
    found: Outliers = np.asarray(labels) == -1
    return found


def _labelled(detector: Any, column: Column) -> Outliers:
    found: Outliers = np.asarray(detector.fit(column).labels_) == 1
    return found


_NEIGHBOURS = Parameter("n_neighbors", "whole", 20, least=1, most=100)
_SKLEARN = ("scikit-learn",)
_PYOD = ("pyod", *_SKLEARN)

SHIPPED = (
    Registered(
        "isolation_forest",
        _isolation_forest,
        (
            Parameter("n_estimators", "whole", 100, least=1, most=1000),
            Parameter("max_samples", "whole", 256, least=2, most=512),
            _OWN_CUT,
            _SEED,
        ),
        _SKLEARN,
    ),
    Registered("local_outlier_factor", _local_outlier_factor, (_NEIGHBOURS, _OWN_CUT), _SKLEARN),
    Registered("elliptic_envelope", _elliptic_envelope, (_CONTAMINATION, _SEED), _SKLEARN),
    Registered("ecod", _ecod, (_CONTAMINATION,), _PYOD),
    Registered(
        "knn",
        _knn,
        (
            Parameter("n_neighbors", "whole", 5, least=1, most=100),
            Parameter("method", "choice", "largest", choices=("largest", "mean", "median")),
            _CONTAMINATION,
        ),
        _PYOD,
    ),
    Registered(
        "mad",
        _mad,
        (Parameter("threshold", "number", Fraction(7, 2), least=Fraction(1, 1000), most=10**6),),
        _PYOD,
    ),
)
"""What whitecrow itself offers."""
