"""The line of values of one column, and how it is cut into cells: all doubles, no known bounds.

Doubles in their order are whole numbers in theirs: sign, exponent and mantissa, read as one number.
Cut into equal parts on that scale, a wide interval falls into powers of two and a narrow one, or
one that reaches zero, into equal steps. Cells lie between doubles, so that every engine puts a
value into the same cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whitecrow._arrays import Flags
from whitecrow.card import Column
from whitecrow.data.values import FIRST_DAY, LAST_DAY

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LARGE = (50, 60, 80, 100, 200, 500)
_POWERS = (-1074, -1022, -500, -200, -100, -60, -40, -30, *range(-20, 41), *_LARGE)
"""Octaves where values usually are, and wider cells beyond; either sign."""
_YEARS = (1000, 1500, 1700, 1800, *range(1850, 2151, 10), 2200, 2500, 3000, 5000)
_SIGN = -(1 << 63)
_OCTAVE = float(1 << 52)
_MOST_PLACES = 22  # ten to that power is a double


def _rank(value: float) -> int:
    """Return the rank of a double among all doubles."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else _SIGN - bits


def _at(ranks: list[int]) -> Floats:
    bits = [rank if rank >= 0 else _SIGN - rank for rank in ranks]
    return np.array(bits, dtype=np.int64).view(np.float64)


@dataclass(frozen=True)
class Line:
    """Where the values of a column may lie."""

    kind: str
    lower: float = -math.inf  # public bounds; infinite where there are none
    upper: float = math.inf

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers: integers, or days."""
        return self.kind != "number"

    @property
    def end(self) -> float:
        """What lies just above the last value."""
        if math.isinf(self.upper):
            return math.inf
        above = math.nextafter(self.upper, math.inf)
        return max(above, self.upper + 1.0) if self.whole else above

    @cached_property
    def root(self) -> Floats:
        """Where a new cell begins on the coarsest grid."""
        if self.kind == "date":
            firsts = np.array([f"{year:04d}-01-01" for year in _YEARS], dtype="datetime64[D]")
            edges = firsts.astype(np.int64).astype(np.float64)
        else:
            powers = np.array([2.0**power for power in _POWERS])
            edges = np.concatenate([-powers[::-1], [0.0], powers])
        return self._inside(edges, self.lower, self.end)

    def cut(self, lower: float, upper: float, parts: int) -> Floats:
        """Return the inner edges of about so many parts of a cell."""
        if self.single(lower, upper):
            return np.empty(0)
        if self._even(lower, upper):
            step = upper / parts - lower / parts
            return self._inside(lower + step * np.arange(1.0, parts), lower, upper)
        first, last = _rank(lower), _rank(upper)
        count = min(parts, last - first)
        places = [first + (last - first) * part // count for part in range(1, count)]
        return self._inside(_at(places), lower, upper)

    def decimals(self, lower: float, upper: float, parts: int) -> Floats:
        """Return edges that set decimal numbers of a cell apart, each from what follows it.

        About so many, with as few digits as can be: a value that many records share was mostly
        written down, and is alone in its cell long before the last bit is reached.
        """
        width = upper - lower
        if self.whole or not 0.0 < width < math.inf or _rank(upper) - _rank(lower) <= parts:
            return self.cut(lower, upper, parts)
        places = math.ceil(math.log10(parts) - math.log10(width))
        # Whole numbers times or over a power of ten are rounded once where both are doubles.
        tens = 10.0 ** min(abs(places), _MOST_PLACES)
        first, last = (end * tens if places >= 0 else end / tens for end in (lower, upper))
        if abs(places) > _MOST_PLACES or max(abs(first), abs(last)) >= 2.0**52:
            return self.cut(lower, upper, parts)
        step = next((unit for unit in (1.0, 2.0, 5.0) if (last - first) / unit <= parts), 10.0)
        steps = step * np.arange(math.floor(first / step) - 1.0, math.ceil(last / step) + 2.0)
        values = steps / tens if places >= 0 else steps * tens
        return self._inside(np.concatenate([values, np.nextafter(values, math.inf)]), lower, upper)

    def within(self, lower: float, upper: float, part: float) -> float:
        """Return the value at a part of the way through a cell, on the scale of the cuts."""
        if self._even(lower, upper):
            return (1.0 - part) * lower + part * upper
        first, last = _rank(lower), _rank(upper)
        return float(_at([min(last, first + round(part * (last - first)))])[0])

    def single(self, lower: float, upper: float) -> bool:
        """Whether a cell holds one value only."""
        if self.whole and upper - lower <= 1.0:
            return True
        return _rank(upper) - _rank(lower) <= 1

    def _even(self, lower: float, upper: float) -> bool:
        """Whether a cell is cut into equal steps: towards zero, powers never end."""
        if self.kind == "date":
            return True
        return bool(_about_zero(np.array(lower), np.array(upper)))

    def borders(self, edges: Floats) -> Floats:
        """Return the edges with the ends of the line."""
        return np.concatenate([[self.lower], edges, [self.end]])

    def widths(self, edges: Floats) -> Floats:
        """Return how wide each cell is, on the scale on which cells are cut."""
        borders = self.borders(edges)
        if self.kind == "date":
            return np.diff(borders)
        bits = (borders + 0.0).view(np.int64)
        # From the first double to the last is more than a signed number holds, and wraps to it.
        widths = np.diff(np.where(bits >= 0, bits, _SIGN - bits)).view(np.uint64)
        return np.where(_about_zero(borders[:-1], borders[1:]), _OCTAVE, widths.astype(np.float64))

    def _inside(self, edges: Floats, lower: float, upper: float) -> Floats:
        """Move edges up to whole numbers where only those occur; keep each once, and inner ones."""
        edges = np.unique(np.ceil(edges) + 0.0 if self.whole else edges + 0.0)
        return np.asarray(edges[(edges > lower) & (edges < upper)])


def _about_zero(lower: Floats, upper: Floats) -> Flags:
    """Return which cells reach zero, but not the ends of the line."""
    with np.errstate(over="ignore"):  # of bounds far apart
        return np.asarray((lower <= 0.0) & (upper >= 0.0) & np.isfinite(upper - lower))


def line_of(column: Column) -> Line:
    """Return the line of a column of the card."""
    if column.lower is not None and column.upper is not None:
        return Line(column.type, float(column.lower), float(column.upper))
    if column.type == "date":
        return Line("date", float(FIRST_DAY), float(LAST_DAY))
    return Line(column.type)
