"""With which chance an answer is "anomaly", and what any number of answers promises together.

The chance falls with the number of active records in the ball. What the theorem of ``proof.md``
needs of it is one inequality between the chances at neighbouring counts, so the table below is the
steepest one that keeps it, made by whole numbers alone and of whole numbers: an answer is drawn
exactly by comparing 64 random bits with its entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import invalid
from whitecrow.privacy.numbers import exp_upper, log_inverse_upper

BITS = 64
ONE = 1 << BITS  # chances are whole numbers of 2^-64

_RAREST = ONE >> 30
"""Chances nearer to 0 or 1 than this are not worth counting further for: about one in 10^9."""
_PLACES = 192  # bits behind the point where powers are bounded
_WEIGHT_BITS = 48
_ORDERS = range(2, 257)
MOST_FLAGS = 2**16 - 1  # a record's counter takes two bytes
_FEWEST_FLAGS = 80
_ONE_PERCENT = 4.1
"""About so many times 1/rate above beta the chance of a false alarm is down to 1 %."""


def keeps(p: int, q: int, order: int, weight: Fraction) -> bool:
    """Say whether two chances may stand at neighbouring counts: the hypothesis of the theorem.

    With ``z = weight``, both ``(1-p)^(1-a) (1-q)^a + p^(1-a) q^a z <= 1`` and the same with p and
    q exchanged, for the order ``a``. In whole numbers, every rounding upwards: what is accepted
    holds.
    """
    return _side(p, q, order, weight) <= ONE and _side(q, p, order, weight) <= ONE


def _side(p: int, q: int, order: int, weight: Fraction) -> int:
    """Return at least ``((1-q)/(1-p))^(a-1) (1-q) + (q/p)^(a-1) q z``, in units of 2^-64."""
    no = _power_upper(ONE - q, ONE - p, order - 1) * (ONE - q)
    yes = _power_upper(q, p, order - 1) * q * weight.numerator
    return -(-no >> _PLACES) - (-yes // (weight.denominator << _PLACES))


def _power_upper(numerator: int, denominator: int, exponent: int) -> int:
    """Return at least a power of a quotient, in units of 2^-192."""
    square, power = -((-numerator << _PLACES) // denominator), 1 << _PLACES
    while exponent:
        if exponent & 1:
            power = -(-power * square >> _PLACES)
        square, exponent = -(-square * square >> _PLACES), exponent >> 1
    return power


def _excess(p: float, q: float, rest: tuple[float, float], order: int, weight: float) -> float:
    """By how much the larger side exceeds 1, as floats see it; ``rest`` is (1 - p, 1 - q)."""

    def one_way(p: float, q: float, no: float, still: float) -> float:
        other = order * math.log(still) - (order - 1) * math.log(no)
        return math.expm1(min(other, 700.0)) + weight * p * math.exp(
            min(order * math.log(q / p), 700.0)
        )

    return max(one_way(p, q, *rest), one_way(q, p, *rest[::-1]))


def _farthest(beside: int, order: int, weight: Fraction, *, above: bool) -> int:
    """Return the chance farthest from another that may stand ``beside`` it, nearly.

    What may is an interval, for both conditions are convex. Floats find its end, and step back by
    more than they can be wrong; whether it may stand is then decided in whole numbers. Both are
    given by their distance from 0 if ``above`` (counts rise), else from 1.
    """
    here, z = beside / ONE, float(weight)

    def exceeds(share: float) -> bool:
        there = here * share
        p, q = (here, there) if above else (1 - there, 1 - here)
        rest = (1 - here, 1 - there) if above else (there, here)
        return _excess(p, q, rest, order, z) > 0

    low, high = 0.0, 1.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1e-15 or exceeds(middle) else (low, middle)
    for bits in range(40, 0, -1):
        chance = max(1, math.ceil(beside * (high + 2.0**-bits)))
        pair = (beside, chance) if above else (ONE - chance, ONE - beside)
        if chance < beside and keeps(*pair, order, weight):
            return chance
    raise AssertionError("No chance may stand beside this one.")


@lru_cache(maxsize=64)
def table(order: int, weight: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the chances from the threshold on: as counts fall below it, and as they rise.

    Each is as far from the one before as the theorem allows, up to the last bits, until errors are
    rarer than one in 10^9; from there on it stays. :func:`keeps` holds for every two neighbours.
    """
    half, step = ONE // 2, ONE // 4
    while step:
        half -= step if keeps(ONE - half + step, half - step, order, weight) else 0
        step //= 2
    above, rest = [half], [half]
    while above[-1] > _RAREST:
        above.append(_farthest(above[-1], order, weight, above=True))
    while rest[-1] > _RAREST:
        rest.append(_farthest(rest[-1], order, weight, above=False))
    return tuple(ONE - chance for chance in rest), tuple(above)


