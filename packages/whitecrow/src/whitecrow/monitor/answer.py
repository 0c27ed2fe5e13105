"""What comes back: the newest detector, and which columns have moved at which step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput
from whitecrow.question import JSON, Said
from whitecrow.rendering import new_figure


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
        moved = {str(period["period"]): _moved(period) for period in self.series}
        return {period: columns for period, columns in moved.items() if columns}

    def said(self) -> Said:
        """Say which columns have moved, and how far each has, period by period."""
        columns = self.detector.columns
        rows = [["Period", "Records, about", *columns]]
        for period in self.series:
            moves = {move["column"]: move for move in period["columns"]}
            cells = [_cell(moves.get(name)) for name in columns]
            rows.append([str(period["period"]), f"{max(0, period['records']):,}", *cells])
        moved = ", ".join(self.moved)
        headline = f"Moved by {self.period}: {moved}" if moved else f"No alarm up to {self.period}"
        return Said(
            f"{headline}; detector of about {self.detector.records:,} records",
            f"Step {self.step} of {self.horizon}. The table has each column's shift over what "
            "chance and noise explain: above 1 it has moved.",
            rows,
        )

    def plot(self, path: str | Path) -> Path:
        """Draw how far each column has moved, period by period: its shift, the alarm at 1."""
        names = self.detector.columns
        ratios = np.full((len(self.series), len(names)), np.nan)
        for step, period in enumerate(self.series):
            for move in period["columns"]:
                ratios[step, names.index(move["column"])] = move["ratio"]
        figure = new_figure(8, 3.4)
        axes = figure.subplots()
        most = np.nanmax(np.nan_to_num(ratios), axis=0)
        for column in np.argsort(-most, kind="stable"):
            label = names[column] if (most > most[column]).sum() < _SHOWN else None
            axes.plot(ratios[:, column], marker="o", markersize=3, linewidth=1.2, label=label)
        axes.axhline(1.0, color="black", linestyle=":", linewidth=1)
        steps = np.unique(np.linspace(0, len(ratios) - 1, 6).astype(int))
        axes.set_xticks(steps, [str(self.series[step]["period"]) for step in steps])
        axes.set(
            title="Columns that moved are above 1", ylabel="shift over its bound", ylim=(0, None)
        )
        axes.legend(loc="best")
        figure.savefig(path, dpi=110)
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object, with the detector's file in base 64."""
        facts = {name: value for name, value in vars(self).items() if name != "detector"}
        series = [dict(period) for period in self.series]
        return {**facts, "series": series, "detector": self.detector.to_json()["detector"]}

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
    return tuple(move["column"] for move in period["columns"] if move["moved"])


def _cell(move: JSON) -> str:
    if move is None:
        return ""
    return f"{move['ratio']:.2f}{' moved' if move['moved'] else ''}"


_SHOWN = 6  # so many columns have a line of their own: those that moved most
