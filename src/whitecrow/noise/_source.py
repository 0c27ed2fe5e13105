"""Where randomness comes from: the operating system, read in pages and never shared with a fork.

Every sampler asks a :class:`Source` for fair bits and nothing else.
"""

from __future__ import annotations

import os
import struct
from typing import Protocol, runtime_checkable

from whitecrow.noise._check import refuse

__all__ = ["PooledSource", "Source", "system_source", "uniform_below"]

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
    result has equally many words. Without that rejection the law is biased (the broken twin
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
        """Return a uniform whole number of ``k`` bits."""
        if k == 64:
            try:
                return self._pool.pop()
            except IndexError:
                return self._refill()
        if 0 <= k < 64:
            return self.bits(64) >> (64 - k)
        if k < 0:
            raise refuse("bits", "k", "a whole number of at least 0", "a smaller one")
        return int.from_bytes(self.octets((k + 7) // 8), "little") >> (-k % 8)

    def below(self, n: int) -> int:
        """Return a uniform whole number in ``0 .. n-1``."""
        return uniform_below(self, n)

    def _refill(self) -> int:
        fresh: list[int] = list(_PAGE_FORMAT.unpack(self.octets(8 * _PAGE)))
        word = fresh.pop()
        self._pool.extend(fresh)
        return word


class _SystemSource(PooledSource):
    """The operating system's cryptographic generator."""

    def octets(self, count: int) -> bytes:
        return os.urandom(count)

    def forget(self) -> None:
        """Drop the words that wait in the pool."""
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
