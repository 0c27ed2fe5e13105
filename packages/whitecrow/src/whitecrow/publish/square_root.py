"""The square-root factorisation of running sums, in constant memory and exact arithmetic.

The matrix A of running sums (ones on and below the diagonal) is the square of a lower-triangular
Toeplitz matrix with the coefficients ``f_k = binom(2k, k) / 4^k`` of ``(1-q)^(-1/2)``; adding white
noise between the two factors gives almost the least error possible (docs/mechanisms.md 5.4). Its
inverse has the coefficients ``1, -h_1, -h_2, ...`` of ``(1-q)^(1/2)``, which are moments::

    h_k = integral over 0 < x < 1 of x^(k-1) w(x) dx,    w(x) = (1/pi) x^(-1/2) (1-x)^(1/2)

so a quadrature with a few nodes turns the noise into a recurrence with that many buffers:
``error_t = noise_t + sum_k h_k error_{t-k}``. Twelve nodes are within 0.11 % of the exact square
root for every horizon up to 10^9. The buffers are whole numbers and rounding is accounted for in
the sensitivity (``proof.md`` 4), so privacy is exact.

References
----------
Fichtenberger, Henzinger and Upadhyay 2023 (the factorisation); Dvijotham, McMahan, Pillutla,
Steinke and Thakurta 2024 (rational approximations of it in few buffers). Rounding, sensitivity and
the quadrature are our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

BUFFERS = 12
PRECISION = 48
ONE = 1 << PRECISION
GUARD = 64  # further bits for the powers in the sensitivity bound
_EXACT_STEPS = 2048  # lags summed one by one before they are bounded in blocks
_BLOCKS = 1024  # blocks for each doubling of the lag after that


@dataclass(frozen=True)
class Coefficients:
    """The recurrence: ``h_k = sum_i weights[i] * decays[i]^(k-1)``, each over ``2^precision``.

    Parameters
    ----------
    weights, decays : tuple of int
        Numerators; every decay lies between 0 and ``2^precision``.
    precision : int
        The binary places of both.
    """

    weights: tuple[int, ...]
    decays: tuple[int, ...]
    precision: int

    def share(self) -> list[Fraction]:
        """Return ``weight / (1 - decay)`` for each buffer: what it feeds back in the long run."""
        one = 1 << self.precision
        return [Fraction(w, one - d) for w, d in zip(self.weights, self.decays, strict=True)]


@lru_cache(maxsize=256)
def coefficients(horizon: int, buffers: int = BUFFERS, precision: int = PRECISION) -> Coefficients:
    """Return the recurrence for a horizon, by an exponentially graded quadrature of the moments.

    The nodes are equally spaced in ``ln(s / (1-s))``, ``s = 1-x``, from ``-ln(horizon) - 1`` to
    4.5. The weights are scaled so that the feedback sums to ``1 - 0.4 / sqrt(pi horizon)``: the
    strategy's last coefficients then meet those of the square root. Weights and decays are
    rounded down, which keeps the sum below 1.
    """
    u = np.linspace(-math.log(horizon) - 1.0, 4.5, buffers)
    s = 1.0 / (1.0 + np.exp(-u))
    weights = np.sqrt(1.0 - s) * s**1.5
    weights *= (1.0 - 0.4 / math.sqrt(math.pi * horizon)) / (weights / s).sum()
    scale = 1 << precision
    gaps = [min(scale, math.floor(Fraction(float(value)) * scale) + 1) for value in s]
    found = Coefficients(
        tuple(math.floor(Fraction(float(value)) * scale) for value in weights),
        tuple(scale - gap for gap in gaps),
        precision,
    )
    # The proof wants the last coefficient of the strategy above the rounding of the buffers.
    if 1 - sum(found.share()) < Fraction(1, scale):
        raise ArithmeticError("the recurrence feeds back too much")
    return found


@dataclass(frozen=True)
class SquareRoot:
    """Running sums through the square-root factorisation.

    Parameters
    ----------
    horizon : int
        The number of periods.
    bits : int
        Binary places that whole-number increments are refined by, so that rounding the feedback
        costs a negligible part of the sensitivity.
    buffers, precision : int
        The number of buffers and the binary places of the recurrence.

    Notes
    -----
    Memory: ``buffers + 1`` whole numbers, whatever the horizon. Each step ``t`` releases
    ``total_t + error_t`` where ``error_t = noise_t + floor(sum_i weight_i buffer_i)`` and each
    buffer decays and takes in ``error_t``.

    Examples
    --------
    >>> counter = SquareRoot(365)
    >>> memory = counter.start()
    >>> memory, first = counter.step(memory, 5 << counter.bits, 0)
    >>> first >> counter.bits
    5
    """

    horizon: int
    bits: int = 32
    buffers: int = BUFFERS
    precision: int = PRECISION

    @property
    def recurrence(self) -> Coefficients:
        """The coefficients for this horizon."""
        return coefficients(self.horizon, self.buffers, self.precision)

    def multiple(self, within: int) -> int:
        """Return 1, over ``2^PRECISION``: the noise of all periods has one scale."""
        return ONE

    def start(self) -> tuple[int, ...]:
        """Return the memory before the first period."""
        return (0,) * (1 + self.buffers)

    def step(
        self, memory: tuple[int, ...], increment: int, noise: int
    ) -> tuple[tuple[int, ...], int]:
        """Take in one period and its noise; return the new memory and the noisy running sum."""
        recurrence = coefficients(self.horizon, self.buffers, self.precision)
        places = self.precision
        total = memory[0] + increment
        buffers = memory[1:]
        error = noise + (sum(map(mul, recurrence.weights, buffers)) >> (2 * places))
        taken = error << places
        decayed = [
            (d * b >> places) + taken for d, b in zip(recurrence.decays, buffers, strict=True)
        ]
        return (total, *decayed), total + error

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        """Return upper bounds of the l1 norm and the squared l2 norm of one event's effect.

        Parameters
        ----------
        bound : int
            The most that one event moves the increments by, summed over channels, before
            refinement.
        channels : int
            How many sums the event moves at once.

        Notes
        -----
        ``proof.md`` 4: at lag ``j`` the conditional effect is a whole number of at most
        ``floor(bound * b_j + 2^(1-precision)) + 1`` in one channel, with ``b_j`` the strategy's
        coefficient; a second channel adds at most 1 to the norm and 1 to its square. Lags beyond
        2,048 are bounded in blocks by their first, which is sound because ``b_j`` falls.
        """
        size = bound << self.bits
        absolute, squared = size, size * size
        extra = channels - 1
        for value, length in self._strategy():
            most = self._most(size, value)
            absolute += length * (most + extra)
            squared += length * (most * most + extra)
        return absolute, squared

    def _most(self, size: int, value: int) -> int:
        places = self.precision + GUARD
        return ((size * value + (1 << (1 + GUARD))) >> places) + 1

    def _strategy(self) -> list[tuple[int, int]]:
        """Upper bounds of ``b_1, b_2, ...`` as (numerator, how many lags it serves)."""
        return _strategy(self.recurrence, self.horizon)

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the standard deviation of the released sum at ``times`` over that of one draw."""
        return deviation_of_square_root(self.recurrence, times)


