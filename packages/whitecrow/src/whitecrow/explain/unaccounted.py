"""The bare mechanism on arrays, and its exact law. **No ledger, no card, no policy.**

.. warning::
   Hazardous: nothing here is accounted for, and a seeded source protects nobody. Reached as
   ``whitecrow.hazmat.context_release`` and ``whitecrow.hazmat.exact_release_law``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from whitecrow.data import Card, Column, Dataset
from whitecrow.explain.contexts import Space
from whitecrow.explain.mechanism import ExplainFacts, gather, matching, searched
from whitecrow.explain.question import Explain
from whitecrow.explain.search import TRIES, Draws, Graph
from whitecrow.noise import Source
from whitecrow.noise.laws import exponential_levels_pmf, permute_and_flip_pmf

T = TypeVar("T", bound=Hashable)

Context = tuple[tuple[int, ...], ...] | None
"""A context: the chosen codes of each attribute, or None where none was found."""

_METRIC = "metric"


def context_release(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    *,
    sizes: Sequence[int],
    source: Source | None = None,
    **parameters: Any,
) -> Context:
    """Search a private context for a record among arrays.

    .. warning::
       Hazardous: no ledger is charged.

    Parameters
    ----------
    attributes : array of int, records by attributes
        Codes ``0 .. size-1`` of each record.
    metric : array of int
        The metric in whole steps.
    record : pair
        The record's own codes and metric.
    sizes : sequence of int
        How many values each attribute has.
    source : Source, optional
        Where the randomness comes from.
    **parameters
        ``detector``, ``epsilon`` and the other parameters of :class:`whitecrow.Explain`;
        ``start`` lists codes for each attribute.

    Examples
    --------
    >>> from whitecrow.anomaly import DistanceAnomaly
    >>> people = dict(attributes=[[0], [0], [0], [1], [1]], metric=[90, 1, 2, 2, 90])
    >>> context_release(**people, record=([0], 90), sizes=[2], detector="histogram", epsilon=1,
    ...                 notion="conditional")
    >>> context_release(**people, record=([0], 90), sizes=[2], epsilon=1,
    ...                 detector=DistanceAnomaly(beta=1, radius=5), notion="conditional")
    ((0,),)
    """
    space, _, program = _program(attributes, metric, record, sizes, parameters)
    return _codes(space, program(Draws(source)))


def exact_release_law(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    *,
    sizes: Sequence[int],
    **parameters: Any,
) -> dict[Context, float]:
    """Return the exact output distribution of :func:`context_release` on a small instance.

    Every sequence of random decisions is followed, so keep the free values and samples few.

    .. warning::
       Hazardous: the law is a private quantity.

    Examples
    --------
    >>> from whitecrow.anomaly import DistanceAnomaly
    >>> law = exact_release_law([[0], [1], [1]], [5, 0, 0], ([0], 5), sizes=[2], epsilon=1,
    ...                         detector=DistanceAnomaly(beta=1, radius=2),
    ...                         notion="conditional")
    >>> {context: round(p, 3) for context, p in law.items()}
    {((0,),): 0.119, ((0, 1),): 0.881}
    """
    space, _, program = _program(attributes, metric, record, sizes, parameters)
    return {_codes(space, context): p for context, p in law_of(program).items()}


def matching_contexts(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    *,
    sizes: Sequence[int],
    **parameters: Any,
) -> list[Context]:
    """Return every context in which the record is an outlier (the paper's COE).

    .. warning::
       Hazardous: the matching set is a private quantity.

    Examples
    --------
    >>> from whitecrow.anomaly import DistanceAnomaly
    >>> matching_contexts([[0], [1], [1]], [5, 0, 0], ([0], 5), sizes=[2],
    ...                   detector=DistanceAnomaly(beta=1, radius=2))
    [((0,),), ((0, 1),)]
    """
    settings = {"epsilon": 1, "search": "direct", "notion": "conditional", **parameters}
    space, facts, _ = _program(attributes, metric, record, sizes, settings)
    return [_codes(space, context) for context in matching(facts)]


def _program(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    sizes: Sequence[int],
    parameters: dict[str, Any],
) -> tuple[Space, ExplainFacts, Callable[[Draws], int | None]]:
    codes = np.asarray(attributes, dtype=np.int64).reshape(-1, len(sizes))
    values = np.asarray(metric, dtype=np.float64)
    names = [f"attribute {index}" for index in range(len(sizes))]
    columns = [
        Column(name, "category", categories=tuple(str(code) for code in range(size)))
        for name, size in zip(names, sizes, strict=True)
    ]
    card = Card("arrays", (*columns, Column(_METRIC, "integer")))
    data = {**dict(zip(names, codes.T, strict=True)), _METRIC: values}
    own = {name: str(code) for name, code in zip(names, record[0], strict=True)}
    start = parameters.pop("start", None)
    if start is not None:
        start = {n: [str(code) for code in chosen] for n, chosen in zip(names, start, strict=True)}
    question = Explain({**own, _METRIC: record[1]}, metric=_METRIC, start=start, **parameters)
    question.check(card)
    facts = gather(question, Dataset(card, data))
    return question.space(card), facts, partial(searched, question, facts)


def _codes(space: Space, context: int | None) -> Context:
    if context is None:
        return None
    names = [attribute.name for attribute in space.attributes]
    chosen = dict(zip(names, space.chosen(context), strict=True))
    return tuple(tuple(chosen[f"attribute {index}"]) for index in range(len(chosen)))


# The law of a search, by replaying it along every sequence of decisions


class _Replay(Draws):
    """Follows a given sequence of decisions, then takes the first branch, noting all others."""

    def __init__(self, path: Sequence[int]) -> None:
        self._path = path
        self.taken: list[int] = []
        self.laws: list[Sequence[float]] = []
        self.probability = 1.0

    def _branch(self, law: Sequence[float]) -> int:
        depth = len(self.taken)
        branch = self._path[depth] if depth < len(self._path) else 0
        self.taken.append(branch)
        self.laws.append(law)
        self.probability *= law[branch]
        return branch

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
        branch = self._branch(law)
        return matches[branch] if branch < len(matches) else None


@lru_cache(maxsize=100_000)
def _flip_law(utilities: tuple[int, ...], eta: Fraction) -> tuple[float, ...]:
    return tuple(permute_and_flip_pmf(utilities, eta))


def law_of(program: Callable[[Draws], T]) -> dict[T, float]:
    """Return the exact distribution of what a program of draws returns.

    The program is run once for every sequence of decisions, so it must be small.
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
            pending.extend([*replay.taken[:depth], branch] for branch, chance in others if chance)
    return {outcome: law[outcome] for outcome in sorted(law, key=repr)}
