"""Made-up records that fit a card, for previews: nothing of the data is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column, Dataset
from whitecrow.errors import InvalidInput

__all__ = ["simulated"]

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
    if column.type == "integer":
        return random.integers(int(column.lower), int(column.upper) + 1, size).astype(np.float64)
    return random.uniform(float(column.lower), float(column.upper), size)
