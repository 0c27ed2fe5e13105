"""What each column adds to a score, and the top outliers with the columns that made them so."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whitecrow.detector.arithmetic import Floats, Int64s
from whitecrow.detector.model import Grid, Model
from whitecrow.detector.records import like
from whitecrow.detector.scoring import BLOCK, Encoder, coordinates_of, raw_scores, scale

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

_RIDGE = 1.0
_MOST_REASONS = 3
_DROWNED = 10.0
_ORDINARY = 0.8  # how far from its mean a normal value is on average, in deviations

_TABLE = [("row", "int64"), ("score", "float64"), ("outlier", "bool"), ("why", "string")]


def contributions(model: Model, columns: tuple[Encoder, ...], rows: Floats) -> Floats:
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
    added = np.empty((len(rows), width))
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        coordinates = coordinates_of(columns, part)
        away = np.zeros(part.shape)
        if len(tables):
            told = [surprises[tables.cells(table, coordinates)] for table in range(len(tables))]
            away = np.stack(told, axis=1) @ weights
        for column, (grid, own) in enumerate(zip(model.grids, alone, strict=True)):
            away[:, column] += own[grid.codes(part[:, column])]
        whole = np.abs(away).sum(axis=1, keepdims=True)
        share = np.divide(away, whole, out=np.zeros_like(away), where=whole > 0)
        added[first : first + BLOCK] = share * scores[first : first + BLOCK, None]
    return added


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
    own, result = iter(moments), []
    for grid, middle, tail in zip(model.grids, placed, model.tails, strict=True):
        if middle is None:
            result.append(tail)
            continue
        mean, square = (1.0 - blend) * next(own) + blend * common
        away = np.abs(middle - mean) / math.sqrt(max(square - mean * mean, 0.0) + doubt)
        # An ordinary value adds nothing; a missing one has its tail.
        result.append(np.concatenate([tail[: grid.apart], away - _ORDINARY]))
    return result


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


def why_column(names: Sequence[str], batch: Any, rows: Int64s, added: Floats) -> Any:
    """Return a column of texts: which values made these rows of a batch strange; null elsewhere."""
    import pyarrow

    texts: list[str | None] = [None] * batch.num_rows
    for row, parts in zip(rows.tolist(), added, strict=True):
        texts[row] = "; ".join(
            f"{names[column]} {_shown(batch.column(column)[row].as_py())} (+{parts[column]:.2f})"
            for column in top_reasons(parts)
        )
    return pyarrow.array(texts, pyarrow.string())


def top_reasons(added: Floats) -> list[int]:
    """Return the places of up to three columns that add most to a score, the most first."""
    most = np.argsort(-added, kind="stable")[:_MOST_REASONS]
    return [int(column) for column in most if added[column] > 0]


def _shown(value: object) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Outlier:
    """One record.

    Parameters
    ----------
    row : int
        Its number among the records; the first is 1.
    score : float
    outlier : bool
        Whether the score is above the threshold; False where there is none.
    reasons : tuple of (str, float)
        The columns that add most, and how much.
    """

    row: int
    score: float
    outlier: bool
    reasons: tuple[tuple[str, float], ...]

    @property
    def why(self) -> str:
        """The reasons in words."""
        return ", ".join(f"{name} +{added:.2f}" for name, added in self.reasons)


@dataclass(frozen=True)
class TopOutliers:
    """The top outliers of some records; notebooks show it as a table.

    Parameters
    ----------
    records, unscored : int
        How many there were, and how many of them have a missing value that the card does not fill.
    limit : float or None
        The first threshold that was bought with the detector.
    outliers : int
        How many scores are above it.
    rows : tuple of Outlier
        The highest score first.
    table : frame
        The same: ``row``, ``score``, ``outlier``, ``why``; of the kind of frame that the records
        were (pandas' with their index), else of Arrow.
    """

    records: int
    unscored: int
    limit: float | None
    outliers: int
    rows: tuple[Outlier, ...]
    table: Any = field(repr=False, compare=False)

    def __str__(self) -> str:
        lines = [self._heading()]
        lines += [f"row {row.row:>8}  score {row.score:8.3f}  {row.why}" for row in self.rows]
        return "\n".join(lines)

    def _heading(self) -> str:
        heading = f"{self.records:,} records scored"
        if self.limit is not None:
            heading += f", {self.outliers:,} above the threshold {self.limit:.2f}"
        if self.unscored:
            heading += f", {self.unscored:,} without a score"
        return f"{heading}."

    def _repr_html_(self) -> str:
        most = max((row.score for row in self.rows), default=1.0) or 1.0
        rows = "".join(
            f"<tr><td>{row.row}</td><td>{row.score:.2f}</td>"
            f'<td><meter min="0" max="1" value="{max(0.0, row.score / most):.3f}"></meter></td>'
            f"<td>{html.escape(row.why)}</td><td>{'yes' if row.outlier else ''}</td></tr>"
            for row in self.rows
        )
        heads = ("record", "score", "", "columns that made it", "outlier")
        titles = "".join(f"<th>{head}</th>" for head in heads)
        return (
            f"<p>{html.escape(self._heading())}</p>"
            f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
        )


def top_outliers(detector: Detector, data: Any, top: int) -> TopOutliers:
    """Score records batch by batch and keep those of the highest scores."""
    import pyarrow

    limit = next((sold.score for sold in detector.thresholds if sold.score is not None), None)
    records = unscored = outliers = 0
    leading: list[tuple[float, int, Any]] = []
    for table in detector.scored(data, reasons=True):
        scores = table["score"].to_numpy()
        scored = np.flatnonzero(~np.isnan(scores))
        unscored += len(scores) - len(scored)
        outliers += 0 if limit is None else int((scores[scored] > limit).sum())
        best = scored[np.argsort(-scores[scored], kind="stable")][:top]
        added = np.stack([table[f"adds {name}"].to_numpy() for name in detector.columns], axis=1)
        leading += [(float(scores[row]), records + int(row), added[row]) for row in best]
        records += len(scores)
        leading = sorted(leading, key=lambda record: (-record[0], record[1]))[:top]
    rows = []
    for score, row, added in leading:
        reasons = tuple((detector.columns[at], float(added[at])) for at in top_reasons(added))
        rows.append(Outlier(row + 1, score, limit is not None and score > limit, reasons))
    dicts = [{name: getattr(outlier, name) for name, _ in _TABLE} for outlier in rows]
    table = pyarrow.Table.from_pylist(dicts, schema=pyarrow.schema(_TABLE))
    framed = like(data, table, [row for _, row, _ in leading])
    return TopOutliers(records, unscored, limit, outliers, tuple(rows), framed)
