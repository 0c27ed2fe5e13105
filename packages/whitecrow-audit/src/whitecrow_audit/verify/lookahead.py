"""Lookahead, checked: the law of whole released histograms on every edge at radius 0."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from functools import partial

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import is_anomaly
from whitecrow.exhaustive import Report, exhaust
from whitecrow.lookahead.question import Lookahead
from whitecrow_audit.verify.universes import Checks, Histogram, databases, edges, together

_FAR = 14
"""Released counts from here on are taken together: a coarser view of the same release."""


def cell_law(count: int, threshold: int, rate: float) -> dict[int, float]:
    """Return the law of one released count, with everything from ``_FAR`` on as one outcome."""
    if count < threshold:
        return {count: 1.0}
    a = math.exp(-rate)
    centre = (1 - a) / (1 + a)
    law = {value: centre * a ** abs(value - count) for value in range(1, _FAR)}
    law[0] = a**count / (1 + a)
    law[_FAR] = a ** (_FAR - count) / (1 + a)
    return law


def released_law(x: Histogram, threshold: int, rate: float) -> dict[Hashable, float]:
    """Return the law of the whole released histogram."""
    cells = [cell_law(count, threshold, rate) for count in x]
    joint: dict[Hashable, float] = {}
    for outcome in itertools.product(*(law.items() for law in cells)):
        values = tuple(value for value, _ in outcome)
        joint[values] = math.prod(p for _, p in outcome)
    return joint


def _sensitive_edges(cells: int, most: int, tau: int) -> Iterator[tuple[Histogram, Histogram]]:
    for x, y, cell in edges(cells, most):
        if y[cell] >= tau:
            yield x, y


def every_edge(rate: float) -> Report:
    """The threshold of the question as asked, on every sensitive edge of two cells."""
    reports = []
    for beta in range(1, 5):
        for k in range(1, beta + 2):
            question = Lookahead(["x"], model=DistanceAnomaly(beta, 0), k=k, epsilon="1")
            law = partial(released_law, threshold=question.threshold, rate=rate)
            pairs = _sensitive_edges(2, 5, beta + 1 - k)
            reports.append(exhaust(law, pairs, rate, note=f"{beta=} {k=}"))
    return together(reports)


def n_equals_k_mutant() -> Report:
    """Looking ahead n = k steps instead of k + 1: one side of an edge is not perturbed (E3)."""
    beta, k = 4, 2
    law = partial(released_law, threshold=beta + 1 - k, rate=1.0)
    return exhaust(law, _sensitive_edges(2, 5, beta + 1 - k), 1.0)


def one_cell_mutant() -> Report:
    """Perturbing only the cell asked about and then answering any query (E2): here the sum."""
    beta, k = 3, 1
    threshold = beta - k

    def law(x: Histogram) -> Mapping[Hashable, float]:
        law: dict[Hashable, float] = {}
        for value, p in cell_law(x[0], threshold, 1.0).items():
            law[value, x[1]] = p
        return law

    return exhaust(law, _sensitive_edges(2, 5, beta + 1 - k), 1.0)


def occupied_list_mutant() -> Report:
    """Listing a cell because it is occupied and not because its released count is above 0."""
    beta, k = 2, 2  # every cell is perturbed, also the empty ones

    def law(x: Histogram) -> Mapping[Hashable, float]:
        listed = tuple(count > 0 for count in x)
        return {(listed, outcome): p for outcome, p in released_law(x, beta - k, 1.0).items()}

    return exhaust(law, _sensitive_edges(2, 5, beta + 1 - k), 1.0)


def _binned(x: Histogram, edge: int) -> Histogram:
    """Put the records of three values into two bins."""
    return sum(x[:edge]), sum(x[edge:])


def binned_edges(rate: float) -> Report:
    """Three values in two public bins: edges are those of the bins' counts."""
    reports = []
    for beta in range(1, 4):
        for k in range(1, beta + 2):
            question = Lookahead(["x"], model=DistanceAnomaly(beta, 0), k=k, epsilon="1", bins=2)
            pairs = [
                (x, y)
                for x, y, cell in edges(3, 3)
                if _binned(y, 2)[int(cell >= 2)] >= beta + 1 - k
            ]

            def law(x: Histogram, question: Lookahead = question) -> Mapping[Hashable, float]:
                return released_law(_binned(x, 2), question.threshold, rate)

            reports.append(exhaust(law, pairs, rate, note=f"{beta=} {k=}"))
    return together(reports)


def fitted_bins_mutant() -> Report:
    """Bins whose edge is the middle of the data: one record moves others to the other bin."""

    def law(x: Histogram) -> Mapping[Hashable, float]:
        edge = next((i for i in range(3) if 2 * sum(x[: i + 1]) >= sum(x)), 2)
        return released_law(_binned(x, edge), 1, 1.0)

    pairs = [(x, y) for x, y, cell in edges(3, 3) if y[cell] >= 2]
    return exhaust(law, pairs, 1.0)


def radius_above_zero_mutant() -> Report:
    """Theorem 1 of the paper: with a radius above 0 no look-ahead is sensitively private.

    Three points on a line, radius 1; perturb the cells within k + 1 insertions of normal, answer
    the query about the last point. Two databases, a few sensitive edges apart, give disjoint
    answers, so some edge between them has an infinite loss.
    """
    beta, k, near = 2, 1, ((0, 1), (0, 1, 2), (1, 2))
    tau = beta + 1 - k

    def law(x: Histogram) -> Mapping[Hashable, float]:
        around = [sum(x[j] for j in near[i]) for i in range(3)]
        cells = [
            cell_law(count, 0 if around[i] >= tau - 1 else count + 1, 1.0)
            for i, count in enumerate(x)
        ]
        yes = 0.0
        for outcome in itertools.product(*(law.items() for law in cells)):
            y = [value for value, _ in outcome]
            if is_anomaly(y[2], sum(y[j] for j in near[2]), beta=beta):
                yes += math.prod(p for _, p in outcome)
        return {True: yes, False: 1 - yes}

    def sensitive() -> Iterator[tuple[Histogram, Histogram]]:
        for x in databases(3, 2):
            for i in range(3):
                y = (*x[:i], x[i] + 1, *x[i + 1 :])
                if sum(y[j] for j in near[i]) >= tau:
                    yield x, y

    return exhaust(law, sensitive(), 1.0)


CHECKS: Checks = {
    "loss on every edge, epsilon 1/10": partial(every_edge, 0.1),
    "loss on every edge, epsilon 1": partial(every_edge, 1.0),
    "loss on every edge, numbers in bins": partial(binned_edges, 1.0),
    "mutant: bins from the data": fitted_bins_mutant,
    "mutant: n = k steps of look-ahead": n_equals_k_mutant,
    "mutant: one cell perturbed, any query": one_cell_mutant,
    "mutant: occupied cells listed": occupied_list_mutant,
    "mutant: a radius above 0": radius_above_zero_mutant,
}