@lru_cache(maxsize=64)
def _strategy(recurrence: Coefficients, horizon: int) -> list[tuple[int, int]]:
    shares = recurrence.share()
    rest = 1 - sum(shares, Fraction(0))
    one = 1 << recurrence.precision
    first = [share * Fraction(d, one) for share, d in zip(shares, recurrence.decays, strict=True)]
    return falling(first, rest, recurrence, horizon)


def falling(
    first: Sequence[Fraction], rest: Fraction, recurrence: Coefficients, horizon: int
) -> list[tuple[int, int]]:
    """Enclose ``rest + sum_i first[i] * decays[i]^(k-1)`` from above, lag after lag.

    Returns
    -------
    list of (int, int)
        For the lags ``k = 1, 2, ..., horizon - 1`` in order: an upper bound over ``2^places`` and
        how many lags it serves; from lag 2,048 on in blocks, by the first of each.
    """
    places = recurrence.precision + GUARD
    one = 1 << places

    def up(number: Fraction) -> int:
        return -(-number.numerator * one // number.denominator)

    least = up(rest)
    powers = [up(amount) for amount in first]
    ratios = [d << GUARD for d in recurrence.decays]  # decay_i^length, rounded up
    found: list[tuple[int, int]] = []
    lag, length = 1, 1
    while lag < horizon:
        found.append((min(one, least + sum(powers)), min(length, horizon - lag)))
        powers = [(p * r >> places) + 1 for p, r in zip(powers, ratios, strict=True)]
        lag += length
        if lag >= _EXACT_STEPS and lag >= 2 * _BLOCKS * length:
            length *= 2
            ratios = [(r * r >> places) + 1 for r in ratios]
    return found


def deviation_of_square_root(
    recurrence: Coefficients, times: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return ``sqrt(sum of c_k^2, k < t)`` where ``c`` is the response of the error to one draw.

    The response is a sum of exponentials; its rates are the eigenvalues of the recurrence.

    Examples
    --------
    >>> [round(float(s), 2) for s in deviation_of_square_root(coefficients(365), [1, 2, 365])]
    [1.0, 1.11, 1.7]
    """
    scale = 2.0**recurrence.precision
    weights = np.array([w / scale for w in recurrence.weights])
    decays = np.array([d / scale for d in recurrence.decays])
    gaps = np.array([(int(scale) - d) / scale for d in recurrence.decays])
    root = np.sqrt(weights)
    rates, vectors = np.linalg.eigh(np.outer(root, root) - np.diag(gaps))
    falls = np.log1p(rates)  # rates are eigenvalues less 1: no digits are lost near 1
    amplitudes = (root @ vectors) ** 2
    pairs = falls[:, None] + falls[None, :]
    products = np.outer(amplitudes, amplitudes)
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    found = np.empty(len(t))
    for start in range(0, len(t), 4096):
        part: Any = t[start : start + 4096, None, None]
        sums = np.expm1((part - 1.0) * pairs) / np.expm1(pairs)
        found[start : start + 4096] = np.sqrt(1.0 + (products * sums).sum(axis=(1, 2)))
    return np.asarray(found if decays.size else np.ones(len(t)))
