"""The numbers of a strategy in buffers, and exact upper bounds of what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

PRECISION = 48
ONE = 1 << PRECISION
GUARD = 64  # further bits for the powers in the sensitivity bound
_EXACT_STEPS = 2048  # lags summed one by one before they are bounded in blocks
_BLOCKS = 1024  # blocks for each doubling of the lag after that


@dataclass(frozen=True)
class Coefficients:
    """A strategy: ``b_k = sum_i weights[i] * decays[i]^(k-1)``, each over ``2^precision``.

    Parameters
    ----------
    weights, decays : tuple of int
        Numerators; every decay lies between 0 and ``2^precision``.
    precision : int
        The binary places of both.
    """

    weights: tuple[int, ...]
    decays: tuple[int, ...]
    precision: int

    def share(self) -> list[Fraction]:
        """Return ``weight / (1 - decay)`` for each buffer: what it feeds back in the long run."""
        one = 1 << self.precision
        return [Fraction(w, one - d) for w, d in zip(self.weights, self.decays, strict=True)]

    def bounds(self, horizon: int) -> list[tuple[int, int]]:
        """Enclose ``b_k`` from above, lag after lag.

        Returns
        -------
        list of (int, int)
            For the lags ``k = 1, 2, ..., horizon - 1`` in order: an upper bound over
            ``2^(precision + GUARD)`` and how many lags it serves; from lag 2,048 on in blocks, by
            the first of each, which is sound because ``b_k`` falls.
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
