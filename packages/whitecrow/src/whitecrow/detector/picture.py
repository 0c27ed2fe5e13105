"""Pictures of what a detector learned, made of released numbers, and of records it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.detector.detector import Detector, shown, usual
from whitecrow.detector.records import batches, one_record
from whitecrow.errors import invalid
from whitecrow.rendering import histogram, new_figure, panels, ranked

_MOST = 24
_MADE_UP = 10_000
_BARS = 60
ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".jpeg")  # of files that are pictures

_BLUE, _PALE, _RED = "#1f4e79", "#7aa6c2", "#b03a2e"
_MOST_BARS = 48
_FARTHEST = 2.0**1020  # differences are still numbers


def column_svg(detector: Detector, name: str) -> str:
    """Return a small picture of one column's released distribution."""
    index, label = detector.columns.index(name), f"Released distribution of {name}"
    grid, share = detector.model.grids[index], detector.model.shares[index]
    column = detector.card.column(name)
    if not grid.ordered:
        values = [*(column.categories or ()), "missing"]
        return ranked(label, list(zip(values, share.tolist(), strict=False)))
    share, borders = share[grid.apart :], np.clip(grid.borders(), -_FARTHEST, _FARTHEST)
    below = np.cumsum(share) / max(share.sum(), 1e-9)
    low, high = int(np.argmax(below >= 0.05)), int(np.argmax(below >= 0.95))
    ends = float(borders[low]), float(borders[high + 1])
    if not ends[0] < ends[1]:
        return ranked(label, [])
    edges = np.linspace(*ends, min(_MOST_BARS, 2 * (high - low + 1)) + 1)
    parts = np.cumsum([0.0, *share[low : high + 1]])
    heights = np.diff(np.interp(edges, borders[low : high + 2], parts))
    words = shown(ends[0], column), shown(ends[1], column)
    return histogram(label, edges.tolist(), heights.tolist(), words)


def draw(detector: Detector, path: Path) -> Path:
    """Draw the cumulative distribution of each column (the shares of categories)."""
    names = detector.columns[:_MOST]
    figure, axes = panels(len(names))
    for name, axis in zip(names, axes, strict=True):
        _draw_distribution(detector, name, axis)
        axis.set_title(name, fontsize=9)
    figure.suptitle(f"Released distributions of {detector.card.name}")
    figure.savefig(path, dpi=110)
    return path


def _draw_distribution(detector: Detector, name: str, axis: Any) -> None:
    """Draw the cumulative distribution of a column, or the shares of its categories."""
    index = detector.columns.index(name)
    grid, share = detector.model.grids[index], detector.model.shares[index]
    if grid.ordered:
        # Of the values that are there; what is missing has no place on the axis.
        share = share[grid.apart :] / max(share[grid.apart :].sum(), 1e-9)
        axis.step(grid.borders()[1:], np.cumsum(share), where="post", color=_BLUE)
        low, high = np.searchsorted(np.cumsum(share), [0.005, 0.995])
        borders = grid.borders()
        axis.set_xlim(borders[low], borders[min(high + 1, len(borders) - 1)])
        axis.set_ylim(0, 1)
    else:
        values = [*(detector.card.column(name).categories or ()), "missing"][: len(share)]
        axis.barh(range(len(share)), share, color=_PALE)
        axis.set_yticks(range(len(share)), values, fontsize=7)


def draw_reasons(detector: Detector, record: Mapping[str, Any], path: Path) -> Path:
    """Draw what each column adds to the score of a record, the most first."""
    reasons = detector.ranked_reasons(record)[:_MOST][::-1]
    figure = new_figure(6, 0.8 + 0.35 * len(reasons))
    axis, places = figure.subplots(), range(len(reasons))
    colours = [_RED if added > 0 else _PALE for _, added in reasons]
    axis.barh(places, [added for _, added in reasons], color=colours)
    axis.set_yticks(places, [f"{name} = {record[name]}" for name, _ in reasons], fontsize=8)
    axis.axvline(0, color="#333333", linewidth=0.8)
    score = float(detector.scores(record)[0])
    axis.set_title(f"Score {score:.2f}: what each column adds", fontsize=10)
    figure.savefig(path, dpi=110)
    return path


