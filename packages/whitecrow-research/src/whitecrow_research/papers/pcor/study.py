"""How often does one more or one fewer record change the matching contexts? For custodians.

The conditional promise holds only where the matching set stays the same. This study measures how
often it does (the paper's Tables 12 and 13). Its figures are exact and private: they help the
custodian to choose a notion and are never shown to an analyst.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.detectors import Grubbs
from whitecrow.data import Dataset
from whitecrow.errors import invalid
from whitecrow.explain.question import Explain
from whitecrow.explain.verdicts import Population, Verdicts
from whitecrow.privacy import Facts
from whitecrow.question import Progress

CHANGES = ("remove", "add")
_MANY = 100
"""So many sizes are asked for at once only by whoever wants all of them."""


@dataclass(frozen=True, repr=False, eq=False)
class MatchStudy(Facts):
    """What became of the matching set in random neighbouring databases. For the custodian only.

    Parameters
    ----------
    matching : int
        In how many contexts the record is an outlier.
    unchanged : float
        The share of neighbours with exactly the same matching set: where the promise holds.
    overlap : float
        The mean of (contexts in both sets) / (contexts in either).
    """

    matching: int
    unchanged: float
    overlap: float


class _SteadyGrubbs(Grubbs):
    """The same verdicts; critical values are remembered, since no size here is an analyst's."""

    def shares(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the critical share for populations of these sizes."""
        if len(sizes) < _MANY:
            return super().shares(sizes)
        return _shares(self, len(sizes))


@lru_cache(maxsize=8)
def _shares(detector: Grubbs, count: int) -> NDArray[np.float64]:
    return Grubbs.shares(detector, np.arange(count))


def match_study(
    question: Explain,
    dataset: Dataset,
    *,
    records: int = 1,
    neighbours: int = 50,
    change: str = "remove",
    seed: int = 0,
    progress: Progress | None = None,
) -> MatchStudy:
    """Compare the matching set with that of random databases a few records away.

    Parameters
    ----------
    question : Explain
        The record, attributes, metric and detector; the rest does not matter.
    dataset : Dataset
        The records.
    records : int
        How many records come or go (the paper's ΔD).
    neighbours : int
        How many databases are tried.
    change : {"remove", "add"}
        Whether random records go, or come: the attributes of one random record with the metric of
        another.
    seed : int
        Where the choice of neighbours starts; it protects nobody.
    progress : callable, optional
        Called with the number of databases done.
    """
    for parameter, value in (("records", records), ("neighbours", neighbours)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise invalid("match_study", parameter, "a whole number of at least 1", value)
    if change not in CHANGES:
        raise invalid("match_study", "change", f"one of {', '.join(CHANGES)}", change)
    card = dataset.card
    question.check(card)
    space = question.space(card)
    grid, own, detector = question.on_grid(card)
    needs = space.needs([a.codes(dataset.values(a.name)) for a in space.attributes])
    offsets = grid.cells(dataset.values(question.metric)) - own
    if isinstance(detector, Grubbs):
        detector = _SteadyGrubbs(detector.level, detector.sides)
    # Equal records are one row with a count: most neighbours differ in counts alone.
    rows, group, counts = np.unique(
        np.column_stack([needs, offsets]), axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)

    def matches(counts: NDArray[np.int64], added: NDArray[np.int64]) -> NDArray[np.bool_]:
        here = np.vstack([rows, added])
        times = np.append(counts, np.ones(len(added), np.int64))
        here, times = here[times > 0], times[times > 0]  # the record itself may have gone
        population = Population(here[:, :-1], here[:, -1], space.bits, times)
        return Verdicts(population, detector).all()

    random = np.random.default_rng(seed)
    nobody = rows[:0]
    before = matches(counts, nobody)
    same, shared = 0, 0.0
    for done in range(neighbours):
        if change == "remove":
            gone = random.choice(len(offsets), size=min(records, len(offsets)), replace=False)
            after = matches(counts - np.bincount(group[gone], minlength=len(rows)), nobody)
        else:
            a, b = random.integers(0, max(1, len(offsets)), size=(2, records))
            after = matches(counts, np.column_stack([needs[a], offsets[b]]))
        either = int((before | after).sum())
        same += bool((before == after).all())
        shared += int((before & after).sum()) / either if either else 1.0
        if progress is not None:
            progress(done + 1, neighbours, "neighbours")
    return MatchStudy(int(before.sum()), same / neighbours, shared / neighbours)
