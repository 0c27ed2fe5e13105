"""Two primitives every sampler is made of: a lazy comparison and a draw by real weights.

Both look at one machine word and decide almost always; the rare word that falls into the gap of an
enclosure is extended by fresh bits until exact arithmetic decides (``proof.md`` 3 and 4).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from whitecrow.noise._enclose import Bounds
from whitecrow.noise._source import Source

__all__ = ["WIDTH", "Table", "undercuts"]

WIDTH = 64


def undercuts(
    source: Source,
    enclosure: Callable[[int], Bounds],
    value: int = 0,
    bits: int = 0,
    width: int = WIDTH,
) -> bool:
    """Decide ``V < y`` for ``V`` uniform in ``[value, value + 1) / 2**bits``, exactly.

    Parameters
    ----------
    source : Source
        Gives the further bits of ``V``.
    enclosure : callable
        ``enclosure(bits)`` bounds ``y * 2**bits``.
    value, bits : int
        What is already known of ``V``: its leading part.
    width : int
        How many bits are added at a time.
    """
    while True:
        low, high = enclosure(bits)
        if value < low:
            return True
        if value >= high:
            return False
        value = value << width | source.bits(width)
        bits += width


class Table:
    """Draw an index with probability proportional to real weights known by enclosures.

    The words ``0 .. 2**width - 1`` are cut into one interval an index, each a little longer than
    the weight deserves; a word in the surely deserved part is accepted at once, one past it by an
    exact comparison, one past all intervals is drawn again. That is rejection sampling, so the law
    is exactly that of the weights.

    Parameters
    ----------
    low, high : sequence of int
        ``low[i] <= weight[i] * 2**bits <= high[i]``.
    bits : int
        The precision of ``low`` and ``high``.
    refine : callable
        ``refine(i, bits)`` bounds ``weight[i] * 2**bits`` at any greater precision.
    width : int
        Bits in a word; smaller than 64 only in tests, where all words are enumerated.
    """

    __slots__ = ("_bits", "_refine", "_shift", "_unit", "edges", "safe", "width")

    def __init__(
        self,
        low: Sequence[int],
        high: Sequence[int],
        bits: int,
        refine: Callable[[int, int], Bounds],
        width: int = WIDTH,
    ) -> None:
        self._bits, self._refine, self.width = bits, refine, width
        total = sum(high)
        # One unit an index for rounding up, and one so that the last edge fits in a word.
        room = (1 << width) - len(high) - 1
        self._shift = shift = total.bit_length() + 8
        self._unit = unit = (room << shift) // total
        lengths = [(most * unit >> shift) + 1 for most in high]
        self.edges = edges = list(accumulate(lengths))
        self.safe = [
            edge - length + (least * unit >> shift)
            for edge, length, least in zip(edges, lengths, low, strict=True)
        ]
        self.safe.append(0)  # no word past the last edge is accepted

    def draw(self, source: Source) -> int:
        """Return an index by its weight."""
        word = source.bits(self.width)
        index = bisect_right(self.edges, word)
        if word < self.safe[index]:
            return index
        return self.settle(source, word)

    def settle(self, source: Source, word: int) -> int:
        """Finish a draw whose first word is known."""
        while True:
            index = bisect_right(self.edges, word)
            if word < self.safe[index]:
                return index
            if index < len(self.edges):
                start = self.edges[index - 1] if index else 0

                def scaled(bits: int, index: int = index) -> Bounds:
                    low, high = self._refine(index, self._bits + bits)
                    return low * self._unit >> self._shift, -(-high * self._unit >> self._shift)

                if undercuts(source, scaled, word - start, 0, self.width):
                    return index
            word = source.bits(self.width)
