"""Small universes: every database of a few cells, and the pairs that differ in one record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from whitecrow.exhaustive import Report

Checks = dict[str, Callable[[], Report]]
"""What a module checks, by name; a name that begins with "mutant: " is that of what must fail."""

Histogram = tuple[int, ...]
"""A database as counts: how many records have each of the domain's values."""


def databases(cells: int, most: int) -> Iterator[Histogram]:
    """Every histogram over ``cells`` values with 0 to ``most`` records of each."""
    return itertools.product(range(most + 1), repeat=cells)


def edges(cells: int, most: int) -> Iterator[tuple[Histogram, Histogram, int]]:
    """Every add/remove pair (smaller, larger, which value the record has)."""
    for x in databases(cells, most):
        for i in range(cells):
            if x[i] < most:
                yield x, (*x[:i], x[i] + 1, *x[i + 1 :]), i


def neighbours_on_line(cells: int, radius: int) -> list[list[int]]:
    """For each point of a line, the points within the radius (itself included)."""
    return [[j for j in range(cells) if abs(i - j) <= radius] for i in range(cells)]


def neighbours_on_ring(cells: int, radius: int) -> list[list[int]]:
    """For each point of a ring, the points within the radius (itself included)."""
    return [
        [j for j in range(cells) if min((i - j) % cells, (j - i) % cells) <= radius]
        for i in range(cells)
    ]


def together(reports: Iterable[Report]) -> Report:
    """Return the worst of several reports, with the databases and pairs of all of them."""
    listed = list(reports)
    return replace(
        max(listed, key=lambda report: report.worst_loss),
        databases=sum(report.databases for report in listed),
        edges=sum(report.edges for report in listed),
    )
