"""Running sums through a few decaying buffers, with every period's noise scaled to what it guards.

The strategy is a lower-triangular Toeplitz matrix with the coefficients 1 and, from lag 1 on,
``b_k = sum_i weight_i * decay_i^(k-1)``, each of whose columns is then divided by (an upper bound
of) its norm. An event of a late period has few periods left in which it could be seen, so its
column is short; dividing by the norm lets it be counted with less noise, for the same price.

Two choices of weights and decays: numbers found by an optimiser (``whitecrow_research.buffers``)
for horizons of all lengths; and numbers whose squares add up over as good as all time, which need
no horizon. The choice decides the error only. Privacy is proved for the numbers as they are
(``proof.md`` 4).

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

from whitecrow.publish.counters import PRECISION, Counter, Memory

GUARD = 64  # further bits for the powers in the sensitivity bound
_EXACT_STEPS = 2048  # lags summed one by one before they are bounded in blocks
_BLOCKS = 1024  # blocks for each doubling of the lag after that
_SINGLE = 64  # periods from the end that have a scale of their own
_CHUNK = 4096  # times whose variance is worked out together

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coefficients:
    """A strategy: ``b_k = sum_i weights[i] * decays[i]^(k-1)``, each over ``2^precision``."""

    # weights, decays: Numerators; every decay lies between 0 and ``2^precision``.
    weights: tuple[int, ...]
    decays: tuple[int, ...]
    precision: int  # the binary places of both

    def bounds(self, horizon: int) -> list[tuple[int, int]]:
        """Enclose ``b_k`` from above for the lags ``k = 1, 2, ..., horizon - 1`` in order.

        Each bound is over ``2^(precision + GUARD)``, and beside it stands how many lags it serves:
        from lag 2,048 on they are in blocks, by the first of each, which is sound because ``b_k``
        falls.
        """
        places = self.precision + GUARD
        powers = [weight << GUARD for weight in self.weights]
        ratios = [decay << GUARD for decay in self.decays]  # decay_i^length, rounded up
        bounds: list[tuple[int, int]] = []
        lag, length = 1, 1
        while lag < horizon:
            bounds.append((min(1 << places, sum(powers)), min(length, horizon - lag)))
            powers = [(p * r >> places) + 1 for p, r in zip(powers, ratios, strict=True)]
            lag += length
            if lag >= _EXACT_STEPS and lag >= 2 * _BLOCKS * length:
                length *= 2
                ratios = [(r * r >> places) + 1 for r in ratios]
        return bounds


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
    inverse = tuple(math.isqrt((one * unit) ** 2 // squares[index]) for index in at)
    return Scales(
        ends,
        inverse,
        tuple(-(-unit * unit // entry) for entry in inverse),
        tuple(sums[index] for index in at),
    )


def _ends(horizon: int) -> tuple[int, ...]:
    ends = list(range(min(horizon, _SINGLE)))
    while ends[-1] < horizon - 1:
        ends.append(min(horizon - 1, ends[-1] + max(1, 1 << ends[-1].bit_length() >> 6)))
    return tuple(ends)


@dataclass(frozen=True)
class Buffered(Counter):
    """Running sums through a strategy in buffers.

    Memory: three whole numbers and one a buffer, whatever the horizon. A period releases ``total +
    error``; each buffer decays and takes in the change of the error over the period's scale.
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
        buffers = zip(self.recurrence.weights, self.recurrence.decays, strict=True)
        fed_back = sum(Fraction(weight, unit - decay) for weight, decay in buffers)
        return fed_back * Fraction(self._scales.multiple[-1], unit * unit)

    @cached_property
    def _scales(self) -> Scales:
        return scales(self.recurrence, self.horizon, self.normalised)

    def _position(self, within: int) -> int:
        return bisect_left(self._scales.ends, self.horizon - 1 - within) if self.normalised else 0

    def multiple(self, within: int) -> int:
        finer = PRECISION - self.recurrence.precision
        return self._scales.multiple[self._position(within)] << finer

    def start(self) -> Memory:
        """Return the memory before the first period: the time, the sum, its error, the buffers."""
        return (0,) * (3 + len(self.recurrence.weights))

    def step(self, memory: Memory, increment: int, noise: int) -> tuple[Memory, int]:
        recurrence, table = self.recurrence, self._scales
        within, total, error = memory[:3]
        buffers, places = memory[3:], recurrence.precision
        position = self._position(within)
        fed = sum(map(mul, recurrence.weights, buffers)) * table.multiple[position]
        change = noise - (fed >> (3 * places))
        taken = change * table.inverse[position]
        decayed = [
            (d * b >> places) + taken for d, b in zip(recurrence.decays, buffers, strict=True)
        ]
        total, error = total + increment, error + change
        return (within + 1, total, error, *decayed), total + error

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        """Return upper bounds, every period's effect in units of its own :meth:`multiple`.

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


@dataclass(frozen=True, eq=False)
class Variances:
    """The variance of a buffered counter's error at any time, in units of one draw of multiple 1.

    The error at ``t`` is a weighted sum of the draws up to ``t``. Going back from ``t`` the weight
    is a constant plus decaying exponentials within every stretch of one scale (``proof.md`` 4), so
    what a stretch and all before it add to the variance is a quadratic form in the exponentials'
    sizes. The forms are worked out once, from the first stretch on; each time then costs one
    evaluation.
    """

    # rates, amounts: The inverse of the strategy has the coefficients 1 and ``-sum_i amounts[i] (1
    # - rates[i])^(k-1)``.
    rates: Floats
    amounts: Floats
    rest: float  # the sum of all of these
    # lasts, multiples: The last period of each stretch and the multiple of its noise.
    lasts: npt.NDArray[np.int64]
    multiples: Floats
    # squares, slopes, offsets: The forms of all stretches before each.
    squares: Floats
    slopes: Floats
    offsets: Floats

    @classmethod
    def of(
        cls, recurrence: Coefficients, lasts: npt.NDArray[np.int64], multiples: Floats
    ) -> Variances:
        """Work out the forms of a counter."""
        unit = float(1 << recurrence.precision)
        weights = np.array([weight / unit for weight in recurrence.weights])
        gaps = np.array([((1 << recurrence.precision) - d) / unit for d in recurrence.decays])
        root = np.sqrt(weights)
        rates, vectors = np.linalg.eigh(np.diag(gaps) + np.outer(root, root))
        amounts = (root @ vectors) ** 2
        rest = 1.0 / (1.0 + float((weights / gaps).sum()))
        size = len(rates)
        squares = np.zeros((len(lasts), size, size))
        slopes = np.zeros((len(lasts), size))
        offsets = np.zeros(len(lasts))
        decays, single, double = _sums(rates, np.diff(lasts, prepend=0))
        for k in range(1, len(lasts)):
            level, length = multiples[k - 1], float(lasts[k - 1] - (lasts[k - 2] if k > 1 else 0))
            constant, keep = level * rest, decays[k - 1]
            square = double[k - 1] + np.outer(keep, keep) * squares[k - 1]
            slope = 2.0 * constant * single[k - 1] + keep * slopes[k - 1]
            offset = length * constant**2 + offsets[k - 1]
            # An earlier stretch has a larger multiple: its exponentials start higher.
            higher = (level - multiples[k]) * amounts / rates
            squares[k] = square
            slopes[k] = slope + 2.0 * square @ higher
            offsets[k] = offset + slope @ higher + higher @ square @ higher
        return cls(rates, amounts, rest, lasts, multiples, squares, slopes, offsets)

    def at(self, times: npt.NDArray[np.int64]) -> Floats:
        """Return the variance at ``times`` (1, 2, ...)."""
        chunks = [times[start : start + _CHUNK] for start in range(0, len(times), _CHUNK)]
        return np.concatenate([self._at(chunk) for chunk in chunks or [times]])

    def _at(self, times: npt.NDArray[np.int64]) -> Floats:
        block = np.searchsorted(self.lasts, times)
        before = np.where(block > 0, self.lasts[block - 1], 0)
        steps = times - before
        level = self.multiples[block]
        terms = level[:, None] * self.amounts / self.rates
        decays, single, double = _sums(self.rates, steps)
        constant = level * self.rest
        inside = steps * constant**2 + 2.0 * constant * (terms * single).sum(axis=1)
        inside += np.einsum("ti,tij,tj->t", terms, double, terms)
        terms *= decays
        earlier = self.offsets[block] + (terms * self.slopes[block]).sum(axis=1)
        earlier += np.einsum("ti,tij,tj->t", terms, self.squares[block], terms)
        return np.asarray(inside + earlier)


def _sums(rates: Floats, lengths: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return the powers, and the geometric sums of one and of two exponentials, for each length."""
    pairs = rates[:, None] + rates[None, :] - rates[:, None] * rates[None, :]
    # What is lost of a power, 1 - (1 - rate)^length; of a product of two, a + b - a b.
    powers = lengths.astype(np.float64)[:, None]
    near = -np.expm1(powers * np.log1p(-np.minimum(rates, 0.5)))
    lost = np.where(rates <= 0.5, near, 1.0 - np.power(1.0 - rates, powers))
    left, right = lost[:, :, None], lost[:, None, :]
    return 1.0 - lost, lost / rates, (left + right - left * right) / pairs


