"""The strangest of some records, with the columns that made them so: for people to look at."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whitecrow.detector.records import like

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

_REASONS = 3
_TABLE = [("row", "int64"), ("score", "float64"), ("outlier", "bool"), ("why", "string")]


@dataclass(frozen=True)
class Strange:
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
class Strangest:
    """The strangest of some records; notebooks show it as a table.

    Parameters
    ----------
    records, unscored : int
        How many there were, and how many of them have a missing value that the card does not fill.
    limit : float or None
        The first threshold that was bought with the detector.
    outliers : int
        How many scores are above it.
    rows : tuple of Strange
        The strangest first.
    table : frame
        The same: ``row``, ``score``, ``outlier``, ``why``; of the kind of frame that the records
        were (pandas' with their index), else of Arrow.
    """

    records: int
    unscored: int
    limit: float | None
    outliers: int
    rows: tuple[Strange, ...]
    table: Any = field(repr=False, compare=False)

    def __str__(self) -> str:
        lines = [self._heading()]
        lines += [f"row {one.row:>8}  score {one.score:8.3f}  {one.why}" for one in self.rows]
        return "\n".join(lines)

    def _heading(self) -> str:
        said = f"{self.records:,} records scored"
        if self.limit is not None:
            said += f", {self.outliers:,} above the threshold {self.limit:.2f}"
        if self.unscored:
            said += f", {self.unscored:,} without a score"
        return f"{said}."

    def _repr_html_(self) -> str:
        most = max((one.score for one in self.rows), default=1.0) or 1.0
        rows = "".join(
            f"<tr><td>{one.row}</td><td>{one.score:.2f}</td>"
            f'<td><meter min="0" max="1" value="{max(0.0, one.score / most):.3f}"></meter></td>'
            f"<td>{html.escape(one.why)}</td><td>{'yes' if one.outlier else ''}</td></tr>"
            for one in self.rows
        )
        heads = ("record", "score", "", "columns that made it", "outlier")
        titles = "".join(f"<th>{head}</th>" for head in heads)
        return (
            f"<p>{html.escape(self._heading())}</p>"
            f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
        )


def strangest(detector: Detector, data: Any, top: int) -> Strangest:
    """Score records batch by batch and keep the strangest."""
    import pyarrow

    limit = next((one.score for one in detector.thresholds if one.score is not None), None)
    records = unscored = outliers = 0
    kept: list[tuple[float, int, Any]] = []
    for table in detector.scored(data, reasons=True):
        scores = table["score"].to_numpy()
        known = np.flatnonzero(~np.isnan(scores))
        unscored += len(scores) - len(known)
        outliers += 0 if limit is None else int((scores[known] > limit).sum())
        best = known[np.argsort(-scores[known], kind="stable")][:top]
        added = np.stack([table[f"adds {name}"].to_numpy() for name in detector.columns], axis=1)
        kept += [(float(scores[row]), records + int(row), added[row]) for row in best]
        records += len(scores)
        kept = sorted(kept, key=lambda one: (-one[0], one[1]))[:top]
    rows = tuple(
        Strange(row + 1, score, limit is not None and score > limit, _reasons(detector, added))
        for score, row, added in kept
    )
    written = [
        {"row": one.row, "score": one.score, "outlier": one.outlier, "why": one.why} for one in rows
    ]
    table = pyarrow.Table.from_pylist(written, schema=pyarrow.schema(_TABLE))
    framed = like(data, table, [one.row - 1 for one in rows])
    return Strangest(records, unscored, limit, outliers, rows, framed)


def _reasons(detector: Detector, added: Any) -> tuple[tuple[str, float], ...]:
    best = np.argsort(-added, kind="stable")[:_REASONS]
    return tuple(
        (detector.columns[place], float(added[place])) for place in best if added[place] > 0
    )
