"""Made-up records, drawn from the released distributions of single columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.detector.model import Model

Matrix = npt.NDArray[np.float64]


def as_table(rows: Matrix, card: Card) -> Any:
    """Return records as an Arrow table with the card's types, and a column that marks them."""
    import pyarrow

    found: dict[str, Any] = {}
    for place, column in enumerate(card.columns):
        values = rows[:, place]
        missing = values == column.absent
        values = np.where(missing, 0.0, values)
        if column.type == "category":
            names = np.array([*(column.categories or ()), None], dtype=object)
            chosen = np.where(missing, len(names) - 1, values).astype(np.int64)
            found[column.name] = pyarrow.array(names[chosen].tolist(), pyarrow.string())
        elif column.type == "date":
            days = pyarrow.array(values.astype(np.int32), pyarrow.int32(), mask=missing)
            found[column.name] = days.cast(pyarrow.date32())
        elif column.type == "integer":
            found[column.name] = pyarrow.array(values.astype(np.int64), mask=missing)
        else:
            found[column.name] = pyarrow.array(values, mask=missing)
    return pyarrow.table({**found, "synthetic": np.ones(len(rows), dtype=bool)})


def drawn(model: Model, size: int, source: np.random.Generator) -> Matrix:
    """Draw records of one model, each column by itself."""
    rows = np.empty((size, len(model.grids)))
    for place, (grid, share) in enumerate(zip(model.grids, model.shares, strict=True)):
        cells = np.searchsorted(np.cumsum(share), source.random(size), side="right")
        cells = np.minimum(cells, grid.cells - 1) - grid.apart
        borders = grid.borders()
        low, high = borders[cells], borders[cells + 1]
        # Halved, the widest cell is no wider than a number; doubled, the bits are the same.
        values = (low / 2.0 + (high / 2.0 - low / 2.0) * source.random(size)) * 2.0
        rows[:, place] = np.ceil(values - 0.5) if grid.whole else values
        if grid.lower is not None:
            rows[:, place] = np.clip(rows[:, place], grid.lower, grid.upper)
        if grid.apart:
            rows[cells < 0, place] = grid.absent
    return rows
