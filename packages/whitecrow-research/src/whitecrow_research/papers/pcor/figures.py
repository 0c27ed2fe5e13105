"""Figures 1 to 5 of the appendix: histograms of utility and of run time, behind the tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from whitecrow_research.papers.pcor.runs import Outcome
from whitecrow_research.papers.report import Context, Row


def histograms(
    context: Context, figure: int, runs: Mapping[str, tuple[float, Outcome, Outcome]], close: bool
) -> tuple[Row, tuple[Path, ...]]:
    """Draw one figure and return its row.

    Parameters
    ----------
    context : Context
        Where the picture goes.
    figure : int
        Its number in the paper.
    runs : mapping
        Label to the printed mean utility, the runs at the paper's price and the runs as shipped.
    close : bool
        Whether the mean utilities, all that the paper prints of them, are reproduced.
    """
    spread = []
    for label, (_, printed, _) in runs.items():
        low, high = np.quantile(printed.shares, [0.25, 0.75])
        spread.append(f"{label} {low:.2f} to {high:.2f}")
    row = Row(
        f"Figure {figure}: histograms of utility and time; the middle half of the utilities",
        "no numbers",
        "; ".join(spread),
        "reproduced" if close else "differs",
        "the runs of the tables above",
    )
    return row, _draw(context, figure, runs)


def _draw(
    context: Context, number: int, runs: Mapping[str, tuple[float, Outcome, Outcome]]
) -> tuple[Path, ...]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return ()
    figure = Figure(figsize=(2.6 * len(runs), 4.2), layout="constrained")
    panels = figure.subplots(2, len(runs), squeeze=False, sharex="row")
    longest = max(max(shipped.seconds) for _, _, shipped in runs.values())
    for index, (label, (paper, printed, shipped)) in enumerate(runs.items()):
        upper, lower = panels[0][index], panels[1][index]
        upper.hist(printed.shares, np.linspace(0, 1, 21), color="#2f6fb0")
        upper.axvline(paper, color="#c8553d", linestyle=":", label="mean as printed")
        upper.set_title(label, fontsize=10)
        lower.hist(shipped.seconds, np.linspace(0, longest, 16), color="#8b98a5")
        upper.set_xlabel("utility", fontsize=9)
        lower.set_xlabel("seconds", fontsize=9)
    panels[0][0].legend(fontsize=8, loc="upper left")
    path = context.out / f"pcor-figure{number}.png"
    figure.savefig(path, dpi=90)
    return (path,)
