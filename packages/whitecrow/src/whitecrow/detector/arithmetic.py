"""Logarithm and exponential with the same bits on every machine.

A library's ``log`` may differ in the last bit from one processor to the next, and a detector must
give a record the same score wherever it is loaded. Only additions, multiplications and divisions of
doubles are used here; IEEE 754 fixes those.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_LN2_HIGH = float.fromhex("0x1.62e42feep-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_ROOT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")


def log(values: npt.ArrayLike) -> Floats:
    """Return the natural logarithm of positive numbers, to about 2 units in the last place."""
    fraction, power = np.frexp(np.asarray(values, dtype=np.float64))
    small = fraction < _ROOT_HALF
    fraction = np.where(small, fraction * 2.0, fraction)
    exponent = (power - small).astype(np.float64)
    # log f = 2 artanh((f - 1) / (f + 1)), and |(f - 1) / (f + 1)| < 0.172.
    ratio = (fraction - 1.0) / (fraction + 1.0)
    square = ratio * ratio
    series = np.zeros_like(square)
    for degree in range(21, 0, -2):
        series = series * square + 1.0 / degree
    return exponent * _LN2_HIGH + (exponent * _LN2_LOW + 2.0 * ratio * series)


def exp(values: npt.ArrayLike) -> Floats:
    """Return the exponential of numbers between -700 and 700."""
    given = np.asarray(values, dtype=np.float64)
    halves = np.rint(given * _INVERSE_LN2)
    rest = (given - halves * _LN2_HIGH) - halves * _LN2_LOW
    series = np.ones_like(rest)
    for degree in range(14, 0, -1):
        series = 1.0 + series * rest / degree
    return np.ldexp(series, halves.astype(np.int32))


def softlog(counts: npt.ArrayLike, floor: float) -> Floats:
    """Return ``log(floor log(1 + e^(count / floor)))``: the logarithm of a noisy count.

    Far above the floor it is the logarithm; below, where noise rules, it falls ever more slowly
    and stays finite for negative counts.
    """
    steps = np.maximum(np.asarray(counts, dtype=np.float64) / floor, -50.0)
    power = exp(np.minimum(steps, 40.0))
    # Beyond 36 the one is lost against the power, below -36 the power against the one.
    inner = np.where(steps > 36.0, steps, np.where(steps < -36.0, power, log(1.0 + power)))
    return log(inner) + log(floor)
