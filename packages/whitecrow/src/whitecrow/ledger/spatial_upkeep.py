"""The spatial index beside asking: a ball that is given back, and what a full check reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from whitecrow.errors import LedgerCorrupt
from whitecrow.ledger import spatial_statements as sql
from whitecrow.ledger.account import Located
from whitecrow.ledger.spatial import (
    Ball,
    Depths,
    Place,
    SpatialIndex,
    ball_of,
    in_tally,
    read_depths,
    written,
)

MOST_REFRESHED = 16
"""How many depths are computed anew when a ball is given back; the others stay as bounds."""

_ZERO = Fraction(0)
_AT_ONCE = 2000
"""How many balls are read at once."""


def remove(index: SpatialIndex, seq: int, analyst: str) -> tuple[Located, Located]:
    """Take a ball out of the tallies; return the change of the dataset's price and the analyst's.

    Depths of later balls that touch it may have counted it. Those that rule the price are
    computed anew, a bounded number of them; the others remain, never too small.
    """
    row = _row(index, seq)
    gone = ball_of(row)
    name: str = row.sheet
    sheet = index.sheet(name, analyst)
    index.session.run(sql.REMOVE, account=index.dataset, at_seq=seq)
    touched = index.touched(name, sheet.bands, gone) or []
    later = {one.seq: one for one in touched if one.seq > seq}
    for _ in range(MOST_REFRESHED):
        stale = _ruling(index, name, analyst, later)
        if stale is None:
            break
        _refresh(index, name, sheet.bands, later.pop(stale))
    left = tuple(_deepest(index, name, analyst))
    changed = replace(sheet, prices=left, version=sheet.version + 1)
    index.write(name, analyst, changed, sheet)
    less = [new - old for new, old in zip(left, sheet.prices, strict=True)]
    return Located(*less[:2]), Located(*less[2:])


def _row(index: SpatialIndex, seq: int) -> Any:
    row = index.session.one(sql.ONE_BALL, account=index.dataset, at_seq=seq)
    if row is None:
        raise LedgerCorrupt(
            "A ball is missing from the spatial index; run 'whitecrow ledger verify --full'."
        )
    return row


def _deepest(index: SpatialIndex, name: str, analyst: str) -> list[Fraction]:
    """The largest depth in each tally, over all balls of a sheet."""
    most = [_ZERO] * 4
    for row in index.session.rows(sql.DISTINCT, account=index.dataset, sheet_name=name):
        for tally, depth in enumerate(read_depths(row.depths)):
            if depth is not None and (tally < 2 or row.analyst == analyst):
                most[tally] = max(most[tally], depth)
    return most


def _ruling(index: SpatialIndex, name: str, analyst: str, later: dict[int, Ball]) -> int | None:
    """A ball whose depth may be out of date and is the largest in some tally."""
    if not later:
        return None
    most = _deepest(index, name, analyst)
    for seq in sorted(later, reverse=True):
        row = _row(index, seq)
        for tally, depth in enumerate(read_depths(row.depths)):
            if depth == most[tally] and (tally < 2 or row.analyst == analyst):
                return seq
    return None


def _refresh(index: SpatialIndex, name: str, bands: Iterable[int], ball: Ball) -> None:
    """Compute a ball's depths anew, from the balls that were asked before it."""
    met = index.touched(name, bands, ball)
    if met is None:
        return
    met = [one for one in met if one.seq < ball.seq]
    depths = tuple(
        None
        if tally % 2 == 0 and not ball.everyone
        else index.depth(ball, in_tally(tally, ball.analyst, met), _ZERO, brief=False)
        for tally in range(4)
    )
    index.session.run(
        sql.DEEPEN, account=index.dataset, at_seq=ball.seq, new_depths=written(depths)
    )


def rows(index: SpatialIndex) -> Iterator[tuple[Ball, Place, Depths]]:
    """Every ball in the order they were asked, with where it is looked up and its depths."""
    after = 0
    while True:
        found = index.session.rows(sql.ALL, account=index.dataset, after=after, most=_AT_ONCE)
        for row in found:
            yield ball_of(row), (row.sheet, row.band, row.u, row.v), read_depths(row.depths)
        if len(found) < _AT_ONCE:
            return
        after = found[-1].seq


def kept_sheets(index: SpatialIndex) -> dict[tuple[str, str], tuple[Located, frozenset[int]]]:
    """What is kept of each sheet, everybody's under the empty name: its price and its bands."""
    return {
        (row.sheet, row.analyst): (
            Located(Fraction(row.differential), Fraction(row.sensitive)),
            frozenset(map(int, row.bands.split())),
        )
        for row in index.session.rows(sql.PRICES, account=index.dataset)
    }


class Sheets:
    """What must be kept of each sheet, from its balls: the largest depths, and their sizes."""

    def __init__(self) -> None:
        self._most: dict[tuple[str, str], Located] = {}
        self._bands: dict[str, set[int]] = {}

    def add(self, ball: Ball, place: Place, depths: Depths) -> None:
        """Count a ball with the depths that are kept of it."""
        name, band, *_ = place
        self._bands.setdefault(name, set()).add(band)
        for analyst, lines in (("", depths[:2]), (ball.analyst, depths[2:])):
            most = self._most.get((name, analyst), Located())
            differential, sensitive = (depth or _ZERO for depth in lines)
            self._most[name, analyst] = Located(
                max(most.differential, differential), max(most.sensitive, sensitive)
            )

    def differ(self, kept: dict[tuple[str, str], tuple[Located, frozenset[int]]]) -> bool:
        """Whether a sheet is kept that its balls do not make."""
        nothing: tuple[Located, frozenset[int]] = (Located(), frozenset())
        for name, analyst in {*kept, *self._most}:
            price, bands = kept.get((name, analyst), nothing)
            most = self._most.get((name, analyst), Located())
            # An analyst's price may stay above when another one's ball was given back.
            if not analyst and (price != most or not bands >= self._bands.get(name, set())):
                return True
            if price.differential < most.differential or price.sensitive < most.sensitive:
                return True
        return False
