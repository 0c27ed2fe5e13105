"""Clips: a public interval, or an upper end chosen privately, once, among public candidates.

Two ways to choose, both exact and both priced (``proof.md`` 6): the exponential mechanism for a
quantile, and the sparse vector technique over thresholds that double.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from whitecrow.declaration import Choice, Declared, Exact, Parameter, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.noise import Source, discrete_laplace, exponential_mechanism
from whitecrow.privacy.numbers import signed

METHODS = ("quantile", "sparse_vector")
_MOST_CANDIDATES = 200


class Signed(Exact):
    """A rational number of either sign, kept exactly."""

    def parse(self, value: object, owner: str) -> Fraction:
        return signed(value, owner=owner, parameter=self.name)


class PrivateClip(Declared):
    """How the upper clip is chosen from the first periods of a stream.

    Examples
    --------
    >>> [int(c) for c in PrivateClip(smallest=1, largest=10).candidates]
    [1, 2, 4, 8, 16]
    """

    smallest: Exact = Exact(help="The smallest candidate; each other is twice the one before.")
    largest: Exact = Exact(
        help="The candidates end at or above it; it may be generous: that costs little."
    )
    lower: Exact = Signed(help="The lower clip, public and fixed.", default="0")
    method: Choice[str] = Choice(
        METHODS,
        help="The exponential mechanism for a quantile, or sparse vector.",
        default="quantile",
    )
    quantile: Exact = Exact(
        below=1, help="The part of the records that should lie at or below.", default="99/100"
    )
    above: Whole = Whole(
        least=0, help="For sparse vector: about how many records may exceed it.", default=10
    )
    periods: Whole = Whole(
        help="How many first periods are looked at; their releases wait until they are over.",
        default=7,
    )
    share: Exact = Exact(
        below=1, help="The part of the question's budget that is spent on it.", default="1/10"
    )

    def settle(self) -> None:
        """Refuse candidates that are none."""
        most = self.smallest * 2**_MOST_CANDIDATES
        for name, must, wrong in (
            ("largest", "above 'smallest'", self.largest <= self.smallest),
            ("smallest", "above 'lower'", self.smallest <= self.lower),
            ("largest", "at most 2^200 times 'smallest'", self.largest > most),
        ):
            if wrong:
                raise invalid("PrivateClip", name, must, str(getattr(self, name)))

    @property
    def candidates(self) -> tuple[Fraction, ...]:
        """The public candidates, in increasing order."""
        candidates = [self.smallest]
        while candidates[-1] < self.largest:
            candidates.append(2 * candidates[-1])
        return tuple(candidates)

    def epsilon(self, budget: Fraction, noise: str) -> Fraction:
        """Return the epsilon of the choice, from its part of an epsilon or a rho.

        The exponential mechanism has bounded range, so epsilon costs epsilon^2/8 in rho (Cesar and
        Rogers 2021); sparse vector costs epsilon^2/2. The root is rounded down.
        """
        if noise == "laplace":
            return budget
        factor, scale = 8 if self.method == "quantile" else 2, 1 << 40
        value = budget * factor * scale * scale
        return Fraction(isqrt(value.numerator // value.denominator), scale)


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
        utilities = quantile_utilities(below, total, a, b)
        return candidates[exponential_mechanism(utilities, eta, source)]
    scale = 2 * contribution / epsilon
    threshold = clip.above + discrete_laplace(scale, source)
    for candidate, count in zip(candidates[:-1], below[:-1], strict=True):
        if total - count + discrete_laplace(scale, source) <= threshold:
            return candidate
    return candidates[-1]


Interval = tuple[Fraction, Fraction]


class Ends(Parameter[tuple[str, ...], Any]):
    """Two numbers, as text: the smallest and the largest end."""

    type_text = "(smallest, largest)"
    takes: ClassVar = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}

    def parse(self, value: object, owner: str) -> tuple[str, ...]:
        must = "two numbers with a comma, such as 1,1000"
        return tuple(map(str, _two(value, owner, self.name, must)))

    def read(self, text: str) -> list[str]:
        return [end.strip() for end in text.split(",")]

    def to_text(self, value: Any) -> str:
        return ",".join(value)


class Clip(Parameter[Interval | PrivateClip, Any]):
    """A public interval, or how the upper end is chosen privately."""

    type_text = "(lower, upper) or PrivateClip"

    def parse(self, value: object, owner: str) -> Interval | PrivateClip:
        if isinstance(value, PrivateClip):
            return value
        if isinstance(value, Mapping):
            return PrivateClip.from_json(value)
        lower, upper = _two(value, owner, self.name, "a pair (lower, upper) or a PrivateClip")
        if lower >= upper:
            raise invalid(owner, self.name, "a pair with lower below upper", value)
        return lower, upper

    def dump(self, value: Interval | PrivateClip) -> Any:
        return value.to_json() if isinstance(value, PrivateClip) else super().dump(value)

    def schema(self) -> dict[str, Any]:
        pair = {**Ends.takes, "items": dict(Exact.takes)}
        return {"anyOf": [pair, PrivateClip.json_schema()]}

    def from_text(self, text: str, owner: str) -> object:
        ends = [end.strip() for end in text.split(",")]
        if len(ends) != 2 or not all(ends):
            raise InvalidInput("--clip must be two numbers with a comma, such as 0,100.")
        return ends

    def to_text(self, value: Any) -> str:
        return ",".join(value)


def _two(value: object, owner: str, name: str, must: str) -> Interval:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise invalid(owner, name, must, value)
    first, second = (signed(end, owner=owner, parameter=name) for end in value)
    return first, second