ENDLESS = 2**36
"""Periods of a stream without a horizon before a new epoch: at one a second, 2,000 years."""

# ``gap:weight`` of each buffer as exact decimals, gap = 1 - decay. For horizons of up to 2^exponent
# periods: the least worst deviation of the normalised strategy.
_BY_LENGTH = {
    2: "0.26895:0.46841 0.2717:0.090286",
    4: "0.087526:0.39583 0.81215:0.11177",
    6: "0.025144:0.21854 0.30972:0.22623 0.86658:0.057144",
    8: "0.0066971:0.11311 0.093687:0.17586 0.47836:0.20974",
    10: "0.0016805:0.055922 0.021956:0.086468 0.11976:0.16399 0.50803:0.1924",
    12: "0.00044836:0.029079 0.0069224:0.0574 0.056876:0.15104 0.38495:0.25628",
    14: "0.0001107:0.014195 0.0015347:0.025583 0.011124:0.064874 0.076172:0.15884 0.43208:0.23302",
    17: (
        "1.5443e-05:0.0053956 0.0002736:0.012826 0.0030332:0.041731 0.032634:0.13282 "
        "0.30541:0.29245"
    ),
    20: (
        "1.9357e-06:0.0018799 3.2214e-05:0.0043232 0.00033987:0.013685 "
        "0.0035155:0.043943 0.035995:0.13642 0.31903:0.28697"
    ),
    25: (
        "6.5399e-08:0.00034478 1.1821e-06:0.00088322 1.4727e-05:0.0030461 "
        "0.00017869:0.010576 0.0021616:0.036793 0.025934:0.1246 0.27582:0.30362"
    ),
    30: (
        "2.1875e-09:6.272e-05 4.3003e-08:0.00017973 6.3161e-07:0.0006678 "
        "8.9281e-06:0.002508 0.00012561:0.009406 0.0017112:0.033763 0.022773:0.12218 "
        "0.26647:0.3103"
    ),
}

