"""What ``explain`` must know of the data, and where it becomes an answer.

Verdicts and utilities in every context are private; what is released of them is a private search of
the context graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.detectors import FewWithin
from whitecrow.data import Records
from whitecrow.explain._utilities import CustomUtility, Isolation, Overlap, Utility
from whitecrow.explain.contexts import Space
from whitecrow.explain.question import Explain
from whitecrow.explain.search import Draws, search
from whitecrow.explain.verdicts import Counts, Population, Verdicts, all_sums, some_sums
from whitecrow.neighbours import Engine
from whitecrow.noise import Source
from whitecrow.privacy import Facts
from whitecrow.question import Progress

_MOST_LEVELS = 2**24
_CHUNK = 2**20
"""At least so many scores are counted together; not all, to need little memory beside them."""

Sums = Callable[[Counts], Counts]
"""Adds up an amount of each cell over some contexts, in which the record counts 1."""


@dataclass(eq=False)
class DataGraph:
    """What a search asks of the data. The population is everyone but the record."""

    space: Space
    population: Population
    verdicts: Verdicts
    preferred: Utility
    # Whether every context matches (the unconditional notion), or only where it is an outlier.
    everywhere: bool
    # The edges of a utility of one's own, in steps from the record's metric.
    cuts: Sequence[int]
    start: int | None = field(default=None, init=False)
    _matches: dict[int, bool] = field(default_factory=dict, init=False)
    _scores: dict[int, int] = field(default_factory=dict, init=False)
    _all_matches: NDArray[np.bool_] | None = field(default=None, init=False)
    _all_scores: Counts | None = field(default=None, init=False)
    _levels: tuple[list[int], list[int]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.bits = self.space.bits
        self._table = lru_cache(maxsize=256)(self._custom_table)

    def begin(self, start: int) -> None:
        if isinstance(self.preferred, Overlap) and start != self.start:
            self._scores.clear()
            self._levels = None
        self.start = start

    def match(self, contexts: Sequence[int]) -> list[bool]:
        """Say in which of these the record is an outlier; remembered."""
        if self.everywhere:
            return [True] * len(contexts)
        if self._all_matches is not None:
            return [bool(self._all_matches[context]) for context in contexts]
        fresh = [context for context in contexts if context not in self._matches]
        if fresh:
            self._matches.update(zip(fresh, self.verdicts.some(fresh).tolist(), strict=True))
        return [self._matches[context] for context in contexts]

    def matching(self, progress: Progress | None = None) -> NDArray[np.bool_]:
        """Return for every context whether it matches; they are evaluated once."""
        if self._all_matches is None:
            every = self.everywhere
            self._all_matches = (
                np.ones(1 << self.bits, dtype=bool) if every else self.verdicts.all(progress)
            )
        return self._all_matches

    def utility(self, contexts: Sequence[int]) -> list[int]:
        fresh = [context for context in contexts if context not in self._scores]
        if fresh:
            scores = self._score(lambda amounts: some_sums(self.population, amounts, fresh), fresh)
            self._scores.update(zip(fresh, scores.tolist(), strict=True))
        return [self._scores[context] for context in contexts]

    def levels(self) -> tuple[list[int], list[int]]:
        """Return the different utilities of matching contexts and how many have each."""
        if self._levels is None:
            every = range(1 << self.bits)
            scores = self._score(lambda amounts: all_sums(self.population, amounts), every)
            self._all_scores = scores
            self._levels = _tally(scores, self.matching())
        return self._levels

    def member(self, level: int, index: int) -> int:
        """Return one of the matching contexts of that utility, by its place among them."""
        assert self._all_scores is not None
        return int(np.flatnonzero(self.matching() & (self._all_scores == level))[index])

    def _score(self, sums: Sums, contexts: Sequence[int]) -> Counts:
        """Turn sums over cells into utilities."""
        population, utility = self.population, self.preferred
        if isinstance(utility, Overlap):
            assert self.start is not None
            return sums(population.size * population.inside(self.start))
        sizes = sums(population.size)
        if isinstance(utility, Isolation):
            detector = self.verdicts.detector
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

    def _bands(self, limit: int, sums: Sums) -> Counts:
        """Where in the utility's table each context stands: by the records of each band."""
        own = int(np.searchsorted(self.cuts, 0, side="right"))
        places: Counts = np.zeros(1, dtype=np.int64)
        for band, amounts in enumerate(self.population.bands(self.cuts)):
            counts = sums(amounts) - (band != own)  # sums count the record wherever it is
            places = places * (limit + 1) + np.minimum(counts, limit)
        return places

    def _custom(self, places: Counts, contexts: Sequence[int]) -> Counts:
        shapes = self._shapes(contexts)
        scores = np.empty(len(places), dtype=np.int64)
        order = np.argsort(shapes, kind="stable")
        cuts = np.flatnonzero(np.diff(shapes[order])) + 1
        for group in np.split(order, cuts):
            if len(group):
                scores[group] = self._table(int(shapes[group[0]]))[places[group]]
        return scores

    def _custom_table(self, shape: int) -> Counts:
        assert isinstance(self.preferred, CustomUtility)
        values = {}
        for attribute in reversed(self.space.attributes):
            shape, chosen = divmod(shape, attribute.size)
            values[attribute.name] = chosen + 1
        return self.preferred.table(values)

    def _shapes(self, contexts: Sequence[int]) -> Counts:
        """Return how many free values of each attribute a context has, as one mixed number."""
        shapes = np.zeros(len(contexts), dtype=np.int64)
        for attribute, shift in zip(self.space.attributes, self.space.shifts, strict=True):
            mask = (1 << (attribute.size - 1)) - 1
            if isinstance(contexts, range):  # all of them, in at most 64 bits
                every = np.arange(len(contexts), dtype=np.uint64)
                chosen = np.bitwise_count((every >> np.uint64(shift)) & np.uint64(mask))
            else:
                chosen = np.array([(context >> shift & mask).bit_count() for context in contexts])
            shapes = shapes * attribute.size + chosen
        return shapes


