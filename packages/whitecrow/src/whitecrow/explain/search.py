"""The five searches, written once: the same code draws a release and, replayed, its exact law.

A search sees a :class:`Graph` (which contexts match, how useful they are) and makes every random
decision through :class:`Draws`. Only the *private* draws, ``choose`` and ``level``, look at
utilities, and each costs one draw of the budget; whatever depends on the data through the matching
set alone is free under the conditional notion (docs/mechanisms.md 4.1).

The paper's printed algorithms are corrected as follows (erratum E19): a context is never changed
while its neighbours are listed, only free bits are flipped, the walk stops at a context without
matching neighbours, and every search ends when there is nothing left to visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from whitecrow.noise import Source, exponential_levels, permute_and_flip, system_source

SEARCHES = ("direct", "uniform", "walk", "dfs", "bfs")


class Graph(Protocol):
    """Contexts, one bit apart from their neighbours."""

    bits: int

    def match(self, contexts: Sequence[int]) -> list[bool]:
        """Say in which of these the record is an outlier."""

    def utility(self, contexts: Sequence[int]) -> list[int]:
        """Return the utility of each."""

    def begin(self, start: int) -> None:
        """Learn where the search begins (the overlap utility depends on it)."""

    def levels(self) -> tuple[list[int], list[int]]:
        """Return the different utilities of matching contexts and how many contexts have each."""

    def member(self, level: int, index: int) -> int:
        """Return one of the matching contexts of that utility, by its place among them."""


TRIES = 2**16
"""How many uniform contexts are tried before "none matches" is the answer; public."""

_FIRST_BATCH = 16
_LAST_BATCH = 1024


class Draws:
    """Where a search's randomness comes from: a source, or whatever overrides all of this."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source or system_source()

    def below(self, n: int) -> int:
        """Return a uniform whole number in ``0 .. n-1``."""
        return self._source.below(n)

    def choose(self, utilities: Sequence[int], eta: Fraction) -> int:
        """Return a place, privately, by permute-and-flip with weight ``eta``."""
        return permute_and_flip(utilities, eta, self._source)

    def level(self, levels: Sequence[int], counts: Sequence[int], eta: Fraction) -> int:
        """Return the place of a level by the exponential mechanism over all candidates."""
        return exponential_levels(levels, counts, eta, self._source)

    def matching(self, graph: Graph) -> int | None:
        """Return a uniform matching context, or None if none was met in a fixed number of tries."""
        tried, batch = 0, _FIRST_BATCH
        while tried < TRIES:
            drawn = [self._source.bits(graph.bits) for _ in range(min(batch, TRIES - tried))]
            for context, fits in zip(drawn, graph.match(drawn), strict=True):
                if fits:
                    return context
            tried += len(drawn)
            batch = min(2 * batch, _LAST_BATCH)
        return None


def draws_of(kind: str, samples: int) -> int:
    """Return how many private draws a search makes at the most."""
    return samples + 1 if kind in ("dfs", "bfs") else 1


def search(
    kind: str,
    graph: Graph,
    draws: Draws,
    *,
    eta: Fraction,
    samples: int,
    start: int | None = None,
    anchored: bool = False,
) -> int | None:
    """Find a context, or None where no matching context was found.

    ``kind`` is "direct", "uniform", "walk", "dfs" or "bfs", ``eta`` the weight of one unit of
    utility in each private draw, and ``samples`` how many contexts are visited beside the first.
    ``start`` is a public context to begin at, and from which overlap is measured. Where it does not
    match, and without one, the search begins at a uniform matching context: a function of the
    matching set alone (erratum E21). ``anchored`` says that the utility needs a start even if the
    search does not.
    """
    begin = start
    travels = kind in ("walk", "dfs", "bfs")
    if begin is None or (travels and not graph.match([begin])[0]):
        begin = draws.matching(graph) if travels or anchored else 0  # else it does not matter
    if begin is None:
        return None
    graph.begin(begin if start is None else start)
    if kind == "direct":
        return _direct(graph, draws, eta)
    if kind == "uniform":
        visited = _uniform(graph, draws, samples)
    elif kind == "walk":
        visited = _walk(graph, draws, samples, begin)
    elif kind == "dfs":
        visited = _dfs(graph, draws, samples, begin, eta)
    else:
        visited = _bfs(graph, draws, samples, begin, eta)
    if not visited:
        return None
    return visited[draws.choose(graph.utility(visited), eta)]


def _neighbours(graph: Graph, context: int, seen: set[int]) -> list[int]:
    """Return the matching contexts one free bit away that were not seen yet."""
    near = [context ^ (1 << bit) for bit in range(graph.bits)]
    fresh = [other for other in near if other not in seen]
    return [other for other, fits in zip(fresh, graph.match(fresh), strict=True) if fits]


def _direct(graph: Graph, draws: Draws, eta: Fraction) -> int | None:
    """Algorithm 1: the exponential mechanism over all matching contexts, level by level."""
    levels, counts = graph.levels()
    if not levels:
        return None
    index = draws.level(levels, counts, eta)
    return graph.member(levels[index], draws.below(counts[index]))


def _uniform(graph: Graph, draws: Draws, samples: int) -> list[int]:
    """Algorithm 2: uniform matching contexts, with repetition."""
    drawn = (draws.matching(graph) for _ in range(samples))
    return [context for context in drawn if context is not None]


def _walk(graph: Graph, draws: Draws, samples: int, start: int) -> list[int]:
    """Algorithm 3: from each context to a uniform one of its matching neighbours."""
    visited = [start]
    while len(visited) <= samples:
        near = _neighbours(graph, visited[-1], set())
        if not near:
            break
        visited.append(near[draws.below(len(near))])
    return visited


def _dfs(graph: Graph, draws: Draws, samples: int, start: int, eta: Fraction) -> list[int]:
    """Algorithm 4: from the last context with unvisited neighbours to a useful one of them."""
    stack, visited = [start], [start]
    while len(visited) <= samples and stack:
        near = _neighbours(graph, stack[-1], set(visited))
        if not near:
            stack.pop()
            continue
        chosen = near[draws.choose(graph.utility(near), eta)]
        stack.append(chosen)
        visited.append(chosen)
    return visited


def _bfs(graph: Graph, draws: Draws, samples: int, start: int, eta: Fraction) -> list[int]:
    """Algorithm 5: a useful one of all contexts seen so far, whose neighbours are seen next."""
    visited, frontier, seen = [start], [], {start}
    here = start
    while True:
        fresh = _neighbours(graph, here, seen)
        frontier += fresh
        seen.update(fresh)
        if len(visited) > samples or not frontier:
            return visited
        here = frontier.pop(draws.choose(graph.utility(frontier), eta))
        visited.append(here)
