"""Choosing the upper clip privately, once, among public candidates; then it is fixed and public.

Two ways, both exact and both priced (``proof.md`` 6): the exponential mechanism for a quantile, and
the sparse vector technique over thresholds that double.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
import numpy.typing as npt

from whitecrow.errors import invalid
from whitecrow.noise import Source, discrete_laplace, exponential_mechanism
from whitecrow.privacy import exact
from whitecrow.privacy.numbers import signed

METHODS = ("quantile", "sparse_vector")
_MOST_CANDIDATES = 200


@dataclass(frozen=True, kw_only=True)
class PrivateClip:
    """How the upper clip is chosen from the first periods of a stream.

    Examples
    --------
    >>> [int(c) for c in PrivateClip(smallest=1, largest=10).candidates]
    [1, 2, 4, 8, 16]
    """

    # smallest, largest: The candidates are ``smallest`` times 1, 2, 4, ... up to the first at or
    # above ``largest``; both are public knowledge (the largest may be generous: it costs little).
    smallest: Fraction
    largest: Fraction
    lower: Fraction = Fraction(0)  # the lower clip, public and fixed
    # {"quantile", "sparse_vector"}: The exponential mechanism for the quantile, or sparse vector
    # for the first candidate that about ``above`` records exceed.
    method: str = "quantile"
    # The part of the records that should lie at or below the clip.
    quantile: Fraction = Fraction(99, 100)
    above: int = 10  # how many records may exceed it (sparse vector)
    # How many first periods are looked at; their releases wait until they are over.
    periods: int = 7
    # The part of the question's budget that is spent on the choice.
    share: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        owner = "PrivateClip"
        for name in ("smallest", "largest", "quantile", "share"):
            object.__setattr__(self, name, exact(getattr(self, name), owner=owner, parameter=name))
        object.__setattr__(self, "lower", signed(self.lower, owner=owner, parameter="lower"))
        if self.method not in METHODS:
            raise invalid(owner, "method", "'quantile' or 'sparse_vector'", self.method)
        if self.largest <= self.smallest:
            raise invalid(owner, "largest", "above 'smallest'", str(self.largest))
        if self.smallest <= self.lower:
            raise invalid(owner, "smallest", "above 'lower'", str(self.smallest))
        if self.largest > self.smallest * 2**_MOST_CANDIDATES:
            raise invalid(owner, "largest", "at most 2^200 times 'smallest'", str(self.largest))
        for name in ("quantile", "share"):
            if not 0 < getattr(self, name) < 1:
                raise invalid(owner, name, "between 0 and 1", str(getattr(self, name)))
        for name, least in (("above", 0), ("periods", 1)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value < 2**63:
                raise invalid(owner, name, f"a whole number of at least {least}", value)

    @property
    def candidates(self) -> tuple[Fraction, ...]:
        """The public candidates, in increasing order."""
        found = [self.smallest]
        while found[-1] < self.largest:
            found.append(2 * found[-1])
        return tuple(found)

    def epsilon(self, budget: Fraction, noise: str) -> Fraction:
        """Return the epsilon of the choice, from its part of an epsilon or a rho.

        Notes
        -----
        The exponential mechanism has bounded range, so epsilon costs epsilon^2/8 in rho (Cesar and
        Rogers 2021); sparse vector costs epsilon^2/2. The root is rounded down.
        """
        if noise == "laplace":
            return budget
        factor = 8 if self.method == "quantile" else 2
        scale = 1 << 40
        value = budget * factor * scale * scale
        return Fraction(isqrt(value.numerator // value.denominator), scale)

    def to_json(self) -> dict[str, object]:
        return {
            "lower": str(self.lower),
            "smallest": str(self.smallest),
            "largest": str(self.largest),
            "method": self.method,
            "quantile": str(self.quantile),
            "above": self.above,
            "periods": self.periods,
            "share": str(self.share),
        }


def quantile_utilities(below: list[int], total: int, a: int, b: int) -> list[int]:
    """Return how well each candidate brackets the quantile ``a/b``; 0 is best."""
    excess = [b * (total - count) - (b - a) * total for count in below]
    before = [0, *excess[:-1]]
    return [-max(0, now, -then) for now, then in zip(excess, before, strict=True)]


def choose(
    clip: PrivateClip,
    values: npt.NDArray[np.float64],
    epsilon: Fraction,
    contribution: int = 1,
    source: Source | None = None,
) -> Fraction:
    """Return one of the candidates, epsilon-DP for any ``contribution`` records that come together.

    Notes
    -----
    Quantile ``a/b``: with ``g(c) = b #{v > c} - (b-a) n``, which one record moves by at most
    ``max(a, b-a)``, the utility of candidate ``c_i`` is 0 where the quantile lies between the
    candidate before and this one (``g(c_i) <= 0 <= g(c_{i-1})``) and falls with the distance from
    that; so of all candidates beyond the data the smallest is best.

    Sparse vector: the first candidate with ``#{v > c} + Laplace <= above + Laplace``; one record
    moves all these counts the same way, so noise of scale ``2/epsilon`` on the threshold and on
    each count suffices.
    """
    candidates = clip.candidates
    ordered = np.sort(values)
    limits = np.array([float(c) for c in candidates])
    below = [int(count) for count in np.searchsorted(ordered, limits, side="right")]
    total = len(ordered)
    if clip.method == "quantile":
        a, b = clip.quantile.numerator, clip.quantile.denominator
        eta = epsilon / (2 * contribution * max(a, b - a))
        return candidates[
            exponential_mechanism(quantile_utilities(below, total, a, b), eta, source)
        ]
    scale = 2 * contribution / epsilon
    threshold = clip.above + discrete_laplace(scale, source)
    for candidate, count in zip(candidates[:-1], below[:-1], strict=True):
        if total - count + discrete_laplace(scale, source) <= threshold:
            return candidate
    return candidates[-1]
