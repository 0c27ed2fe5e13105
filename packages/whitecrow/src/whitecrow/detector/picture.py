"""A picture of what a detector learned, made of released numbers only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whitecrow.figures import new_figure, panels

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

_MOST = 24


def draw(detector: Detector, path: Path) -> Path:
    """Draw the cumulative distribution of each column (the shares of categories)."""
    shown = detector.columns[:_MOST]
    figure, axes = panels(len(shown))
    for name, axis, grid, share in zip(
        shown, axes, detector.model.grids, detector.model.shares, strict=False
    ):
        if grid.ordered:
            # Of the values that are there; what is missing has no place on the axis.
            share = share[grid.apart :] / max(share[grid.apart :].sum(), 1e-9)
            axis.step(grid.borders()[1:], np.cumsum(share), where="post", color="#1f4e79")
            low, high = np.searchsorted(np.cumsum(share), [0.005, 0.995])
            borders = grid.borders()
            axis.set_xlim(borders[low], borders[min(high + 1, len(borders) - 1)])
            axis.set_ylim(0, 1)
        else:
            names = [*(detector.card.column(name).categories or ()), "missing"][: len(share)]
            axis.barh(range(len(share)), share, color="#7aa6c2")
            axis.set_yticks(range(len(share)), names, fontsize=7)
        axis.set_title(name, fontsize=9)
    figure.suptitle(f"Released distributions of {detector.card.name}")
    figure.savefig(path, dpi=110)
    return path


def draw_reasons(detector: Detector, record: Mapping[str, Any], path: Path) -> Path:
    """Draw what each column adds to the score of a record, the most first."""
    found = detector.contributions(record)
    added = {name: float(found[name][0].as_py()) for name in detector.columns}
    names = sorted(added, key=lambda name: -added[name])[:_MOST][::-1]
    figure = new_figure(6, 0.8 + 0.35 * len(names))
    axis = figure.subplots()
    colours = ["#b03a2e" if added[name] > 0 else "#7aa6c2" for name in names]
    axis.barh(range(len(names)), [added[name] for name in names], color=colours)
    axis.set_yticks(range(len(names)), [f"{name} = {record[name]}" for name in names], fontsize=8)
    axis.axvline(0, color="#333333", linewidth=0.8)
    score = float(detector.scores(record)[0])
    axis.set_title(f"Score {score:.2f}: what each column adds", fontsize=10)
    figure.savefig(path, dpi=110)
    return path
