"""Made-up sets with the shape of known hard cases, where no real one is at hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Labelled = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


def cluster(seed: int, size: int = 100_000, share: float = 0.004) -> Labelled:
    """Return requests to a web server (length, bytes sent, bytes received, logarithms) and attacks.

    The attacks send nearly the same bytes, far beyond most requests, so they are a dense cluster;
    single odd requests are rarer than they are.
    """
    source = np.random.default_rng(seed)
    outliers = round(size * share)
    common = size - outliers
    kind = source.random(common)
    sent = np.where(
        kind < 0.01, source.lognormal(7, 1.2, common), source.lognormal(5.5, 0.25, common)
    )
    sent[(kind > 0.01) & (kind < 0.015)] = 0.0
    length = np.where(source.random(common) < 0.9, 0.0, source.lognormal(1, 2, common))
    received = np.where(source.random(common) < 0.03, 0.0, source.lognormal(8, 1.4, common))
    usual = source.random(outliers) < 0.8
    attacks = [
        np.where(source.random(outliers) < 0.7, 0.0, source.lognormal(1, 1, outliers)),
        54_540 * source.uniform(0.99, 1.01, outliers),
        np.where(usual, 8314.0, source.lognormal(8.9, 0.3, outliers)),
    ]
    rows = np.concatenate([np.stack([length, sent, received], axis=1), np.stack(attacks, axis=1)])
    return np.log(rows + 0.1), np.repeat([False, True], [common, outliers])


def far_cluster(
    seed: int, size: int = 100_000, share: float = 0.004, odd: float = 0.0005, empty: float = 0.0
) -> Labelled:
    """Return requests as :func:`cluster` does, hardly any of which lie as far out as the attacks.

    Parameters
    ----------
    seed, size : int
    share : float
        The part of the records that are attacks.
    odd, empty : float
        The parts of the other requests whose bytes sent are spread widely, and are none.
    """
    source = np.random.default_rng(seed)
    outliers = round(size * share)
    common = size - outliers
    wide, kind = source.random(common) < 0.02, source.random(common)
    sent = np.where(wide, source.lognormal(6.2, 0.5, common), source.lognormal(5.45, 0.25, common))
    sent = np.where(kind < odd, source.lognormal(6.5, 1.5, common), sent)
    sent[(kind > odd) & (kind < odd + empty)] = 0.0
    usual = source.random(outliers) < 0.9
    length = [
        np.where(source.random(common) < 0.93, 0.0, np.floor(source.lognormal(1, 1.5, common))),
        np.where(source.random(outliers) < 0.8, 0.0, np.floor(source.lognormal(1, 1, outliers))),
    ]
    received = [
        np.where(source.random(common) < 0.01, 0.0, source.lognormal(7.8, 1.3, common)),
        np.where(usual, 8314.0, source.lognormal(8.9, 0.3, outliers)),
    ]
    attacks = np.where(usual, 54_540.0, 54_540 * source.uniform(0.9, 1.01, outliers))
    columns = (length, [sent, attacks], received)
    rows = np.stack([np.concatenate(parts) for parts in columns], axis=1)
    return np.log(rows + 0.1), np.repeat([False, True], [common, outliers])


def embeddings(digit: int, columns: int = 512, outliers: int = 90) -> Labelled:
    """Return the features that a random network finds in handwritten digits; one digit is rare."""
    from sklearn.datasets import load_digits

    held = load_digits()
    source = np.random.default_rng(100 + digit)
    first, second = source.normal(size=(64, 256)) / 8, source.normal(size=(256, columns)) / 16
    hidden = np.maximum(held.data / 16 @ first + 0.2 * source.normal(size=256), 0.0)
    features = np.maximum(hidden @ second, 0.0)
    common = np.flatnonzero(held.target != digit)
    rare = source.choice(np.flatnonzero(held.target == digit), outliers, replace=False)
    truth = np.repeat([False, True], [len(common), outliers])
    return features[np.concatenate([common, rare])], truth


def tails(seed: int, size: int = 1800, columns: int = 21, moved: int = 8) -> Labelled:
    """Return skewed, weakly related measurements; a tenth of the records are ill.

    Illness moves several columns at once, each towards its own end and none of them far, as in
    recordings of hearts.
    """
    source = np.random.default_rng(seed)
    truth = np.arange(size) < size // 10
    load = 0.3 * source.normal(size=(3, columns))
    plain = source.normal(size=(size, 3)) @ load + source.normal(size=(size, columns))
    hit = source.permutation(columns)[:moved]
    severity = 1.6 * (0.5 + source.random(size)) * truth
    plain[:, hit] += severity[:, None] * (0.5 + source.random((size, moved)))
    kinds = [
        np.exp(0.6 * plain),
        plain,
        np.maximum(np.exp(0.8 * plain) - 1.2, 0.0),  # mostly none
    ]
    side = np.where(source.random(columns) < 0.7, 1.0, -1.0)
    return side * np.choose(source.integers(3, size=columns), kinds), truth


def clearest(rows: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_], most: int) -> Labelled:
    """Return a set with those of its outliers that a linear rule, told the labels, knows best."""
    from sklearn.linear_model import LogisticRegression

    spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
    even = (rows - rows.mean(axis=0)) / spread
    scores = LogisticRegression(max_iter=500).fit(even, truth).decision_function(even)
    outliers = np.flatnonzero(truth)
    best = outliers[np.argsort(-scores[outliers])[:most]]
    rows_kept = np.concatenate([np.flatnonzero(~truth), best])
    return rows[rows_kept], truth[rows_kept]
