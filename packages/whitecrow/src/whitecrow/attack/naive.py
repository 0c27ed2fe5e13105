"""The naive release: noise whose scale follows the data. **Not private; for the attack only.**

.. warning::
   It is not differentially private for any epsilon, not even for one release. See
   :func:`naive_loss` for the exact argument. ``whitecrow.hazmat`` re-exports it; never publish with
   it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import exact


def naive_scale(mean: float, size: int, epsilon: float, multiple: float = 2.0) -> float:
    """Return the Laplace scale ``multiple * mean / (size * epsilon)``, a function of the data."""
    return multiple * abs(mean) / (size * epsilon)


def naive_release(
    days: Sequence[npt.ArrayLike],
    epsilon: object,
    *,
    multiple: float = 2.0,
    rng: np.random.Generator | int | None = None,
) -> npt.NDArray[np.float64]:
    """Release each day's mean with Laplace noise of scale ``multiple * mean / (n * epsilon)``.

    .. warning::
       Hazardous: not differentially private (:func:`naive_loss`), the noise is floating-point, and
       nothing is accounted for.

    Parameters
    ----------
    days : sequence of arrays
        The values of each day; no day may be empty (the mean does not exist).
    epsilon : exact number
        What the paper calls the budget; it bounds nothing.
    multiple : float
        The paper's m: values are supposed to lie below m times the mean.
    rng : Generator or seed, optional
        Where the noise comes from.

    References
    ----------
    Naghizade et al. 2017, section 4.2; docs/mechanisms.md 5.1 and docs/mechanisms.md 5.3.

    Examples
    --------
    >>> naive_release([[1.0, 3.0], [2.0, 2.0]], 10**9, rng=1).round(3).tolist()
    [2.0, 2.0]
    """
    rate = float(exact(epsilon, owner="naive_release"))
    arrays = [np.asarray(day, dtype=np.float64) for day in days]
    if any(len(day) == 0 for day in arrays):
        raise InvalidInput("A day without records has no mean; the naive release cannot show it.")
    if not all(np.isfinite(day).all() for day in arrays):
        raise invalid("naive_release", "days", "arrays of finite numbers", "a value that is not")
    means = np.array([day.mean() for day in arrays])
    scales = np.array(
        [naive_scale(m, len(day), rate, multiple) for m, day in zip(means, arrays, strict=True)]
    )
    noise = np.random.default_rng(rng).laplace(0.0, 1.0, len(means))
    return np.asarray(means + noise * scales)


def loss_probability(error: float, size: int, epsilon: float, multiple: float = 2.0) -> float:
    """Return the chance that a mean with such noise is off by a share of ``error`` or more.

    The paper's (a, delta)-loss bound (its first Definition 3), computed from the Laplace law
    itself: ``exp(-a n epsilon / m)``. The same holds for noise scaled to a public bound m times
    the mean, which is private.

    Examples
    --------
    >>> round(loss_probability(0.15, 55, 1), 4)
    0.0162
    """
    _positive(error=error, size=size, epsilon=epsilon, multiple=multiple)
    return math.exp(-error * size * epsilon / multiple)


def epsilon_for_loss(error: float, delta: float, size: int, multiple: float = 2.0) -> float:
    """Return the least epsilon at which :func:`loss_probability` is at most ``delta``.

    The paper's bound, by Chebyshev's inequality, is ``sqrt(2 / delta) m / (n a)``: never smaller.

    Examples
    --------
    >>> round(epsilon_for_loss(0.15, 0.15, 55), 3)
    0.46
    """
    _positive(error=error, delta=delta, size=size, multiple=multiple)
    if delta >= 1:
        raise invalid("epsilon_for_loss", "delta", "a number below 1", delta)
    return multiple * math.log(1 / delta) / (size * error)


def _positive(**given: float) -> None:
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise invalid("loss", name, "a number above 0", value)


def naive_loss(output: float, mean: float, growth: float, scale: float) -> float:
    """Return the privacy loss of one naive release at one output.

    Two neighbouring days have means ``mean`` and ``growth * mean``, hence scales ``scale`` and
    ``growth * scale``. At the *same* output r the log-ratio of the densities is ::

        ln(growth) - |r - mean| / scale + |r - growth * mean| / (growth * scale)

    which for any growth other than 1 goes to infinity in absolute value as r grows: its slope in
    the tail is ``-(1 - 1/growth) / scale``. So no epsilon bounds it, for one release; composition
    is not the problem. (The paper compares densities at different outputs, which is not the
    definition: erratum E25.)

    Examples
    --------
    >>> [round(naive_loss(r, 5.0, 1.2, 0.2)) for r in (5, 10, 100, 1000)]
    [4, -8, -83, -833]
    """
    return (
        math.log(growth)
        - abs(output - mean) / scale
        + abs(output - growth * mean) / (growth * scale)
    )
