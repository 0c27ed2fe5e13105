"""How much noise a count of outliers needs: mechanism and tuning, from public facts alone.

Four mechanisms (docs/mechanisms.md 3.3, proofs in `count/proof.md`):

``smooth``
    Noise of Laplace core and power tail, scaled by the smooth sensitivity: pure differential
    privacy, and an error that follows the data instead of the worst case.
``global``
    Discrete Laplace noise scaled by the global sensitivity: pure differential privacy.
``analytic_gaussian``
    Discrete Gaussian noise on the global sensitivity, with the least deviation for (ε, δ).
``paper_gaussian``
    Gaussian noise on the smooth sensitivity with the paper's constants (Theorem 2 of Nissim,
    Raskhodnikova and Smith), for comparison: valid and very loose.

The expected error rests on a public guess, ``crowding``: how many records near the threshold one
ball holds. A wrong guess costs accuracy, never privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from whitecrow.errors import InvalidInput
from whitecrow.noise import Source, core_tail, discrete_gaussian, discrete_laplace, laws
from whitecrow.privacy.numbers import log_inverse_upper, sqrt_upper

MECHANISMS = ("smooth", "global", "analytic_gaussian", "paper_gaussian")

CLUSTER_SIZE = 4
"""The default guess; heavy-tailed data of 10^3 to 10^6 records in 1 to 7 columns show 1 to 6."""

_STEEP = 4
_SMOOTHEST = 4096
_LEAST = Fraction(1, 1000)
"""Below this ε the smooth mechanism would need a decay so near 1 that it has no use."""
_TAILS = (2, 3, 4)
_SHARES = 32
_GRID = 1 << 32


@dataclass(frozen=True)
class Calibration:
    """Which noise, and how much of it for each unit of sensitivity."""

    mechanism: str  # one of :data:`MECHANISMS`
    relation: str  # {"add_remove", "replace_one"}: What neighbouring databases are
    cap: int  # the global sensitivity
    multiplier: Fraction  # scale (or deviation) of the noise for a sensitivity of 1
    delta: Fraction = Fraction(0)  # what the mechanism spends of δ: 0 for the pure ones
    # ``e^-smoothing`` of the smooth sensitivity; None where the global one is used.
    decay: Fraction | None = None
    tail: int = 0  # the noise's tail is a power of ``tail + 1``; 0 for the other noises

    def expected_sensitivity(self, crowding: int) -> float:
        """Return the smooth sensitivity if U_t grows from ``crowding`` as data show it to."""
        if self.decay is None:
            return float(self.cap)
        return _profile(float(self.decay), self.cap, crowding, self.relation)

    def error(self, probability: float, sensitivity: float) -> float:
        """Return the absolute error not exceeded with this probability."""
        amplitude = float(self.multiplier) * sensitivity
        if self.mechanism == "smooth":
            return laws.core_tail_quantile(probability, self.tail) * amplitude
        if self.mechanism == "global":
            return float(laws.discrete_laplace_quantile(probability, amplitude))
        return float(laws.discrete_gaussian_quantile(probability, amplitude**2))


def draw(calibration: Calibration, sensitivity: Fraction, source: Source | None = None) -> int:
    """Draw the noise for a (smooth or global) sensitivity, exactly."""
    amplitude = calibration.multiplier * sensitivity
    if calibration.mechanism == "smooth":
        return core_tail(amplitude, calibration.tail, source)
    if calibration.mechanism == "global":
        return discrete_laplace(amplitude, source)
    # A smooth sensitivity is private, the global one is not.
    return discrete_gaussian(amplitude * amplitude, source, remember=calibration.decay is None)


def calibrate(
    mechanism: str,
    epsilon: Fraction,
    delta: Fraction,
    *,
    relation: str,
    cap: int,
    crowding: int = CLUSTER_SIZE,
) -> Calibration:
    """Return the noise for a budget; the pure mechanisms leave δ unspent.

    ``auto`` is the one that promises the least error at 95 % among those the budget allows (with a
    δ, ``analytic_gaussian`` takes part).

    Examples
    --------
    >>> budget = Fraction(1), Fraction(0)
    >>> calibrate("auto", *budget, relation="add_remove", cap=402).mechanism
    'smooth'
    >>> calibrate("auto", *budget, relation="add_remove", cap=2).mechanism
    'global'
    """
    if mechanism == "auto":
        names = ["global", *(["smooth"] if epsilon >= _LEAST else [])]
        names += ["analytic_gaussian"] if delta else []
        calibrations = [
            calibrate(name, epsilon, delta, relation=relation, cap=cap, crowding=crowding)
            for name in names
        ]
        return min(
            calibrations, key=lambda each: each.error(0.95, each.expected_sensitivity(crowding))
        )
    if mechanism == "smooth":
        if epsilon < _LEAST:
            raise InvalidInput(
                f"The smooth mechanism needs an epsilon of at least {float(_LEAST):g} for each "
                "count. Use mechanism='global'."
            )
        return _smooth(epsilon, relation, cap, crowding)
    if mechanism == "global":
        return Calibration("global", relation, cap, 1 / epsilon)
    if mechanism == "analytic_gaussian":
        return Calibration(mechanism, relation, cap, _deviation(cap, epsilon, delta), delta)
    return _paper(epsilon, delta, relation, cap)


@lru_cache(maxsize=256)
def _smooth(epsilon: Fraction, relation: str, cap: int, crowding: int) -> Calibration:
    """Split ε into ``alpha + tail * smoothing`` for the least expected error at 95 %.

    With ``decay = q / (q + 1)`` the smoothing is ``ln(1 + 1/q)``; a rational upper bound of it is
    charged, so that S is rational and no float decides anything.
    """
    best: tuple[float, int, int] | None = None
    for tail in _TAILS:
        for share in range(1, _SHARES):
            q = min(_SMOOTHEST, max(1, round(tail * _SHARES / (share * epsilon))))
            alpha = float(epsilon) - tail * math.log1p(1 / q)
            if alpha <= float(epsilon) / (2 * _SHARES):
                continue
            sensitivity = _profile(q / (q + 1), cap, crowding, relation)
            error = laws.core_tail_quantile(0.95, tail) * sensitivity / alpha
            if best is None or error < best[0]:
                best = error, tail, q
    assert best is not None  # from _LEAST on, the least tail leaves an alpha
    _, tail, q = best
    decay = Fraction(q, q + 1)
    left = epsilon - tail * log_inverse_upper(decay)
    rounded = Fraction(math.floor(left * _GRID * q), _GRID * q)
    return Calibration("smooth", relation, cap, 1 / rounded, decay=decay, tail=tail)


def _profile(decay: float, cap: int, crowding: int, relation: str) -> float:
    """Return the largest ``decay^t min(cap, U_t)`` for the public guess of U_t.

    Heavy-tailed data show U_t rise by about 2 at each of the first steps, and under add_remove by
    about 1 afterwards; replace_one has both kinds of change in one step, and the record itself.
    """
    peak = math.ceil(-1 / math.log(decay))

    def term(t: int) -> float:
        if relation == "replace_one":
            guess = crowding + 2 * t + 1
        else:
            guess = crowding + t + min(t, _STEEP)
        return decay**t * min(cap, max(1, guess))

    # On each straight piece of the guess the terms rise up to the point where 1/U equals the rate
    # (or the cap is met) and fall afterwards.
    turns = {
        *range(_STEEP + 2),
        peak - crowding - _STEEP,
        peak - (crowding + 1) // 2,
        cap - crowding,
    }
    turns |= {cap - crowding - _STEEP, (cap - crowding) // 2}
    return max(term(max(0, t + step)) for t in turns for step in (-1, 0, 1))


def _deviation(cap: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least deviation over the cap for which :func:`gaussian_delta` is at most δ."""
    target = float(delta) * (1 - 1e-9)
    low, high = 0.0, float(cap)
    while gaussian_delta(cap, high, epsilon) > target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if middle * middle > 0 and gaussian_delta(cap, middle, epsilon) <= target:
            high = middle
        else:
            low = middle
    return Fraction(math.ceil(high / cap * (1 + 1e-9) * _GRID), _GRID)


