"""Counting the outliers of a subspace, the private side: the exact count and its sensitivity."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.calibration import Calibration, draw
from whitecrow.anomaly.smooth import degrees_needed, horizon, smooth_bound
from whitecrow.data import Dataset
from whitecrow.neighbours import Closeness, Engine
from whitecrow.noise import Source
from whitecrow.privacy import Facts

__all__ = ["OutlierFacts", "noisy_count", "outlier_counts", "outlier_facts"]


Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, repr=False, eq=False)
class OutlierFacts(Facts):
    """How many outliers there are, the sensitivity of that number, and the noise (public)."""

    outliers: int
    sensitivity: Fraction
    calibration: Calibration


def outlier_facts(
    dataset: Dataset, engine: Engine, closeness: Closeness, beta: int, calibration: Calibration
) -> OutlierFacts:
    """Count the outliers and bound the sensitivity as the calibration needs it."""
    if calibration.decay is None:
        degrees = engine.degrees(closeness, beta + 1)
        return OutlierFacts(int((degrees <= beta).sum()), Fraction(calibration.cap), calibration)
    last = horizon(calibration.cap, calibration.decay, calibration.relation, dataset.size)
    most = degrees_needed(beta, last)
    degrees = engine.degrees(closeness, most)
    outliers = int((degrees <= beta).sum())
    near = np.flatnonzero(degrees < most)
    sensitivity = smooth_bound(
        _rows(dataset, closeness.columns, near),
        degrees[near],
        beta=beta,
        radius=closeness.radius,
        metric=closeness.metric,
        relation=calibration.relation,
        cap=calibration.cap,
        decay=calibration.decay,
        size=dataset.size,
    )
    return OutlierFacts(outliers, sensitivity, calibration)


def noisy_count(facts: OutlierFacts, source: Source | None = None) -> int:
    """Return the count with its noise: any whole number, also below 0."""
    return facts.outliers + draw(facts.calibration, facts.sensitivity, source)


def outlier_counts(
    engine: Engine,
    subspaces: Sequence[Closeness],
    beta: int,
    progress: Progress | None = None,
) -> tuple[int, ...]:
    """Count the outliers of each of several subspaces; neighbours only up to ``beta + 1``."""
    if len(subspaces) > 1:
        # One engine counts them all: worth the compiled kernels, whose loading each count on its
        # own would avoid where it is small.
        importlib.import_module("numba")
    found = []
    for done, closeness in enumerate(subspaces):
        if progress is not None:
            progress(done, len(subspaces), "counting outliers in subspaces")
        found.append(int((engine.degrees(closeness, beta + 1) <= beta).sum()))
    return tuple(found)


def _rows(dataset: Dataset, columns: Sequence[str], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return some rows of some columns, never a copy of the whole data."""
    found = np.empty((len(rows), len(columns)), dtype=np.float64)
    for place, name in enumerate(columns):
        found[:, place] = dataset.values(name)[rows]
    return found
