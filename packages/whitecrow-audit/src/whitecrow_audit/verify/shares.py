"""Sites that add up, checked: the exact law of a count with the noise of several shares."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from whitecrow.exhaustive import Check, Report, exhaust

_REACH = 120
_FAR = 40


def share_sum_law(rate: float, parts: int, shares: int) -> npt.NDArray[np.float64]:
    """Return P(sum of ``shares`` shares of one part in ``parts`` = -120 .. 120)."""
    a, r = math.exp(-rate), shares / parts
    one = np.empty(16 * _REACH)
    one[0] = (1 - a) ** r
    for k in range(1, len(one)):
        one[k] = one[k - 1] * a * (k - 1 + r) / k
    both = np.correlate(one, one, mode="full")
    middle = len(one) - 1
    return both[middle - _REACH : middle + _REACH + 1]


def _sum_check(parts: int, shares: int) -> Report:
    """One cell, one person more or less, at any of the sites."""
    law = share_sum_law(1.0, parts, shares)

    def counted(x: int) -> Mapping[Hashable, float]:
        places = range(-_FAR, _FAR + 1)
        return {place: float(law[_REACH + place - x]) for place in places}

    return exhaust(counted, [(x, x + 1) for x in range(4)], 1.0)


def _equal_law(parts: int) -> Report:
    """The loss here is the distance to the discrete Laplace law."""
    ratio = math.exp(-1.0)
    places = np.arange(-_REACH, _REACH + 1)
    central = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    near = slice(_REACH - _FAR, _REACH + _FAR + 1)
    far = np.abs(np.log(share_sum_law(1.0, parts, parts)[near] / central[near]))
    return Report(1, 1, float(far.max()), 0.0, f"{parts} sites")


def checks() -> Iterator[Check]:
    """Yield the checks."""
    for parts in (2, 3, 7):
        name = f"shares of {parts} sites add up to the central law"
        yield Check("learn", name, partial(_equal_law, parts))
    for shares in (2, 3):
        name = f"two sites must be honest, {shares} are"
        yield Check("learn", name, partial(_sum_check, 2, shares))
    name = "broken twin: shares for three sites where one drops its own"
    yield Check("learn", name, partial(_sum_check, 3, 2), must_fail=True)