def gaussian_delta(shift: int, deviation: float, epsilon: Fraction) -> float:
    """Bound the δ of discrete Gaussian noise on a whole number of this sensitivity.

    The ratio of the two laws grows with the output, so the worst set of outputs is a half-line
    and the worst shift the largest; with ``f`` the unnormalised mass,

        delta = sum over y >= a of f(y - shift) - e^ε f(y),    a = ε σ² / shift + shift / 2,

    over ``sum f >= σ sqrt(2 pi)``. The summand is log-concave, hence unimodal: a sum in strides
    of s exceeds the full sum over s by no more than its largest term, which is added.

    Examples
    --------
    >>> gaussian_delta(1, 3.75, Fraction(1)) < 1e-5 < gaussian_delta(1, 3.73, Fraction(1))
    True
    """
    if 50 * deviation < shift:
        return 1.0
    budget = min(float(epsilon), 60.0)  # a smaller ε only asks for more noise
    first = math.ceil(budget * deviation**2 / shift + shift / 2)
    stride = max(1, math.ceil(deviation / 2000))
    terms_needed = math.ceil((shift / 2 + 16 * deviation) / stride) + 2
    y = first + stride * np.arange(terms_needed, dtype=np.float64)
    mass = np.exp(-((y - shift) ** 2) / (2 * deviation**2))
    excess = -np.expm1(np.minimum(0.0, budget - (2 * y - shift) * shift / (2 * deviation**2)))
    terms = mass * excess
    total = float(terms.sum()) + (float(terms.max()) if stride > 1 else 0.0)
    return min(1.0, stride * total / (deviation * math.sqrt(2 * math.pi)))


def _paper(epsilon: Fraction, delta: Fraction, relation: str, cap: int) -> Calibration:
    """Return the constants of Theorem 2, rounded to the safe side.

    The theorem is about real noise; that whole-number noise with the same constants keeps
    (ε, δ) is the condition checked here (`count/proof.md`, "The paper's Gaussian").
    """
    logarithm = log_inverse_upper(delta / 2)
    multiplier = 5 * sqrt_upper(2 * logarithm) / epsilon
    smoothing = epsilon / (4 * (1 + logarithm))
    # Beyond this the loss is far above any epsilon that comes with it; exp would overflow.
    alpha, growth = 1 / float(multiplier), math.exp(2 * float(min(smoothing, Fraction(300))))
    reach = math.sqrt(-2 * math.log(delta)) + alpha
    loss = float(smoothing) + (growth - 1) * reach**2 / 2 + growth * (alpha * reach + alpha**2 / 2)
    if loss * (1 + 1e-6) > epsilon or multiplier < 2 or epsilon < _LEAST:
        size = "small" if epsilon < _LEAST else "large"
        raise InvalidInput(
            f"The paper's Gaussian calibration is offered for moderate budgets only, and this "
            f"epsilon is too {size} for it. Use another mechanism."
        )
    # 1 + 1/q <= e^(1/q) and 1/q is at most the smoothing: smoother than the theorem asks for.
    q = math.ceil(1 / smoothing)
    return Calibration("paper_gaussian", relation, cap, multiplier, delta, decay=Fraction(q, q + 1))
