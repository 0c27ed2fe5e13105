"""What people read outside the console: pages, pictures, notebook cards, and numbers in words.

Pages stand alone: style, scripts and pictures are inside the file, and nothing is loaded from
elsewhere. The style is the console's own sheet. Pictures are SVG that takes the page's colours,
light or dark, on screen and on paper.
"""

from __future__ import annotations

import contextlib
import datetime
import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib.resources import files
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

from whitecrow.errors import MissingExtra


def escaped(text: object) -> str:
    return html.escape(str(text))


def paragraphs(text: str) -> str:
    parts = [part.strip() for part in text.split("\n\n")]
    return "".join(f"<p>{escaped(part)}</p>" for part in parts if part)


def quoted(text: str) -> str:
    return f"<blockquote>{escaped(text)}</blockquote>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table that scrolls on a narrow screen; the first cell of each row names the row."""
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    top, name = _cells('th scope="col"', head), 'th scope="row"'
    body = "".join(f"<tr>{_cells(name, row[:1])}{_cells('td', row[1:])}</tr>" for row in rows)
    label = escaped(caption or head[0])
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{title}'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(tag: str, cells: Iterable[object]) -> str:
    """Cells of a table, each in an element ``tag``, which may have attributes."""
    name = tag.partition(" ")[0]
    return "".join(f"<{tag}>{escaped(cell)}</{name}>" for cell in cells)


def fold(summary: str, body: str) -> str:
    """A part that opens when it is wanted; it is open on paper."""
    return f'<details class="fold"><summary>{escaped(summary)}</summary>{body}</details>'


def gauge(words: str, left: str, share_left: float) -> str:
    """A bar of what is left of a budget, with the number that says the same."""
    rest = 100 * min(1.0, max(0.0, share_left))
    tone = "low" if rest < 10 else "mid" if rest < 40 else ""
    return (
        f'<div class="gauge"><div class="gauge-head"><span>{escaped(words)}</span>'
        f'<span class="gauge-left">{escaped(left)}</span></div>'
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="8"/>'
        f'<rect class="fill {tone}" width="{rest:.1f}" height="8"/></svg></div>'
    )


def slider(name: str, values: Sequence[str], start: int) -> str:
    """A slider over the frames of a figure."""
    return (
        f'<label class="slide"><span>{escaped(name)} = <output>{escaped(values[start])}</output>'
        f'</span><input type="range" min="0" max="{len(values) - 1}" value="{start}" '
        f'data-values="{escaped(json.dumps(list(values)))}" '
        f'aria-label="{escaped(name)}" aria-valuetext="{escaped(values[start])}"></label>'
    )


def figure(caption: str, body: str, *, control: str = "", by_count: Any = None) -> str:
    """A picture with its caption.

    Frames of class ``off`` are shown when the slider (``control``) comes to them. For pictures
    whose dots carry ``data-n``, ``by_count`` has for each frame the levels and the words by n.
    """
    data = "" if by_count is None else f' data-by-count="{escaped(json.dumps(by_count))}"'
    return (
        f'<figure class="picture"{data}>{control}{body}'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def page(title: str, lead: str, body: str, *, kind: str = "report") -> str:
    """One HTML page with style, script and pictures inside; ``kind`` stands beside the brand."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)} · whitecrow</title><style>{_style()}</style></head><body>"
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header class="top"><span class="brand">{crow()} '
        f'whitecrow</span><span class="role">{escaped(kind)}</span></header>'
        f'<main id="main" class="report" tabindex="-1"><h1>{escaped(title)}</h1>'
        f'<p class="lead">{escaped(lead)}</p>{body}</main>'
        '<footer class="foot">Made by whitecrow. Nothing on this page is loaded from elsewhere.'
        "</footer>"
        f"<script>{script()}</script></body></html>\n"
    )


def panel(title: str, body: str, *, name: str) -> str:
    """A part of a page, under a heading; ``name`` is its anchor."""
    return (
        f'<section class="panel" id="{escaped(name)}" aria-labelledby="{escaped(name)}-h">'
        f'<h2 id="{escaped(name)}-h">{escaped(title)}</h2>{body}</section>'
    )


def _text(name: str) -> str:
    return files("whitecrow.rendering").joinpath(name).read_text(encoding="utf-8").strip()


script, page_rules, crow = (partial(_text, name) for name in ("report.js", "page.css", "crow.svg"))
"""What reports and the console share: the script; colours, text, tables and panels; the brand."""


def theme(scope: str) -> str:
    """The colours, light and dark, and the rules of pictures, for what is inside ``scope``."""
    light, dark = _colours()
    return (
        f"{scope} {{ {light} }} @media (prefers-color-scheme: dark) {{ {scope} {{ {dark} }} }}"
        f"{picture_rules()}"
    )


def picture_rules() -> str:
    """The rules of pictures alone; the console serves them as a sheet of its own."""
    drawn = re.search(r"/\* pictures \*/(.*?)/\* end \*/", _text("report.css"), re.DOTALL)
    assert drawn is not None
    return drawn[1]


def _colours() -> tuple[str, str]:
    light, dark = re.findall(r":root\s*{(.*?)}", page_rules(), re.DOTALL)
    return light, dark


def _style() -> str:
    """The shared sheet, the report's own, and the light colours once more for paper."""
    paper = f"@media print {{ :root {{ {_colours()[0]} color-scheme: light; }} }}"
    return "\n".join((page_rules(), _text("report.css"), paper))


PRACTICALLY_NEVER = "below 1 in a billion"
"""How a chance is said that nobody need think of."""


def number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if abs(value) < 1000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"


def bound(value: object, type: str) -> str:
    """A bound on a card; that of a date is a number of days since 1970."""
    if type == "date" and isinstance(value, int):
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=value))
    return number(value)