def _tally(scores: Counts, matches: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Return the different scores of matching contexts, ascending, and how often each is there."""
    if not matches.any():
        return [], []
    low = int(scores.min(where=matches, initial=scores.max()))
    span = int(scores.max(where=matches, initial=low)) - low + 1
    if span > _MOST_LEVELS:
        values, numbers = np.unique(scores[matches], return_counts=True)
        return values.tolist(), numbers.tolist()
    counts = np.zeros(span, dtype=np.int64)
    together = max(_CHUNK, span)
    for start in range(0, len(scores), together):
        chunk = slice(start, start + together)
        counts += np.bincount(scores[chunk][matches[chunk]] - low, minlength=span)
    levels = np.flatnonzero(counts)
    return (levels + low).tolist(), counts[levels].tolist()


@dataclass(frozen=True, repr=False, eq=False)
class ExplainFacts(Facts):
    """The record's context graph, and the public settings of the search."""

    exact_graph: DataGraph  # verdicts and utilities; already evaluated for the direct search
    space: Space  # the contexts (public)
    search: str  # the search (public)
    eta: Fraction  # weight of one unit of utility in each private draw (public)
    start: int | None  # the public starting context


def gather(
    question: Explain,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ExplainFacts:
    """Prepare the other records and, for the direct search, evaluate every context."""
    card = dataset.card
    space = question.space(card)
    grid, own, detector = question.on_grid(card)
    kind = question.searching(space)
    keys = [*(attribute.key for attribute in space.attributes), grid.key(question.metric)]
    groups, counts = dataset.tally(keys)
    places = [
        attribute.places(group)
        for attribute, group in zip(space.attributes, groups[:-1], strict=True)
    ]
    offsets = groups[-1].astype(np.int64) - own
    population = Population(space.needs(places), offsets, space.bits, counts)
    edges = np.array(getattr(question.preferred, "edges", ()), dtype=np.float64)
    graph = DataGraph(
        space,
        population,
        Verdicts(population, detector),
        question.preferred,
        everywhere=question.notion == "differential",
        cuts=(grid.cells(edges) - own).tolist(),
    )
    if kind == "direct":
        graph.matching(progress)
    return ExplainFacts(graph, space, kind, question.eta(card, kind), question.begin(space))


def release(question: Explain, facts: ExplainFacts, source: Source | None = None) -> dict[str, Any]:
    """Return a context as plain JSON: values by attribute, in words, and as an SQL condition.

    Where no matching context was found, ``context`` is None. Under the conditional notion that
    answer has the same law on every pair the promise covers, since it depends on the data
    through the matching set alone; under the differential notion it does not occur.
    """
    context = searched(question, facts, Draws(source))
    if context is None:
        words = f"in no context was the record found to be an outlier in {question.metric}"
        return {"context": None, "words": words, "where": None}
    space = facts.space
    return {
        "context": space.labels(context),
        "words": space.words(context),
        "where": space.where(context),
    }


def matching(facts: ExplainFacts) -> list[int]:
    """Return every context in which the record is an outlier: exact, hence private."""
    contexts: list[int] = np.flatnonzero(facts.exact_graph.matching()).tolist()
    return contexts


def searched(question: Explain, facts: ExplainFacts, draws: Draws) -> int | None:
    """Run the question's search with the given randomness."""
    return search(
        facts.search,
        facts.exact_graph,
        draws,
        eta=facts.eta,
        samples=question.samples,
        start=facts.start,
        anchored=isinstance(question.preferred, Overlap),
    )
