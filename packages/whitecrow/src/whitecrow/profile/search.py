"""Finding where the values of one column lie, by noisy counts alone (``proof.md`` 3).

A search asks for one histogram after another. Which cells it asks for, and when it stops, is read
off the noisy counts of those before, so it costs nothing; each histogram costs the part of the
column's price that it names, and together they never cost more than all of it.

1. *Powers*: octaves of either sign, where no bounds are known.
2. *Two looks*: cells that hold much are cut finer.
3. *Heavy values*, up to six looks: a narrow cell that holds much may be one value that many
   records share; it is cut into thousands until that value is alone, first at numbers with few
   digits. Left out where there is none.
4. *The count*: some thirty cells of about equal weight, fewer where noise would move medians too
   far, at all that is left of the price. Quantiles and pictures come from this histogram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from whitecrow.histogram.line import Floats, Ints, Line
from whitecrow.histogram.noise_budget import Noise
from whitecrow.privacy.numbers import log_inverse_upper, sqrt_upper

_POWERS = Fraction(7, 100)
_TWO_ROUNDS = (Fraction(8, 100), Fraction(6, 100))
_HEAVY = Fraction(4, 100)
_HEAVY_ROUNDS = 6
_DECIMAL_ROUNDS = 2  # of these look for numbers with few digits, the others for the last bit
LAST_SHARE = 1 - _POWERS
"""What is left for the last histogram where the first has shown all that there is."""

LEAST_SHARE = _HEAVY  # the smallest part of a column's price that a histogram gets

_MOST_CELLS, _LEAST_CELLS = 32, 16  # of about equal weight, in the last histogram
_BEARABLE = 0.003  # of the records: so far noise may move a median before cells become wider
_TAIL = 0.1  # of the records at either end, where cells are finer
_FINER = 2
_FINEST = 64  # cells that the two looks aim at
_MOST_PARTS = 16
_HEAVY_FROM = 0.06  # of the records
_RANKS = (0.05, 0.25, 0.5, 0.75, 0.95)
_HEAVY_AT_RANKS = 0.01
_ABOUT = 0.03  # so near to such a rank, a value that many share keeps its own cell
_MOST_HEAVY = 16
_NEAR = 8.0  # times what was found: so far about it rarer values are looked for
_SELDOM = 8  # once in so many columns noise may feign a power where there is nothing
_BEYOND = 2  # cells outside the bulk, for the bounds


@dataclass(frozen=True, eq=False)
class Request:
    """A histogram that is wanted."""

    edges: Floats  # where a new cell begins
    share: Fraction  # the part of the column's price it costs


Search = Generator[Request, tuple[Ints, Noise], None]
"""Yields histograms that are wanted and is sent their noisy counts; the last one is the answer."""


def search(line: Line, most_cells: int) -> Search:
    """Search the cells of a column, with at most so many or twice as many, for the sake of time."""
    left = 1 - _POWERS
    edges = line.root
    counts, noise = yield Request(edges, _POWERS)
    # Scales and variances go with the inverse of what is paid.
    looked = Noise(noise.law, noise.size * _POWERS / _HEAVY)
    feigned = _feigned(looked, 2 * most_cells)
    edges, weight = _around(line, edges, counts, noise)
    outline = edges
    for share in _TWO_ROUNDS:
        finer = _halved(line, edges, weight)
        if len(finer) == len(edges):
            break
        group = _group(edges, finer)
        guess = _spread(line, weight, finer, group)
        counts, noise = yield Request(finer, share)
        left -= share
        edges, weight = finer, _updated(guess, counts, noise, group)
    for step in range(_HEAVY_ROUNDS):
        heavy = _heavy_cells(line, edges, weight, feigned)
        if not heavy:
            break
        each = most_cells // len(heavy)
        cut = line.decimals if step < _DECIMAL_ROUNDS else line.cut
        finer = _cut(line, edges, [(cell, each) for cell in heavy], cut)
        counts, noise = yield Request(finer, _HEAVY)
        left -= _HEAVY
        # Which of the finer cells surely hold something by themselves.
        alone = np.flatnonzero((counts > feigned) & np.isin(_group(edges, finer), heavy))
        if not len(alone):
            break
        edges, weight = _isolated(line, edges, weight, finer, counts, alone)
    last = Noise(looked.law, looked.size * _HEAVY / left)
    # So many cells keep a median's noise bearable: it is that of half the cells' sum.
    bearable = (2.0 * _BEARABLE * float(weight.sum()) / last.deviation) ** 2
    cells = int(min(_MOST_CELLS, max(_LEAST_CELLS, bearable)))
    yield Request(_even(line, edges, weight, outline, cells), left)


def _feigned(noise: Noise, cells: int) -> float:
    """Return what the noise of so many empty cells seldom exceeds."""
    if noise.law == "laplace":
        return float(noise.size) * (math.log(cells) + 1.0)
    return noise.deviation * NormalDist().inv_cdf(1.0 - 0.5 / math.e / cells)


def _around(line: Line, edges: Floats, counts: Ints, noise: Noise) -> tuple[Floats, Floats]:
    """Keep the cells that surely hold something and those about them; merge all others."""
    sure = np.flatnonzero(counts > _feigned(noise, len(counts) * _SELDOM))
    if not len(sure):
        sure = np.array([int(np.argmax(counts))])
    borders = line.borders(edges)
    if line.kind == "date":
        near = (edges >= borders[max(sure[0] - 1, 0)]) & (
            edges <= borders[min(sure[-1] + 2, len(borders) - 1)]
        )
    else:
        near = edges == 0.0
        for border in np.concatenate([borders[sure], borders[sure + 1]]).tolist():
            # Of either sign: where there is 1, there may be -1.
            size = min(abs(border), 2.0**1000)
            near |= (np.abs(edges) <= size * _NEAR) & (np.abs(edges) >= size / _NEAR / 2.0)
    chosen = edges[near]
    groups = np.searchsorted(chosen, np.concatenate([[-np.inf], edges]), side="right")
    merged = np.bincount(groups, weights=counts.astype(np.float64), minlength=len(chosen) + 1)
    joined = np.bincount(groups, minlength=len(chosen) + 1)
    # A cell of many merged ones is mostly noise, and is taken for nearly empty.
    return chosen, np.maximum(np.where(joined == 1, merged, 0.0), noise.deviation / 4.0)


def _halved(line: Line, edges: Floats, weight: Floats) -> Floats:
    """Cut cells into parts by how much they hold."""
    parts = np.minimum(_MOST_PARTS, np.ceil(weight / weight.sum() * _FINEST)).astype(int)
    wanted = [(int(cell), int(parts[cell])) for cell in np.flatnonzero(parts > 1)]
    return _cut(line, edges, wanted, line.cut)


def _cut(
    line: Line,
    edges: Floats,
    wanted: list[tuple[int, int]],
    cut: Callable[[float, float, int], Floats],
) -> Floats:
    borders = line.borders(edges)
    added = [cut(float(borders[at]), float(borders[at + 1]), parts) for at, parts in wanted]
    return np.unique(np.concatenate([edges, *added]))


def _group(edges: Floats, finer: Floats) -> Ints:
    """Return for each finer cell the cell that it is a part of."""
    return np.searchsorted(edges, np.concatenate([[-np.inf], finer]), side="right")


def _spread(line: Line, weight: Floats, finer: Floats, group: Ints) -> Floats:
    """Guess the weights of finer cells: those of the cells they are parts of, by their widths."""
    widths = np.maximum(line.widths(finer), 1.0)
    return np.asarray(weight[group] * widths / np.bincount(group, weights=widths)[group])


def _updated(guess: Floats, counts: Ints, noise: Noise, group: Ints) -> Floats:
    """Move guesses towards noisy counts, as far as noise allows.

    A guess may be wrong by as much as itself, and where a count is far from it surely is; so a
    count counts the more, the larger the guess or what noise does not explain. What the parts of a
    cell then hold in excess of it is taken from all of them, by how unsure each is.
    """
    off = np.maximum(guess, np.abs(counts - guess) - 2.0 * noise.deviation)
    trust = off**2 / (off**2 + noise.deviation**2)
    moved = trust * (counts - guess)
    excess = np.bincount(group, weights=moved) / np.bincount(group, weights=trust)
    return np.maximum(guess + moved - trust * excess[group], noise.deviation / 16.0)


def _heavy_cells(line: Line, edges: Floats, weight: Floats, feigned: float) -> list[int]:
    borders = line.borders(edges)
    total = float(weight.sum())
    heavy = weight > _HEAVY_FROM * total
    # About the ranks that people ask for, a value that one record in a hundred has matters too.
    rank = (np.cumsum(weight) - weight / 2.0) / total
    away = np.abs(rank[:, None] - np.array(_RANKS)).min(axis=1) - weight / total / 2.0
    heavy |= (away < _ABOUT) & (weight > _HEAVY_AT_RANKS * total)
    cells = [
        int(cell)
        for cell in np.flatnonzero(heavy & (weight > feigned))
        if not line.single(float(borders[cell]), float(borders[cell + 1]))
    ]
    return sorted(sorted(cells, key=lambda cell: -weight[cell])[:_MOST_HEAVY])


def _isolated(
    line: Line, edges: Floats, weight: Floats, finer: Floats, counts: Ints, alone: Ints
) -> tuple[Floats, Floats]:
    """Make cells of those that stand ``alone``, and spread what is left over their old cells."""
    borders = line.borders(finer)
    both = np.concatenate([edges, borders[alone], borders[alone + 1]])
    joined = np.unique(both[(both > line.lower) & (both < line.end)])
    group = _group(edges, joined)
    guess = _spread(line, weight, joined, group)
    at = np.searchsorted(joined, borders[alone], side="right")
    taken = np.bincount(group[at], weights=counts[alone], minlength=len(weight))
    rest = np.maximum(weight - taken, weight / _FINEST) / weight
    guess *= rest[group]
    guess[at] = counts[alone]
    return joined, guess


def _even(line: Line, edges: Floats, weight: Floats, outline: Floats, cells: int) -> Floats:
    """Return the edges of cells of about equal weight; those of heavy values stay."""
    borders = line.borders(edges)
    total = float(weight.sum())
    below = held = 0.0
    chosen: list[float] = [float(edges[0]), float(edges[-1])] if len(edges) else []
    for cell, mine in enumerate(weight.tolist()):
        rank = (below + mine / 2.0) / total
        wanted = total / (cells * (_FINER if min(rank, 1.0 - rank) < _TAIL else 1))
        below += mine
        lower, upper = float(borders[cell]), float(borders[cell + 1])
        alone = line.single(lower, upper) and mine > _HEAVY_AT_RANKS * total / 2.0
        if alone and min(abs(rank - wanted_rank) for wanted_rank in _RANKS) < _ABOUT:
            wanted = mine
        if mine > 0.8 * wanted:
            chosen.extend((lower, upper))
            held = 0.0
            parts = round(mine / wanted)
            if parts > 1:
                chosen.extend(line.cut(lower, upper, parts).tolist())
            continue
        held += mine
        if held >= wanted:
            chosen.append(upper)
            held = 0.0
    inner = sorted(edge for edge in chosen if edges[0] < edge < edges[-1]) if len(edges) else []
    if inner:
        # A few cells beyond, so that bounds do not end at the end of the line.
        chosen.extend(outline[outline > inner[-1]][:_BEYOND].tolist())
        chosen.extend(outline[outline < inner[0]][-_BEYOND:].tolist())
    return np.unique([edge for edge in chosen if line.lower < edge < line.end])


def usual_share() -> Fraction:
    """Return the part of a column's price that is left for its last histogram, as a rule."""
    return 1 - _POWERS - sum(_TWO_ROUNDS) - 2 * _HEAVY


def threshold(noise: Noise, contribution: int, delta: Fraction) -> int:
    """Return the least noisy count at which a value is named.

    A value that only one person's records have is named with probability ``delta`` at the most. The
    ``contribution`` says how many records a person has, hence how many such values, and how often
    one.
    """
    assert noise.law == "gaussian"
    # The discrete Gaussian is at least t with a probability of exp(-t^2 / 2 variance) at the most.
    tail = sqrt_upper(2 * noise.size * log_inverse_upper(delta / contribution))
    return contribution + math.ceil(tail)
