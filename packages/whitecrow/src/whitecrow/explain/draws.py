"""Randomness for a release: exact samplers over the operating system's source."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from whitecrow.explain.search import Graph
from whitecrow.noise import Source, exponential_levels, permute_and_flip, system_source

TRIES = 2**16
"""How many uniform contexts are tried before "none matches" is the answer; public."""

_FIRST_BATCH = 16
_LAST_BATCH = 1024


class SourceDraws:
    """Draws from a source.

    Parameters
    ----------
    source : Source, optional
        The operating system unless given.
    """

    def __init__(self, source: Source | None = None) -> None:
        self._source = source or system_source()

    def below(self, n: int) -> int:
        """Return a uniform whole number in ``0 .. n-1``."""
        return self._source.below(n)

    def choose(self, utilities: Sequence[int], eta: Fraction) -> int:
        """Return a place by permute-and-flip."""
        return permute_and_flip(utilities, eta, self._source)

    def level(self, levels: Sequence[int], counts: Sequence[int], eta: Fraction) -> int:
        """Return the place of a level by the exponential mechanism."""
        return exponential_levels(levels, counts, eta, self._source)

    def matching(self, graph: Graph) -> int | None:
        """Return a uniform matching context, or None after ``TRIES`` that do not match."""
        tried, batch = 0, _FIRST_BATCH
        while tried < TRIES:
            drawn = [self._source.bits(graph.bits) for _ in range(min(batch, TRIES - tried))]
            for context, fits in zip(drawn, graph.match(drawn), strict=True):
                if fits:
                    return context
            tried += len(drawn)
            batch = min(2 * batch, _LAST_BATCH)
        return None
