"""The five data sets of the paper, as far as they are available, with their neighbour counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.law import discrepancy, flip_probability
from whitecrow.neighbours import count_close
from whitecrow_research.papers.report import Context

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


BEYOND = 300
"""Neighbours are counted to beta + this: at epsilon 0.1 errors are then below 1e-13."""


@dataclass(frozen=True)
class Printed:
    """What Table 1 of the paper says of a data set."""

    size: int
    width: int
    beta: int
    radius: float
    anomalies: int


PRINTED = {
    "Credit Fraud": Printed(284_807, 28, 1022, 6.7, 103),
    "APS Trucks": Printed(60_000, 170, 282, 16.2, 677),
    "Synthetic": Printed(20_000, 200, 97, 3.8, 201),
    "Mammography": Printed(11_183, 6, 55, 1.7, 75),
    "Thyroid": Printed(3_772, 6, 18, 0.1, 61),
}


@dataclass(frozen=True)
class Set:
    """One data set in the space where distances are taken.

    Parameters
    ----------
    name : str
        As in the paper.
    points : float array
        The records we have.
    labelled : bool array
        Which of them the source labels as outliers.
    weights : float array
        How many records of the full set each one stands for (1 where we have all of it).
    radius : float
        The radius used; the paper's but for Thyroid.
    neighbours : int array
        Estimated records of the full set within the radius, itself included.
    note : str
        What stands in for what.
    """

    name: str
    points: Matrix
    labelled: NDArray[np.bool_]
    weights: Matrix
    radius: float
    neighbours: Counts
    note: str = ""

    @property
    def printed(self) -> Printed:
        """What the paper says of it."""
        return PRINTED[self.name]

    @property
    def whole(self) -> bool:
        """Whether these are all records of the set and not a sample."""
        return bool((self.weights == 1).all())

    @property
    def copies(self) -> Counts:
        """How many records equal each one (1 in a sample, where nothing better is known)."""
        if not self.whole:
            return np.ones(len(self.points), dtype=np.int64)
        _, back, times = np.unique(self.points, axis=0, return_inverse=True, return_counts=True)
        return np.minimum(times[back.ravel()], self.neighbours)  # which are counted to a cap

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Which records the (beta, r) model calls anomalies."""
        return np.asarray(self.neighbours <= self.printed.beta)

    @property
    def true(self) -> NDArray[np.bool_]:
        """The paper's "true anomalies": labelled by the source and flagged by the model."""
        return self.flagged & self.labelled


def errors(
    copies: Counts, neighbours: Counts, *, beta: int, k: int, epsilon: object
) -> NDArray[np.float64]:
    """Return the error probability of the paper's mechanism (equation 5) for each record."""
    pairs, back = np.unique(np.stack([copies, neighbours], axis=1), axis=0, return_inverse=True)
    chances = [
        flip_probability(discrepancy(int(v), int(b), beta=beta, k=k), epsilon) for v, b in pairs
    ]
    return np.array(chances)[back.ravel()]


def neighbours_of(
    records: Matrix, points: Matrix, weights: Matrix, radius: float, most: int
) -> Counts:
    """Count neighbours of records up to ``most``, each point standing for as many as its weight."""
    total = np.zeros(len(records))
    for weight in np.unique(weights):
        cap = math.ceil(most / weight)
        total += weight * count_close(points[weights == weight], records, radius, cap=cap)
    return np.asarray(np.minimum(np.rint(total), most), dtype=np.int64)


def principal(
    values: Matrix, keep: int, *, standardise: bool, weights: Matrix | None = None
) -> Matrix:
    """Return the leading principal components of the records."""
    weight = np.ones(len(values)) if weights is None else weights
    weight = (weight / weight.sum())[:, None]
    centred = values - (weight * values).sum(axis=0)
    if standardise:
        spread = np.sqrt((weight * centred**2).sum(axis=0))
        centred = centred[:, spread > 0] / spread[spread > 0]
    _, axes = np.linalg.eigh((weight * centred).T @ centred)
    return np.ascontiguousarray(centred @ axes[:, ::-1][:, :keep])


@lru_cache(maxsize=8)
def load(name: str, context: Context) -> Set | None:
    """Return a data set, or None where it is not available."""
    read: dict[str, Callable[[Context], Set | None]] = {
        "Credit Fraud": _credit_fraud,
        "APS Trucks": _aps_trucks,
        "Synthetic": _synthetic,
        "Mammography": lambda c: _labelled("Mammography", "mammography.parquet", 1.7, c),
        "Thyroid": lambda c: _labelled("Thyroid", "thyroid.parquet", 0.148, c),
    }
    return read[name](context)


