"""Many draws at once, as numpy arrays: for the cells of histograms, and for audits.

The algorithms are those of the single draws, on arrays of words: the same tables, the same
comparisons of whole numbers; a word that needs the exact path is handed to it one by one
(``proof.md`` 9). The law is therefore the same, bit for bit, and so is the absence of floats.
Single draws accept any rational, whereas arrays stop at 64 bits.

Noise can be drawn in shares, too: several parties draw a part each, and the parts add up to a known
law. The discrete Laplace law is the difference of two geometric ones, and a geometric variable is a
sum of as many independent parts as one likes, each of the Pólya law (negative binomial with a
fractional parameter). The parts are drawn exactly, with whole numbers alone (``proof.md`` 11).

References
----------
Goryczka and Xiong 2017 (geometric noise in Pólya parts). The way they are drawn is our own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from whitecrow._arrays import Flags, Ints, Words
from whitecrow.noise._exact import WIDTH, Table
from whitecrow.noise._integers import Gaussian, Geometric
from whitecrow.noise._source import Rational, Source, positive_whole, ratio, refuse, system_source

_LARGEST = 1 << 50  # scales up to here cannot overflow 64 bits
_RADIX = 1024  # larger tables than those of a single draw: many draws share the work of making them
_FINENESS = 64


def draw_words(source: Source, size: int) -> Words:
    octets = source.bits(WIDTH * size).to_bytes(8 * size, "little")
    return np.frombuffer(octets, dtype="<u8").astype(np.uint64, copy=False)


def _signs(source: Source, size: int) -> Flags:
    octets = source.bits(8 * (-(-size // 8))).to_bytes(-(-size // 8), "little")
    return np.unpackbits(np.frombuffer(octets, dtype=np.uint8), count=size).astype(np.bool_)


def _indices(source: Source, table: Table, size: int) -> Ints:
    words = draw_words(source, size)
    index = np.searchsorted(np.array(table.edges, dtype=np.uint64), words, side="right")
    sure = words < np.array(table.safe, dtype=np.uint64)[index]
    for row in np.flatnonzero(~sure):
        index[row] = table.settle(source, int(words[row]))
    return index.astype(np.int64, copy=False)


def _geometrics(source: Source, law: Geometric, size: int) -> Ints:
    total = np.zeros(size, dtype=np.int64)
    for table, place in law.digits:
        total += _indices(source, table, size) * place
    left = np.arange(size)
    while left.size:
        lead = _indices(source, law.top, left.size)
        total[left] += lead * law.place
        left = left[lead == law.span]
    return total


def _two_sided(source: Source, magnitudes: Callable[[int], Ints], size: int) -> Ints:
    """Give magnitudes a sign each, drawing again where the sign would make a second zero."""
    parts: list[Ints] = []
    missing = size
    while missing:
        drawn = magnitudes(missing)
        negative = _signs(source, drawn.size)
        drawn = np.where(negative, -drawn, drawn)[(drawn != 0) | ~negative]
        parts.append(drawn)
        missing -= drawn.size
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _gaussian_magnitudes(source: Source, law: Gaussian, size: int) -> Ints:
    """Draw block, member and first coin word of ``size`` magnitudes; drop the refused ones."""
    index = _indices(source, law.table, size)
    far = np.flatnonzero(index == law.count)
    value = index * law.block
    accepted = np.ones(size, dtype=bool)
    if law.block > 1:
        inside = draw_words(source, size) >> np.uint64(WIDTH + 1 - law.block.bit_length())
        value = value + inside.astype(np.int64)
        words = draw_words(source, size)
        ratios = np.array([*law.keep, 0], dtype=np.uint64)[index]
        for row in np.flatnonzero((words >= ratios) & (index < law.count)):
            start = int(index[row]) * law.block
            accepted[row] = law.keeps(source, int(value[row]), start, int(words[row]))
    for row in far:
        magnitude = law.far_magnitude(source)
        accepted[row] = magnitude is not None
        value[row] = magnitude or 0
    return value[accepted]


def _size(size: int, owner: str) -> int:
    return 0 if size == 0 else positive_whole(size, owner, "size")


def _bounded(value: Rational, limit: int, owner: str, parameter: str) -> tuple[int, int]:
    numerator, denominator = ratio(value, owner, parameter)
    if numerator > limit * denominator:
        raise refuse(owner, parameter, f"at most {limit} for draws in 64 bits", "a greater number")
    return numerator, denominator


def geometric(x: Rational, size: int, source: Source | None = None) -> Ints:
    """Return ``size`` draws of :func:`whitecrow.noise.geometric`, for ``x`` of at least 2**-50.

    Examples
    --------
    >>> geometric(1000, 3).tolist()
    [0, 0, 0]
    """
    owner = "bulk.geometric"
    numerator, denominator = ratio(x, owner, "x")
    if denominator > _LARGEST * numerator:
        raise refuse(owner, "x", "at least 2**-50 for draws in 64 bits", "a smaller number")
    law = Geometric(numerator, denominator, radix=_RADIX)
    return _geometrics(source or system_source(), law, _size(size, owner))


def discrete_laplace(scale: Rational, size: int, source: Source | None = None) -> Ints:
    """Return ``size`` draws of :func:`whitecrow.noise.discrete_laplace`, scale at most 2**50.

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_laplace(Fraction(1, 1000), 3).tolist()
    [0, 0, 0]
    """
    owner = "bulk.discrete_laplace"
    numerator, denominator = _bounded(scale, _LARGEST, owner, "scale")
    law = Geometric(denominator, numerator, radix=_RADIX)
    origin = source or system_source()
    return _two_sided(origin, lambda n: _geometrics(origin, law, n), _size(size, owner))


def discrete_gaussian(variance: Rational, size: int, source: Source | None = None) -> Ints:
    """Return ``size`` draws of :func:`whitecrow.noise.discrete_gaussian`, variance at most 2**100.

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_gaussian(Fraction(1, 1000), 3).tolist()
    [0, 0, 0]
    """
    owner = "bulk.discrete_gaussian"
    pair = _bounded(variance, _LARGEST**2, owner, "variance")
    law = Gaussian(*pair, fineness=_FINENESS)
    origin = source or system_source()
    return _two_sided(origin, lambda n: _gaussian_magnitudes(origin, law, n), _size(size, owner))


def _below(source: Source, bounds: Words) -> Words:
    """Draw a whole number below each bound, uniformly: words beyond the last multiple go back."""
    drawn = np.zeros(len(bounds), dtype=np.uint64)
    left = np.arange(len(bounds))
    while left.size:
        words = draw_words(source, left.size)
        bound = bounds[left]
        good = words >= (np.uint64(0) - bound) % bound
        drawn[left[good]] = words[good] % bound[good]
        left = left[~good]
    return drawn


def polya(x: Rational, parts: int, size: int, source: Source | None = None) -> Ints:
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
    draws = np.zeros(size, dtype=np.int64)
    while (open_ := np.flatnonzero(left)).size:
        # The cycle of the first thing left over has every possible length with equal chances.
        cycle = 1 + _below(origin, left[open_].astype(np.uint64)).astype(np.int64)
        keeps = _below(origin, np.full(len(open_), count, dtype=np.uint64)) == 0
        draws[open_] += np.where(keeps, cycle, 0)
        left[open_] -= cycle
    return draws


def laplace_shares(scale: Rational, parts: int, size: int, source: Source | None = None) -> Ints:
    """Return one party's draws: those of ``parts`` parties add up to discrete Laplace noise.

    The scale is that of the sum, at most 2**50.
    """
    numerator, denominator = ratio(scale, "laplace_shares", "scale")
    rate = Fraction(denominator, numerator)
    return polya(rate, parts, size, source) - polya(rate, parts, size, source)
