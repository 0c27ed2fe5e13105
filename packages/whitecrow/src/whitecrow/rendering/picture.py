"""Pictures for notebooks and files: SVG with its own colours, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from whitecrow.rendering.chart import Axis, Dot, Plot
from whitecrow.rendering.page import script, theme


@dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows and a file keeps; it needs no library."""

    plot: Plot

    def __repr__(self) -> str:
        return f"<Picture: {self.plot.label}>"

    def _repr_html_(self) -> str:
        return f'<div class="whitecrow"><style>{theme(".whitecrow")}</style>{self.plot.svg()}</div>'

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as an SVG file."""
        target = Path(path)
        target.write_text(self.plot.svg(alone=theme("svg.plot")), encoding="utf-8")
        return target


@dataclass(frozen=True)
class Interactive:
    """A figure with a slider or tips, for a notebook: it brings its style and its script along."""

    body: str

    def _repr_html_(self) -> str:
        return (
            f'<div class="whitecrow"><style>{theme(".whitecrow")}</style>{self.body}'
            f"<script>{script()}</script></div>"
        )


def series(points: Sequence[Mapping[str, Any]]) -> Plot:
    """The released values of a publication, each with one standard deviation of its noise."""
    shown = [(n, one) for n, one in enumerate(points) if one.get("value") is not None]
    values = [float(one["value"]) for _, one in shown]
    errors = [float(one.get("error") or 0.0) for _, one in shown]
    low = min((v - e for v, e in zip(values, errors, strict=True)), default=0.0)
    high = max((v + e for v, e in zip(values, errors, strict=True)), default=1.0)
    room = (high - low) * 0.05 or 1.0
    plot = Plot(
        Axis("period", 0, max(1, len(points) - 1)),
        Axis("released value", low - room, high + room),
        f"{len(shown)} released values",
    )
    for (n, _), value, error in zip(shown, values, errors, strict=True):
        if error:
            plot.line([(n, value - error), (n, value + error)], "thin")
    plot.line([(n, value) for (n, _), value in zip(shown, values, strict=True)], "accent")
    return plot.dots(
        Dot(n, value, f"{one.get('period', n)}: {value:,.5g} ± {error:.3g}")
        for (n, one), value, error in zip(shown, values, errors, strict=True)
    )
