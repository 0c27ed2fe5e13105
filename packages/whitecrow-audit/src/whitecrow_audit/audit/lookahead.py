"""Lookahead, audited: released histograms of two cells and of many, at radius 0."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.lookahead import Lookahead, LookaheadFacts, release
from whitecrow.noise import discrete_laplace
from whitecrow_audit.audit.case import Case, Laws, both, doubled, viewed, worst_case
from whitecrow_audit.audit.identify import records
from whitecrow_audit.audit.shipped import Asked
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.lookahead import cell_law, released_law
from whitecrow_audit.verify.universes import Histogram, edges

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
    return both(partial(_law, threshold, factor), edge)


def _edges(tau: int) -> Iterator[Edge]:
    return ((x, y) for x, y, cell in edges(2, 4) if y[cell] >= tau)


def _case(
    name: str,
    beta: int,
    k: int,
    laws: Callable[[Edge, Fraction], Laws],
    card: Card = CARD,
    **broken: Any,
) -> Case:
    question = _question(beta, k, None if card is CARD else len(BINS))

    def asked(edge: Edge) -> Asked:
        return Asked(question, card, both(records, edge), **{"view": _view, **broken})

    def where(edge: Edge) -> str:
        return f"cells {edge[0]} ~ {edge[1]}"

    return worst_case(name, _edges(beta + 1 - k), laws, asked, where=where)


# Mutants


def _late(question: Lookahead, facts: LookaheadFacts, source: None) -> Any:
    """Look ahead n = k steps: one side of an edge is not perturbed (erratum E3)."""
    fewer: Any = SimpleNamespace(threshold=question.threshold + 1, columns=question.columns)
    return release(fewer, facts, source)


def _listing(question: Lookahead, facts: LookaheadFacts, source: None) -> Any:
    """List a cell because it is occupied and not because its released count is above 0."""
    return {**release(question, facts, source), "occupied": facts.exact_cells.ravel().tolist()}


def _listing_view(answer: Any) -> Hashable:
    return tuple(answer["occupied"]), _view(answer)


def _listing_laws(edge: Edge, factor: Fraction) -> Laws:
    def law(x: Histogram) -> Law:
        listed = tuple(cell for cell in (0, 1) if x[cell])
        return {(listed, outcome): p for outcome, p in _law(0, factor, x).items()}

    return both(law, edge)


# Many cells

MANY = Card("wards", (Column("x", "integer", 0, 7), Column("y", "integer", 0, 7)))
"""64 cells. Records lie on the diagonal, two in each; the pair differs in the cell (3, 3)."""
OCCUPIED, EMPTY = 7, 56


def _many_question(factor: Fraction = Fraction(1)) -> Lookahead:
    model = DistanceAnomaly(2, 0)
    return Lookahead(["x", "y"], model=model, k=2, epsilon=EPSILON * factor)


def _many_records(own: int) -> dict[str, list[int]]:
    cells = [cell for cell in range(8) for _ in range(own if cell == 3 else 2)]
    return {"x": cells, "y": list(cells)}


def _many_view(answer: Any) -> Hashable:
    """The count of the cell, whether its neighbour is listed, and whether most others are."""
    counts = {(x, y): count for x, y, count in answer["cells"]}
    own, other = counts.pop((3, 3), 0), counts.pop((4, 4), 0)
    return min(FAR, own), other > 0, len(counts) > (OCCUPIED - 1 + EMPTY) // 4


def _many_law(factor: Fraction, own: int) -> Law:
    step = float(EPSILON * factor)
    cell = viewed(cell_law(own, 0, step), partial(min, FAR))
    full, empty = (1 - cell_law(count, 0, step)[0] for count in (2, 0))
    chances: list[float] = [1.0]
    for p in [full] * (OCCUPIED - 1) + [empty] * EMPTY:
        pairs = zip([*chances, 0.0], [0.0, *chances], strict=True)
        chances = [stay * (1 - p) + come * p for stay, come in pairs]
    many = sum(chances[(OCCUPIED - 1 + EMPTY) // 4 + 1 :])
    return {
        (count, listed, most): chance
        * (full if listed else 1 - full)
        * (many if most else 1 - many)
        for count, chance in cell.items()
        for listed in (True, False)
        for most in (True, False)
    }


def _one_draw(question: Lookahead, facts: LookaheadFacts, source: None) -> Any:
    """Add one and the same draw to every cell."""
    noise = discrete_laplace(1 / facts.step, source)
    counts = dict(
        zip(map(tuple, facts.exact_cells.tolist()), facts.exact_counts.tolist(), strict=True)
    )
    cells = [
        [x, y, counts.get((x, y), 0) + noise]
        for x, y in itertools.product(range(8), repeat=2)
        if counts.get((x, y), 0) + noise > 0
    ]
    return {"columns": list(question.columns), "cells": cells}


def _one_draw_law(factor: Fraction, own: int) -> Law:
    rate = math.exp(-float(EPSILON * factor))
    law: dict[Hashable, float] = {}
    for noise in range(-60, 61):
        chance = (1 - rate) / (1 + rate) * rate ** abs(noise)
        seen = min(FAR, max(0, own + noise)), 2 + noise > 0, noise > 0
        law[seen] = law.get(seen, 0.0) + chance
    return law


def _many(name: str, law: Callable[[Fraction, int], Law], **broken: Any) -> Case:
    asked = Asked(_many_question(), MANY, both(_many_records, (2, 3)), _many_view, **broken)
    return asked.case(
        name,
        "64 cells, two records in each of the diagonal ~ three in one of them",
        lambda factor: both(partial(law, factor), (2, 3)),
        most=4_000,
        full=20_000,
    )


def cases() -> Iterator[Case]:
    yield (case := _case("sensitive, k < beta", 3, 1, partial(_laws, 2)))
    yield doubled(case)
    yield _case("sensitive, a number in two bins", 3, 1, partial(_laws, 2), card=BINNED)
    yield _case("mutant: n = k steps of look-ahead", 3, 1, partial(_laws, 3), release=_late)
    yield _case("differential, k = beta", 2, 2, partial(_laws, 0))
    listing: dict[str, Any] = {"release": _listing, "view": _listing_view}
    yield _case("mutant: occupied cells listed", 2, 2, _listing_laws, **listing)
    yield _many("differential, many cells", _many_law)
    name = "mutant: many cells, one draw for all of them"
    yield _many(name, _one_draw_law, release=_one_draw)
