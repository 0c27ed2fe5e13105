"""What comes back: the newest detector, and which columns have moved at which step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput
from whitecrow.figures import new_figure


@dataclass(frozen=True)
class Monitored:
    """The answer of a step.

    Parameters
    ----------
    detector : Detector
        The newest, over all periods so far or the window.
    period : str
        The period that was closed last.
    step, horizon : int
        Which step it is, of how many.
    window : int
        How many of the newest periods the detector is of; 0 for all.
    false_alarm : str
        With what probability there may be an alarm in the whole horizon, if nothing changes.
    series : tuple of mappings
        For each period so far: its name, about how many records it had, and for each column how far
        it has moved (``ratio`` above 1 is an alarm), by how much (``shift``) and since when.
    """

    detector: Detector
    period: str
    step: int
    horizon: int
    window: int
    false_alarm: str
    series: tuple[Mapping[str, Any], ...]

    @property
    def moved(self) -> tuple[str, ...]:
        """The columns that have moved, by the newest step."""
        return _moved(self.series[-1])

    @property
    def alarms(self) -> dict[str, tuple[str, ...]]:
        """For each period with an alarm the columns that have moved by then."""
        found = {str(one["period"]): _moved(one) for one in self.series}
        return {period: columns for period, columns in found.items() if columns}

    def plot(self, path: str | Path) -> Path:
        """Draw how far each column has moved, period by period."""
        return draw(self, Path(path))

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object, with the detector's file in base 64."""
        return {
            "period": self.period,
            "step": self.step,
            "horizon": self.horizon,
            "window": self.window,
            "false_alarm": self.false_alarm,
            "series": [dict(one) for one in self.series],
            "detector": self.detector.to_json()["detector"],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Monitored:
        """Read the answer of a step."""
        try:
            return cls(
                Detector.from_json(data),
                str(data["period"]),
                int(data["step"]),
                int(data["horizon"]),
                int(data["window"]),
                str(data["false_alarm"]),
                tuple(data["series"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("This is not the answer of a monitor.") from None


def _moved(period: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(one["column"] for one in period["columns"] if one["moved"])


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