def chance(value: float) -> str:
    """A probability."""
    if 0.9995 <= value < 1:
        return "over 99.9 %"
    if value >= 0.001:
        return f"{100 * value:.3g} %"
    if value < 1e-9:
        return PRACTICALLY_NEVER if value > 0 else "0"
    return f"1 in {float(f'{1 / value:.3g}'):,.0f}"


def figure_rows(
    labels: Mapping[str, tuple[str, str]], figures: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The figures of a description that have a label, in words.

    A label is the words, and whether it is a "number", a "chance" or a "range".
    """
    rows = []
    for name, (words, form) in labels.items():
        value = figures.get(name)
        if value is None:
            continue
        if form == "chance":
            rows.append((words, chance(float(value))))
        elif form == "range":
            rows.append((words, f"{number(value[0])} to {number(value[-1])}"))
        else:
            rows.append((words, number(value)))
    return rows


_BOX = (
    "display:inline-block;max-width:46rem;border:1px solid #8886;border-radius:10px;"
    "padding:.7rem 1rem;margin:.2rem 0;font:14px/1.5 system-ui,sans-serif"
)
_HEAD = "font-size:1.15rem;font-weight:700;margin-bottom:.25rem"
_CELL = "text-align:left;padding:.15rem 1rem .15rem 0;border:0;background:none;vertical-align:top"
_NOTE = "border-left:3px solid #8886;padding-left:.7rem;margin:.5rem 0 0;opacity:.85"


def notebook(
    headline: str,
    rows: Sequence[Sequence[object]] = (),
    *,
    note: str = "",
    head: Sequence[str] = (),
    body: str = "",
) -> str:
    """A card. Its colours are the notebook's own, light or dark.

    The first cell of a row names it; ``note`` is the promise in its own words, ``body`` HTML under
    the table.
    """
    listed = notebook_table(rows, head) if rows else ""
    noted = f'<div style="{_NOTE}">{escaped(note)}</div>' if note else ""
    return (
        f'<div class="whitecrow" style="{_BOX}"><div style="{_HEAD}">{escaped(headline)}</div>'
        f"{listed}{body}{noted}</div>"
    )


def notebook_table(rows: Sequence[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table as a notebook shows it; the first cell of a row names the row."""
    name, cell = f'th style="{_CELL};font-weight:500;opacity:.75"', f'td style="{_CELL}"'
    lines = "".join(
        f'<tr style="background:none">{_cells(name, row[:1])}{_cells(cell, row[1:])}</tr>'
        for row in rows
    )
    top = _cells(f'th style="{_CELL};font-weight:600"', head)
    titles = f"<tr>{top}</tr>" if top else ""
    return f'<table style="border:0;border-collapse:collapse">{titles}{lines}</table>'


@contextlib.contextmanager
def progress_bar(*, stderr: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while the block runs; what it gives is a question's ``progress``.

    ``with progress_bar() as progress: curator.ask(question, progress=progress)``. In a notebook
    the bar stands under the cell, on a terminal below the line; or on standard error, where it does
    not mix with results.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=stderr), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, what: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update


_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 10, 42

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What an axis shows."""

    label: str
    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1; what lies outside is moved to the edge."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(end, 1e-300)) for end in (value, low, high))
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

    def steps(self, points: Points, tone: str, *, name: str) -> Plot:
        """A line that goes up and down in steps."""
        flat = [end for (x, y), (later, _) in pairwise(points) for end in ((x, y), (later, y))]
        return self.line([*flat, *points[-1:]], tone, name=name)

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
        circles = []
        for dot in points:
            by = "" if dot.n is None else f' data-n="{dot.n}"'
            circles.append(
                f'<circle class="dot {dot.tone}" cx="{self._x(dot.x):.1f}" '
                f'cy="{self._y(dot.y):.1f}" r="{radius:g}"{by}{_tip(dot.tip)}/>'
            )
        return self._add(f'<g data-of="{escaped(of)}">{"".join(circles)}</g>', tone, name)

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
        floor, shapes = self._y(self.y.low), []
        for i, height in enumerate(heights):
            left, right, top = self._x(edges[i]), self._x(edges[i + 1]), self._y(height)
            if height > 0:
                shapes.append(
                    f'<rect class="mark {tone}" x="{left:.1f}" y="{top:.1f}" '
                    f'width="{max(0.5, right - left - 0.5):.1f}" height="{floor - top:.1f}"'
                    f"{_tip(tips[i] if tips else '')}/>"
                )
        return self._add("".join(shapes), tone, name)

    def rule(self, value: float, tone: str, *, name: str = "") -> Plot:
        """A vertical line at a value of x."""
        x = self._x(value)
        top, floor = _TOP, self.height - _BOTTOM
        line = f'<line class="rule {tone}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{floor}"/>'
        return self._add(line, tone, name)

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
        element: str,
        tone: str = "",
        name: str = "",
        frame: int | None = None,
        shown: bool = True,
    ) -> Plot:
        if name and (tone, name) not in self._legend:
            self._legend.append((tone, name))
        if frame is not None:
            off = "" if shown else ' class="off"'
            element = f'<g data-frame="{frame}"{off}>{element}</g>'
        self._marks.append(element)
        return self

    def _x(self, value: float) -> float:
        return _LEFT + self.x.at(value) * (self.width - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        return self.height - _BOTTOM - self.y.at(value) * (self.height - _TOP - _BOTTOM)

    def _axes(self) -> str:
        floor, right = self.height - _BOTTOM, self.width - _RIGHT
        shapes = [f'<path class="axis" d="M{_LEFT},{_TOP}V{floor}H{right}"/>']
        for tick in self.x.ticks():
            x = self._x(tick)
            style = "tick y" if x > right - 24 else "tick"  # the last label ends at the edge
            shapes.append(
                f'<text class="{style}" x="{x:.1f}" y="{floor + 16}">{_short(tick)}</text>'
            )
        for tick in self.y.ticks():
            y = self._y(tick)
            shapes.append(
                f'<path class="grid" d="M{_LEFT},{y:.1f}H{right}"/>'
                f'<text class="tick y" x="{_LEFT - 6}" y="{y + 4:.1f}">{_short(tick)}</text>'
            )
        middle = (_LEFT + right) / 2
        across = (_TOP + floor) / 2
        shapes.append(
            f'<text class="name" x="{middle:.0f}" y="{self.height - 6}">{escaped(self.x.label)}'
            f'</text><text class="name" transform="translate(13,{across:.0f}) rotate(-90)">'
            f"{escaped(self.y.label)}</text>"
        )
        return "".join(shapes)


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


def series(points: Sequence[Mapping[str, Any]]) -> Plot:
    """The released values of a publication, each with one standard deviation of its noise."""
    shown = [
        (n, float(point["value"]), float(point.get("error") or 0.0), point.get("period", n))
        for n, point in enumerate(points)
        if point.get("value") is not None
    ]
    low = min((value - error for _, value, error, _ in shown), default=0.0)
    high = max((value + error for _, value, error, _ in shown), default=1.0)
    room = (high - low) * 0.05 or 1.0
    plot = Plot(
        Axis("period", 0, max(1, len(points) - 1)),
        Axis("released value", low - room, high + room),
        f"{len(shown)} released values",
    )
    for n, value, error, _ in shown:
        if error:
            plot.line([(n, value - error), (n, value + error)], "thin")
    plot.line([(n, value) for n, value, _, _ in shown], "accent")
    return plot.dots(
        Dot(n, value, f"{period}: {value:,.5g} ± {error:.3g}") for n, value, error, period in shown
    )


WIDE, TALL = 260, 90
_MOST_BARS = 12
_PALE = "#7aa6c2"


def histogram(
    label: str, borders: Sequence[float], heights: Sequence[float], ends: tuple[str, str]
) -> str:
    """Bars between borders, with what stands below the first and the last."""
    floor, top = TALL - 16, max(heights) or 1.0
    edges = [WIDE * (border - borders[0]) / (borders[-1] - borders[0]) for border in borders]
    shapes = []
    for (left, right), height in zip(pairwise(edges), heights, strict=True):
        tall = floor * height / top
        shapes.append(
            f'<rect x="{left:.1f}" y="{floor - tall:.1f}" width="{max(0.5, right - left):.1f}" '
            f'height="{tall:.1f}" fill="{_PALE}"/>'
        )
    for at, anchor, words in ((0, "start", ends[0]), (WIDE, "end", ends[1])):
        shapes.append(
            f'<text x="{at}" y="{TALL - 3}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor">{escaped(words)}</text>'
        )
    return _svg(label, shapes)


def ranked(label: str, counts: Sequence[tuple[str, float]]) -> str:
    """A bar for each common value, the most common first."""
    best = sorted(counts, key=lambda item: -item[1])[:_MOST_BARS]
    top, step = max([*(count for _, count in best), 1e-9]), TALL / max(1, len(best))
    shapes = []
    for rank, (value, count) in enumerate(best):
        y, words = rank * step, value if len(value) <= 24 else value[:23] + "…"
        shapes.append(
            f'<rect x="120" y="{y + 1:.1f}" width="{(WIDE - 120) * max(count, 0) / top:.1f}" '
            f'height="{max(1.0, step - 2):.1f}" fill="{_PALE}"/>'
            f'<text x="114" y="{y + step * 0.75:.1f}" text-anchor="end" '
            f'font-size="{min(11.0, step - 1):.1f}" fill="currentColor">{escaped(words)}</text>'
        )
    return _svg(label, shapes)


def _svg(label: str, shapes: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(label)}" '
        f'width="{WIDE}" height="{TALL}" viewBox="0 0 {WIDE} {TALL}">{"".join(shapes)}</svg>'
    )


_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))
_TONES = {
    "revision": "ink",
    "declared": "ink",
    "publication": "ok",
    "alarm": "bad",
    "broken": "bad",
}
_RULED = ("revision", "alarm", "broken")


def history(timeline: Mapping[str, Any], line: str = "differential") -> Plot:
    """Draw what ``GET /v1/datasets/NAME/timeline`` returns: events, spent and cap of a line."""
    moments = [entry["at"] for part in ("events", "spent", "budget") for entry in timeline[part]]
    first = min(map(_seconds, moments), default=0.0)
    span = max((_seconds(at) - first for at in moments), default=0.0)
    unit, length = next((candidate for candidate in _UNITS if span >= 2 * candidate[1]), _UNITS[-1])
    end = max(span / length, 1.0)

    def when(at: str) -> float:
        return (_seconds(at) - first) / length

    def course(entries: Sequence[Mapping[str, Any]], *start: tuple[float, float]) -> Points:
        amounts = ((when(entry["at"]), entry[line]) for entry in entries)
        points = [*start, *((x, float(Fraction(y))) for x, y in amounts if y is not None)]
        return [*points, *((end, y) for _, y in points[-1:])]

    spent, cap = course(timeline["spent"], (0.0, 0.0)), course(timeline["budget"])
    # An earlier cap may have been far larger; what is left now is to be seen.
    top = max((y for _, y in (*spent, *cap[-1:])), default=1.0) or 1.0
    label = f"{len(timeline['events'])} events; ε spent and the cap over {end:,.3g} {unit}"
    since = min(moments, key=_seconds)[:16].replace("T", " ") if moments else ""
    plot = Plot(Axis(f"{unit} since {since}", 0, end), Axis("ε", 0, 1.1 * top), label)
    if cap:
        plot.steps(cap, "muted", name="cap")
    plot.steps(spent, "accent", name="spent")
    for kind, tone in _TONES.items():
        dots = []
        for event in timeline["events"]:
            if event["kind"] != kind:
                continue
            x = when(event["at"])
            height = next((y for at, y in reversed(spent) if at <= x), 0.0)
            dots.append(Dot(x, height, f"{event['at'][:16]}: {event['says']}", tone))
            if kind in _RULED:
                plot.rule(x, tone, name=kind)
        if dots:
            plot.dots(dots, radius=4, tone=tone, name="" if kind in _RULED else kind)
    return plot


def _seconds(at: str) -> float:
    return datetime.datetime.fromisoformat(at).timestamp()


def new_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches. It needs no screen and no state of pyplot's."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("Pictures need matplotlib: pip install 'whitecrow[plots]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int) -> tuple[Any, Any]:
    """A figure with so many small axes, four in a row, and the axes."""
    wide = min(4, count)
    tall = -(-count // wide)
    figure = new_figure(3 * wide, 2.2 * tall)
    axes = figure.subplots(tall, wide, squeeze=False).flat
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes[:count]
