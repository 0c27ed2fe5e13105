"""The recipe: everything about a detector that is decided before any record is read.

The numbers were chosen by comparing some thirty variants on public sets; how honestly is said in
``docs/questions/learn.md``. A wrong choice costs quality, never privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TypedDict

import numpy as np

from whitecrow.detector.tables import SHIFT, SPAN, UNIT, Tables

_ROUNDS = (Fraction(50, 100), Fraction(26, 100), *3 * (Fraction(8, 100),))
_FEW_COLUMNS = 6
_DROWNED = 10.0
_MOST_PAID = Fraction(1 << 20)  # from there on one record has all tables

MOST_TABLES = 12 * 24
"""How many tables there are at the most, whatever the records are."""


@dataclass(frozen=True)
class Family:
    """Tables of one kind.

    Parameters
    ----------
    ranks : bool
        Whether columns are seen by their ranks, or by their logarithmic coordinate.
    columns : int
        How many columns a table looks at.
    narrow, wide : float
        Between which widths a bin lies, in deviations or thirds of the ranks.
    parts : int
        How many twelfths of all tables are of this kind.
    """

    ranks: bool
    columns: int
    narrow: float
    wide: float
    parts: int


_FAMILIES = (
    Family(False, 1, 0.25, 0.5, 1),
    Family(False, 2, 0.5, 1.0, 1),
    Family(False, 3, 0.75, 1.5, 3),
    Family(False, 6, 2.0, 3.5, 4),
    Family(True, 2, 1.0, 2.0, 1),
    Family(True, 3, 1.5, 3.0, 2),
)


def marginal_share(law: str, total: Fraction) -> Fraction:
    """Return the part of the price for the distributions of single columns.

    Coordinates that are wrong spoil every table, so a small price spends more on them.
    """
    if law == "gaussian":
        return Fraction(1, 2) if total < Fraction(1, 1000) else Fraction(3, 10)
    return Fraction(2, 5) if total < Fraction(1, 2) else Fraction(1, 5)


def rounds() -> tuple[Fraction, ...]:
    """Return how the marginals' part is divided among their five rounds."""
    return _ROUNDS


def families(law: str, records: float, total: Fraction) -> tuple[tuple[Family, int], ...]:
    """Return how many tables of each family there are, from the released number of records.

    Gaussian noise grows with the root of the number of tables, Laplace noise with the number: few
    tables, and fewer for few records.
    """
    paid = float(min(total, _MOST_PAID))
    if law == "gaussian":
        unit = max(12, min(24, round(records * math.sqrt(paid) / 10)))
    else:
        unit = max(1, min(6, round(records * paid / 360)))
    return tuple((family, family.parts * unit) for family in _FAMILIES)


class Weights(TypedDict):
    """What counts how much in a score; the fields of the model have the same names."""

    peak: float
    tail: float
    far: float
    ranks: float


def weights_of(columns: int, doubt: float) -> Weights:
    """Return what counts how much in a score.

    With few columns an outlier shows in few tables, and strongly: single strange cells count for
    more, and so do far ones; ranks, which see no distances, count for less, and tails for nothing,
    since the tables see them. With many columns it shows weakly in many tables.

    Parameters
    ----------
    columns : int
    doubt : float
        Which part of the records noise may hide in a column's distribution. Where that is much, the
        middle is not known, nor what is far from it.
    """
    few = min(1.0, (_FEW_COLUMNS / columns) ** 2)
    clear = few / (1.0 + (_DROWNED * doubt) ** 2)
    return Weights(
        peak=4.0 * few,
        tail=0.3 * min(1.0, 2 * _FEW_COLUMNS / columns) * (1.0 - clear),
        far=2.0 * clear,
        ranks=1.0 - 0.5 * clear,
    )


def draw_tables(columns: int, wanted: tuple[tuple[Family, int], ...], seed: int) -> Tables:
    """Draw a layout from public randomness: columns by balanced permutations, widths, offsets."""
    lots = Random(seed)
    start, axis, offset, pace = [0], [], [], []
    for family, count in wanted:
        waiting: list[int] = []
        for _ in range(count):
            for column in _next_columns(lots, waiting, columns, min(family.columns, columns)):
                ratio = math.log(family.wide / family.narrow)
                width = family.narrow * math.exp(ratio * lots.random()) * UNIT
                axis.append(column + (columns if family.ranks else 0))
                offset.append(int(lots.random() * width))
                pace.append(round((1 << SHIFT) / width))
            start.append(len(axis))
    return Tables(*(np.array(part, dtype=np.int32) for part in (start, axis, offset, pace)))


def _next_columns(lots: Random, waiting: list[int], columns: int, size: int) -> list[int]:
    """Take the next distinct columns off a permutation, shuffling another when it is used up."""
    chosen: list[int] = []
    put_back: list[int] = []
    while len(chosen) < size:
        if not waiting:
            waiting.extend(sorted(range(columns), key=lambda _: lots.random()))
        column = waiting.pop()
        (put_back if column in chosen else chosen).append(column)
    waiting.extend(reversed(put_back))
    return chosen


assert (SPAN + 8 * UNIT) * ((1 << SHIFT) // (UNIT // 8)) < 1 << 31  # bins fit in 32 bits
