"""Every database of a small universe at once, as arrays, for the checks of sensitive privacy.

A universe is a few places, a reflexive relation that says which places are near which, and a
largest count. A database is the count of each place; databases are numbered so that adding one
record at place ``j`` adds ``stride(j)`` to the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.graph import Counts, DatabaseGraph, Edges, Flags
from whitecrow.exhaustive import Report
from whitecrow_audit.verify.universes import neighbours_on_line, neighbours_on_ring

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """What edges do to the counts (copies, neighbours) around the places asked about.

    Laws depend on the two counts alone, so edges with the same effect have the same loss: each
    kind of step is listed once, with how many edges take it and one of them to show.
    """

    # copies, neighbours: The counts in the smaller database.
    copies: Counts
    neighbours: Counts
    # Whether the record that comes is a copy (both counts grow) or another neighbour (one does).
    own: Flags
    times: Counts  # how many pairs of an edge and a place asked about take this step
    # smaller, larger, place: One such pair.
    smaller: Counts
    larger: Counts
    place: Counts
    # How many pairs leave both counts as they are, so that nothing can be learnt from them.
    still: int

    def before_and_after(self, of: Callable[[int, int], float]) -> tuple[Floats, Floats]:
        """Return a function of the two counts (remembered, if it is called often) at both ends."""
        starts = list(zip(self.copies.tolist(), self.neighbours.tolist(), strict=True))
        ends = [(v + own, b + 1) for (v, b), own in zip(starts, self.own.tolist(), strict=True)]
        return np.array([of(*pair) for pair in starts]), np.array([of(*pair) for pair in ends])

    def answers(self, beta: int) -> tuple[Flags, Flags]:
        """Return the true answers at both ends: present, with at most ``beta`` neighbours."""
        before = (self.copies >= 1) & (self.neighbours <= beta)
        after = (self.copies + self.own >= 1) & (self.neighbours + 1 <= beta)
        return before, after


@dataclass(frozen=True)
class Universe:
    """All databases over a few places with at most ``most`` records at each."""

    name: str
    near: Flags = field(repr=False)
    most: int
    _steps: dict[int, Steps] = field(default_factory=dict, repr=False)

    @property
    def places(self) -> int:
        """How many places there are."""
        return len(self.near)

    @cached_property
    def databases(self) -> Counts:
        """Every database, one row each."""
        grid = np.indices((self.most + 1,) * self.places)
        return np.ascontiguousarray(grid.reshape(self.places, -1).T)

    @cached_property
    def neighbours(self) -> Counts:
        """For each database (row) and place (column): the records near that place."""
        return np.asarray(self.databases @ self.near.T.astype(np.int64))

    def anomalous(self, place: int, beta: int) -> Flags:
        """Say in which databases a record of this place is present and an anomaly."""
        present = self.databases[:, place] >= 1
        return np.asarray(present & (self.neighbours[:, place] <= beta))

    def stride(self, place: int) -> int:
        """Return how far apart in number two databases that differ in one record there are."""
        return int((self.most + 1) ** (self.places - 1 - place))

    def sensitive_edges(self, tau: int) -> Edges:
        """Return, for each place, the pairs that differ in one *sensitive* record there.

        The record is sensitive if it has at least ``tau`` neighbours, itself included, in the
        larger database (``proof.md`` of identify, Lemma 1); ``tau <= 1`` gives every pair.
        """
        edges = []
        for place in range(self.places):
            present = self.databases[:, place] >= 1
            larger = np.flatnonzero(present & (self.neighbours[:, place] >= tau))
            edges.append((larger - self.stride(place), larger))
        return edges

    def steps(self, tau: int) -> Steps:
        """Return what the sensitive edges do around every place."""
        tau = max(1, tau)
        if tau not in self._steps:
            self._steps[tau] = self._count_steps(tau)
        return self._steps[tau]

    def _count_steps(self, tau: int) -> Steps:
        width = self.most * self.places + 1
        kinds = 2 * (self.most + 1) * width
        times, example = np.zeros(kinds, dtype=np.int64), np.zeros((kinds, 3), dtype=np.int64)
        still = 0
        for record, (smaller, larger) in enumerate(self.sensitive_edges(tau)):
            for place in range(self.places):
                if not self.near[place, record]:
                    still += len(smaller)
                    continue
                copies, neighbours = (
                    counts[smaller, place] for counts in (self.databases, self.neighbours)
                )
                kind = 2 * (copies * width + neighbours) + (record == place)
                times += np.bincount(kind, minlength=kinds)
                example[kind] = np.stack([smaller, larger, np.full_like(smaller, place)], axis=1)
        taken = np.flatnonzero(times)
        counts, own = np.divmod(taken, 2)
        copies, neighbours = np.divmod(counts, width)
        smaller, larger, at = example[taken].T
        return Steps(
            copies, neighbours, own.astype(np.bool_), times[taken], smaller, larger, at, still
        )

    distances = staticmethod(DatabaseGraph.distances)

    def true_discrepancy(self, place: int, beta: int, edges: Edges) -> Counts:
        """Return, by brute force, the distance to the nearest database with the other answer.

        Counts are cut at ``most``, so near the edge of the universe the result may be too large.
        """
        anomalous = self.anomalous(place, beta)
        to_yes, to_no = self.distances(anomalous, edges), self.distances(~anomalous, edges)
        return np.where(anomalous, to_no, to_yes)

    def show(self, number: int) -> str:
        """Write a database for people."""
        return str(tuple(int(count) for count in self.databases[number]))


def line(places: int, radius: int, most: int) -> Universe:
    """Return the universe of points on a line."""
    name = f"line of {places}, radius {radius}"
    return Universe(name, _matrix(neighbours_on_line(places, radius)), most)


def ring(places: int, radius: int, most: int) -> Universe:
    """Return the universe of points on a ring."""
    name = f"ring of {places}, radius {radius}"
    return Universe(name, _matrix(neighbours_on_ring(places, radius)), most)


def random_relation(places: int, most: int, seed: int) -> Universe:
    """Return a universe whose nearness is reflexive and nothing else, not even symmetric."""
    near = np.random.default_rng(seed).random((places, places)) < 0.5
    np.fill_diagonal(near, True)
    return Universe(f"relation {seed} on {places}", near, most)


def universes() -> Iterator[tuple[int, Universe]]:
    """Yield the universes that every claim is computed on, each with its radius.

    Lines and rings of 2 to 5 points with up to 8 records at each, and relations that come from no
    distance at all.
    """
    for places in (2, 3, 4, 5):
        for radius in (0, 1, 2):
            yield radius, line(places, radius, 8)
            if places > 2:
                yield radius, ring(places, radius, 8)
    for seed in range(100):
        yield 1, random_relation(2 + seed % 3, 4, seed)


def flip_losses(wrong: tuple[Floats, Floats], answers: tuple[Flags, Flags]) -> Floats:
    """Return the loss on edges of an answer that is turned over with a probability.

    ``wrong`` has, at both ends of each edge, ln of the probability of the wrong answer.
    """
    right = tuple(np.log1p(-np.exp(at)) for at in wrong)
    worst = np.zeros(len(wrong[0]))
    for answer in (True, False):
        a, b = (np.where(answers[e] == answer, right[e], wrong[e]) for e in (0, 1))
        same = a == b  # also where both are impossible
        worst = np.maximum(worst, np.abs(np.where(same, 0.0, a) - np.where(same, 0.0, b)))
    return worst


def _matrix(near: list[list[int]]) -> Flags:
    matrix = np.zeros((len(near), len(near)), dtype=np.bool_)
    for row, others in enumerate(near):
        matrix[row, others] = True
    return matrix


class Tally:
    """Adds up what an exhaustive check over many universes finds."""

    def __init__(self) -> None:
        self.databases = self.edges = 0
        self.worst, self.where = 0.0, ""
        self._seen: set[tuple[str, int]] = set()

    def add_steps(self, universe: Universe, steps: Steps, losses: Floats, what: str) -> None:
        """Count the edges behind steps, and keep the worst of them."""
        self._see(universe, int(steps.times.sum()) + steps.still)
        if len(losses) and (losses.max() > self.worst or not self.where):
            at = int(losses.argmax())
            self.worst = float(losses[at])
            pair = f"{universe.show(steps.smaller[at])} ~ {universe.show(steps.larger[at])}"
            self.where = f"{universe.name}: {pair}, place {steps.place[at] + 1}, {what}"

    def add_databases(self, universe: Universe, numbers: Counts, losses: Floats, what: str) -> None:
        """Count single databases, and keep the worst of them."""
        self._see(universe, len(numbers))
        if len(losses) and (losses.max() > self.worst or not self.where):
            at = int(losses.argmax())
            self.worst = float(losses[at])
            self.where = f"{universe.name}: {universe.show(numbers[at])}, {what}"

    def _see(self, universe: Universe, edges: int) -> None:
        if (universe.name, universe.most) not in self._seen:
            self._seen.add((universe.name, universe.most))
            self.databases += len(universe.databases)
        self.edges += edges

    def report(self, bound: float, note: str = "") -> Report:
        """Return the finding."""
        return Report(self.databases, self.edges, self.worst, bound, self.where, note)