# For no horizon: at any time up to 2^30 at most 1.5 times the deviation of the square root that
# knows this time beforehand.
_ANY_TIME = (
    "1.6074e-09:6.579e-06 3.4112e-09:1.3976e-05 3.8193e-08:4.0022e-05 "
    "2.2418e-07:9.6634e-05 1.4833e-06:0.00025666 8.9661e-06:0.00068085 "
    "5.5073e-05:0.001794 0.00034328:0.0048296 0.0020872:0.012927 0.01285:0.035237 "
    "0.075256:0.087837 0.3437:0.15401 0.76136:0.062023 0.95283:0.0071478"
)


@lru_cache(maxsize=64)
def _parsed(entry: str, precision: int) -> Coefficients:
    one = 1 << precision
    pairs = [tuple(map(Fraction, pair.split(":"))) for pair in entry.split()]
    return Coefficients(
        tuple(int(weight * one) for _, weight in pairs),
        tuple(one - max(1, int(gap * one)) for gap, _ in pairs),
        precision,
    )


def fitted(horizon: int, precision: int = PRECISION) -> Coefficients:
    """Return the buffers for a horizon."""
    exponent = next((n for n in _BY_LENGTH if horizon <= 1 << n), max(_BY_LENGTH))
    return _parsed(_BY_LENGTH[exponent], precision)


def any_time() -> Coefficients:
    """Return the buffers for streams without a horizon."""
    return _parsed(_ANY_TIME, PRECISION)
