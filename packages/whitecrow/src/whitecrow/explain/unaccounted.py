"""The bare mechanism on arrays, and its exact law. **No ledger, no card, no policy.**

.. warning::
   Hazardous: nothing here is accounted for, and a seeded source protects nobody. Reached as
   ``whitecrow.hazmat.context_release`` and ``whitecrow.hazmat.exact_release_law``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whitecrow.data import Card, Column, Dataset
from whitecrow.explain.contexts import Space
from whitecrow.explain.facts import ExplainFacts, gather
from whitecrow.explain.law import law_of
from whitecrow.explain.mechanism import matching, searched
from whitecrow.explain.question import Explain
from whitecrow.explain.search import Draws, SourceDraws
from whitecrow.noise import Source

Found = tuple[tuple[int, ...], ...] | None
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
) -> Found:
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
    return _codes(space, program(SourceDraws(source)))


def exact_release_law(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    *,
    sizes: Sequence[int],
    **parameters: Any,
) -> dict[Found, float]:
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
    >>> {found: round(p, 3) for found, p in law.items()}
    {((0,),): 0.119, ((0, 1),): 0.881}
    """
    space, _, program = _program(attributes, metric, record, sizes, parameters)
    return {_codes(space, found): p for found, p in law_of(program).items()}


def matching_contexts(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    *,
    sizes: Sequence[int],
    **parameters: Any,
) -> list[Found]:
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
    return [_codes(space, found) for found in matching(facts)]


def _program(
    attributes: ArrayLike,
    metric: ArrayLike,
    record: tuple[Sequence[int], int],
    sizes: Sequence[int],
    parameters: dict[str, Any],
) -> tuple[Space, ExplainFacts, Callable[[Draws], int | None]]:
    codes = np.asarray(attributes, dtype=np.int64).reshape(-1, len(sizes))
    values = np.asarray(metric, dtype=np.float64)
    names = [f"attribute {place}" for place in range(len(sizes))]
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


def _codes(space: Space, found: int | None) -> Found:
    if found is None:
        return None
    named = dict(
        zip(
            (attribute.name for attribute in space.attributes),
            space.chosen(found),
            strict=True,
        )
    )
    return tuple(tuple(named[f"attribute {place}"]) for place in range(len(named)))
