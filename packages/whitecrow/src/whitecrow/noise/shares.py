"""Noise in shares: several parties draw a part each, and the parts add up to a known law.

The discrete Laplace law is the difference of two geometric ones, and a geometric variable is a sum
of as many independent parts as one likes, each of the Pólya law (negative binomial with a
fractional parameter). The parts are drawn exactly, with whole numbers alone (``proof.md`` 11).

References
----------
Goryczka and Xiong 2017 (geometric noise in Pólya parts). The way they are drawn is our own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from whitecrow.noise._source import Rational, Source, positive_whole, ratio, system_source
from whitecrow.noise.bulk import Draws, Words, draw_words, geometric


def _below(source: Source, bounds: Words) -> Words:
    """Draw a whole number below each bound, uniformly: words beyond the last multiple go back."""
    found = np.zeros(len(bounds), dtype=np.uint64)
    left = np.arange(len(bounds))
    while left.size:
        words = draw_words(source, left.size)
        bound = bounds[left]
        good = words >= (np.uint64(0) - bound) % bound
        found[left[good]] = words[good] % bound[good]
        left = left[~good]
    return found


def polya(x: Rational, parts: int, size: int, source: Source | None = None) -> Draws:
    """Return draws, ``parts`` of which add up to a geometric variable of rate ``x``.

    Notes
    -----
    A geometric number of things is put into the cycles of a random permutation; every cycle is kept
    with probability ``1/parts``; what is in the kept ones is the draw.

    Examples
    --------
    >>> polya(1000, 3, 4).tolist()
    [0, 0, 0, 0]
    """
    count = positive_whole(parts, "polya", "parts")
    origin = source or system_source()
    left = geometric(x, size, origin)
    kept = np.zeros(size, dtype=np.int64)
    while (open_ := np.flatnonzero(left)).size:
        # The cycle of the first thing left over has every possible length with equal chances.
        cycle = 1 + _below(origin, left[open_].astype(np.uint64)).astype(np.int64)
        keeps = _below(origin, np.full(len(open_), count, dtype=np.uint64)) == 0
        kept[open_] += np.where(keeps, cycle, 0)
        left[open_] -= cycle
    return kept


def laplace_shares(scale: Rational, parts: int, size: int, source: Source | None = None) -> Draws:
    """Return one party's draws: those of ``parts`` parties add up to discrete Laplace noise.

    The scale is that of the sum, at most 2**50.
    """
    numerator, denominator = ratio(scale, "laplace_shares", "scale")
    rate = Fraction(denominator, numerator)
    return polya(rate, parts, size, source) - polya(rate, parts, size, source)
