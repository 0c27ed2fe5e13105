"""Pictures as SVG inside the page: they take its colours, light or dark, on screen and on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from whitecrow.rendering.page import escaped, script, theme

_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 10, 42


@dataclass(frozen=True)
class Axis:
    """What an axis shows.

    Examples
    --------
    >>> Axis("age", 18, 95).ticks()
    [20.0, 40.0, 60.0, 80.0]
    >>> Axis("cost", 1, 1000, log=True).ticks()
    [1.0, 10.0, 100.0, 1000.0]
    """

    label: str
    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1; what lies outside is moved to the edge."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(one, 1e-300)) for one in (value, low, high))
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def ticks(self) -> list[float]:
        """Round values to write beside the axis."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * part for part in (1, 2, 5, 10) if unit * part >= rough)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Dot:
    """A dot."""

    # x, y: Where it lies.
    x: float
    y: float
    tip: str = ""  # shown where the pointer is
    tone: str = ""  # its colour
    n: int | None = None  # its place in the figure's table of colours and words


@dataclass
class Plot:
    """A picture over two axes; marks lie on top of each other in the order they are added."""

    # x, y: The axes.
    x: Axis
    y: Axis
    label: str  # what the picture shows, for those who do not see it
    # width, height: The size that decides how large the text is beside the picture.
    width: int = 640
    height: int = 300
    _marks: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str]] = field(default_factory=list)

    def line(
        self,
        values: Iterable[tuple[float, float]],
        tone: str,
        *,
        name: str = "",
        frame: int | None = None,
        shown: bool = True,
    ) -> Plot:
        """A line through points."""
        path = "L".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in values)
        return self._add(f'<path class="line {tone}" d="M{path}"/>', tone, name, frame, shown)

    def dots(
        self,
        points: Iterable[Dot],
        *,
        radius: float = 3,
        of: str = "",
        tone: str = "",
        name: str = "",
    ) -> Plot:
        """Dots, the last on top; ``of`` names the figure's table that dots with an ``n`` obey."""
        found = []
        for dot in points:
            by = "" if dot.n is None else f' data-n="{dot.n}"'
            found.append(
                f'<circle class="dot {dot.tone}" cx="{self._x(dot.x):.1f}" '
                f'cy="{self._y(dot.y):.1f}" r="{radius:g}"{by}{_tip(dot.tip)}/>'
            )
        return self._add(f'<g data-of="{escaped(of)}">{"".join(found)}</g>', tone, name)

    def bars(
        self,
        edges: Sequence[float],
        heights: Sequence[float],
        tone: str,
        *,
        name: str = "",
        tips: Sequence[str] = (),
    ) -> Plot:
        """Bars between edges, standing on the x axis."""
        floor, found = self._y(self.y.low), []
        for i, height in enumerate(heights):
            left, right, top = self._x(edges[i]), self._x(edges[i + 1]), self._y(height)
            if height > 0:
                found.append(
                    f'<rect class="mark {tone}" x="{left:.1f}" y="{top:.1f}" '
                    f'width="{max(0.5, right - left - 0.5):.1f}" height="{floor - top:.1f}"'
                    f"{_tip(tips[i] if tips else '')}/>"
                )
        return self._add("".join(found), tone, name)

    def rule(self, value: float, tone: str, *, name: str = "") -> Plot:
        """A vertical line at a value of x."""
        x = self._x(value)
        top, floor = _TOP, self.height - _BOTTOM
        mark = f'<line class="rule {tone}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{floor}"/>'
        return self._add(mark, tone, name)

    def svg(self, *, alone: str = "") -> str:
        """The picture, with its legend above it; ``alone``, for a file, brings its style along."""
        keys = "".join(
            f'<li><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">'
            f'<rect class="mark {tone}" width="12" height="12" rx="3"/></svg>{escaped(name)}</li>'
            for tone, name in self._legend
        )
        legend = f'<ul class="legend">{keys}</ul>' if keys else ""
        drawn = (
            f'class="plot" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escaped(self.label)}">'
        )
        marks = f"{self._axes()}{''.join(self._marks)}</svg>"
        if alone:
            space = 'xmlns="http://www.w3.org/2000/svg"'
            return f"<svg {space} {drawn}<style>{alone}</style>{marks}"
        return f"{legend}<svg {drawn}{marks}"

    def _add(
        self,
        mark: str,
        tone: str = "",
        name: str = "",
        frame: int | None = None,
        shown: bool = True,
    ) -> Plot:
        if name and (tone, name) not in self._legend:
            self._legend.append((tone, name))
        if frame is not None:
            off = "" if shown else ' class="off"'
            mark = f'<g data-frame="{frame}"{off}>{mark}</g>'
        self._marks.append(mark)
        return self

    def _x(self, value: float) -> float:
        return _LEFT + self.x.at(value) * (self.width - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        return self.height - _BOTTOM - self.y.at(value) * (self.height - _TOP - _BOTTOM)

    def _axes(self) -> str:
        floor, right = self.height - _BOTTOM, self.width - _RIGHT
        found = [f'<path class="axis" d="M{_LEFT},{_TOP}V{floor}H{right}"/>']
        for tick in self.x.ticks():
            x = self._x(tick)
            place = "tick y" if x > right - 24 else "tick"  # the last label ends at the edge
            found.append(
                f'<text class="{place}" x="{x:.1f}" y="{floor + 16}">{_short(tick)}</text>'
            )
        for tick in self.y.ticks():
            y = self._y(tick)
            found.append(
                f'<path class="grid" d="M{_LEFT},{y:.1f}H{right}"/>'
                f'<text class="tick y" x="{_LEFT - 6}" y="{y + 4:.1f}">{_short(tick)}</text>'
            )
        middle = (_LEFT + right) / 2
        across = (_TOP + floor) / 2
        found.append(
            f'<text class="name" x="{middle:.0f}" y="{self.height - 6}">{escaped(self.x.label)}'
            f'</text><text class="name" transform="translate(13,{across:.0f}) rotate(-90)">'
            f"{escaped(self.y.label)}</text>"
        )
        return "".join(found)


def _tip(text: str) -> str:
    return f' data-tip="{escaped(text)}"' if text else ""


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


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
