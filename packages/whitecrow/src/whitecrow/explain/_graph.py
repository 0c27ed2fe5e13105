"""The context graph of one record in the data: verdicts and utilities on demand. All private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import KERNELS
from whitecrow.anomaly.detectors import FewWithin
from whitecrow.explain._utilities import CustomUtility, Isolation, Overlap, Utility
from whitecrow.explain.contexts import Space
from whitecrow.explain.population import Population
from whitecrow.explain.verdicts import Verdicts, all_sums
from whitecrow.question import Progress

_MOST_LEVELS = 2**24
_FEW_SCORES = 2**20
"""Up to this many numpy sorts sooner than the compiler is loaded."""

Counts = NDArray[np.int64]


class DataGraph:
    """What a search asks of the data.

    The population is everyone but the record. ``everywhere`` says whether every context matches
    (the unconditional notion), or only where the record is an outlier; ``cuts`` are the edges of a
    utility of one's own, in steps from the record's metric.
    """

    def __init__(
        self,
        space: Space,
        population: Population,
        verdicts: Verdicts,
        utility: Utility,
        *,
        everywhere: bool = False,
        cuts: Sequence[int] = (),
    ) -> None:
        self.bits = space.bits
        self._space = space
        self.population = population
        self._verdicts = verdicts
        self._utility = utility
        self._everywhere = everywhere
        self._cuts = cuts
        self.start: int | None = None
        self._matches: dict[int, bool] = {}
        self._scores: dict[int, int] = {}
        self._all_matches: NDArray[np.bool_] | None = None
        self._all_scores: Counts | None = None
        self._levels: tuple[list[int], list[int]] | None = None
        self._table = lru_cache(maxsize=256)(self._custom_table)

    def unexplored(self) -> DataGraph:
        """Return the same graph with nothing evaluated yet."""
        return DataGraph(
            self._space,
            self.population,
            self._verdicts,
            self._utility,
            everywhere=self._everywhere,
            cuts=self._cuts,
        )

    def enumerate(self, progress: Progress | None = None) -> None:
        """Evaluate every context now, for the direct search."""
        count = 1 << self.bits
        if self._everywhere:
            self._all_matches = np.ones(count, dtype=bool)
        else:
            self._all_matches = self._verdicts.all(progress)

    def begin(self, start: int) -> None:
        if isinstance(self._utility, Overlap) and start != self.start:
            self._scores.clear()
            self._levels = None
        self.start = start

    def match(self, contexts: Sequence[int]) -> list[bool]:
        """Say in which of these the record is an outlier; remembered."""
        if self._everywhere:
            return [True] * len(contexts)
        if self._all_matches is not None:
            return [bool(self._all_matches[context]) for context in contexts]
        fresh = [context for context in contexts if context not in self._matches]
        if fresh:
            self._matches.update(zip(fresh, self._verdicts.some(fresh).tolist(), strict=True))
        return [self._matches[context] for context in contexts]

    def matching(self) -> NDArray[np.bool_]:
        """Return for every context whether it matches."""
        if self._all_matches is None:
            self.enumerate()
        assert self._all_matches is not None
        return self._all_matches

    def utility(self, contexts: Sequence[int]) -> list[int]:
        fresh = [context for context in contexts if context not in self._scores]
        if fresh:
            sums = self._some(self.population.words(fresh))
            self._scores.update(zip(fresh, self._score(sums, fresh).tolist(), strict=True))
        return [self._scores[context] for context in contexts]

    def levels(self) -> tuple[list[int], list[int]]:
        """Return the different utilities of matching contexts and how many have each."""
        if self._levels is None:
            self._levels = self._counted()
        return self._levels

    def _counted(self) -> tuple[list[int], list[int]]:
        matches = self.matching()
        every = range(1 << self.bits)
        self._all_scores = scores = self._score(self._all, every)
        if KERNELS.loaded or len(scores) > _FEW_SCORES:
            from whitecrow.explain import _kernels

            low, counts = _kernels.tally(scores, matches, _MOST_LEVELS)
            if len(counts):
                levels = np.flatnonzero(counts)
                return (levels + low).tolist(), counts[levels].tolist()
        values, numbers = np.unique(scores[matches], return_counts=True)
        return values.tolist(), numbers.tolist()

    def member(self, level: int, place: int) -> int:
        """Return one of the matching contexts of that utility, by its place among them."""
        assert self._all_scores is not None
        return int(np.flatnonzero(self.matching() & (self._all_scores == level))[place])

    def _some(self, words: NDArray[np.uint64]) -> Callable[[Counts], Counts]:
        from whitecrow.explain import _kernels

        def sums(amounts: Counts) -> Counts:
            found: Counts = _kernels.batch_sums(self.population.signatures, amounts, words, 1)
            return found

        return sums

    def _all(self, amounts: Counts) -> Counts:
        return all_sums(self.population, amounts, 1)

    def _score(self, sums: Callable[[Counts], Counts], contexts: Sequence[int]) -> Counts:
        """Turn sums over cells (the record counts 1) into utilities."""
        population, utility = self.population, self._utility
        if isinstance(utility, Overlap):
            assert self.start is not None
            return sums(population.size * population.inside(self.start))
        sizes = sums(population.size)
        if isinstance(utility, Isolation):
            detector = self._verdicts.detector
            assert isinstance(detector, FewWithin)
            near = sums(population.near(detector.reach))
            margin = utility.spread * (detector.beta + 1 - near)
            backed = detector.beta * (sizes - near)
            return np.asarray(np.minimum(margin, backed), dtype=np.int64)
        if isinstance(utility, CustomUtility):
            places = np.minimum(sizes, utility.limit) - 1
            if utility.edges:
                places = self._bands(utility.limit, sums)
            return self._custom(places, contexts)
        return sizes

    def _bands(self, limit: int, sums: Callable[[Counts], Counts]) -> Counts:
        """Where in the utility's table each context stands: by the records of each band."""
        own = int(np.searchsorted(self._cuts, 0, side="right"))
        places: Counts = np.zeros(1, dtype=np.int64)
        for band, amounts in enumerate(self.population.bands(self._cuts)):
            counts = sums(amounts) - (band != own)  # sums count the record wherever it is
            places = places * (limit + 1) + np.minimum(counts, limit)
        return places

    def _custom(self, places: Counts, contexts: Sequence[int]) -> Counts:
        shapes = self._shapes(contexts)
        found = np.empty(len(places), dtype=np.int64)
        order = np.argsort(shapes, kind="stable")
        cuts = np.flatnonzero(np.diff(shapes[order])) + 1
        for group in np.split(order, cuts):
            if len(group):
                found[group] = self._table(int(shapes[group[0]]))[places[group]]
        return found

    def _custom_table(self, shape: int) -> Counts:
        assert isinstance(self._utility, CustomUtility)
        values = {}
        for attribute in reversed(self._space.attributes):
            shape, chosen = divmod(shape, attribute.size)
            values[attribute.name] = chosen + 1
        return self._utility.table(values)

    def _shapes(self, contexts: Sequence[int]) -> NDArray[np.int64]:
        """Return how many free values of each attribute a context has, as one mixed number."""
        if isinstance(contexts, range):
            every = np.arange(len(contexts), dtype=np.uint64)
            found = np.zeros(len(every), dtype=np.int64)
            for attribute, shift in zip(self._space.attributes, self._space.shifts, strict=True):
                mask = np.uint64((1 << (attribute.size - 1)) - 1)
                chosen = np.bitwise_count((every >> np.uint64(shift)) & mask)
                found = found * attribute.size + chosen
            return found
        shapes = []
        for context in contexts:
            shape = 0
            for attribute, codes in zip(
                self._space.attributes, self._space.chosen(context), strict=True
            ):
                shape = shape * attribute.size + len(codes) - 1
            shapes.append(shape)
        return np.array(shapes, dtype=np.int64)
