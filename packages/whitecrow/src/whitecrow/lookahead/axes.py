"""How each column of ``lookahead`` is divided: from the card and the question alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whitecrow.card import Card, Column
from whitecrow.data.keys import Cut, Key, Plain
from whitecrow.errors import InvalidInput
from whitecrow.privacy import ZoneColumn, unrounded


@dataclass(frozen=True)
class Axis:
    """One column of the histogram."""

    key: Key  # what records are grouped by
    # The values in their order: categories, whole numbers, or intervals in words.
    values: Sequence[int | str]
    first: int  # the key of the first value
    # The column, or the column and how it is cut: what "the same value" means in the promise.
    label: ZoneColumn


def axis_of(name: str, card: Card, bins: int | None) -> Axis:
    column = card.column(name)
    if column.type == "category" and column.categories is not None:
        return Axis(Plain(name), column.categories, 0, name)
    lower, upper = column.lower, column.upper
    if column.type == "integer" and lower is not None and upper is not None:
        whole = range(math.ceil(lower), math.floor(upper) + 1)
        return Axis(Plain(name), whole, whole.start, name)
    if column.type == "number" and bins is not None and lower is not None and upper is not None:
        step = (upper - lower) / bins
        edges = tuple(lower + step * place for place in range(1, bins))
        return Axis(
            Cut(name, edges), _intervals(column, edges), 0, (name, f"in {bins} equal parts")
        )
    if column.type == "number" and bins is None and column.edges:
        label = name, "cut at " + ", ".join(unrounded(edge) for edge in column.edges)
        return Axis(Cut(name, column.edges), _intervals(column, column.edges), 0, label)
    raise InvalidInput(
        f"The column {name!r} has no finite list of values on the card. Lookahead needs "
        'categories, type = "integer" with bounds, or a number with edges on the card, or with '
        "bounds and 'bins' in the question."
    )


def _intervals(column: Column, edges: Sequence[float]) -> tuple[str, ...]:
    """Say which interval each place among the edges is; the lower end belongs to it."""
    first = "below {}" if column.lower is None else f"{column.lower:.12g} to {{}}"
    last = "{} or more" if column.upper is None else f"{{}} to {column.upper:.12g}"
    ends = [f"{edge:.12g}" for edge in edges]
    if len(set(ends)) < len(ends):
        raise InvalidInput(f"The bins of {column.name!r} are too narrow to be told apart.")
    middle = (f"{low} to {high}" for low, high in pairwise(ends))
    return (first.format(ends[0]), *middle, last.format(ends[-1]))
