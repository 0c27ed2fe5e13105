"""A picture of how far columns have moved, made of released numbers only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whitecrow.figures import new_figure

if TYPE_CHECKING:
    from whitecrow.monitor.answer import Monitored

_SHOWN = 6
"""So many columns have a line of their own: those that moved most."""


def draw(found: Monitored, path: Path) -> Path:
    """Draw a line a column: the shift over its bound, with the alarm at 1."""
    names = found.detector.columns
    ratios = np.full((len(found.series), len(names)), np.nan)
    for step, one in enumerate(found.series):
        for move in one["columns"]:
            ratios[step, names.index(move["column"])] = move["ratio"]
    figure = new_figure(8, 3.4)
    axes = figure.subplots()
    most = np.nanmax(np.nan_to_num(ratios), axis=0)
    for place in np.argsort(-most, kind="stable"):
        label = names[place] if (most > most[place]).sum() < _SHOWN else None
        axes.plot(ratios[:, place], marker="o", markersize=3, linewidth=1.2, label=label)
    axes.axhline(1.0, color="black", linestyle=":", linewidth=1)
    places = np.unique(np.linspace(0, len(ratios) - 1, 6).astype(int))
    axes.set_xticks(places, [str(found.series[place]["period"]) for place in places])
    axes.set(title="Columns that moved are above 1", ylabel="shift over its bound", ylim=(0, None))
    axes.legend(loc="best")
    figure.savefig(path, dpi=110)
    return path
