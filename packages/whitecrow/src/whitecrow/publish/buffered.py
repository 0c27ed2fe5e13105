"""Running sums through a few decaying buffers, with every period's noise scaled to what it guards.

The strategy is a lower-triangular Toeplitz matrix with the coefficients 1 and, from lag 1 on,
``b_k = sum_i weight_i * decay_i^(k-1)``, each of whose columns is then divided by (an upper bound
of) its norm. An event of a late period has few periods left in which it could be seen, so its
column is short; dividing by the norm lets it be counted with less noise, for the same price.

Two choices of the weights and decays (``fitted.py``): numbers found by an optimiser for horizons of
all lengths; and numbers whose squares add up over as good as all time, which need no horizon. The
choice decides the error only. Privacy is proved for the numbers as they are (``proof.md`` 4).

References
----------
Henzinger, Kalemaj and Upadhyay 2025 (normalised columns); Dvijotham, McMahan, Pillutla, Steinke and
Thakurta 2024 (few buffers); Jacobsen and Fawaz 2025 (strategies without a horizon). Rounding,
sensitivity and optimiser are our own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import mul

import numpy as np
import numpy.typing as npt

from whitecrow.publish.coefficients import GUARD, PRECISION, Coefficients
from whitecrow.publish.deviations import Variances

_SINGLE = 64  # periods from the end that have a scale of their own
_STEPS = 32  # scales for each doubling of the distance from the end after that


@dataclass(frozen=True)
class Scales:
    """How each period's noise is scaled, by its distance from the end of the horizon."""

    ends: tuple[int, ...]  # the largest distance ``horizon - t`` that each entry serves
    # inverse, multiple: ``q <= 1 / norm`` and ``D >= 1 / q``, over ``2^precision``: the norm is
    # that of the column of the largest distance, from above.
    inverse: tuple[int, ...]
    multiple: tuple[int, ...]
    absolute: tuple[int, ...]  # that column's l1 norm from above, over ``2^(precision + GUARD)``


@lru_cache(maxsize=64)
def scales(recurrence: Coefficients, horizon: int, normalised: bool) -> Scales:
    """Work out the scales of all periods, rounded to the safe side."""
    places = recurrence.precision + GUARD
    one, unit = 1 << places, 1 << recurrence.precision
    lags = [(one, 1), *recurrence.bounds(horizon)]
    last = list(accumulate((length for _, length in lags), initial=-1))[1:]
    squares = list(accumulate(value * value * length for value, length in lags))
    sums = list(accumulate(value * length for value, length in lags))
    ends = _ends(horizon) if normalised else (horizon - 1,)
    at = [bisect_left(last, end) for end in ends]
    inverse = tuple(math.isqrt((one * unit) ** 2 // squares[place]) for place in at)
    return Scales(
        ends,
        inverse,
        tuple(-(-unit * unit // entry) for entry in inverse),
        tuple(sums[place] for place in at),
    )


def _ends(horizon: int) -> tuple[int, ...]:
    found = list(range(min(horizon, _SINGLE)))
    while found[-1] < horizon - 1:
        found.append(min(horizon - 1, found[-1] + max(1, 1 << found[-1].bit_length() >> 6)))
    return tuple(found)


@dataclass(frozen=True)
class Buffered:
    """Running sums through a strategy in buffers.

    Notes
    -----
    Memory: three whole numbers and one a buffer, whatever the horizon. A period releases ``total +
    error``; each buffer decays and takes in the change of the error over the period's scale.

    Examples
    --------
    >>> from whitecrow.publish.coefficients import fitted
    >>> counter = Buffered(365, fitted(365))
    >>> memory, first = counter.step(counter.start(), 5 << counter.bits, 0)
    >>> first >> counter.bits, round(counter.multiple(0) / 2**48, 2), counter.multiple(364) / 2**48
    (5, 1.73, 1.0)
    """

    horizon: int  # the number of periods
    recurrence: Coefficients  # the strategy's coefficients
    bits: int = 32  # binary places that whole-number increments are refined by
    # Whether every column is divided by its own norm, or all by the largest.
    normalised: bool = True

    def __post_init__(self) -> None:
        # The proof wants what the floors of the buffers add up to below one unit.
        if self._rounding >= 1:
            raise ArithmeticError("the buffers are rounded too coarsely for this horizon")

    @property
    def _rounding(self) -> Fraction:
        """What the floors of the buffers can add to one effect, in units."""
        unit = 1 << self.recurrence.precision
        return sum(self.recurrence.share()) * Fraction(self._scales.multiple[-1], unit * unit)

    @cached_property
    def _scales(self) -> Scales:
        return scales(self.recurrence, self.horizon, self.normalised)

    def _place(self, within: int) -> int:
        return bisect_left(self._scales.ends, self.horizon - 1 - within) if self.normalised else 0

    def multiple(self, within: int) -> int:
        """Return the scale of a period's noise over the epoch's, in units of ``2^-PRECISION``."""
        finer = PRECISION - self.recurrence.precision
        return self._scales.multiple[self._place(within)] << finer

    def start(self) -> tuple[int, ...]:
        """Return the memory before the first period: the time, the sum, its error, the buffers."""
        return (0,) * (3 + len(self.recurrence.weights))

    def step(
        self, memory: tuple[int, ...], increment: int, noise: int
    ) -> tuple[tuple[int, ...], int]:
        recurrence, table = self.recurrence, self._scales
        within, total, error = memory[:3]
        buffers, places = memory[3:], recurrence.precision
        place = self._place(within)
        fed = sum(map(mul, recurrence.weights, buffers)) * table.multiple[place]
        change = noise - (fed >> (3 * places))
        taken = change * table.inverse[place]
        decayed = [
            (d * b >> places) + taken for d, b in zip(recurrence.decays, buffers, strict=True)
        ]
        total, error = total + increment, error + change
        return (within + 1, total, error, *decayed), total + error

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        """Return upper bounds of the l1 norm and the squared l2 norm of one event's effect.

        Every period's effect is counted in units of its own :meth:`multiple`.

        Notes
        -----
        ``proof.md`` 4: a column has norm at most 1 times the event's size. The floors add at most
        1 and the rounding of the buffers a period and channel: by Minkowski's inequality that
        times the root of the horizon, and of the number of channels (at most 3/2), to the norm.
        """
        size, table = bound << self.bits, self._scales
        places = 2 * self.recurrence.precision + GUARD
        longest = max(map(mul, table.inverse, table.absolute))
        floors = 1 + self._rounding
        periods = Fraction(math.isqrt(self.horizon << 20) + 1, 1 << 10)
        absolute = -(-size * longest >> places) + math.ceil(floors * channels * self.horizon)
        root = size + math.ceil(floors * Fraction(1 + channels, 2) * periods)
        return absolute, root * root

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        t = np.atleast_1d(np.asarray(times, dtype=np.int64))
        return np.sqrt(_variances(self.recurrence, self.horizon, self.normalised).at(t))


@lru_cache(maxsize=64)
def _variances(recurrence: Coefficients, horizon: int, normalised: bool) -> Variances:
    table = scales(recurrence, horizon, normalised)
    # In the order of time: what is farthest from the end comes first.
    lasts = [*(horizon - 1 - end for end in table.ends[-2::-1]), horizon]
    multiples = np.array(table.multiple[::-1], dtype=np.float64) / (1 << recurrence.precision)
    return Variances.of(recurrence, np.array(lasts, dtype=np.int64), multiples)
