"""The alarm: which columns have moved, from released counts alone, with a bound on false alarms.

The newest periods are compared with all before them: for each column the parts of the records in
eight cells that held about equally many at first. ``proof.md`` 4 bounds how far two such parts
differ if the records are draws from one law; beyond that the column has moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whitecrow.detector import Model
from whitecrow.histogram.noise_budget import Noise
from whitecrow.monitor.streams import Floats, Ints, Strategy

CELLS = 8
_ROUNDS = 4


def groups(model: Model) -> list[Ints]:
    """Return for each cell of each column the coarse cell it belongs to, from released parts.

    With an order: eighths of the records of the first step. Without: the seven most common values
    each by itself, then all others.
    """
    return [
        _eighths(share) if grid.ordered else _commonest(share)
        for grid, share in zip(model.grids, model.shares, strict=True)
    ]


def _eighths(share: Floats) -> Ints:
    below = np.cumsum(share)
    ends = np.searchsorted(below, np.arange(1, CELLS) / CELLS)
    ends = np.unique(ends[ends < len(share) - 1])
    return np.searchsorted(ends, np.arange(len(share)), side="left")


def _commonest(share: Floats) -> Ints:
    rank = np.argsort(np.argsort(-share, kind="stable"), kind="stable")
    return np.minimum(rank, CELLS - 1)


@dataclass(frozen=True)
class Watched:
    name: str
    cells: int
    ordered: bool  # sets of cells from the first on are compared; else cells of a single value

    @cached_property
    def sets(self) -> Floats:
        """The sets of cells whose parts are compared: one row each, of zeros and ones."""
        if self.ordered:
            return np.tril(np.ones((self.cells, self.cells)))[:-1]
        # The last of eight may be several values, put together by what was released.
        alone = self.cells if 2 < self.cells < CELLS else self.cells - 1
        return np.eye(self.cells)[:alone]


def watched_columns(layout: Model) -> tuple[Watched, ...]:
    """Return the columns of a layout as the alarm sees them."""
    return tuple(
        Watched(grid.name, int(group.max()) + 1, grid.ordered)
        for grid, group in zip(layout.grids, groups(layout), strict=True)
    )


@dataclass(frozen=True)
class Move:
    """How far a column has moved at a step, beside what chance and noise explain."""

    column: str
    since: int  # the first of the newest periods that differ most from all before
    shift: float  # by how much the part of the records in some set of cells differs
    bound: float  # by how much it may differ without drift; infinite where nothing can be said

    @property
    def alarm(self) -> bool:
        return abs(self.shift) > self.bound

    @property
    def ratio(self) -> float:
        """The shift over the bound: an alarm above 1."""
        return abs(self.shift) / self.bound


@dataclass(frozen=True)
class Watch:
    """The alarm of a series."""

    strategy: Strategy
    noise: Noise  # of every released number
    columns: tuple[Watched, ...]  # in the order of the released numbers
    rate: float  # the chance of any alarm at all over the whole horizon, without drift

    @cached_property
    def weight(self) -> float:
        """``ln(2 m / rate)`` for the ``m`` events that the bound on false alarms excludes."""
        horizon = self.strategy.horizon
        spans = sum(len(_newest(step)) for step in range(1, horizon)) + horizon - 1
        events = sum(len(column.sets) * spans + spans + 2 for column in self.columns)
        return math.log(2 * max(1, events) / self.rate)

    def scan(self, releases: Sequence[Ints]) -> list[list[Move]]:
        """Return for each step how far each column has moved; nothing at the first."""
        ends = np.cumsum([column.cells for column in self.columns])[:-1]
        parts = np.split(np.stack(releases).astype(np.float64), ends, axis=1)
        by_column = map(self._moves, self.columns, parts)
        return [[], *(list(moves) for moves in zip(*by_column, strict=True))]

    def _moves(self, column: Watched, releases: Floats) -> list[Move]:
        """Return for each step after the first the comparison that stands out most."""
        before = [self._parts(column, releases, 0, last) for last in range(1, len(releases))]
        moves = []
        for step in range(1, len(releases)):
            best = Move(column.name, step, 0.0, math.inf)
            for first, last in _newest(step) if len(column.sets) else ():
                here, near = self._parts(column, releases, first, last)
                there, far = before[first - 1]
                shift, bound = here - there, near + far
                most = int(np.argmax(np.abs(shift) / bound))
                move = Move(column.name, first, float(shift[most]), float(bound[most]))
                best = max(best, move, key=lambda other: other.ratio)
            moves.append(best)
        return moves

    def _parts(
        self, column: Watched, releases: Floats, first: int, last: int
    ) -> tuple[Floats, Floats]:
        """Return the parts of a span's records in each set, and by how much they may be off."""
        counts = self.strategy.weights(first, last) @ releases[:last]
        total = float(counts.sum())
        if total <= 0.0:
            return np.zeros(len(column.sets)), np.full(len(column.sets), math.inf)
        # The first period chose the cells: the chance in it is bounded for all cells at once.
        records = self._most(column, releases, max(1, first), last)
        chosen = 0.0
        if first == 0:
            most = self._most(column, releases, 0, 1)
            chosen = (1 if column.ordered else 2) * math.sqrt(most * self.weight / 2.0)
        parts, inside = column.sets @ counts / total, column.sets.sum(axis=1)
        off = np.full(len(inside), math.inf)
        for _ in range(_ROUNDS):  # the noise depends on the true part, which lies this near
            low, high = np.clip(parts - off, 0.0, 1.0), np.clip(parts + off, 0.0, 1.0)
            cells = np.maximum(
                *((1 - end) ** 2 * inside + end**2 * (column.cells - inside) for end in (low, high))
            )
            noisy = self._off(first, last, cells, records)
            off = np.minimum(off, (noisy + chosen) / total)
        return parts, off

    def _most(self, column: Watched, releases: Floats, first: int, last: int) -> float:
        if first >= last:
            return 0.0
        counts = self.strategy.weights(first, last) @ releases[:last]
        off = self._off(first, last, np.array([column.cells]), 0.0)[0]
        return max(0.0, float(counts.sum()) + float(off))

    def _off(self, first: int, last: int, cells: Floats, records: float) -> Floats:
        """Bound the noise of sums of so many cells with the chance in so many records.

        Their moment generating function is at most ``exp(rate^2 size)`` up to a rate
        (``proof.md`` 4); Chernoff's bound at the best rate.
        """
        weights = self.strategy.weights(first, last)
        square = float(weights @ weights)
        if self.noise.law == "gaussian":
            size = records / 8.0 + cells * (float(self.noise.size) * square / 2.0)
            return np.asarray(2.0 * np.sqrt(self.weight * size))
        scale = float(self.noise.size)
        size = records / 8.0 + cells * (2.0 * math.log(2.0) * scale**2 * square)
        most = 1.0 / (math.sqrt(2.0) * scale * float(np.abs(weights).max()))
        rate = np.minimum(np.sqrt(self.weight / size), most)
        return np.asarray(self.weight / rate + rate * size)

    def detectable(self, per_period: float) -> float:
        """Return a shift that is sure to be seen by the last step, if it lasts half the horizon."""
        horizon = self.strategy.horizon
        middle = horizon // 2
        if middle < 1:
            return math.inf
        half = np.array([CELLS / 4])  # half of the records in half of the cells
        total = 0.0
        for first, last in ((0, middle), (middle, horizon)):
            records = (last - first) * per_period
            total += float(self._off(first, last, half, records)[0]) / records
        return 2.0 * total


def _newest(step: int) -> list[tuple[int, int]]:
    """The newest periods that are looked at: the last 1, 2, 4, ... of a step."""
    return [(step + 1 - (1 << k), step + 1) for k in range(step.bit_length())]
