"""Where the true histogram becomes the released one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from whitecrow.lookahead.facts import LookaheadFacts
from whitecrow.lookahead.question import Lookahead
from whitecrow.noise import Source, discrete_laplace


def release(
    question: Lookahead, facts: LookaheadFacts, source: Source | None = None
) -> dict[str, Any]:
    """Perturb every cell that holds at least ``threshold`` records and list what is not empty.

    The answer is a function of the perturbed histogram alone: the cells whose *released* count is
    above 0, in the domain's order, with those counts. Nothing tells which cells were perturbed or
    which occupied cells fell to 0; that would be a function of the true histogram.
    """
    scale = 1 / facts.step
    cells = []
    for cell, count in _considered(question, facts):
        if count >= question.threshold:
            count = max(0, count + discrete_laplace(scale, source))
        if count > 0:
            values = [facts.domain[axis][place] for axis, place in enumerate(cell)]
            cells.append([*values, count])
    return {"columns": list(question.columns), "cells": cells}


def _considered(
    question: Lookahead, facts: LookaheadFacts
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield each cell that may be released, in the domain's order, with its true count.

    An empty cell is below a threshold of 1 or more and stays 0, so the occupied cells are enough;
    with threshold 0 the empty ones are perturbed like all others.
    """
    occupied = zip(map(tuple, facts.exact_cells.tolist()), facts.exact_counts.tolist(), strict=True)
    if question.threshold > 0:
        yield from occupied
        return
    counts = dict(occupied)
    for cell in itertools.product(*(range(len(values)) for values in facts.domain)):
        yield cell, counts.get(cell, 0)


def anomalies(answer: Mapping[str, Any], *, beta: int) -> list[list[Any]]:
    """Return the released cells that hold 1 to ``beta`` records: free, from the release alone.

    Examples
    --------
    >>> anomalies({"columns": ["ward"], "cells": [["A", 3], ["B", 40]]}, beta=20)
    [['A', 3]]
    """
    return [cell for cell in answer["cells"] if cell[-1] <= beta]
