"""How good a ranking is, and how sure a mean over sets is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def roc_auc(truth: npt.NDArray[np.bool_], scores: Vector) -> float:
    """Return the chance that an outlier is ranked above another record, ties counted half.

    Examples
    --------
    >>> roc_auc(np.array([True, False, False]), np.array([2.0, 1.0, 2.0]))
    0.75
    """
    _, groups, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[groups]
    positives = int(truth.sum())
    return float(
        (ranks[truth].sum() - positives * (positives + 1) / 2)
        / (positives * (len(truth) - positives))
    )


def average_precision(truth: npt.NDArray[np.bool_], scores: Vector) -> float:
    """Return the mean precision at the outliers found, equal scores found together.

    Examples
    --------
    >>> average_precision(np.array([True, False, True]), np.array([3.0, 2.0, 1.0]))
    0.8333333333333333
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    hits = np.cumsum(truth[order])[last]
    precision = hits / (np.flatnonzero(last) + 1)
    return float(np.sum(np.diff(hits, prepend=0) * precision) / truth.sum())


def paired(
    first: Vector, second: Vector, families: Sequence[str], *, level: float = 0.9
) -> tuple[float, float, float]:
    """Return the mean difference over sets and its bootstrap interval; families are resampled.

    Examples
    --------
    >>> paired(np.array([0.75, 0.75, 0.5]), np.array([0.5, 0.5, 0.25]), ["a", "a", "b"])
    (0.25, 0.25, 0.25)
    """
    gaps = np.asarray(first) - np.asarray(second)
    _, kin = np.unique(list(families), return_inverse=True)
    sums, sizes = np.bincount(kin, weights=gaps), np.bincount(kin)
    drawn = np.random.default_rng(0).integers(len(sums), size=(20_000, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(gaps.mean()), float(low), float(high)


def mean_ranks(values: Vector) -> Vector:
    """Return the mean rank of each detector (row) over sets (columns): 1 is best, ties shared.

    Examples
    --------
    >>> mean_ranks(np.array([[0.9, 0.8], [0.5, 0.8]])).tolist()
    [1.25, 1.75]
    """
    above = (values[None, :, :] > values[:, None, :]).sum(axis=1)
    equal = (values[None, :, :] == values[:, None, :]).sum(axis=1)
    ranks: Vector = (above + (equal + 1) / 2).mean(axis=1)
    return ranks
