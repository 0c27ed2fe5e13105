"""The engine that counts where the records are: in a file on disk, or on a cluster.

Few columns: the warehouse counts the records of each cell, cells are certified from that histogram,
and only the records of the others travel, with those they touch. More columns, other metrics: the
compiled kernel runs beside the records, with pivots that certify most of them. Either way the
predicate decides on the same doubles as in the local engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from whitecrow._arrays import Counts, Matrix
from whitecrow.data.warehouse import Asked, RemoteDataset, Yields
from whitecrow.neighbours import _pivots as pivots
from whitecrow.neighbours import cells
from whitecrow.neighbours.index import near_together
from whitecrow.neighbours.plans import CountsByForm, checked_cap, count_records
from whitecrow.neighbours.relation import Form, NeighbourRelation
from whitecrow.neighbours.work import (
    GATHERED,
    INDEXED,
    Cells,
    Counting,
    CountingNear,
    Group,
    Histogram,
    Nearby,
    Sampled,
    Uncovered,
    Within,
    added,
)

_MANY = 1024  # records asked about from which on it pays to bring near ones together


@dataclass(frozen=True)
class Bounds:
    """What may come to this process at one time, and when records move between workers."""

    sample: int = 1 << 15  # records of the sample that chooses cells and pivots
    cells: int = 1 << 18  # cells of the histogram, about; at most four times as many
    held: int = 1 << 21  # records of uncertified cells and of the cells they touch, held together
    asked: int = 1 << 20  # uncertified records that are sent out to be counted, at a time
    # Records around one that is asked about, before the work goes to them instead.
    few: int = 1 << 14
    # Moving so many records to others near them takes as long as counting for one in an index more:
    # they move where that is less.
    moved: int = 2


class RemoteEngine(CountsByForm):
    """Counts neighbours among records that stay in their warehouse."""

    def __init__(self, dataset: RemoteDataset, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - a frozen value
        self._dataset = dataset
        self._warehouse = dataset.warehouse
        self._bounds = bounds

    def __repr__(self) -> str:
        return "<RemoteEngine: records elsewhere>"

    def degrees(self, neighbour_relation: NeighbourRelation, cap: int | None = None) -> Counts:
        """Return min(number of close records, itself included, cap) for each data record.

        Records elsewhere have no order: those below the cap come first.
        """
        size = self._dataset.count(neighbour_relation.columns)
        limit = checked_cap(cap, size, "degrees")
        counts = self.sparse(neighbour_relation, max(1, limit))[1]
        return np.concatenate([counts, np.full(size - len(counts), limit, np.int64)])

    def sparse(self, neighbour_relation: NeighbourRelation, cap: int) -> tuple[Matrix, Counts]:
        checked_cap(cap, 1, "sparse")
        sample = self._sample(neighbour_relation)
        outcomes = (plan(self, neighbour_relation, sample, cap) for plan in _PLANS)
        return next(answer for answer in outcomes if answer is not None)

    def _count(
        self, asked: Matrix, relation: NeighbourRelation, form: Form, cap: int | None
    ) -> Counts:
        """Count for a batch of records, where the records are."""
        columns = relation.columns
        limit = checked_cap(cap, self._about(columns), "engine")
        if limit == 0 or len(asked) == 0:
            return np.zeros(len(asked), np.int64)
        everything = self._dataset.records(columns)
        return self._count_in_batches(form, form.placed(asked), limit, everything)

    def _by_cells(
        self, neighbour_relation: NeighbourRelation, sample: Matrix, cap: int
    ) -> tuple[Matrix, Counts] | None:
        """Certify cells from their histogram; None where there are too many, or too few certify."""
        bounds, form = self._bounds, neighbour_relation.form()
        if not form.plain or not len(sample):  # cells are of values as they are
            return None
        size = self._about(neighbour_relation.columns)
        lattice = cells.lay_out(sample, form, size, min(bounds.cells, max(1024, size // 4)))
        histogram = None if lattice is None else self._histogram(neighbour_relation, lattice)
        if lattice is None or histogram is None or len(histogram) > 4 * bounds.cells:
            return None
        counted = int(histogram[:, 1].sum())
        self._dataset.remember_count(neighbour_relation.columns, counted)
        judged = lattice.judged(histogram[:, 0].copy(), histogram[:, 1].copy(), cap)
        if judged.asked > max(counted // 8, bounds.asked):
            return None
        parts = [
            self._by_batch(neighbour_relation, lattice, batch, cap)
            for batch in judged.batches(bounds.asked)
        ]
        width = len(neighbour_relation.columns)
        points = [np.empty((0, width)), *(points for points, _ in parts)]
        counts = [np.zeros(0, np.int64), *(counts for _, counts in parts)]
        return np.concatenate(points), np.concatenate(counts)

    def _by_batch(
        self,
        neighbour_relation: NeighbourRelation,
        lattice: cells.Lattice,
        batch: cells.Batch,
        cap: int,
    ) -> tuple[Matrix, Counts]:
        """Count for the records of some cells: here if what they touch is little, else there."""
        form, bounds = neighbour_relation.form(), self._bounds
        if batch.nearby <= min(bounds.held, 4 * batch.asked + bounds.few):
            values = self._within(neighbour_relation, lattice, batch.near)
            asking = values[np.isin(lattice.keys(values), batch.asking)]
            counts = count_records(values, form, asking, cap)
        else:
            asking = self._within(neighbour_relation, lattice, batch.asking)
            counts = self._count_near(neighbour_relation, lattice, batch, asking, cap)
        return asking[counts < cap], counts[counts < cap]

    def _histogram(self, neighbour_relation: NeighbourRelation, lattice: cells.Lattice) -> Counts:
        """Return the inhabited cells and their records; too many where they are too many."""
        most = 4 * self._bounds.cells + 1
        everything = self._dataset.records(neighbour_relation.columns)
        yields = Yields(2, totals=True, most=most)
        listed = self._dataset.rows_of(everything, Histogram(lattice, most), yields)
        return np.column_stack(added(*listed.T.astype(np.int64)))

    def _within(
        self, neighbour_relation: NeighbourRelation, lattice: cells.Lattice, wanted: Counts
    ) -> Matrix:
        """Return the records of some cells."""
        everything = self._dataset.records(neighbour_relation.columns)
        yields = Yields(len(neighbour_relation.columns))
        return self._dataset.rows_of(everything, Within(Cells(lattice, wanted)), yields)

    def _by_pivots(
        self, neighbour_relation: NeighbourRelation, sample: Matrix, cap: int
    ) -> tuple[Matrix, Counts]:
        """Certify records by pivots; count the others where the records are, share by share."""
        size, width = self._about(neighbour_relation.columns), len(neighbour_relation.columns)
        form = neighbour_relation.form()
        everything = self._dataset.records(neighbour_relation.columns)
        chosen = pivots.choose(form.placed(sample), form, size, cap)
        covers: tuple[Group, ...] = ()
        if chosen.inner:
            held = self._in_groups(chosen.inner, cap, everything)
            covers = chosen.holding(held >= cap)
        share_open = chosen.open if covers else 1.0
        shares = max(1, math.ceil(1.25 * (share_open + 0.001) * size / self._bounds.asked))
        points, counts = [], []
        for share in range(shares):
            work = Uncovered(covers, share, shares, self._warehouse.spread)
            asking = self._dataset.rows_of(everything, work, Yields(width))
            near = self._count_in_batches(form, form.placed(asking), cap, everything)
            points.append(asking[near < cap])
            counts.append(near[near < cap])
        return np.concatenate(points), np.concatenate(counts)

    def _count_near(
        self,
        neighbour_relation: NeighbourRelation,
        lattice: cells.Lattice,
        batch: cells.Batch,
        asking: Matrix,
        cap: int,
    ) -> Counts:
        """Count in workers, where the records lie, or moved together if they are too many."""
        form, query = neighbour_relation.form(), self._dataset.records(neighbour_relation.columns)
        nearby = Nearby.of(lattice, batch)
        indexes = -(-batch.nearby // INDEXED)
        bounds = self._bounds
        spread = self._warehouse.spread
        moved = spread and bounds.held < batch.nearby < batch.asked * indexes * bounds.moved
        if moved:
            query = replace(query, groups=nearby.grouping(batch.held))
        together = GATHERED if moved else INDEXED
        work = partial(CountingNear, nearby, cap=cap, together=together, alone=spread)

        def count(some: Matrix) -> Counts:
            return self._dataset.totals(query, work(group=Group(form, some)), len(some))

        return np.minimum(self._in_steps(asking, count), cap)

    def _count_in_batches(self, form: Form, asking: Matrix, cap: int, query: Asked) -> Counts:
        """Count for many records, so many at a time as may be sent out together."""
        return self._in_steps(
            asking, lambda some: self._in_groups((Group(form, some),), cap, query)
        )

    def _in_steps(self, asking: Matrix, count: Callable[[Matrix], Counts]) -> Counts:
        """Count for some records after others, near ones together."""
        counts = np.zeros(len(asking), np.int64)
        order = near_together(asking) if len(asking) >= _MANY else np.arange(len(asking))
        for first in range(0, len(asking), self._bounds.asked):
            some = order[first : first + self._bounds.asked]
            counts[some] = count(asking[some])
        return counts

    def _in_groups(self, groups: tuple[Group, ...], cap: int, query: Asked) -> Counts:
        """Count close records among those of a query, where they are."""
        work = Counting(groups, cap, self._warehouse.spread)
        asked = sum(len(group.asked) for group in groups)
        return np.minimum(self._dataset.totals(query, work, asked), cap)

    def _about(self, columns: tuple[str, ...]) -> int:
        """Return the number of records, or a bound on it if one is known unread."""
        most = self._dataset.size_at_most
        return self._dataset.count(columns) if math.isinf(most) else int(most)

    def _sample(self, neighbour_relation: NeighbourRelation) -> Matrix:
        """Return some records. They decide how the work is split, and never the counts."""
        width = len(neighbour_relation.columns)
        everything = self._dataset.records(neighbour_relation.columns)
        near = self._warehouse.peek(everything, self._bounds.sample)
        if near is not None and len(near):
            return near
        # One reading finds the size too, where something like it is known before.
        part = min(1.0, self._bounds.sample / max(1, self._about(neighbour_relation.columns)))
        drawn = self._dataset.rows_of(everything, Sampled(part), Yields(width + 1))
        numbers = drawn[:, -1] == 1.0
        counted = int(drawn[numbers, 0].sum())
        self._dataset.remember_count(neighbour_relation.columns, counted)
        sample = drawn[~numbers, :-1]
        return sample[np.random.default_rng(len(sample)).permutation(len(sample))]


_PLANS: tuple[Callable[..., tuple[Matrix, Counts] | None], ...] = (
    RemoteEngine._by_cells,
    RemoteEngine._by_pivots,
)
"""How :meth:`RemoteEngine.sparse` may count: the first that answers does, and the last always."""
