"""What a yes or no, seen often on two neighbouring databases, proves about a loss.

An *event* is a set of answers fixed before the draws that test it. If it came up ``x`` of ``n``
times on one database and ``y`` of ``n`` times on its neighbour, then with confidence ``1 - alpha``
its probabilities are at least ``p`` and at most ``q``, the bounds of Clopper and Pearson at
``alpha (1 - split)`` and ``alpha split``; and a mechanism whose event has these probabilities
loses at least what its claim's ``implied(p, q)`` says.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def at_least(successes: ArrayLike, tries: ArrayLike, alpha: float) -> Floats:
    """Return Clopper and Pearson's lower bound of a probability, at confidence ``1 - alpha``.

    Examples
    --------
    >>> at_least([0, 50, 100], 100, 0.025).round(4).tolist()
    [0.0, 0.3983, 0.9638]
    """
    from scipy.special import betaincinv

    x, n = np.asarray(successes, dtype=np.float64), np.asarray(tries, dtype=np.float64)
    bounds = betaincinv(np.maximum(x, 1e-9), n - x + 1, alpha)
    return np.asarray(np.where(x <= 0, 0.0, bounds), dtype=np.float64)


def at_most(successes: ArrayLike, tries: ArrayLike, alpha: float) -> Floats:
    """Return Clopper and Pearson's upper bound of a probability, at confidence ``1 - alpha``."""
    x, n = np.asarray(successes, dtype=np.float64), np.asarray(tries, dtype=np.float64)
    return np.asarray(1.0 - at_least(n - x, n, alpha), dtype=np.float64)


class Claim(Hashable, Protocol):
    """What a mechanism promises, and what an event proves against it."""

    @property
    def value(self) -> float:
        """The promised number."""

    @property
    def words(self) -> str:
        """The promise in words."""

    def implied(self, p: Any, q: Any) -> Floats:
        """Return the least loss of a pair on which an event has probabilities ``p`` and ``q``.

        It grows with ``p`` and falls with ``q``, so it may be taken at bounds of the two.
        """


@dataclass(frozen=True)
class Loss:
    """The (ε, δ) of differential privacy on one pair, whatever pairs a notion covers.

    Examples
    --------
    >>> Loss(2.0).implied(0.5, 0.1).round(6).tolist()
    1.609438
    >>> Loss(2.0, 0.1).implied(0.5, 0.1).round(6).tolist()
    1.386294
    """

    epsilon: float
    delta: float = 0.0

    @property
    def value(self) -> float:
        """The promised ε."""
        return self.epsilon

    @property
    def words(self) -> str:
        """The promise in words."""
        return f"{self.epsilon:g}" if not self.delta else f"{self.epsilon:g}, δ {self.delta:g}"

    def implied(self, p: Any, q: Any) -> Floats:
        """Return ``ln((p - δ) / q)``, or 0."""
        above = np.maximum(np.asarray(p, dtype=np.float64) - self.delta, 1e-300)
        below = np.maximum(np.asarray(q, dtype=np.float64), 1e-300)
        return np.asarray(np.maximum(0.0, np.log(above) - np.log(below)), dtype=np.float64)


_ORDERS = (1.001, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)


@dataclass(frozen=True)
class Rho:
    """Zero-concentrated privacy: every Rényi divergence is at most ``rho`` times its order.

    A yes or no is a post-processing, so its own divergences keep the promise too. They are smaller
    than those of the whole answer: even an exactly calibrated Gaussian shows about two thirds of
    its rho through one event, which the audit says beside each row.

    Examples
    --------
    >>> 0.3 < float(Rho(0.5).implied(0.69, 0.31)) < 0.5
    True
    """

    rho: float

    @property
    def value(self) -> float:
        """The promised rho."""
        return self.rho

    @property
    def words(self) -> str:
        """The promise in words."""
        return f"rho {self.rho:g}"

    def implied(self, p: Any, q: Any) -> Floats:
        """Return the largest divergence over its order, of the event and of its complement."""
        tiny = 1e-300
        high = np.asarray(p, dtype=np.float64)
        low = np.asarray(q, dtype=np.float64)
        yes, no = np.log(np.maximum(high, tiny)), np.log(np.maximum(1 - high, tiny))
        yes_, no_ = np.log(np.maximum(low, tiny)), np.log(np.maximum(1 - low, tiny))
        worst = np.zeros(np.broadcast(high, low).shape)
        for order in _ORDERS:
            moment = np.logaddexp(order * yes + (1 - order) * yes_, order * no + (1 - order) * no_)
            worst = np.maximum(worst, moment / ((order - 1) * order))
        return np.asarray(np.where(high > low, worst, 0.0), dtype=np.float64)
