"""Where randomness comes from, and what a sampler accepts.

Every sampler asks a :class:`Source` for fair bits and nothing else: the operating system's, read in
pages and never shared with a fork. Parameters are rationals only, and since one may be a private
fact (the discrepancy of a record, a smooth sensitivity), errors name its type or its sign, never
the number.
"""

from __future__ import annotations

import operator
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Protocol, runtime_checkable

from whitecrow.errors import InvalidInput, invalid

Rational = int | Fraction


class _Words(str):
    """Words for the "Got ..." of a message, shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def refuse(owner: str, parameter: str, must: str, got: str, hint: str = "") -> InvalidInput:
    """Return the error of a wrong parameter; ``got`` describes it in words and gives no value."""
    return invalid(owner, parameter, must, _Words(got), hint)


_HINT = "A float has no place in a draw: write Fraction('0.1') or Fraction(1, 10)."


def signed_ratio(value: Rational, owner: str, parameter: str) -> tuple[int, int]:
    """Return numerator and denominator of a rational; refuse everything else."""
    if type(value) is int:
        return value, 1
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    if not isinstance(value, bool):
        with suppress(TypeError):
            return operator.index(value), 1
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
    numerator, denominator = signed_ratio(value, owner, parameter)
    if denominator == 1 and numerator >= 1:
        return numerator
    raise refuse(owner, parameter, "a whole number of at least 1", "another number")


def ratios(values: Iterable[Rational], owner: str, parameter: str) -> list[Rational]:
    """Return a list of exact rationals from any sequence, numpy integers included."""
    listed: list[Rational] = [
        value if type(value) is int else Fraction(*signed_ratio(value, owner, parameter))
        for value in (values.tolist() if hasattr(values, "tolist") else values)
    ]
    if not listed:
        raise refuse(owner, parameter, "a sequence with at least one entry", "an empty one")
    return listed


_PAGE = 512  # 64-bit words taken from the octet stream at a time
_PAGE_FORMAT = struct.Struct(f"<{_PAGE}Q")


@runtime_checkable
class Source(Protocol):
    """A stream of independent fair bits."""

    def bits(self, k: int) -> int:
        """Return a uniform whole number of ``k`` bits, ``0 .. 2**k - 1``."""

    def below(self, n: int) -> int:
        """Return a uniform whole number in ``0 .. n-1``."""


def uniform_below(source: Source, n: int, width: int = 64) -> int:
    """Return a uniform whole number below ``n`` from words of ``width`` bits.

    The multiply-and-reject method: a word ``w`` of ``k`` bits maps to the whole part of
    ``w * n / 2**k``; the ``2**k mod n`` smallest remainders are drawn again, after which every
    result has equally many words. Without that rejection the law is biased (the mutant
    ``w mod n`` of the tests).
    """
    if n < 1:
        raise refuse("below", "n", "a whole number of at least 1", "a smaller one")
    size = width * (1 + (n.bit_length() - 1) // width)
    while True:
        product = source.bits(size) * n
        remainder = product & ((1 << size) - 1)
        if remainder >= n or remainder >= (1 << size) % n:
            return product >> size


class PooledSource:
    """A source cut from a stream of octets; a subclass says where the octets come from.

    Words wait in a list and leave it by ``list.pop``, which is atomic: two threads never get the
    same word, and a used word is no longer in the pool.
    """

    def __init__(self) -> None:
        self._pool: list[int] = []

    def octets(self, count: int) -> bytes:
        """Return ``count`` fresh uniform octets."""
        raise NotImplementedError

    def bits(self, k: int) -> int:
        if k == 64:
            try:
                return self._pool.pop()
            except IndexError:
                fresh: list[int] = list(_PAGE_FORMAT.unpack(self.octets(8 * _PAGE)))
                word = fresh.pop()
                self._pool.extend(fresh)
                return word
        if 0 <= k < 64:
            return self.bits(64) >> (64 - k)
        if k < 0:
            raise refuse("bits", "k", "a whole number of at least 0", "a smaller one")
        return int.from_bytes(self.octets((k + 7) // 8), "little") >> (-k % 8)

    def below(self, n: int) -> int:
        return uniform_below(self, n)


class _SystemSource(PooledSource):
    """The operating system's cryptographic generator."""

    def octets(self, count: int) -> bytes:
        return os.urandom(count)

    def forget(self) -> None:
        self._pool.clear()

    def __repr__(self) -> str:
        return "system_source()"

    def __reduce__(self) -> str | tuple[object, ...]:
        # A pickled pool would give two processes the same words.
        return system_source, ()


_SYSTEM = _SystemSource()
# A fork copies the pool: without this, parent and child would draw the same noise.
if hasattr(os, "register_at_fork"):  # elsewhere there is no fork
    os.register_at_fork(after_in_child=_SYSTEM.forget)


def system_source() -> Source:
    """Return the source every sampler uses unless told otherwise.

    Fork-safe (a forked child starts with an empty pool), thread-safe, and not seedable.

    Examples
    --------
    >>> 0 <= system_source().below(6) < 6
    True
    """
    return _SYSTEM
