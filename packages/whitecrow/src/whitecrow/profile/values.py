"""From which noisy count on a value that the card does not list may be named (``proof.md`` 4)."""

from __future__ import annotations

import math
from fractions import Fraction

from whitecrow.histogram.noise_budget import Noise
from whitecrow.privacy.numbers import log_inverse_upper, sqrt_upper


def threshold(noise: Noise, contribution: int, delta: Fraction) -> int:
    """Return the least noisy count at which a value is named.

    A value that only one person's records have is named with probability ``delta`` at the most.

    Parameters
    ----------
    noise : Noise
        Gaussian.
    contribution : int
        How many records a person has, hence how many such values, and how often one.
    delta : Fraction
        Of this column.

    Examples
    --------
    >>> threshold(Noise("gaussian", Fraction(21)), 1, Fraction(1, 10**6))
    26
    """
    assert noise.law == "gaussian"
    # The discrete Gaussian is at least t with a probability of exp(-t^2 / 2 variance) at the most.
    tail = sqrt_upper(2 * noise.size * log_inverse_upper(delta / contribution))
    return contribution + math.ceil(tail)
