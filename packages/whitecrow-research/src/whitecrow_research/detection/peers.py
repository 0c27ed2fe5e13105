"""Private peers: what one would build without whitecrow, at the same (epsilon, delta).

Their noise is drawn in floating point, so they are for comparison and not for use. Each is a
function ``(split, seed) -> scores``; bounds are the card's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whitecrow.histogram.noise_budget import concentrated
from whitecrow_research.detection.mst import synthetic
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.sets import Split, within

Vector = npt.NDArray[np.float64]
Peer = Callable[[Split, int], Vector]

TREE = "private MST + IForest"

_BINS, _TREES, _DEPTH, _FEATURES = 32, 50, 8, 256


def _rho() -> float:
    return float(concentrated(Fraction(1), Fraction(1, 10**6)))


def histograms(split: Split, seed: int) -> Vector:
    """Independent noisy histograms of single columns, and the sum of their surprises (HBOS)."""
    source = np.random.default_rng(seed)
    train, test = within(split, split.train), within(split, split.test)
    noise = math.sqrt(train.shape[1] / (2 * _rho()))
    scores = np.zeros(len(test))
    for column in range(train.shape[1]):
        cells = np.minimum((train[:, column] * _BINS).astype(int), _BINS - 1)
        counts = np.bincount(cells, minlength=_BINS) + source.normal(0, noise, _BINS)
        bins = np.minimum((test[:, column] * _BINS).astype(int), _BINS - 1)
        scores -= np.log(np.maximum(counts, noise))[bins]
    return scores


def forest(split: Split, seed: int) -> Vector:
    """Half-space trees: random columns halved to a fixed depth, noisy counts of the leaves."""
    source = np.random.default_rng(seed)
    train, test = within(split, split.train), within(split, split.test)
    noise = math.sqrt(_TREES / (2 * _rho()))
    scores = np.zeros(len(test))
    for _ in range(_TREES):
        cuts = [(source.integers(train.shape[1]), source.random()) for _ in range(_DEPTH)]
        leaf = [
            sum(
                (rows[:, column] > cut).astype(int) << bit for bit, (column, cut) in enumerate(cuts)
            )
            for rows in (train, test)
        ]
        counts = np.bincount(leaf[0], minlength=1 << _DEPTH) + source.normal(0, noise, 1 << _DEPTH)
        scores -= np.log(np.maximum(counts, noise))[leaf[1]]
    return scores


def fourier(split: Split, seed: int) -> Vector:
    """A kernel density by random Fourier features, their sums released with Gaussian noise."""
    source = np.random.default_rng(seed)
    train, test = within(split, split.train), within(split, split.test)
    width = 0.2 * math.sqrt(train.shape[1])
    waves = source.normal(0, 1 / width, (train.shape[1], _FEATURES))
    phases = source.uniform(0, 2 * math.pi, _FEATURES)
    # Each record's features have norm at most sqrt(_FEATURES).
    noise = math.sqrt(_FEATURES / (2 * _rho()))
    total = np.cos(train @ waves + phases).sum(axis=0) + source.normal(0, noise, _FEATURES)
    scores: Vector = -(np.cos(test @ waves + phases) @ total)
    return scores


def mahalanobis(split: Split, seed: int) -> Vector:
    """Distance by a noisy mean and covariance."""
    source = np.random.default_rng(seed)
    train, test = 2 * within(split, split.train) - 1, 2 * within(split, split.test) - 1
    d = train.shape[1]
    noise = math.sqrt(1 / _rho())
    size = max(1.0, len(train) + source.normal(0, noise))
    mean = (train.sum(axis=0) + source.normal(0, noise * math.sqrt(d), d)) / size
    rough = source.normal(0, noise * d, (d, d))
    second = (train.T @ train + (rough + rough.T) / math.sqrt(2)) / size
    values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
    values = np.maximum(values, noise * d * math.sqrt(d) / size)
    scores: Vector = (((test - mean) @ vectors) ** 2 / values).sum(axis=1)
    return scores


def tree(split: Split, seed: int) -> Vector:
    """An Isolation Forest that learned from synthetic records (MST)."""
    cells = np.minimum((within(split, split.train) * _BINS).astype(np.int64), _BINS - 1)
    made = synthetic(cells, _BINS, _rho(), seed)
    spread = np.random.default_rng(seed).random(made.shape)
    return RIVALS["IForest"]((made + spread) / _BINS, within(split, split.test), seed)


PEERS: dict[str, Peer] = {
    TREE: tree,
    "private histograms": histograms,
    "private half-space trees": forest,
    "private Fourier density": fourier,
    "private Mahalanobis": mahalanobis,
}
"""All at (1, 1e-6), by the name in the tables."""
