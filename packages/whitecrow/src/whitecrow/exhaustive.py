"""Proof by computation: every edge of a small universe against the bound it must keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

D = TypeVar("D", bound=Hashable)
Law = Mapping[Hashable, float]
"""The chance of each answer."""

_SLACK = 1e-9


@dataclass(frozen=True)
class Report:
    """What an exhaustive check found."""

    # databases, edges: How many were looked at.
    databases: int
    edges: int
    worst_loss: float  # the largest on any edge
    bound: float  # what was promised
    worst_edge: str = ""
    note: str = ""  # anything a reader should know

    @property
    def ok(self) -> bool:
        """Whether every edge kept the bound (up to the rounding of the check itself)."""
        return self.worst_loss <= self.bound * (1 + _SLACK) + _SLACK


@dataclass(frozen=True)
class Check:
    """One claim about one mechanism, to be computed."""

    mechanism: str
    name: str  # of the claim
    run: Callable[[], Report]
    must_fail: bool = False  # true for a mutant: the check passes when the violation is found

    def passed(self, report: Report) -> bool:
        """Whether the report is what this check wants to see, of one pair at least."""
        return report.edges > 0 and report.ok != self.must_fail


def loss(one: Law, other: Law, delta: float = 0.0) -> float:
    """Return the smallest ε for which two output laws are within (ε, δ) of each other."""
    return max(_one_sided(one, other, delta), _one_sided(other, one, delta))


def _one_sided(one: Law, other: Law, delta: float) -> float:
    """Smallest ε with sum over outputs of max(0, p - e^ε q) at most δ."""
    if delta == 0:
        worst = 0.0
        for output, p in one.items():
            if p > 0:
                q = other.get(output, 0.0)
                worst = max(worst, math.log(p) - math.log(q) if q > 0 else math.inf)
        return worst
    if sum(p for output, p in one.items() if other.get(output, 0.0) <= 0) > delta:
        return math.inf
    ratios = (math.log(p / q) for o, p in one.items() if p > 0 and (q := other.get(o, 0.0)) > 0)
    # The excess is convex and decreasing in ε: bisect.
    low, high = 0.0, max([0.0, *ratios])
    if _excess(one, other, low) <= delta:
        return 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if _excess(one, other, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _excess(one: Law, other: Law, epsilon: float) -> float:
    factor = math.exp(epsilon)
    return sum(max(0.0, p - factor * other.get(output, 0.0)) for output, p in one.items())


def exhaust(
    law: Callable[[D], Law],
    edges: Iterable[tuple[D, D]],
    epsilon: float,
    *,
    delta: float = 0.0,
    note: str = "",
) -> Report:
    """Measure the loss of a mechanism on every edge of a neighbour graph.

    Parameters
    ----------
    law : callable
        The mechanism, as the exact output distribution on a database.
    edges : iterable of pairs
        The neighbour graph; databases must be hashable.
    epsilon, delta : float
        The promise.
    """
    laws: dict[D, Law] = {}
    tried, worst, where = 0, 0.0, ""
    for x, y in edges:
        tried += 1
        for database in (x, y):
            if database not in laws:
                laws[database] = law(database)
                total = sum(laws[database].values())
                if not math.isclose(total, 1.0, rel_tol=1e-9):
                    raise ValueError(f"the law on {database!r} sums to {total}, not to 1")
        lost = loss(laws[x], laws[y], delta)
        if lost > worst or not where:
            worst, where = max(worst, lost), f"{x!r} ~ {y!r}"
    return Report(len(laws), tried, worst, epsilon, where, note)
