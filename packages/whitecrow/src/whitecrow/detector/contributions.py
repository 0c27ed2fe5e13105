"""What each column adds to a score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.detector.model import Grid, Model
from whitecrow.detector.scoring import BLOCK, Encoder, coordinates_of, raw_scores, scale

_RIDGE = 1.0
_REASONS = 3
_DROWNED = 10.0
_ORDINARY = 0.8  # how far from its mean a normal value is on average, in deviations

Matrix = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]


def contributions(model: Model, columns: tuple[Encoder, ...], rows: Matrix) -> Matrix:
    """Return how much each column (column) adds to the score of each record (row).

    A column is judged by how far out its value lies between the card's bounds, by its tail, and by
    a ridge regression of what all tables of several columns say on which columns each looks at: one
    is named that makes its tables strange whichever others they look at. The more noise there is in
    the columns' distributions, the less the last two count. The score is then shared out: amounts
    have the order of these sums, and their absolute values add up to the score's.
    """
    width = len(columns)
    tables, _ = model.joint
    surprises = model.surprises[np.repeat(~model.singles, model.tables.sizes)]
    members = tables.members(width).astype(np.float64)
    clear = 1.0 / (1.0 + (_DROWNED * doubt_of(model)) ** 2)
    weights = members @ np.linalg.inv(members.T @ members + _RIDGE * np.eye(width)) * clear
    alone = [
        far + tail * (clear * clear / 2.0)
        for far, tail in zip(distances(model), model.tails, strict=True)
    ]
    scores = np.abs(raw_scores(model, columns, rows) / scale(model))
    found = np.empty((len(rows), width))
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        coordinates = coordinates_of(columns, part)
        said = [surprises[tables.cells(table, coordinates)] for table in range(len(tables))]
        away = np.stack(said, axis=1) @ weights if said else np.zeros(part.shape)
        for place, (grid, own) in enumerate(zip(model.grids, alone, strict=True)):
            away[:, place] += own[grid.codes(part[:, place])]
        whole = np.abs(away).sum(axis=1, keepdims=True)
        share = np.divide(away, whole, out=np.zeros_like(away), where=whole > 0)
        found[first : first + BLOCK] = share * scores[first : first + BLOCK, None]
    return found


def doubt_of(model: Model) -> float:
    """Return which part of the records a column's noisy distribution may hide."""
    return max(model.marginal_noise, 1.0) / max(model.records, 1.0)


def distances(model: Model) -> list[Floats]:
    """Return for each cell of each column how far from the middle it is, in deviations.

    Values are measured as parts of the way from one bound to the other. Where noise drowns a
    column's distribution, that of all columns together stands in for it (their noise averages
    out), and its deviation counts what noise may hide as if that lay a whole width away: so what
    cannot be told from the counts is told from the bounds. Columns without bounds or order have
    their tails instead.
    """
    doubt = doubt_of(model)
    blend = min(1.0, doubt)
    placed = [_placed(grid) for grid in model.grids]
    moments = [
        _moments(middle, share[grid.apart :])
        for grid, middle, share in zip(model.grids, placed, model.shares, strict=True)
        if middle is not None
    ]
    common = np.mean(moments, axis=0) if moments else np.zeros(2)
    known = iter(moments)
    found = []
    for grid, middle, tail in zip(model.grids, placed, model.tails, strict=True):
        if middle is None:
            found.append(tail)
            continue
        mean, square = (1.0 - blend) * next(known) + blend * common
        away = np.abs(middle - mean) / math.sqrt(max(square - mean * mean, 0.0) + doubt)
        # An ordinary value adds nothing; a missing one has its tail.
        found.append(np.concatenate([tail[: grid.apart], away - _ORDINARY]))
    return found


def _placed(grid: Grid) -> Floats | None:
    """Return where the middles of cells lie between the bounds, 0 to 1; None without bounds."""
    if not grid.ordered or grid.lower is None:
        return None
    ends = grid.borders()[[0, -1]] * grid.unit
    reach = max(float(ends[1] - ends[0]), np.finfo(float).tiny)
    return np.asarray((grid.middles() - ends[0]) / reach)


def _moments(middles: Floats, share: Floats) -> Floats:
    """Return the mean and the mean square of the values that are not missing."""
    part = share / max(float(share.sum()), np.finfo(float).tiny)
    return np.array([(part * middles).sum(), (part * middles * middles).sum()])


def why_column(
    names: Sequence[str], batch: Any, rows: npt.NDArray[np.int64], added: npt.NDArray[np.float64]
) -> Any:
    """Return a column of texts: which values made these rows of a batch strange; null elsewhere."""
    import pyarrow

    texts: list[str | None] = [None] * batch.num_rows
    for row, parts in zip(rows.tolist(), added, strict=True):
        best = [place for place in np.argsort(-parts, kind="stable")[:_REASONS] if parts[place] > 0]
        texts[row] = "; ".join(
            f"{names[place]} {_shown(batch.column(int(place))[row].as_py())} (+{parts[place]:.2f})"
            for place in best
        )
    return pyarrow.array(texts, pyarrow.string())


def _shown(value: object) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)
