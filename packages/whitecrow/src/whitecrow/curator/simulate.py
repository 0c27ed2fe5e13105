"""Made-up records that fit a card, for previews: nothing of the data is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column, Dataset
from whitecrow.errors import InvalidInput
from whitecrow.histogram.table import TableProfile

_RANKS = np.linspace(0.0005, 0.9995, 1000)

_SMALL = 2.0**-32
"""Between two ranks lie less than so many of the largest number."""
_MOST_WHOLE = 2**53
_A_CENTURY = (0, 36_525)  # days since 1970


def simulated(card: Card, size: int, seed: int = 0) -> Dataset:
    """Draw ``size`` records uniformly within the card's bounds and categories.

    Examples
    --------
    >>> from whitecrow.data import Column
    >>> simulated(Card("toy", (Column("age", lower=0, upper=120),)), 10).size
    10
    """
    random = np.random.default_rng(seed)
    return Dataset(
        card,
        {column.name: _values(column, card, size, random) for column in card.columns},
        origin="simulated",
    )


def _values(column: Column, card: Card, size: int, random: np.random.Generator) -> npt.NDArray[Any]:
    if column.name == card.user_column or column.type == "text":
        people = range(size)
        return np.array([f"simulated-{i // card.contribution}" for i in people], dtype=object)
    if column.categories is not None:
        return random.integers(0, len(column.categories), size)
    if column.type == "date":
        lower, upper = _A_CENTURY if column.lower is None else (column.lower, column.upper)
        return random.integers(int(lower), int(upper or 0) + 1, size)
    if column.lower is None or column.upper is None:
        raise InvalidInput(
            f"The card gives no bounds for {column.name!r}, so nothing can be simulated; give "
            "'lower' and 'upper' from public knowledge."
        )
    whole = column.type == "integer"
    if whole and max(abs(column.lower), abs(column.upper)) < _MOST_WHOLE:
        return random.integers(int(column.lower), int(column.upper) + 1, size).astype(np.float64)
    lower, upper = float(column.lower), float(column.upper)
    # Halved, the widest bounds are no wider than a number; beyond 2^53 all numbers are whole.
    values = (lower / 2.0 + (upper / 2.0 - lower / 2.0) * random.random(size)) * 2.0
    return np.clip(np.rint(values) if whole else values, lower, upper)


def with_bounds(card: Card, profile: TableProfile) -> Card:
    """The card, with the bounds of the profile where it has none: they only make records up."""
    drafted = profile.card()
    known = set(drafted.names)
    columns = tuple(
        drafted.column(column.name) if column.name in known and not _drawable(column) else column
        for column in card.columns
    )
    return Card(card.name, columns)


def _drawable(column: Column) -> bool:
    return column.bounded or column.categories is not None or column.type == "text"


def make_up(card: Card, size: int, profile: TableProfile | None, seed: int = 0) -> Dataset:
    """Made-up records: from the profile's marginals, or uniform within the card's bounds."""
    made_up = simulated(card, size, seed)
    if profile is None:
        return made_up
    random = np.random.default_rng(seed)
    columns: dict[str, npt.NDArray[Any]] = {}
    for column in card.columns:
        values = made_up.values(column.name)
        if column.name in profile.names and column.type in ("number", "integer", "date"):
            quantiles = [profile.quantile(column.name, float(rank)) for rank in _RANKS]
            values = np.interp(random.uniform(size=size), _RANKS, np.array(quantiles) * _SMALL)
            values = np.clip(values / _SMALL, quantiles[0], quantiles[-1])
            values = values if column.type == "number" else np.rint(values)
            values = values.astype(made_up.values(column.name).dtype)
        elif column.name in profile.names and column.categories is not None:
            counts = profile.categories(column.name)
            weights = np.array([max(0, counts.get(name, 0)) for name in column.categories], float)
            if weights.sum() > 0:
                values = random.choice(len(weights), size, p=weights / weights.sum())
        columns[column.name] = values
    return Dataset(card, columns, origin="simulated")