def _drawn_on(axes: Any, width: float, height: float) -> Any:
    return new_figure(width, height).add_subplot() if axes is None else axes


def draw_scores(detector: Detector, data: Any, axes: Any) -> Any:
    """Draw the distribution of scores, with the thresholds."""
    if data is None:
        scores, whose = detector.scores(detector.sample(_MADE_UP)), "made-up records"
    else:
        scores, whose = detector.scores(data), "records"
    scores = scores[~np.isnan(scores)]
    axis = _drawn_on(axes, 7, 4)
    if len(scores):
        # Few scores are far above all others: the axis of their numbers is logarithmic.
        axis.hist(scores, bins=min(_BARS, max(5, len(scores) // 5)), color=_PALE, log=True)
    for bought in detector.thresholds:
        limit = bought.rough if bought.score is None else bought.score
        if limit is not None:
            about = "" if bought.score is not None else ", roughly"
            axis.axvline(limit, color=_RED, linewidth=1)
            words = f" {float(bought.rate):.2%} false alarms{about}"
            beside = axis.get_xaxis_transform()
            axis.text(limit, 0.97, words, transform=beside, va="top", fontsize=8, color=_RED)
    axis.set(xlabel="score (larger is stranger)", ylabel=whose)
    axis.set_title(f"Scores of {len(scores):,} {whose}", fontsize=10)
    return axis


def draw_top_outliers(detector: Detector, data: Any, top: int, axes: Any) -> Any:
    """Draw the top outliers, a bar each, made of the columns that add most."""
    outliers = detector.top_outliers(data, top=top)
    axis = _drawn_on(axes, 7, 1.2 + 0.35 * len(outliers.rows))
    named = list(dict.fromkeys(name for row in outliers.rows for name, _ in row.reasons))
    places, left = range(len(outliers.rows)), np.zeros(len(outliers.rows))
    for name in named:
        wide = np.array([dict(row.reasons).get(name, 0.0) for row in outliers.rows])
        axis.barh(places, wide, left=left, label=name)
        left += wide
    axis.set_yticks(places, [f"row {row.row:,}" for row in outliers.rows], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("what the columns add to the score")
    axis.set_title(f"Top outliers of {outliers.records:,} records", fontsize=10)
    if named:
        axis.legend(fontsize=8, loc="lower right")
    return axis


def draw_column(detector: Detector, name: str, record: Any, axes: Any) -> Any:
    """Draw the released distribution of a column, its middle 98 % shaded, and a record's value."""
    if name not in detector.columns:
        raise invalid("Detector.plot", "column", f"one of {', '.join(detector.columns)}", name)
    index = detector.columns.index(name)
    grid, share = detector.model.grids[index], detector.model.shares[index]
    axis = _drawn_on(axes, 6, 3.5)
    _draw_distribution(detector, name, axis)
    title = f"{name}: usual is {usual(detector, name)}"
    if grid.ordered:
        part = share[grid.apart :] / max(share[grid.apart :].sum(), 1e-9)
        below, borders = np.cumsum(part), grid.borders()
        low, high = int(np.argmax(below >= 0.01)), int(np.argmax(below >= 0.99)) + 1
        axis.axvspan(borders[low], borders[high], color=_PALE, alpha=0.3)
    if record is not None:
        given = one_record(record)[name]
        title += f"; here it is {given}"
        alone = Card(detector.card.name, (detector.seen.column(name),))
        rows, whole, _ = next(batches({name: given}, alone, detector.rarest))
        if whole[0] and rows[0, 0] != grid.absent:
            (axis.axvline if grid.ordered else axis.axhline)(rows[0, 0], color=_RED)
            if grid.ordered:
                low, high = axis.get_xlim()
                axis.set_xlim(min(low, rows[0, 0]), max(high, rows[0, 0]))
    axis.set_title(title, fontsize=10)
    return axis
