"""Rényi losses of an account, at fixed orders: what lets it go on beyond its sum of epsilon.

A pure release of ε loses at most min(ε, α ε²/2) at order α, so many small ones lose together far
less than their sum, at the price of a delta (``proof.md`` beside this file). An account whose
budget says ``count_by="either"`` keeps these sums beside those of epsilon, and is charged by
whichever says less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from whitecrow.privacy import (
    ORDERS,
    UNITS_OF_LOSS,
    Guarantee,
    ZeroConcentrated,
    best_order,
    in_units,
    penalties,
)

_ZERO = Fraction(0)
_PLACES = 10**12


@dataclass(frozen=True)
class RenyiSums:
    """What releases since an entry lose, by line and order, in units of :data:`UNITS_OF_LOSS`."""

    since: int  # the entry from which on releases are counted so; what came before is certain
    # For each line one more order (less 1), best for its cap when the counting began; 0: none.
    chosen: tuple[int, ...]
    # For each line the sum at each of ORDERS and at the chosen one; located releases are not in it.
    losses: tuple[tuple[int, ...], ...]
    largest: tuple[Fraction, ...] = (_ZERO,) * 3  # for each line, epsilon of a located release

    @classmethod
    def begin(
        cls,
        since: int,
        caps: Sequence[Fraction],
        spent: Sequence[Fraction],
        rho: Fraction,
        delta: Fraction,
    ) -> RenyiSums:
        """Begin to count: what was spent of epsilon is certain, whatever its order.

        An order may be chosen only while no answer has had a part in what it measures, so none is
        beside earlier concentrated releases.
        """
        chosen = tuple(0 if rho else best_order(cap, delta / 2) for cap in caps)
        certain = zip(map(in_units, spent), map(_orders, chosen), strict=True)
        begun = cls(since, chosen, tuple((loss,) * len(orders) for loss, orders in certain))
        return begun.counted(ZeroConcentrated(rho), 0) if rho else begun

    def counted(
        self, price: Guarantee, first: int, *, located: bool = False, times: int = 1
    ) -> RenyiSums:
        """Count a release on a line, by its number, and on those after it; -1 takes it back.

        What located ones cost at a point is kept by the spatial index; in rho it is at most that
        sum of epsilon, times half of the largest.
        """
        if isinstance(price, ZeroConcentrated):
            return self._plus(first, None, in_units(price.rho), times)
        if located:
            more = (max(epsilon, price.epsilon) for epsilon in self.largest[first:])
            return replace(self, largest=(*self.largest[:first], *more))
        whole, square = in_units(price.epsilon), in_units(price.epsilon * price.epsilon / 2)
        return self._plus(first, whole, square, times)

    def given_back(self, price: Guarantee, first: int, seq: int) -> RenyiSums:
        """Take back a release that entry ``seq`` had reserved; what came earlier stays certain."""
        return self.counted(price, first, times=-1) if seq > self.since else self

    def _plus(self, first: int, whole: int | None, square: int, times: int) -> RenyiSums:
        """Count on a line and on those after it, at each order the lesser of two costs."""
        losses, grown = list(self.losses), dict[tuple[int, tuple[int, ...]], tuple[int, ...]]()
        for line in range(first, len(losses)):
            key = self.chosen[line], losses[line]  # lines are often alike
            if key not in grown:
                costs = [(1 + order) * square for order in _orders(self.chosen[line])]
                if whole is not None:
                    costs = [min(whole, cost) for cost in costs]
                pairs = zip(losses[line], costs, strict=True)
                grown[key] = tuple(loss + times * cost for loss, cost in pairs)
            losses[line] = grown[key]
        return replace(self, losses=tuple(losses))

    def bounds(self, line: int, located: Fraction, delta: Fraction) -> Iterator[tuple[int, int]]:
        """For each order (less 1), a bound on the loss that holds at any stop but for ``delta``."""
        whole, square = in_units(located), in_units(located * self.largest[line] / 2)
        read = penalties(delta, self.chosen[line])
        for loss, (order, extra) in zip(self.losses[line], read, strict=True):
            yield order, loss + min(whole, (1 + order) * square) + extra

    def spent(self, located: Sequence[Fraction], delta: Fraction) -> list[Fraction]:
        """For each line the least of these bounds, with what located releases add to it."""
        converted: dict[object, Fraction] = {}  # lines are often alike
        sums = []
        for line, epsilon in enumerate(located):
            key = self.chosen[line], self.losses[line], self.largest[line], epsilon
            if key not in converted:
                least = min(bound for _, bound in self.bounds(line, epsilon, delta))
                converted[key] = Fraction(least, UNITS_OF_LOSS)
            sums.append(converted[key])
        return sums

    def room(self, line: int, located: Fraction, delta: Fraction, cap: Fraction) -> Fraction:
        """Return a pure epsilon that still fits under a cap, the largest up to 12 places."""
        whole = square = 0
        for order, loss in self.bounds(line, located, delta):
            left = math.floor(cap * UNITS_OF_LOSS) - loss - order - 1
            whole, square = max(whole, left), max(square, 2 * left // (1 + order))
        root = math.isqrt(square * _PLACES * _PLACES // UNITS_OF_LOSS)
        return max(Fraction(whole, UNITS_OF_LOSS), Fraction(root, _PLACES))

    def to_json(self) -> dict[str, Any]:
        return {
            "since": self.since,
            "chosen": list(self.chosen),
            "losses": [list(sums) for sums in self.losses],
            "largest": [str(epsilon) for epsilon in self.largest],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RenyiSums:
        losses = tuple(tuple(sums) for sums in data["losses"])
        largest = tuple(Fraction(epsilon) for epsilon in data["largest"])
        return cls(data["since"], tuple(data["chosen"]), losses, largest)


def _orders(chosen: int) -> tuple[int, ...]:
    return (*ORDERS, chosen) if chosen else ORDERS
