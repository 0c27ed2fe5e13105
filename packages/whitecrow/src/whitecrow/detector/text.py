"""What a detector says of itself and of a record, in words."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Column
from whitecrow.column import date_text

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector
    from whitecrow.detector.grid import Grid


def explained(detector: Detector, record: Mapping[str, Any], top: int) -> str:
    """Say why a record is strange."""
    score = float(detector.scores(record)[0])
    if np.isnan(score):
        return "The record has a missing value that the card does not fill, so it has no score."
    added = {
        name: float(column[0].as_py())
        for name, column in zip(
            detector.columns, detector.contributions(record).columns, strict=True
        )
    }
    lines = [f"Score {score:.2f}{_against(detector, score)}."]
    for name in sorted(added, key=lambda name: -added[name])[:top]:
        if added[name] <= 0:
            break
        lines.append(
            f"{name} = {record[name]} adds {added[name]:.2f}; usual is {usual(detector, name)}."
        )
    if len(lines) == 1:
        lines.append("No column makes it strange.")
    return "\n".join(lines)


def _against(detector: Detector, score: float) -> str:
    for one in detector.thresholds:
        if one.score is not None:
            side = "above" if score > one.score else "not above"
            return f", {side} the threshold {one.score:.2f} for {float(one.rate):.2%} false alarms"
    return ""


def usual(detector: Detector, name: str) -> str:
    """Say where the middle 98 % of a column's released distribution lie, or its common values."""
    place = detector.columns.index(name)
    grid, share = detector.model.grids[place], detector.model.shares[place]
    column = detector.card.column(name)
    if not grid.ordered:
        best = np.argsort(-share, kind="stable")[:3]
        known = (*(column.categories or ()), "missing")
        return " or ".join(f"{known[code]} ({share[code]:.0%})" for code in best if share[code] > 0)
    if grid.apart:
        rest = share[1:].sum()
        missing = f"missing ({share[0]:.0%})"
        if rest <= 0:
            return missing
        said = _middle(grid, share[1:] / rest, column)
        return f"{said}, or {missing}" if share[0] >= 0.005 else said
    return _middle(grid, share, column)


def _middle(grid: Grid, share: npt.NDArray[np.float64], column: Column) -> str:
    below, borders = np.cumsum(share), grid.borders()
    low = borders[int(np.argmax(below >= 0.01))]
    high = borders[int(np.argmax(below >= 0.99)) + 1]
    if grid.whole:
        low, high = np.ceil(low), np.floor(high)
    return f"{_shown(low, column)} to {_shown(high, column)}"


def _shown(value: float, column: Column) -> str:
    if column.type == "date":
        return date_text(float(value))
    return f"{value + 0.0:.4g}"  # a negative zero becomes a plain one


def as_html(detector: Detector) -> str:
    """Show the detector in a notebook: what it promises, and what is usual of each column."""
    about, columns = reported(detector).split("\n"), len(detector.columns)
    first = "".join(f"<p>{html.escape(line)}</p>" for line in about[:-columns])
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(usual(detector, name))}</td></tr>"
        for name in detector.columns
    )
    return f"{first}<table><tr><th>column</th><th>usual is</th></tr>{rows}</table>"


def reported(detector: Detector) -> str:
    """Say what the detector is."""
    model = detector.model
    lines = [
        f"Detector of {detector.card.name}: {len(detector.columns)} columns, learned from about "
        f"{detector.records:,} records.",
        detector.statement,
        f"{len(model.tables):,} tables, {len(model.counts):,} noisy counts; the noise of a count "
        f"has a standard deviation of {model.noise:.0f}.",
    ]
    for one in detector.thresholds:
        where = "too few records" if one.score is None else f"scores above {one.score:.3f}"
        lines.append(f"False alarms {one.rate!s}: {where}.")
    lines.extend(detector.notes)
    lines.extend(f"{name}: usual is {usual(detector, name)}." for name in detector.columns)
    return "\n".join(lines)
