"""Learn, checked: what the shipped stages ask noise for, and noise that sites draw in shares.

The stages are run with a tape instead of noise (:mod:`whitecrow_audit.verify.tape`), on every edge
of a small universe.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import ABSENT_NUMBER
from whitecrow.detector.model import Grid
from whitecrow.exhaustive import Report, exhaust
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.learning import threshold
from whitecrow.learning.training import train
from whitecrow.privacy import Unit
from whitecrow_audit.verify.tape import Tape, histogram_checks, worst_of
from whitecrow_audit.verify.universes import Checks, Histogram, databases, edges

_SPAN = 120
_FAR = 40


def share_sum_law(rate: float, parts: int, shares: int) -> npt.NDArray[np.float64]:
    """Return P(sum of ``shares`` shares of one part in ``parts`` = -120 .. 120)."""
    a, r = math.exp(-rate), shares / parts
    single = np.empty(16 * _SPAN)
    single[0] = (1 - a) ** r
    for k in range(1, len(single)):
        single[k] = single[k - 1] * a * (k - 1 + r) / k
    both = np.correlate(single, single, mode="full")
    middle = len(single) - 1
    return both[middle - _SPAN : middle + _SPAN + 1]


def _sum_check(parts: int, shares: int) -> Report:
    """One cell, one person more or less, at any of the sites."""
    law = share_sum_law(1.0, parts, shares)

    def counted(x: int) -> Mapping[Hashable, float]:
        values = range(-_FAR, _FAR + 1)
        return {value: float(law[_SPAN + value - x]) for value in values}

    return exhaust(counted, [(x, x + 1) for x in range(4)], 1.0)


def _equal_law(parts: int) -> Report:
    """The loss here is the distance to the discrete Laplace law."""
    ratio = math.exp(-1.0)
    values = np.arange(-_SPAN, _SPAN + 1)
    central = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    near = slice(_SPAN - _FAR, _SPAN + _FAR + 1)
    far = np.abs(np.log(share_sum_law(1.0, parts, parts)[near] / central[near]))
    return Report(1, 1, float(far.max()), 0.0, f"{parts} sites")


VALUES = ((0.1, 0.0, 3.0), (0.9, 1.0, ABSENT_NUMBER), (0.1, 2.0, 500.0))
"""The records there may be: a number, a category of three (the last is missing), a number without
bounds that may be missing."""

GRIDS = (
    Grid("x", True, False, 0.0, 1.0),
    Grid("y", False, True, 0.0, 2.0, absent=2.0),
    Grid("z", True, False, None, None, absent=ABSENT_NUMBER),
)
MOST = 2


def _rows(x: Histogram) -> npt.NDArray[np.float64]:
    chosen = [value for value, count in zip(VALUES, x, strict=True) for _ in range(count)]
    return np.array(chosen, dtype=np.float64).reshape(-1, len(GRIDS))


def _run(x: Histogram, tape: Tape, **broken: Any) -> Hashable:
    """Run the stages on a database; return what is public of it."""
    rows = _rows(x)
    grids = GRIDS
    if broken.get("data_bounds") and len(rows):
        low, high = float(rows[:, 0].min()), float(rows[:, 0].max()) + 1.0
        grids = (Grid("x", True, False, low, high), *GRIDS[1:])
    budget: Any = tape
    model = train(
        grids,
        Bought(CellFacts(partial(counted_rows, rows)), budget),
        Fraction(1),
        size=len(rows) if broken.get("exact_n") else None,
    )
    layout = (model.grids, model.tables.axis.tobytes(), model.tables.offset.tobytes())
    return layout, model.records, model.counts.tobytes()


def all_histograms(law: str, relation: Unit, seeds: int = 2, **broken: Any) -> Report:
    """Return the worst loss of stages 1 and 2 on every edge, over some public seeds."""
    budget = NoiseBudget(law, Fraction(1, 2), relation, 1)
    tape = {key: broken.pop(key) for key in ("tables", "left_out") if key in broken}
    release = partial(_run, **broken)
    return worst_of(release, budget, len(VALUES), MOST, seeds, **tape)


def thresholds(relation: Unit, eta_factor: Fraction = Fraction(1)) -> Report:
    """Return the worst loss of a threshold's choice over small histograms of scores."""
    epsilon, rate = Fraction(1), Fraction(1, 3)
    eta = epsilon * eta_factor / (2 * threshold.sensitivity(rate, relation, 1))

    def law(x: Histogram) -> Mapping[Hashable, float]:
        scores = threshold.utilities(np.array(x), rate)
        weights = [math.exp(float(eta) * value) for value in scores]
        return {index: weight / sum(weights) for index, weight in enumerate(weights)}

    pairs = [(x, y) for x, y, _ in edges(3, 3)]
    if relation == "replace_one":
        pairs = [
            (x, y)
            for x in databases(3, 3)
            for y in databases(3, 3)
            if sum(x) == sum(y) and sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 2
        ]
    return exhaust(law, pairs, float(epsilon))


CHECKS: Checks = {
    **histogram_checks(
        all_histograms,
        bounds_from_the_data={"data_bounds": True},
        the_noise_of_one_table_for_all={"tables": 1},
        the_exact_number_of_records={"exact_n": True},
        empty_cells_left_out={"left_out": True},
    ),
    "thresholds on every edge, add_remove": partial(thresholds, "add_remove"),
    "thresholds on every edge, replace_one": partial(thresholds, "replace_one"),
    "mutant: a threshold at twice its price": partial(thresholds, "add_remove", Fraction(3)),
    **{
        f"shares of {parts} sites add up to the central law": partial(_equal_law, parts)
        for parts in (2, 3, 7)
    },
    "two sites must be honest, 2 are": partial(_sum_check, 2, 2),
    "two sites must be honest, 3 are": partial(_sum_check, 2, 3),
    "mutant: shares for three sites where one drops its own": partial(_sum_check, 3, 2),
}
