"""Find the buffers of ``whitecrow.publish.buffered``: the numbers decide the error only.

For each length the weights and decays with the least worst deviation of the normalised strategy;
and, for streams without a horizon, those whose deviation at any time up to 2^30 is the smallest
multiple of what the square root has when that time is known beforehand. Run once, by hand; privacy
is proved for whatever numbers it prints.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from whitecrow.publish.buffered import ENDLESS, Buffered, Coefficients, Variances
from whitecrow.publish.counters import PRECISION

Floats = npt.NDArray[np.float64]

BUFFERS = {2: 2, 4: 2, 6: 3, 8: 3, 10: 4, 12: 4, 14: 5, 17: 5, 20: 6, 25: 7, 30: 8}
"""How many buffers a horizon of ``2^exponent`` has: one more is worth less than 0.3 %."""

_STEEP = 60.0  # a power mean this steep is the maximum, made smooth
_TIMES = 90


def _times(last: int) -> npt.NDArray[np.int64]:
    return np.unique(np.geomspace(1, last, _TIMES).astype(np.int64))


def _recurrence(parameters: Floats) -> Coefficients:
    half = len(parameters) // 2
    gaps = 1.0 / (1.0 + np.exp(-parameters[:half]))
    unit = 1 << PRECISION
    return Coefficients(
        tuple(math.floor(float(weight) * unit) for weight in np.exp(parameters[half:])),
        tuple(unit - min(unit, math.floor(float(gap) * unit) + 1) for gap in gaps),
        PRECISION,
    )


def _of_horizon(parameters: Floats, horizon: int) -> Floats:
    """The deviation over a horizon, columns normalised."""
    return Buffered(horizon, _recurrence(parameters), 60).deviations(_times(horizon))


def _of_any_time(parameters: Floats) -> Floats:
    """The deviation without a horizon, over the square root's when the time is known."""
    half = len(parameters) // 2
    gaps, weights = 1.0 / (1.0 + np.exp(-parameters[:half])), np.exp(parameters[half:])
    pairs = gaps[:, None] + gaps[None, :] - np.outer(gaps, gaps)
    norm = np.sqrt(1.0 + (np.outer(weights, weights) / pairs).sum())
    times = _times(2**30)
    single = Variances.of(_recurrence(parameters), np.array([ENDLESS]), np.array([norm]))
    bound = np.maximum(1.0, 1.066 + np.log(times) / math.pi)
    return np.asarray(np.sqrt(single.at(times)) / bound)


def _smooth_worst(ratios: Floats) -> float:
    return float(np.log((ratios**_STEEP).mean()) / _STEEP)


def _least(loss: Callable[[Floats], float], start: Floats) -> Floats:
    fitted_values: Any = minimize(
        loss, start, method="L-BFGS-B", options={"maxiter": 60, "eps": 1e-4, "maxfun": 1200}
    )
    return np.asarray(fitted_values.x, dtype=np.float64)


def _start(buffers: int, slowest: float, fastest: float) -> Floats:
    u = np.linspace(slowest, fastest, buffers)
    s = 1.0 / (1.0 + np.exp(-u))
    weights = (1.0 - s) ** 1.5 * np.sqrt(s)
    return np.concatenate([u, np.log(weights / (2.0 * weights.sum()))])


def fitted(horizon: int, buffers: int) -> Floats:
    """Return the parameters with the least worst deviation at a horizon."""
    start = _start(buffers, -math.log(horizon), 0.5)
    return _least(lambda rate: _smooth_worst(_of_horizon(rate, horizon)), start)


def endless(buffers: int = 14) -> Floats:
    """Return parameters that serve every time up to 2^30 about equally well."""
    start = _start(buffers, -math.log(1e9), 3.0)
    fading = 1.0 + 5.0 * np.log1p(np.exp(-start[:buffers]))
    start[buffers:] -= 0.31 * np.log(fading)
    start[buffers:] += math.log(0.33 / np.exp(start[buffers:]).sum())
    return _least(lambda rate: _smooth_worst(_of_any_time(rate)), start)


def _entry(parameters: Floats) -> str:
    half = len(parameters) // 2
    order = np.argsort(parameters[:half])
    gaps = 1.0 / (1.0 + np.exp(-parameters[:half][order]))
    pairs = zip(gaps, np.exp(parameters[half:][order]), strict=True)
    return " ".join(f"{gap:.5g}:{weight:.5g}" for gap, weight in pairs)


def main() -> None:
    """Print the table."""
    error = endless()
    sys.stdout.write(f'_ANY_TIME = "{_entry(error)}"  # {_of_any_time(error).max():.4f}\n')
    for exponent, buffers in BUFFERS.items():
        error = fitted(2**exponent, buffers)
        worst = _of_horizon(error, 2**exponent).max()
        sys.stdout.write(f'    {exponent}: "{_entry(error)}",  # {worst:.4f}\n')


if __name__ == "__main__":
    main()
