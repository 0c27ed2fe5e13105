"""The numbers of a strategy in buffers, and exact upper bounds of what they add up to.

``whitecrow_research.buffers`` finds the numbers. They decide how large the error is; how private a
series is follows from the numbers as they stand here (``proof.md`` 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

PRECISION = 48
ONE = 1 << PRECISION
GUARD = 64  # further bits for the powers in the sensitivity bound
_EXACT_STEPS = 2048  # lags summed one by one before they are bounded in blocks
_BLOCKS = 1024  # blocks for each doubling of the lag after that


@dataclass(frozen=True)
class Coefficients:
    """A strategy: ``b_k = sum_i weights[i] * decays[i]^(k-1)``, each over ``2^precision``."""

    # weights, decays: Numerators; every decay lies between 0 and ``2^precision``.
    weights: tuple[int, ...]
    decays: tuple[int, ...]
    precision: int  # the binary places of both

    def share(self) -> list[Fraction]:
        """Return ``weight / (1 - decay)`` for each buffer: what it feeds back in the long run."""
        one = 1 << self.precision
        return [Fraction(w, one - d) for w, d in zip(self.weights, self.decays, strict=True)]

    def bounds(self, horizon: int) -> list[tuple[int, int]]:
        """Enclose ``b_k`` from above for the lags ``k = 1, 2, ..., horizon - 1`` in order.

        Each bound is over ``2^(precision + GUARD)``, and beside it stands how many lags it serves:
        from lag 2,048 on they are in blocks, by the first of each, which is sound because ``b_k``
        falls.
        """
        places = self.precision + GUARD
        powers = [weight << GUARD for weight in self.weights]
        ratios = [decay << GUARD for decay in self.decays]  # decay_i^length, rounded up
        found: list[tuple[int, int]] = []
        lag, length = 1, 1
        while lag < horizon:
            found.append((min(1 << places, sum(powers)), min(length, horizon - lag)))
            powers = [(p * r >> places) + 1 for p, r in zip(powers, ratios, strict=True)]
            lag += length
            if lag >= _EXACT_STEPS and lag >= 2 * _BLOCKS * length:
                length *= 2
                ratios = [(r * r >> places) + 1 for r in ratios]
        return found


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
    """Return the buffers for a horizon.

    Examples
    --------
    >>> [len(fitted(periods).weights) for periods in (12, 365, 10**6)]
    [2, 4, 6]
    """
    longest = max(_BY_LENGTH)
    exponent = next((n for n in _BY_LENGTH if horizon <= 1 << n), longest)
    return _parsed(_BY_LENGTH[exponent], precision)


def any_time() -> Coefficients:
    """Return the buffers for streams without a horizon."""
    return _parsed(_ANY_TIME, PRECISION)
