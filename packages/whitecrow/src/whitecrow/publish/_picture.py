"""A picture of a released series with its error band, made of public numbers only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.figures import new_figure


def draw(answer: Mapping[str, Any], path: str | Path, *, title: str = "") -> Path:
    """Draw an answer of :class:`~whitecrow.publish.Publish` and return the path."""
    series = answer["series"]
    times = np.arange(len(series))
    values = np.array([np.nan if p["value"] is None else p["value"] for p in series])
    errors = np.array([np.nan if p["error"] is None else p["error"] for p in series])
    figure = new_figure(8, 3.4)
    axes = figure.subplots()
    axes.fill_between(
        times,
        values - 2 * errors,
        values + 2 * errors,
        color="#7aa6c2",
        alpha=0.35,
        linewidth=0,
        label="two standard deviations",
    )
    axes.plot(times, values, color="#1f4e79", linewidth=1.2, label="released")
    # The first, wide bands would squeeze the rest of the picture.
    steady = values[len(values) // 10 :]
    spread = errors[len(errors) // 10 :]
    low, high = np.nanmin(steady - 4 * spread), np.nanmax(steady + 4 * spread)
    if np.isfinite([low, high]).all() and low < high:
        axes.set_ylim(low, high)
    places = np.unique(np.linspace(0, len(series) - 1, 6).astype(int))
    axes.set_xticks(places, [series[i]["period"] for i in places])
    axes.set(title=title or f"{answer['statistic']} ({answer['view']})", ylabel="released")
    axes.legend(loc="best")
    target = Path(path)
    figure.savefig(target, dpi=110)
    return target
