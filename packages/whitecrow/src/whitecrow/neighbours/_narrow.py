"""A filter in single precision: which pairs are near or far whatever the rounding did.

A GPU compares several times as many pairs a second in float32 as in float64. Records are moved to
a centre and rounded; a total of the rounded numbers then tells most pairs apart, and the others
are judged by the reference predicate. `proof.md` ("A filter in single precision") has the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from whitecrow._arrays import Floats
from whitecrow.neighbours.devices import Device
from whitecrow.neighbours.relation import LARGEST, MIXED, SQUARES, SUM, Form

_ROUNDING = 2.0**-24  # the relative error of one operation in float32
_SAMPLE = 1024
_MOST_ERROR = 1.0 / 16.0
"""The filter is used where rounding moves a distance by at most this share of the radius."""


@dataclass(frozen=True, repr=False)
class Narrow:
    """Records about a centre in float32, and how far each column reaches from the centre."""

    values: Any
    reach: tuple[float, ...]

    def part(self, first: int, last: int) -> Narrow:
        return Narrow(self.values[first:last], self.reach)


def centre_of(values: Floats) -> Floats:
    """Return a place among the records: the medians of some, spread over the table."""
    some = values[:: max(1, len(values) // _SAMPLE)]
    # Halved: the sum of two values in the middle may be beyond the largest number.
    return np.asarray(2.0 * np.median(some / 2.0, axis=0))


def narrowed(device: Device, values: Any, centre: Any) -> Narrow:
    """Return records of the device about the centre, rounded to float32."""
    moved = values - centre
    reach = tuple(float(abs(moved[:, c]).max()) for c in range(moved.shape[1]))
    return Narrow(device.single(moved), reach)


def band(form: Form, one: Narrow, other: Narrow) -> tuple[np.float32, np.float32] | None:
    """Return the totals up to which a pair is surely near, and above which it is surely far.

    None where single precision is too coarse for the radius, or its exponents too small.
    """
    radius = form.radius
    if form.kind == MIXED or not 1e-12 < radius < 1e15:
        return None
    errors = [_ROUNDING * 1.01 * (a + b) for a, b in zip(one.reach, other.reach, strict=True)]
    error = {SQUARES: math.hypot(*errors), SUM: math.fsum(errors), LARGEST: max(errors)}[form.kind]
    if not error <= _MOST_ERROR * radius:
        return None
    power = 2 if form.kind == SQUARES else 1
    slack = (2 * len(errors) + 16) * _ROUNDING
    if slack > _MOST_ERROR:
        return None
    near = np.float32((radius - error) ** power * (1.0 - slack))
    far = np.float32((radius + error) ** power * (1.0 + slack))
    return np.nextafter(near, np.float32(0.0)), np.nextafter(far, np.float32(np.inf))
