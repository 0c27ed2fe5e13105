"""What each column adds to a score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whitecrow.detector.model import Model
from whitecrow.detector.scoring import BLOCK, Encoder, coordinates_of, raw_scores, scale

__all__ = ["contributions"]

_RIDGE = 1.0

Matrix = npt.NDArray[np.float64]


def contributions(model: Model, columns: tuple[Encoder, ...], rows: Matrix) -> Matrix:
    """Return how much each column (column) adds to the score of each record (row).

    A column is judged by its own tail, and by a ridge regression of what all tables of several
    columns say on which columns each looks at: one is named that makes its tables strange whichever
    others they look at. Both count alike, in deviations. The score is then shared out: amounts have
    the order of the deviations, and their absolute values add up to the score's.
    """
    width = len(columns)
    tables, _ = model.joint
    surprises = model.surprises[np.repeat(~model.singles, model.tables.sizes)]
    members = tables.members(width).astype(np.float64)
    weights = members @ np.linalg.inv(members.T @ members + _RIDGE * np.eye(width))
    scores = np.abs(raw_scores(model, columns, rows) / scale(model))
    found = np.empty((len(rows), width))
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        coordinates = coordinates_of(columns, part)
        said = [surprises[tables.cells(table, coordinates)] for table in range(len(tables))]
        away = np.stack(said, axis=1) @ weights if said else np.zeros(part.shape)
        for place, (grid, tail) in enumerate(zip(model.grids, model.tails, strict=True)):
            away[:, place] += tail[grid.codes(part[:, place])]
        whole = np.abs(away).sum(axis=1, keepdims=True)
        share = np.divide(away, whole, out=np.zeros_like(away), where=whole > 0)
        found[first : first + BLOCK] = share * scores[first : first + BLOCK, None]
    return found