def _table(context: Context, file: str) -> Any | None:
    path = context.dataset(file)
    if path is None:
        return None
    from pyarrow import parquet

    return parquet.read_table(path)


def _columns(table: Any, names: list[str]) -> Matrix:
    columns = [table.column(name).to_numpy().astype(np.float64) for name in names]
    return np.ascontiguousarray(np.column_stack(columns))


def _made(
    name: str,
    points: Matrix,
    labelled: NDArray[np.bool_],
    weights: Matrix,
    radius: float,
    note: str,
) -> Set:
    near = neighbours_of(points, points, weights, radius, PRINTED[name].beta + BEYOND)
    return Set(name, points, labelled, weights, radius, near, note)


def _labelled(name: str, file: str, radius: float, context: Context) -> Set | None:
    table = _table(context, file)
    if table is None:
        return None
    points = _columns(table, [column for column in table.column_names if column != "label"])
    labelled = table.column("label").to_numpy() == 1
    return _made(name, points, labelled, np.ones(len(points)), radius, "")


def _credit_fraud(context: Context) -> Set | None:
    sample = _fraud_sample(context)
    if sample is None:
        return None
    values, fraud, weights = sample
    # The published columns are principal components already: the leading six are V1 to V6.
    points = np.ascontiguousarray(values[:, :6])
    note = (
        "all 492 frauds and a 5.6 % sample of the others, each standing for 18; V1 to V6 as the "
        "leading components"
    )
    return _made("Credit Fraud", points, fraud, weights, 6.7, note)


def _fraud_sample(context: Context) -> tuple[Matrix, NDArray[np.bool_], Matrix] | None:
    """Return V1 to V28 of all frauds and of the random draw, which are frauds, and weights."""
    table = _table(context, "credit_fraud_sample.parquet")
    if table is None:
        return None
    draw = table.column("Draw").to_numpy(zero_copy_only=False)
    wanted = np.isin(draw.astype(str), ["all_frauds", "random"])
    fraud = table.column("Class").to_numpy()[wanted] == 1
    values = _columns(table, [f"V{number}" for number in range(1, 29)])[wanted]
    return values, fraud, np.where(fraud, 1.0, 284_315 / (~fraud).sum())


def fraud_on_standardised_columns(context: Context) -> int:
    """Count the true anomalies of Credit Fraud with components of the standardised columns."""
    sample = _fraud_sample(context)
    assert sample is not None
    values, fraud, weights = sample
    points = principal(values, 6, standardise=True, weights=weights)
    beta = PRINTED["Credit Fraud"].beta
    return int((neighbours_of(points[fraud], points, weights, 6.7, beta + 1) <= beta).sum())


def _aps_trucks(context: Context) -> Set | None:
    table = _table(context, "aps_trucks_sample.parquet")
    if table is None:
        return None
    names = [name for name in table.column_names if name not in ("class", "source")]
    values = _columns(table, names)
    values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    failures = table.column("class").to_numpy() == 1
    points = principal(values, 12, standardise=True)
    weights = np.full(len(points), 60_000 / len(points))
    note = (
        "a 22 % sample, each record standing for 4.5; missing values filled by the median, columns "
        "standardised, 12 leading components"
    )
    return _made("APS Trucks", points, failures, weights, 16.2, note)


def _synthetic(context: Context) -> Set:
    """Generate as Dong, Hopkins and Li do: normal inliers, outliers along a few directions.

    Outliers lie at ``±sqrt(directions / share)`` along orthogonal axes with little spread.
    """
    size, width, directions, outliers = 20_000, 200, 9, 201
    random = np.random.default_rng(context.seed)
    values = random.standard_normal((size, width))
    distance = np.sqrt(directions * size / outliers)
    along = np.arange(outliers) % directions
    values[:outliers] *= 0.1
    values[np.arange(outliers), along * (width // directions)] += np.where(
        np.arange(outliers) // directions % 2 == 0, distance, -distance
    )
    labelled = np.arange(size) < outliers
    points = principal(values, 9, standardise=False)
    note = "generated: 201 outliers along 9 directions among 19,799 standard normal records"
    return _made("Synthetic", points, labelled, np.ones(size), 3.8, note)
