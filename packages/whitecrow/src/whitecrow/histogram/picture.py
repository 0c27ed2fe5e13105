"""Pictures of a profile: one for each column, made of released numbers only."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whitecrow.errors import MissingExtra
from whitecrow.figures import can_draw, panels
from whitecrow.histogram.columns import Categories

if TYPE_CHECKING:
    from whitecrow.histogram.table import TableProfile

_WIDE, _TALL = 260, 90
_MOST_BARS = 12
_MOST_DRAWN = 24
_FARTHEST = 2.0**1020
_INK, _PALE = "#1f4e79", "#7aa6c2"


def draw(profile: TableProfile, path: Path) -> Path:
    """Write an HTML report, or a picture with matplotlib."""
    if path.suffix.lower() in (".html", ".htm"):
        path.write_text(_page(profile), encoding="utf-8")
    else:
        _drawn(profile, path)
    return path


def _page(profile: TableProfile) -> str:
    title = html.escape(f"Profile of {profile.basis.name}")
    style = (
        "body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;"
        "color:#222}table{border-collapse:collapse}td,th{text-align:left;padding:.35em .8em;"
        "border-bottom:1px solid #ddd;vertical-align:top}"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style><h1>{title}</h1>{fragment(profile)}</html>\n"
    )


def fragment(profile: TableProfile) -> str:
    """Return a table of all columns with their pictures, as HTML."""
    head, *rows = profile.rows()
    cells = "".join(f"<th>{html.escape(one)}</th>" for one in [*head, "picture"])
    body = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(one)}</td>" for one in row)
        + f"<td>{column_svg(profile, row[0])}</td></tr>"
        for row in rows
    )
    return (
        f"<p>About {profile.records:,} records. {html.escape(profile.statement)}</p>"
        f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    )


def column_svg(profile: TableProfile, name: str) -> str:
    """Return the picture of one column: a histogram, or bars for common values."""
    column = profile.column(name)
    if isinstance(column, Categories):
        shapes = "".join(_category_bars(profile, name))
    else:
        shapes = "".join(_number_bars(profile, name))
    label = html.escape(f"Released distribution of {name}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'width="{_WIDE}" height="{_TALL}" viewBox="0 0 {_WIDE} {_TALL}">{shapes}</svg>'
    )


def _number_bars(profile: TableProfile, name: str) -> Iterator[str]:
    found = densities(profile, name)
    if found is None:
        return
    borders, heights = found
    lower, upper = float(borders[0]), float(borders[-1])
    floor = _TALL - 16
    top = float(heights.max()) or 1.0
    for place, height in enumerate(heights.tolist()):
        left = _WIDE * (float(borders[place]) - lower) / (upper - lower)
        right = _WIDE * (float(borders[place + 1]) - lower) / (upper - lower)
        tall = floor * height / top
        yield (
            f'<rect x="{left:.1f}" y="{floor - tall:.1f}" width="{max(0.5, right - left):.1f}" '
            f'height="{tall:.1f}" fill="{_PALE}"/>'
        )
    for at, anchor, value in ((0, "start", lower), (_WIDE, "end", upper)):
        said = html.escape(profile.shown(name, value))
        yield (
            f'<text x="{at}" y="{_TALL - 3}" text-anchor="{anchor}" font-size="11" '
            f'fill="{_INK}">{said}</text>'
        )


def densities(
    profile: TableProfile, name: str
) -> (
    tuple[
        np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]
    ]
    | None
):
    """Return borders and heights of the middle 98 % of a column, for a picture."""
    if profile.bounds(name) is None:
        return None
    borders, shares = profile.histogram(name)
    below = np.cumsum(shares)
    first = int(np.argmax(below >= 0.01))
    last = int(np.argmax(below >= 0.99 - 1e-9)) if below[-1] > 0 else len(shares) - 1
    kept = slice(first, max(first, last) + 1)
    ends = np.clip(borders[first : kept.stop + 1], -_FARTHEST, _FARTHEST)
    if len(ends) > 2:  # a line has no end: of the outermost cell so much is drawn as of the next
        if not math.isfinite(borders[first]):
            ends[0] = max(-_FARTHEST, 2.0 * ends[1] - ends[2])
        if not math.isfinite(borders[kept.stop]):
            ends[-1] = min(_FARTHEST, 2.0 * ends[-2] - ends[-3])
    if not ends[0] < ends[-1]:  # all beyond what is drawn
        return None
    # A cell of one value is drawn as wide as can be seen.
    parts = np.maximum(np.diff(ends) / (ends[-1] - ends[0]), 1.0 / (2 * _WIDE))
    return ends, shares[kept] / parts


def _category_bars(profile: TableProfile, name: str) -> Iterator[str]:
    best = sorted(profile.categories(name).items(), key=lambda item: -item[1])[:_MOST_BARS]
    if not best:
        return
    top = max(best[0][1], 1)
    step = _TALL / len(best)
    size = min(11.0, step - 1)
    for place, (value, count) in enumerate(best):
        y = place * step
        said = html.escape(value if len(value) <= 24 else value[:23] + "…")
        yield (
            f'<rect x="120" y="{y + 1:.1f}" width="{(_WIDE - 120) * count / top:.1f}" '
            f'height="{max(1.0, step - 2):.1f}" fill="{_PALE}"/>'
            f'<text x="114" y="{y + step * 0.75:.1f}" text-anchor="end" font-size="{size:.1f}" '
            f'fill="{_INK}">{said}</text>'
        )


def _drawn(profile: TableProfile, path: Path) -> None:
    if not can_draw():
        raise MissingExtra(
            "Such pictures need matplotlib: pip install 'whitecrow[plots]'. "
            "A report needs nothing: name a file that ends in .html."
        )
    names = profile.names[:_MOST_DRAWN]
    figure, axes = panels(len(names))
    for name, axis in zip(names, axes, strict=False):
        axis.set_title(name, fontsize=9)
        if isinstance(profile.column(name), Categories):
            best = sorted(profile.categories(name).items(), key=lambda item: -item[1])[:_MOST_BARS]
            axis.barh(range(len(best)), [count for _, count in best], color=_PALE)
            axis.set_yticks(range(len(best)), [value for value, _ in best], fontsize=7)
        elif (found := densities(profile, name)) is not None:
            axis.stairs(found[1], found[0], fill=True, color=_PALE)
            axis.set_yticks([])
    figure.suptitle(f"Profile of {profile.basis.name}")
    figure.savefig(path, dpi=110)
