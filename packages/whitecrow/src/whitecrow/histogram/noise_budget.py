"""A price as noise on histograms: how epsilon and delta become rho, and how stages share it.

The proofs are in ``learning/proof.md`` 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from whitecrow._arrays import Ints
from whitecrow.noise import Source, bulk
from whitecrow.privacy import Unit
from whitecrow.privacy.numbers import log_inverse_upper

_GRID = 1 << 10
_MOST_NOISE = 1 << 48
_STEEPEST = 44.0  # for a deviation of 2^-63: a count has no noise


@lru_cache(maxsize=64)
def concentrated(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho such that rho-zCDP implies (epsilon, delta)-DP, nearly as large as can be.

    Notes
    -----
    Canonne, Kamath and Steinke 2020, Corollary 13: for every order ``a > 1``,
    ``delta = exp((a-1)(a rho - epsilon)) / (a-1) (1 - 1/a)^a`` suffices. Solved for rho, with
    ``a ln(a / (a-1)) >= 1`` and logarithms rounded against us.
    """
    inverse = log_inverse_upper(delta)
    best = max(
        (epsilon + (_log_lower(order - 1) + 1 - inverse) / (order - 1)) / order
        for order in (*range(2, 65), *(round(64 * 1.1**k) for k in range(45)))
    )
    return Fraction(math.floor(best * (1 << 60)), 1 << 60)


def _log_lower(number: int) -> Fraction:
    """Return a rational at most ``ln(number)``."""
    if number == 1:
        return Fraction(0)
    context = Context(prec=40, rounding=ROUND_FLOOR)
    return Fraction(context.next_minus(Decimal(number).ln(context)))


@dataclass(frozen=True)
class Noise:
    """The noise of some counts: its law and its size."""

    law: str
    size: Fraction  # the scale of the discrete Laplace law, the variance of the discrete Gaussian

    @property
    def deviation(self) -> float:
        """The standard deviation of one draw (the Gaussian's is at most this)."""
        if self.law == "gaussian":
            return math.sqrt(self.size)
        # Its square never vanishes: estimates weigh counts by one over it.
        steep = min(0.5 / float(self.size), _STEEPEST)
        return 1.0 / (math.sqrt(2.0) * math.sinh(steep))

    def added(self, counts: Ints, source: Source | None) -> Ints:
        """Return the counts, each with its own draw: empty cells too."""
        draw = bulk.discrete_laplace if self.law == "laplace" else bulk.discrete_gaussian
        return counts + draw(self.size, len(counts), source)


@dataclass(frozen=True)
class NoiseBudget:
    """What a question pays with: an epsilon or a rho, and what one unit of privacy may change."""

    law: str  # "laplace" pays epsilon for pure privacy, "gaussian" rho for (epsilon, delta)
    total: Fraction  # the epsilon or the rho of the whole question
    relation: Unit
    contribution: int  # how many records one unit of privacy has

    @classmethod
    def of(
        cls, epsilon: Fraction, delta: Fraction, relation: Unit, contribution: int
    ) -> NoiseBudget:
        """Return what a price pays with: Laplace noise without a delta, Gaussian with one."""
        if delta:
            return cls("gaussian", concentrated(epsilon, delta), relation, contribution)
        return cls("laplace", epsilon, relation, contribution)

    @property
    def selects(self) -> bool:
        """Whether one party sees the exact counts, and so can choose among candidates by them."""
        return True

    def histograms(self, share: Fraction, tables: int) -> Noise:
        """Return the noise of ``tables`` histograms of all records that share a part of the total.

        Notes
        -----
        A unit of privacy moves each histogram by ``c`` in one cell at most (``c`` more here and
        ``c`` less there, under replace-one): by ``c`` or ``2c`` in the l1 norm, ``c^2`` or ``2c^2``
        in the squared l2 norm. Sizes are rounded up.
        """
        sides = 2 if self.relation == "replace_one" else 1
        paid = self.total * share
        if self.law == "laplace":
            size = tables * sides * self.contribution / paid
        else:
            size = tables * sides * self.contribution**2 / (2 * paid)
        return Noise(self.law, Fraction(math.ceil(size * _GRID), _GRID))

    def affords(self, share: Fraction, tables: int) -> bool:
        """Whether the noise of so many histograms is one that can be drawn, far from overflow."""
        if not self.total * share:
            return False
        size = self.histograms(share, tables).size
        return size <= (_MOST_NOISE if self.law == "laplace" else _MOST_NOISE**2)

    def selection(self, share: Fraction) -> Fraction:
        """Return the epsilon of an exponential mechanism that spends a part of the total.

        Its bounded range makes epsilon cost epsilon^2/8 in rho (Cesar and Rogers 2021). The root is
        rounded down.
        """
        paid = self.total * share
        if self.law == "laplace":
            return paid
        scale = 1 << 40
        value = 8 * paid * scale * scale
        return Fraction(math.isqrt(value.numerator // value.denominator), scale)
