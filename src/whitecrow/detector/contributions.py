"""What each column adds to a score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whitecrow.detector.model import POINTS, Model
from whitecrow.detector.scoring import BLOCK, Encoder, coordinates_of

__all__ = ["contributions"]

_RIDGE = 1.0

Matrix = npt.NDArray[np.float64]


def contributions(model: Model, columns: tuple[Encoder, ...], rows: Matrix) -> Matrix:
    """Return how much each column (column) adds to the score of each record (row).

    What a table of several columns says is shared among them by a ridge regression of all tables'
    worths on which columns each looks at: a column is named that makes its tables strange whichever
    others they look at. What a column says alone (its tail, tables of it alone) is its own.
    """
    width = len(columns)
    tables, worths = model.joint
    members = tables.members(width).astype(np.float64)
    inverse = np.linalg.inv(members.T @ members + _RIDGE * np.eye(width))
    weights = members @ inverse
    share = members.sum(axis=0) / POINTS / max(1, len(model.tables))
    found = np.empty((len(rows), width))
    for first in range(0, len(rows), BLOCK):
        part = coordinates_of(columns, rows[first : first + BLOCK])
        said = np.stack([worths[tables.cells(t, part)] for t in range(len(tables))], axis=1)
        alone = part[2 * width :].T / POINTS / max(1, len(model.tables))
        found[first : first + BLOCK] = alone + (said @ weights) * share
    return found
