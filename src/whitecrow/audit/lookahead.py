"""Lookahead, audited: released histograms of two cells, at radius 0."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.audit.case import Case, Laws, broken_pair, doubled, viewed, worst_pair
from whitecrow.audit.identify import records
from whitecrow.audit.shipped import Asked
from whitecrow.audit.tester import Law
from whitecrow.data import Card, Column
from whitecrow.lookahead import Lookahead, LookaheadFacts, release
from whitecrow.verify.lookahead import released_law
from whitecrow.verify.universes import Histogram, edges

__all__ = ["cases"]

CARD = Card("cells", (Column("x", "integer", 0, 1),))
BINNED = Card("cells", (Column("x", "number", -1, 2),))
"""The same cells as two bins of a number: below 0.5, and from there on."""
BINS = ("-1 to 0.5", "0.5 to 2")
EPSILON = Fraction(2)
FAR = 5
"""Released counts from here on are not told apart."""

Edge = tuple[Histogram, Histogram]


def _question(beta: int, k: int, bins: int | None = None) -> Lookahead:
    return Lookahead(["x"], model=DistanceAnomaly(beta, 0), k=k, epsilon=EPSILON, bins=bins)


def _view(answer: Any) -> Hashable:
    counts: dict[Any, int] = dict(answer["cells"])
    return tuple(min(FAR, counts.get(cell, 0) + counts.get(BINS[cell], 0)) for cell in (0, 1))


@lru_cache(maxsize=1024)
def _law(threshold: int, factor: Fraction, x: Histogram) -> Law:
    law = released_law(x, threshold, float(EPSILON * factor))
    return viewed(law, lambda cells: tuple(min(FAR, count) for count in cells))


def _laws(threshold: int, edge: Edge, factor: Fraction) -> Laws:
    return _law(threshold, factor, edge[0]), _law(threshold, factor, edge[1])


def _edges(tau: int) -> Iterator[Edge]:
    return ((x, y) for x, y, place in edges(2, 4) if y[place] >= tau)


def _case(
    name: str,
    beta: int,
    k: int,
    laws: Callable[[Edge, Fraction], Laws],
    twin: bool = False,
    card: Card = CARD,
    **broken: Any,
) -> Case:
    question = _question(beta, k, None if card is CARD else len(BINS))
    claim = Asked(question, card, ({"x": []}, {"x": [0]})).claim
    search = broken_pair if twin else worst_pair
    edge, worst = search(_edges(beta + 1 - k), laws, claim)
    pair = records(edge[0]), records(edge[1])
    asked = Asked(question, card, pair, **{"view": _view, **broken})
    asks = None if twin else asked.asks
    where = f"cells {edge[0]} ~ {edge[1]}"
    bound = partial(laws, edge)
    return Case("lookahead", name, claim, where, bound, asked.draws, asks, twin=twin, exact=worst)


# Broken twins


def _late(question: Lookahead, facts: LookaheadFacts, source: None) -> Any:
    """Look ahead n = k steps: one side of an edge is not perturbed (erratum E3)."""
    fewer: Any = SimpleNamespace(threshold=question.threshold + 1, columns=question.columns)
    return release(fewer, facts, source)


def _listing(question: Lookahead, facts: LookaheadFacts, source: None) -> Any:
    """List a cell because it is occupied and not because its released count is above 0."""
    return {**release(question, facts, source), "occupied": facts.cells.ravel().tolist()}


def _listing_view(answer: Any) -> Hashable:
    return tuple(answer["occupied"]), _view(answer)


def _listing_laws(edge: Edge, factor: Fraction) -> Laws:
    one, two = (
        {
            (tuple(cell for cell in (0, 1) if x[cell]), outcome): p
            for outcome, p in _law(0, factor, x).items()
        }
        for x in edge
    )
    return one, two


def cases() -> Iterator[Case]:
    """Yield the rows of the audit."""
    yield (case := _case("sensitive, k < beta", 3, 1, partial(_laws, 2)))
    yield doubled(case)
    yield _case("sensitive, a number in two bins", 3, 1, partial(_laws, 2), card=BINNED)
    yield _case(
        "broken twin: n = k steps of look-ahead", 3, 1, partial(_laws, 3), True, release=_late
    )
    yield _case("differential, k = beta", 2, 2, partial(_laws, 0))
    yield _case(
        "broken twin: occupied cells listed",
        2,
        2,
        _listing_laws,
        True,
        release=_listing,
        view=_listing_view,
    )
