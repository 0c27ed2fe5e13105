"""What ``lookahead`` must know of the data, and where a true histogram becomes a released one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Records
from whitecrow.lookahead.question import Lookahead
from whitecrow.neighbours import Engine
from whitecrow.noise import Source, discrete_laplace
from whitecrow.privacy import Facts
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class LookaheadFacts(Facts):
    """The true histogram."""

    exact_cells: NDArray[np.int64]  # the occupied cells: places in the domain's lists, in its order
    exact_counts: NDArray[np.int64]  # how many records each holds; at least 1
    domain: tuple[Sequence[int | str], ...]  # the values of each column (public)
    step: Fraction  # the loss allowed for one record (public)


def gather(
    question: Lookahead, dataset: Records, engine: Engine, progress: Progress | None = None
) -> LookaheadFacts:
    """Count the records of each occupied cell."""
    axes = question.axes(dataset.card)
    groups, held = dataset.tally([axis.key for axis in axes])
    firsts = np.array([axis.first for axis in axes], dtype=np.int64)
    places = np.column_stack(groups).astype(np.int64) - firsts
    cells, which = np.unique(places, axis=0, return_inverse=True)
    counts = np.zeros(len(cells), np.int64)
    np.add.at(counts, which.reshape(-1), held)
    step = question.epsilon / dataset.card.contribution
    return LookaheadFacts(cells, counts, tuple(axis.values for axis in axes), step)


def release(
    question: Lookahead, facts: LookaheadFacts, source: Source | None = None
) -> dict[str, Any]:
    """Perturb every cell that holds at least ``threshold`` records and list what is not empty.

    The answer is a function of the perturbed histogram alone: the cells whose *released* count is
    above 0, in the domain's order, with those counts. Nothing tells which cells were perturbed or
    which occupied cells fell to 0; that would be a function of the true histogram.
    """
    scale = 1 / facts.step
    counts = dict(
        zip(map(tuple, facts.exact_cells.tolist()), facts.exact_counts.tolist(), strict=True)
    )
    # An empty cell is below a threshold of 1 or more and stays 0, so the occupied ones are enough;
    # with threshold 0 the empty ones are perturbed like all others.
    every: Iterable[tuple[int, ...]] = counts
    if question.threshold == 0:
        every = itertools.product(*(range(len(values)) for values in facts.domain))
    cells = []
    for cell in every:
        count = counts.get(cell, 0)
        if count >= question.threshold:
            count = max(0, count + discrete_laplace(scale, source))
        if count > 0:
            values = [facts.domain[axis][index] for axis, index in enumerate(cell)]
            cells.append([*values, count])
    return {"columns": list(question.columns), "cells": cells}


def anomalies(answer: Mapping[str, Any], *, beta: int) -> list[list[Any]]:
    """Return the released cells that hold 1 to ``beta`` records: free, from the release alone."""
    return [cell for cell in answer["cells"] if cell[-1] <= beta]
