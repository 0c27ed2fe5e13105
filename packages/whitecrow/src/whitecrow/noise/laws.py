"""The laws of the samplers in closed form: what a draw looks like before it is drawn.

Floats for tests, audits and the expected error of a question (:func:`core_tail_quantile` and its
kin). No release is ever computed from these numbers; where a proof needs certainty, the same
probabilities are enclosed between fractions in ``tests/noise/bounds.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, expm1, log, pi, sqrt
from statistics import NormalDist

from whitecrow.noise._source import Rational, refuse

Real = Rational | float


# -- whole numbers with exponential weights --


def discrete_laplace_pmf(k: int, scale: Real) -> float:
    """Return ``(1 - a) / (1 + a) * a^|k|`` with ``a = e^(-1/scale)``."""
    x = 1 / float(scale)
    return -expm1(-x) / (1 + exp(-x)) * exp(-x * abs(k))


def discrete_laplace_quantile(probability: float, scale: Real) -> int:
    """Return the least m with ``P(|K| <= m) >= probability``.

    ``P(|K| > m) = 2 a^(m+1) / (1 + a)``, which is solved for m.

    Examples
    --------
    >>> discrete_laplace_quantile(0.5, 10), discrete_laplace_quantile(0.95, 10)
    (7, 30)
    """
    x = 1 / float(scale)
    least = -log(_upper(probability) * (1 + exp(-x)) / 2) / x - 1
    return max(0, ceil(least - 1e-9))


def discrete_gaussian_pmf(k: int, variance: Real) -> float:
    """Return ``e^(-k^2 / 2v)`` over its sum on the whole numbers."""
    v = float(variance)
    return exp(-k * k / (2 * v)) / _gaussian_sum(v)


def _gaussian_sum(v: float) -> float:
    if v > 4:  # Poisson's summation formula: the next term is 2 e^(-2 pi^2 v), below 1e-34
        return sqrt(2 * pi * v)
    return 1 + 2 * sum(exp(-k * k / (2 * v)) for k in range(1, 80))


def discrete_gaussian_quantile(probability: float, variance: Real) -> int:
    """Return the least m with ``P(|K| <= m) >= probability``.

    Summed below a deviation of a thousand; beyond, the continuous law, which differs by less than
    one unit.

    Examples
    --------
    >>> discrete_gaussian_quantile(0.95, 100)
    20
    """
    upper = _upper(probability)
    v = float(variance)
    if v > 1e6:
        return round(sqrt(v) * NormalDist().inv_cdf(1 - upper / 2))
    norm = _gaussian_sum(v)
    covered, m = 1 / norm, 0
    while covered < 1 - upper - 1e-12:
        m += 1
        covered += 2 * exp(-m * m / (2 * v)) / norm
    return m


def _upper(probability: float) -> float:
    if not 0 < probability < 1:
        raise refuse("quantile", "probability", "between 0 and 1", "another number")
    return 1 - probability


# -- private choice --


def exponential_levels_pmf(levels: Sequence[Real], counts: Sequence[int], eta: Real) -> list[float]:
    """Return the probabilities proportional to ``counts[l] e^(eta levels[l])``."""
    best = max(level for level, count in zip(levels, counts, strict=True) if count)
    weights = [
        count * exp(-float(eta * (best - level))) if count else 0.0
        for level, count in zip(levels, counts, strict=True)
    ]
    total = sum(weights)
    return [weight / total for weight in weights]


def exponential_mechanism_pmf(utilities: Sequence[Real], eta: Real) -> list[float]:
    """Return the probabilities proportional to ``e^(eta * utility)``."""
    return exponential_levels_pmf(utilities, [1] * len(utilities), eta)


def permute_and_flip_pmf(utilities: Sequence[Real], eta: Real) -> list[float]:
    """Return the law of permute-and-flip.

    Let candidates arrive at independent uniform times: candidate i with coin ``q_i`` wins at time t
    if no other has arrived with heads, so ``P(i) = q_i * integral of prod (1 - t q_j) dt`` over
    j != i. The integrand is a polynomial, which Gauss-Legendre quadrature integrates exactly.

    Examples
    --------
    >>> [round(p, 4) for p in permute_and_flip_pmf([0, 0, 0], eta=1)]
    [0.3333, 0.3333, 0.3333]
    """
    import numpy as np

    best = max(utilities)
    coins = np.array([exp(-float(eta * (best - utility))) for utility in utilities])
    nodes, weights = np.polynomial.legendre.leggauss(len(coins) // 2 + 1)
    times = (nodes + 1) / 2
    factors = 1 - times[:, None] * coins[None, :]
    others = (np.delete(factors, index, axis=1).prod(axis=1) for index in range(len(coins)))
    return [float(coin * (weights / 2) @ tails) for coin, tails in zip(coins, others, strict=True)]


# -- heavy tails, rounded --


def core_tail_survival(z: float, tail: int) -> float:
    """Return ``P(|Z| > z)`` of the ideal noise with Laplace core and power tail, z at least 0.

    With ``c = B + 1`` and the total mass ``N = 1 + e^-c / B``: ``(e^-z + e^-c / B) / N`` up to c,
    ``e^-c (c/B) (c/z)^B / N`` beyond.
    """
    c = tail + 1
    corner = exp(-c)
    total = 1 + corner / tail
    if z <= c:
        return (exp(-z) + corner / tail) / total
    return corner * (c / tail) * (c / z) ** tail / total


def core_tail_quantile(probability: float, tail: int) -> float:
    """Return z with ``P(|Z| <= z) = probability``; times the scale, the error of a release.

    Examples
    --------
    >>> round(core_tail_quantile(0.5, 3), 3), round(core_tail_quantile(0.95, 3), 2)
    (0.699, 3.12)
    """
    c = tail + 1
    corner = exp(-c)
    left = _upper(probability) * (1 + corner / tail)
    if left >= corner * c / tail:
        return -log(left - corner / tail)
    return float(c * (corner * c / (tail * left)) ** (1 / tail))


def core_tail_pmf(k: int, scale: Real, tail: int) -> float:
    """Return the probability that :func:`whitecrow.noise.core_tail` gives ``k``."""
    s = float(scale)
    if k == 0:
        return 1 - core_tail_survival(0.5 / s, tail)
    near, far = (abs(k) - 0.5) / s, (abs(k) + 0.5) / s
    return (core_tail_survival(near, tail) - core_tail_survival(far, tail)) / 2
