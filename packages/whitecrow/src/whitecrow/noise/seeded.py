"""A repeatable source, for tests and simulations only.

.. warning::
   Whoever knows the seed can subtract the noise from a release: a release made with this source
   protects nobody. ``whitecrow.hazmat.seeded`` is the only public way to it.
"""

from __future__ import annotations

import hashlib

from whitecrow.noise._source import PooledSource, Source


class SeededSource(PooledSource):
    """The stream SHAKE-256(seed, 0), SHAKE-256(seed, 1), ...; **hazardous**, as the module says."""

    def __init__(self, seed: int | str | bytes) -> None:
        super().__init__()
        self._key = hashlib.sha256(repr(seed).encode()).digest()
        self._block = 0

    def octets(self, count: int) -> bytes:
        """Return the next block of the stream, cut to ``count`` octets."""
        block = self._key + self._block.to_bytes(16, "little")
        self._block += 1
        return hashlib.shake_256(block).digest(count)


def seeded(seed: int | str | bytes) -> Source:
    """Return a repeatable source; **hazardous**: noise drawn from it can be subtracted by anyone.

    The same seed gives the same draws on every machine.

    Examples
    --------
    >>> from whitecrow.noise import discrete_laplace
    >>> discrete_laplace(10, seeded(1)) == discrete_laplace(10, seeded(1))
    True
    """
    return SeededSource(seed)
