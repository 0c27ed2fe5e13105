"""Parameters at the border of the samplers: rationals only, and errors that disclose no value.

A sampler's parameter may be a private fact (the discrepancy of a record, a smooth sensitivity), so
messages name its type or its sign, never the number.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from fractions import Fraction

from whitecrow.errors import InvalidInput, invalid

__all__ = ["Rational", "positive_whole", "ratio", "ratios", "refuse", "signed_ratio"]

Rational = int | Fraction


class _Words(str):
    """Words for the "Got ..." of a message, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def refuse(owner: str, parameter: str, must: str, got: str, hint: str = "") -> InvalidInput:
    """Return the error of a wrong parameter; ``got`` describes it in words and gives no value."""
    return invalid(owner, parameter, must, _Words(got), hint)


_HINT = "A float has no place in a draw: write Fraction('0.1') or Fraction(1, 10)."


def signed_ratio(value: Rational, owner: str, parameter: str) -> tuple[int, int]:
    """Return numerator and denominator of a rational; refuse everything else."""
    if type(value) is Fraction:
        return value.numerator, value.denominator
    if type(value) is int:
        return value, 1
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    if not isinstance(value, bool):
        try:
            return operator.index(value), 1
        except TypeError:
            pass
    kind = type(value).__name__
    raise refuse(owner, parameter, "a Fraction or a whole number", f"a {kind}", _HINT)


def ratio(value: Rational, owner: str, parameter: str, *, zero: bool = False) -> tuple[int, int]:
    """Return numerator and denominator of a positive rational (or 0 where ``zero`` allows it)."""
    pair = signed_ratio(value, owner, parameter)
    if pair[0] > 0 or (zero and pair[0] == 0):
        return pair
    must = "at least 0" if zero else "greater than 0"
    got = "zero" if pair[0] == 0 else "a negative number"
    raise refuse(owner, parameter, must, got)


def positive_whole(value: int, owner: str, parameter: str) -> int:
    """Return a whole number of at least 1."""
    numerator, denominator = signed_ratio(value, owner, parameter)
    if denominator == 1 and numerator >= 1:
        return numerator
    raise refuse(owner, parameter, "a whole number of at least 1", "another number")


def _exact(value: Rational, owner: str, parameter: str) -> Rational:
    numerator, denominator = signed_ratio(value, owner, parameter)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def ratios(values: Iterable[Rational], owner: str, parameter: str) -> list[Rational]:
    """Return a list of exact rationals from any sequence, numpy integers included."""
    listed: list[Rational] = [
        value if type(value) is int else _exact(value, owner, parameter)
        for value in (values.tolist() if hasattr(values, "tolist") else values)
    ]
    if not listed:
        raise refuse(owner, parameter, "a sequence with at least one entry", "an empty one")
    return listed
