"""A picture of the attack: releases above, scores and flagged segments below."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from whitecrow.attack.inference import Inference
from whitecrow.figures import new_figure


def draw(found: Inference, path: str | Path, *, title: str = "") -> Path:
    """Draw the series and its scores, flagged segments shaded, and return the path.

    Days that truly had an outlier are marked where the truth is known.
    """
    series, width = found.series, found.width
    figure = new_figure(8, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    days = np.arange(len(series.values))
    above.plot(days, series.values, linewidth=0.8, color="black")
    if series.outliers is not None:
        marked = np.flatnonzero(series.outliers)
        above.plot(marked, series.values[marked], "o", color="#b3261e", label="outlier that day")
        above.legend(loc="upper right")
    starts = (1 + np.arange(len(found.scores))) * width
    colours = np.where(found.flags, "#d98c00", "#9aa5b1")
    below.bar(starts, found.scores, width=width, align="edge", color=colours, edgecolor="white")
    if np.isfinite(found.threshold):
        below.axhline(found.threshold, linestyle=":", color="gray")
    for start, flag in zip(starts, found.flags, strict=True):
        if flag:
            above.axvspan(start, start + width, color="#d98c00", alpha=0.15, linewidth=0)
    words = title or f"{found.method} window, segments of {width}"
    if found.verdict is not None:
        v = found.verdict
        words += f" (AUC {v.auc:.2f}, precision {v.precision:.2f}, base rate {v.base_rate:.2f})"
    above.set(title=words, ylabel="release")
    below.set(xlabel="release number", ylabel="score")
    target = Path(path)
    figure.savefig(target, dpi=110)
    return target
