"""Certificates where cells do not certify: many columns, other metrics.

A pivot with ``cap`` records within rho of it certifies every record within radius - rho of it, by
the triangle inequality, which all six metrics have. Pivots are drawn from a sample, which also says
which of them are worth counting; what counts is then exact (`proof.md`, "Cells and pivots
elsewhere").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from whitecrow._arrays import Counts, Flags, Matrix
from whitecrow.neighbours.plans import count_records
from whitecrow.neighbours.relation import MIXED, SQUARES, Form, measures
from whitecrow.neighbours.work import Group

_LEVELS = (0.25, 0.375, 0.5, 0.625, 0.75, 0.875)  # parts of the radius that rho may be
_CANDIDATES = 256
_MOST = 96
_WITNESSES = 4096
_FEWEST = 8  # so many records of the sample around a candidate make it worth counting
_MARGIN = 1.0 - 2.0**-20


@dataclass(frozen=True, repr=False)
class Pivots:
    """Pivots by level."""

    inner: tuple[Group, ...]  # the pivots of a level, and what is within rho of them
    outer: tuple[Group, ...]  # the same pivots, and what is within radius - rho
    open: float  # the part of the sample that they leave open

    def holding(self, enough: Flags) -> tuple[Group, ...]:
        """Return the coverings of the pivots that have been found to hold enough records."""
        groups, first = [], 0
        for group in self.outer:
            held = enough[first : first + len(group.asked)]
            first += len(held)
            if held.any():
                groups.append(Group(group.form, group.asked[held]))
        return tuple(groups)


def choose(
    sample: Matrix,
    form: Form,
    size: int,
    cap: int,
    *,
    candidates: int = _CANDIDATES,
    count: Callable[[Matrix, Form, int], Counts] | None = None,
) -> Pivots:
    """Choose pivots among a sample, embedded as the measure compares it, of ``size`` records.

    ``count`` says how many of the sample are about each of some places; by default the processor
    counts them.
    """
    count = count or (lambda asked, form, most: count_records(sample, form, asked, most))
    witnesses, places = sample[:_WITNESSES], sample[:candidates]
    pairs = _split(form)
    needed = max(_FEWEST, math.ceil(1.1 * cap * len(sample) / max(1, size)))
    level = np.full(len(places), -1)
    for number, (inner, _) in enumerate(pairs):
        undecided = np.flatnonzero(level < 0)
        around = count(places[undecided], inner, needed)
        level[undecided[around >= needed]] = number
    usable = np.flatnonzero(level >= 0)
    covers = np.zeros((len(usable), len(witnesses)), bool)
    columns = np.ascontiguousarray(witnesses.T)
    with np.errstate(all="ignore"):
        for row, pivot in enumerate(usable):
            outer = pairs[level[pivot]][1]
            covers[row] = measures(outer, columns, places[pivot]) <= outer.threshold
    chosen, covered = _greedy(covers)
    picked = usable[chosen]
    groups = [
        (Group(inner, places[rows]), Group(outer, places[rows]))
        for number, (inner, outer) in enumerate(pairs)
        if len(rows := picked[level[picked] == number])
    ]
    return Pivots(
        tuple(inner for inner, _ in groups),
        tuple(outer for _, outer in groups),
        1.0 - float(covered.mean()) if len(witnesses) else 1.0,
    )


def _greedy(covers: Flags) -> tuple[list[int], Flags]:
    """Take the pivot that covers most of what is open, again and again."""
    still_open = covers
    chosen: list[int] = []
    while len(chosen) < _MOST and len(covers):
        gain = still_open.sum(axis=1)
        best = int(gain.argmax())
        if gain[best] == 0:
            break
        chosen.append(best)
        still_open = still_open[:, ~still_open[best]]
    covered: Flags = np.any(covers[chosen], axis=0)
    return chosen, covered


def _split(form: Form) -> list[tuple[Form, Form]]:
    """Return pairs of forms "within rho" and "within radius - rho", rho ascending."""
    radius = form.radius
    if form.kind == MIXED and not any(form.scales):
        # Hamming counts: whole parts lose nothing.
        whole = math.floor(radius)
        parts = sorted({math.floor(part * whole) for part in _LEVELS})
        return [(_shrunk(form, float(rho)), _shrunk(form, float(whole - rho))) for rho in parts]
    if not 1e-100 < radius < 1e100:
        return []
    return [
        (_shrunk(form, part * radius), _shrunk(form, (1.0 - part) * radius * _MARGIN))
        for part in _LEVELS
    ]


def _shrunk(form: Form, radius: float) -> Form:
    threshold = radius * radius if form.kind == SQUARES else radius
    return replace(form, threshold=threshold)
