"""Learn, checked: what the shipped stages ask noise for, on every edge of a small universe.

The stages are run with a tape instead of noise: whatever they count, they are handed the same
released numbers, so that two neighbouring databases go the same public way. What is added up is the
loss of every histogram on that way. A stage whose way depends on records shows as an infinite loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.grid import Grid
from whitecrow.histogram.money import Money, Noise
from whitecrow.learn import threshold
from whitecrow.learn.marginals import histogram_counts
from whitecrow.learn.training import train
from whitecrow.privacy import Unit
from whitecrow.verify.exhaustive import Check, Report, exhaust
from whitecrow.verify.universes import Histogram, databases, edges

__all__ = ["CHECKS"]

VALUES = ((0.1, 0.0, 3.0), (0.9, 1.0, -3.0), (0.1, 2.0, 500.0))
"""The records there may be: a number, a category of three, a number without bounds."""

GRIDS = (
    Grid("x", True, False, 0.0, 1.0),
    Grid("y", False, True, 0.0, 2.0),
    Grid("z", True, False, None, None),
)
MOST = 2


@dataclass
class Tape:
    """Money that hands out fixed numbers for noisy ones, and writes down what was counted."""

    money: Money
    seed: int
    tables: int | None = None
    left_out: bool = False
    asked: list[tuple[Noise, npt.NDArray[np.int64]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.money, name)

    def histograms(self, share: Fraction, tables: int) -> _Taped:
        return _Taped(self, self.money.histograms(share, self.tables or tables))


@dataclass
class _Taped:
    tape: Tape
    noise: Noise

    @property
    def deviation(self) -> float:
        return self.noise.deviation

    def added(self, counts: npt.NDArray[np.int64], source: object) -> npt.NDArray[np.int64]:
        self.tape.asked.append((self.noise, counts))
        lots = Random(1000 * self.tape.seed + len(self.tape.asked))
        released = np.array([lots.randrange(-20, 60) for _ in counts])
        return np.where(counts > 0, released, 0) if self.tape.left_out else released


def _rows(x: Histogram) -> npt.NDArray[np.float64]:
    chosen = [value for value, count in zip(VALUES, x, strict=True) for _ in range(count)]
    return np.array(chosen, dtype=np.float64).reshape(-1, len(GRIDS))


def _way(x: Histogram, tape: Tape, **broken: Any) -> tuple[Hashable, Tape]:
    """Run the stages on a database; return what is public of it, and what was counted."""
    rows = _rows(x)
    grids = GRIDS
    if broken.get("data_bounds") and len(rows):
        low, high = float(rows[:, 0].min()), float(rows[:, 0].max()) + 1.0
        grids = (Grid("x", True, False, low, high), *GRIDS[1:])
    money: Any = tape
    model = train(
        grids,
        lambda wanted: histogram_counts(wanted, rows),
        lambda columns, tables: scoring.count_rows(columns, tables, [rows]),
        money,
        Fraction(1),
        size=len(rows) if broken.get("exact_n") else None,
    )
    layout = (model.grids, model.tables.axis.tobytes(), model.tables.offset.tobytes())
    return (layout, model.records, model.counts.tobytes()), tape


def _difference(one: Tape, two: Tape) -> float:
    """Add up the loss of all histograms, in the currency of the law."""
    total = Fraction(0)
    for (noise, first), (_, second) in zip(one.asked, two.asked, strict=True):
        away = [abs(int(value)) for value in (first - second)]
        if noise.law == "laplace":
            total += sum(away) / noise.size
        else:
            total += sum(value * value for value in away) / (2 * noise.size)
    return float(total)


def _neighbours(relation: Unit) -> Iterator[tuple[Histogram, Histogram]]:
    if relation == "add_remove":
        for x, y, _ in edges(len(VALUES), MOST):
            yield x, y
        return
    for x in databases(len(VALUES), MOST):
        for gone in range(len(VALUES)):
            for come in range(len(VALUES)):
                if gone != come and x[gone] > 0 and x[come] < MOST:
                    moved = list(x)
                    moved[gone] -= 1
                    moved[come] += 1
                    yield x, tuple(moved)


def all_histograms(law: str, relation: Unit, ways: int = 2, **broken: Any) -> Report:
    """Return the worst loss of stages 1 and 2 on every edge, over some public ways."""
    money = Money(law, Fraction(1, 2), relation, 1)
    worst, where, count, seen = 0.0, "", 0, 0
    tables, left_out = broken.pop("tables", None), broken.pop("left_out", False)
    for seed in range(ways):
        known = {
            x: _way(x, Tape(money, seed, tables, left_out), **broken)
            for x in databases(len(VALUES), MOST)
        }
        seen += len(known)
        for x, y in _neighbours(relation):
            count += 1
            (public, one), (other, two) = known[x], known[y]
            found = _difference(one, two) if public == other else math.inf
            if found > worst:
                worst, where = found, f"{x} ~ {y}"
    return Report(seen, count, worst, float(money.total), where)


def thresholds(relation: Unit, eta_factor: Fraction = Fraction(1)) -> Report:
    """Return the worst loss of a threshold's choice over small histograms of scores."""
    epsilon, rate = Fraction(1), Fraction(1, 3)
    eta = epsilon * eta_factor / (2 * threshold.sensitivity(rate, relation, 1))

    def law(x: Histogram) -> Mapping[Hashable, float]:
        worth = threshold.utilities(np.array(x), rate)
        weights = [math.exp(float(eta) * value) for value in worth]
        return {place: weight / sum(weights) for place, weight in enumerate(weights)}

    pairs = [(x, y) for x, y, _ in edges(3, 3)]
    if relation == "replace_one":
        pairs = [
            (x, y)
            for x in databases(3, 3)
            for y in databases(3, 3)
            if sum(x) == sum(y) and sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 2
        ]
    return exhaust(law, pairs, float(epsilon))


def _check(name: str, run: Callable[[], Report], *, twin: bool = False) -> Check:
    return Check("learn", name, run, twin)


CHECKS = [
    *(
        _check(f"loss of all histograms, {law}, {relation}", partial(all_histograms, law, relation))
        for law in ("laplace", "gaussian")
        for relation in ("add_remove", "replace_one")
    ),
    *(
        _check(f"thresholds on every edge, {relation}", partial(thresholds, relation))
        for relation in ("add_remove", "replace_one")
    ),
    _check(
        "broken twin: bounds from the data",
        partial(all_histograms, "laplace", "add_remove", 1, data_bounds=True),
        twin=True,
    ),
    _check(
        "broken twin: the noise of one table for all",
        partial(all_histograms, "gaussian", "add_remove", 1, tables=1),
        twin=True,
    ),
    _check(
        "broken twin: the exact number of records",
        partial(all_histograms, "laplace", "add_remove", 1, exact_n=True),
        twin=True,
    ),
    _check(
        "broken twin: empty cells left out",
        partial(all_histograms, "laplace", "add_remove", 1, left_out=True),
        twin=True,
    ),
    _check(
        "broken twin: a threshold at twice its price",
        partial(thresholds, "add_remove", Fraction(3)),
        twin=True,
    ),
]