@dataclass(frozen=True)
class Law:
    """The chance of "anomaly" by the number of active records, and when a record is left out."""

    beta: int  # an anomaly has fewer records than this in its ball
    order: int  # of the Rényi divergence that is bounded
    weight: Fraction  # exp(-theta), where theta is what an "anomaly" costs the records of its ball
    limit: int  # after so many of them a record is left out
    contribution: int = 1  # how many records one person may have
    own: int = 1  # what one record weighs at the most; above 1, what is counted is weights

    @classmethod
    @lru_cache(maxsize=256)
    def chosen(
        cls,
        *,
        beta: int,
        epsilon: Fraction,
        delta: Fraction,
        contribution: int = 1,
        own: int = 1,
        limit: int | None = None,
    ) -> Law:
        """Choose the sharpest law for a total, from public facts.

        Unless ``limit`` is given it is the largest for which a record with a quarter more than beta
        records near it is flagged falsely at most once in a hundred, and at least 80.
        """
        if not 0 < delta < 1:
            hint = 'Without one, answers "normal" would have to be paid for, too. Try 1e-6.'
            raise invalid("Screening", "delta", "above 0 and below 1", str(delta), hint)
        room = {order: epsilon - _promise(order, Fraction(0), delta) for order in _ORDERS}
        orders = {order: (order - 1) * left for order, left in room.items() if left > 0}
        if not orders:
            hint = "At this delta no number of answers can be promised so little."
            raise invalid("Screening", "epsilon", "a larger price", str(epsilon), hint)
        if limit is None:
            limit = _most_flags(beta / own, orders, contribution)
        theta = {order: total / (limit * contribution) for order, total in orders.items()}
        order = max(orders, key=lambda order: (_rate(order, float(theta[order])), -order))
        # Rounded up, so that theta is rounded down: the total is never more than was asked for.
        weight = exp_upper(-theta[order])
        weight = Fraction(math.ceil(weight * 2**_WEIGHT_BITS), 2**_WEIGHT_BITS)
        if weight >= 1:
            raise invalid("Screening", "limit", "a smaller number for this price", limit)
        law = cls(beta, order, weight, limit, contribution, own)
        assert law.promise(delta) <= epsilon
        return law

    def promise(self, delta: Fraction) -> Fraction:
        """Return an epsilon that any number of answers keeps at this delta, rounded up."""
        return _promise(self.order, self.flags * log_inverse_upper(self.weight), delta)

    @property
    def flags(self) -> int:
        """How many answers "anomaly" may touch a record of one person, all together."""
        return self.limit * self.contribution

    @property
    def step(self) -> int:
        """By how much the records of one person move a count at the most."""
        return self.contribution * self.own

    def chances(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """Return the chance of "anomaly" at each count, in units of 2^-64."""
        entries, below = _entries(self.order, self.weight)
        steps = (counts - self.beta) // self.step + below
        return np.asarray(entries[np.clip(steps, 0, len(entries) - 1)])

    @property
    def most(self) -> int:
        """From this count on the chance stays: no more records need be counted."""
        return self.beta + (len(table(self.order, self.weight)[1]) - 1) * self.step

    def chance(self, count: int) -> float:
        """Return the chance of "anomaly" at a count, for people and pictures."""
        return int(self.chances(np.array(count))) / ONE

    def wrong(self, count: int) -> float:
        """Return the chance of a wrong answer with so many records near, none of them left out."""
        return 1 - self.chance(count) if count < self.beta else self.chance(count)

    def within(self, error: float) -> tuple[int, int]:
        """Return how far below, and above, the threshold answers are wrong no more often."""
        below, above = table(self.order, self.weight)
        misses = next((i for i, p in enumerate(below) if ONE - p <= error * ONE), len(below))
        alarms = next((i for i, p in enumerate(above) if p <= error * ONE), len(above))
        return misses * self.step, alarms * self.step

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "weight": str(self.weight)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Law:
        return cls(**{**data, "weight": Fraction(data["weight"])})


@lru_cache(maxsize=64)
def _entries(order: int, weight: Fraction) -> tuple[npt.NDArray[np.uint64], int]:
    below, above = table(order, weight)
    return np.array([*below[::-1], *above], dtype=np.uint64), len(below)


def _promise(order: int, loss: Fraction, delta: Fraction) -> Fraction:
    """The epsilon of E[R^order] <= exp(loss), rounded up (``proof.md`` 3)."""
    rest = loss + log_inverse_upper(delta) + log_inverse_upper(Fraction(order))
    return rest / (order - 1) + log_inverse_upper(Fraction(order, order - 1))


def _most_flags(beta: float, orders: Mapping[int, Fraction], contribution: int) -> int:
    """The most answers "anomaly" that a record can take part in while the law is sharp enough."""
    limit = max(1, _FEWEST_FLAGS // contribution)
    while (more := limit + max(1, limit // 4)) <= MOST_FLAGS:
        flags = more * contribution
        rate = max(_rate(order, float(total / flags)) for order, total in orders.items())
        if _ONE_PERCENT / rate * contribution > beta / 4:
            break
        limit = more
    return limit


def _rate(order: int, theta: float) -> float:
    """By how much the chance of a false alarm falls with each further record, far above beta.

    The solution u of ``1 - a u = (1 - u)^a exp(-theta)``. It chooses a law, and proves nothing.
    """
    low, high = 0.0, 1.0 / order
    for _ in range(40):
        u = (low + high) / 2
        low, high = (u, high) if 1 - order * u >= (1 - u) ** order * math.exp(-theta) else (low, u)
    return low
