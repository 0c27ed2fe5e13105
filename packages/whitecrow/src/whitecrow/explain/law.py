"""The exact output law of a search, by replaying it along every sequence of decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from whitecrow.explain.search import TRIES, Draws, Graph
from whitecrow.noise.laws import exponential_levels_pmf, permute_and_flip_pmf

T = TypeVar("T", bound=Hashable)


class Listed:
    """A small graph in the open: matching contexts and their utilities.

    Where these are a callable, it receives the start of the search and returns them.
    """

    def __init__(
        self, bits: int, utilities: Mapping[int, int] | Callable[[int], Mapping[int, int]]
    ) -> None:
        self.bits = bits
        self._from_start = utilities if callable(utilities) else None
        self._utilities = dict(utilities(0) if callable(utilities) else utilities)

    @property
    def matches(self) -> list[int]:
        return sorted(self._utilities)

    def begin(self, start: int) -> None:
        if self._from_start is not None:
            self._utilities = dict(self._from_start(start))

    def match(self, contexts: Sequence[int]) -> list[bool]:
        return [context in self._utilities for context in contexts]

    def utility(self, contexts: Sequence[int]) -> list[int]:
        return [self._utilities[context] for context in contexts]

    def levels(self) -> tuple[list[int], list[int]]:
        found: dict[int, int] = defaultdict(int)
        for utility in self._utilities.values():
            found[utility] += 1
        return list(found), list(found.values())

    def member(self, level: int, place: int) -> int:
        return [context for context in self.matches if self._utilities[context] == level][place]


class _Replay:
    """Follows a given sequence of decisions, then takes the first branch, noting all others."""

    def __init__(self, path: Sequence[int]) -> None:
        self._path = path
        self.taken: list[int] = []
        self.laws: list[Sequence[float]] = []
        self.probability = 1.0

    def _branch(self, law: Sequence[float]) -> int:
        depth = len(self.taken)
        place = self._path[depth] if depth < len(self._path) else 0
        self.taken.append(place)
        self.laws.append(law)
        self.probability *= law[place]
        return place

    def below(self, n: int) -> int:
        return self._branch([1 / n] * n)

    def choose(self, utilities: Sequence[int], eta: Fraction) -> int:
        return self._branch(_flip_law(tuple(utilities), eta))

    def level(self, levels: Sequence[int], counts: Sequence[int], eta: Fraction) -> int:
        return self._branch(exponential_levels_pmf(levels, counts, eta))

    def matching(self, graph: Graph) -> int | None:
        every = list(range(1 << graph.bits))
        matches = [c for c, fits in zip(every, graph.match(every), strict=True) if fits]
        missed = (1 - len(matches) / len(every)) ** TRIES
        law = [(1 - missed) / max(1, len(matches))] * len(matches) + [missed]
        place = self._branch(law)
        return matches[place] if place < len(matches) else None


@lru_cache(maxsize=100_000)
def _flip_law(utilities: tuple[int, ...], eta: Fraction) -> tuple[float, ...]:
    return tuple(permute_and_flip_pmf(utilities, eta))


def law_of(program: Callable[[Draws], T]) -> dict[T, float]:
    """Return the exact distribution of what a program of draws returns.

    The program is run once for every sequence of decisions, so it must be small.

    Examples
    --------
    >>> law_of(lambda draws: draws.below(2) + draws.below(2))
    {0: 0.25, 1: 0.5, 2: 0.25}
    """
    law: dict[T, float] = defaultdict(float)
    pending: list[list[int]] = [[]]
    while pending:
        path = pending.pop()
        replay = _Replay(path)
        outcome = program(replay)
        if replay.probability > 0:
            law[outcome] += replay.probability
        for depth in range(len(path), len(replay.taken)):
            others = enumerate(replay.laws[depth][1:], start=1)
            pending.extend([*replay.taken[:depth], place] for place, chance in others if chance)
    return {outcome: law[outcome] for outcome in sorted(law, key=repr)}
