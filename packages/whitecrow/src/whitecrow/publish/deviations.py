"""The standard deviation of what a buffered counter releases, at any time, without simulating it.

The error at ``t`` is a weighted sum of the draws up to ``t``. Going back from ``t`` the weight is a
constant plus decaying exponentials within every stretch of one scale (``proof.md`` 4), so what a
stretch and all before it add to the variance is a quadratic form in the exponentials' sizes. The
forms are worked out once, from the first stretch on; each time then costs one evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow.publish.coefficients import Coefficients

Floats = npt.NDArray[np.float64]
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Variances:
    """The variance of a buffered counter's error, in units of one draw of multiple 1."""

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
        kept, single, double = _sums(rates, np.diff(lasts, prepend=0))
        for k in range(1, len(lasts)):
            level, length = multiples[k - 1], float(lasts[k - 1] - (lasts[k - 2] if k > 1 else 0))
            constant, keep = level * rest, kept[k - 1]
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
        found = np.empty(len(times))
        for start in range(0, len(times), _CHUNK):
            found[start : start + _CHUNK] = self._at(times[start : start + _CHUNK])
        return found

    def _at(self, times: npt.NDArray[np.int64]) -> Floats:
        block = np.searchsorted(self.lasts, times)
        before = np.where(block > 0, self.lasts[block - 1], 0)
        steps = times - before
        level = self.multiples[block]
        terms = level[:, None] * self.amounts / self.rates
        kept, single, double = _sums(self.rates, steps)
        constant = level * self.rest
        inside = steps * constant**2 + 2.0 * constant * (terms * single).sum(axis=1)
        inside += np.einsum("ti,tij,tj->t", terms, double, terms)
        terms *= kept
        earlier = self.offsets[block] + (terms * self.slopes[block]).sum(axis=1)
        earlier += np.einsum("ti,tij,tj->t", terms, self.squares[block], terms)
        return np.asarray(inside + earlier)


def _sums(rates: Floats, lengths: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return the powers, and the geometric sums of one and of two exponentials, for each length."""
    pairs = rates[:, None] + rates[None, :] - rates[:, None] * rates[None, :]
    lost = _lost(rates, lengths)
    return 1.0 - lost, lost / rates, _lost(pairs, lengths) / pairs


def _lost(gaps: Floats, lengths: npt.NDArray[np.int64]) -> Floats:
    """Return ``1 - (1 - gap)^length`` for every length (first axis) and gap; a gap is below 2."""
    powers = lengths.astype(np.float64).reshape(-1, *(1 for _ in gaps.shape))
    near = -np.expm1(powers * np.log1p(-np.minimum(gaps, 0.5)))
    return np.where(gaps <= 0.5, near, 1.0 - np.power(1.0 - gaps, powers))
