"""Profile, checked: every histogram that the shipped search asks for, and values that are named.

The search is run with a tape instead of noise (:mod:`whitecrow_audit.verify.tape`); on another tape
it goes another way, deeper or shallower. Values that the card does not list are named by a
threshold, whose chance is computed from the exact law of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from whitecrow.data import Card, Column
from whitecrow.exhaustive import Report
from whitecrow.histogram.facts import Counts, counted_rows
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.privacy import Unit
from whitecrow.profile.facts import ByEdges, ProfileFacts
from whitecrow.profile.mechanism import described
from whitecrow.profile.question import Profile
from whitecrow.profile.search import threshold
from whitecrow_audit.verify.tape import Silent, Tape, histogram_checks, worst_of
from whitecrow_audit.verify.universes import Checks, Histogram

VALUES = ((0.1, 3.0), (-4e9, 0.0), (math.nan, 5e-324), (0.1, 1.5e308))
"""The records there may be: two numbers without bounds, one of them missing now and then."""

CARD = Card("small", (Column("x"), Column("y")))
MOST = 2


def _facts(x: Histogram, **broken: Any) -> ProfileFacts:
    rows = np.array(
        [value for value, count in zip(VALUES, x, strict=True) for _ in range(count)],
        dtype=np.float64,
    ).reshape(-1, 2)

    def count(cells: ByEdges) -> Counts:
        return counted_rows(rows[:, [CARD.names.index(name) for name in cells.names]], cells)

    def texts(name: str) -> dict[str | None, int]:
        raise NotImplementedError

    return ProfileFacts(count, CARD, texts)


def _run(x: Histogram, tape: Tape, **broken: Any) -> Hashable:
    """Run all searches on a database; return what is public of it."""
    facts = _facts(x)
    parts = Profile(epsilon=1).parts(CARD)
    budget: Any = tape
    if broken.get("one_column"):
        # The noise that one column alone would need, for all of them.
        alone = Profile(["x"], epsilon=1).parts(CARD)[0].share
        parts = tuple(part.__class__(part.name, part.kind, alone, False) for part in parts)
    description = described(parts, facts, budget, None, most_cells=256)
    public: list[Hashable] = [
        description[name].edges + description[name].counts for name in CARD.names
    ]
    if broken.get("exact_missing"):
        cells = ByEdges(("x",), (np.array([0.0]),))
        public.append(int(facts.noisy_counts(cells, Silent())[0]))
    else:
        public.append(description["x"].missing)
    if broken.get("data_bounds"):
        lower = [value[1] for value, count in zip(VALUES, x, strict=True) if count]
        public.append(min(lower, default=0.0))
    return tuple(public)


def all_histograms(law: str, relation: Unit, seeds: int = 2, **broken: Any) -> Report:
    """Return the worst loss of all searches on every edge, over some public seeds."""
    budget = NoiseBudget(law, Fraction(1, 2), relation, 1)
    tape = {key: broken.pop(key) for key in ("left_out",) if key in broken}
    # Large numbers on the tape make the search go deep; its way is as public as any.
    return worst_of(partial(_run, **broken), budget, len(VALUES), MOST, seeds, highest=4000, **tape)


def named_values(
    contribution: int, delta: Fraction, least: Callable[[Noise], int] | None = None
) -> Report:
    """Return the largest chance that a value is named which one person alone has.

    All ways are tried in which a person's records may be spread over values of their own.
    """
    noise = Noise("gaussian", Fraction(9))
    bound = threshold(noise, contribution, delta) if least is None else least(noise)
    worst, where, count = 0.0, "", 0
    for records in _partitions(contribution):
        count += 1
        unnamed = math.prod(1.0 - _at_least(bound - record, noise) for record in records)
        if 1.0 - unnamed > worst:
            worst, where = 1.0 - unnamed, f"{records} records of values of one's own"
    return Report(count, count, worst, float(delta), where)


def _partitions(total: int, most: int | None = None) -> list[tuple[int, ...]]:
    partitions: list[tuple[int, ...]] = [()]
    for first in range(1, min(total, most or total) + 1):
        partitions += [(first, *rest) for rest in _partitions(total - first, first)]
    return partitions


def _at_least(least: int, noise: Noise) -> float:
    """Return the chance that a discrete Gaussian is at least so large, by its exact law."""
    variance = float(noise.size)
    values = range(-200, 201)
    weights = {value: math.exp(-value * value / (2.0 * variance)) for value in values}
    total = math.fsum(weights.values())
    return math.fsum(weight for value, weight in weights.items() if value >= least) / total


_DELTA = Fraction(1, 1000)

CHECKS: Checks = {
    **histogram_checks(
        all_histograms,
        bounds_from_the_data={"data_bounds": True},
        the_noise_of_one_column_for_all={"one_column": True},
        the_exact_share_missing={"exact_missing": True},
        empty_cells_left_out={"left_out": True},
    ),
    **{
        f"chance that a person's own value is named, {n} records": partial(named_values, n, _DELTA)
        for n in (1, 2, 5)
    },
    "mutant: every value named that occurs (a threshold without δ)": partial(
        named_values, 1, _DELTA, lambda noise: 1
    ),
    "mutant: a threshold for one record where a person has five": partial(
        named_values, 5, _DELTA, lambda noise: threshold(noise, 1, _DELTA)
    ),
}
