"""Pictures of a profile: one for each column, made of released numbers only."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.errors import InvalidInput
from whitecrow.histogram.line import Floats
from whitecrow.histogram.table import Categories, TableProfile
from whitecrow.rendering import WIDE, histogram, page, panels, ranked

_MOST_BARS = 12
_MOST_DRAWN = 24
_FARTHEST = 2.0**1020
_PALE = "#7aa6c2"


def draw(profile: TableProfile, path: Path) -> Path:
    """Write an HTML report, or a picture with matplotlib."""
    if path.suffix.lower() in (".html", ".htm"):
        lead = f"About {profile.records:,} records. {profile.statement}"
        report = page(f"Profile of {profile.basis.name}", lead, _table(profile))
        path.write_text(report, encoding="utf-8")
    else:
        drawn(profile)[0].figure.savefig(path, dpi=110)
    return path


def fragment(profile: TableProfile) -> str:
    """Return a profile as a notebook shows it."""
    words = html.escape(profile.statement)
    return f"<p>About {profile.records:,} records. {words}</p>{_table(profile)}"


def _table(profile: TableProfile) -> str:
    head, *rows = profile.rows()
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in [*head, "picture"])
    body = ""
    for row in rows:
        texts = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        body += f"<tr>{texts}<td>{column_svg(profile, row[0])}</td></tr>"
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def column_svg(profile: TableProfile, name: str) -> str:
    """Return the picture of one column: a histogram, or bars for common values."""
    label = f"Released distribution of {name}"
    content = _content(profile, name)
    if content is None or isinstance(content, dict):
        return ranked(label, list((content or {}).items()))
    borders, heights = content
    ends = profile.shown(name, float(borders[0])), profile.shown(name, float(borders[-1]))
    return histogram(label, borders.tolist(), heights.tolist(), ends)


def _content(profile: TableProfile, name: str) -> dict[str, int] | tuple[Floats, Floats] | None:
    """Return common values, or borders and heights of the middle 98 %; None if there is nothing."""
    if isinstance(profile.column(name), Categories):
        return profile.categories(name)
    if profile.bounds(name) is None:
        return None
    borders, shares = profile.histogram(name)
    below = np.cumsum(shares)
    first = int(np.argmax(below >= 0.01))
    last = int(np.argmax(below >= 0.99 - 1e-9)) if below[-1] > 0 else len(shares) - 1
    shown = slice(first, max(first, last) + 1)
    ends = np.clip(borders[first : shown.stop + 1], -_FARTHEST, _FARTHEST)
    if len(ends) > 2:  # a line has no end: of the outermost cell so much is drawn as of the next
        if not math.isfinite(borders[first]):
            ends[0] = max(-_FARTHEST, 2.0 * ends[1] - ends[2])
        if not math.isfinite(borders[shown.stop]):
            ends[-1] = min(_FARTHEST, 2.0 * ends[-2] - ends[-3])
    if not ends[0] < ends[-1]:  # all beyond what is drawn
        return None
    # A cell of one value is drawn as wide as can be seen.
    parts = np.maximum(np.diff(ends) / (ends[-1] - ends[0]), 1.0 / (2 * WIDE))
    return ends, shares[shown] / parts


def drawn(profile: TableProfile) -> list[Any]:
    """Draw every column that shows more than noise, on a figure of its own; return the Axes."""
    contents = {name: _content(profile, name) for name in profile.names}
    shown = [name for name, content in contents.items() if content][:_MOST_DRAWN]
    if not shown:
        raise InvalidInput("No column of this profile shows more than noise: nothing to draw.")
    figure, axes = panels(len(shown))
    for name, axis in zip(shown, axes, strict=False):
        drawn_column(profile, name, axis)
    figure.suptitle(f"Profile of {profile.basis.name}")
    return list(axes[: len(shown)])


def drawn_column(profile: TableProfile, name: str, ax: Any = None) -> Any:
    """Draw one column, on the given Axes or on a figure of its own; return the Axes."""
    content = _content(profile, name)
    if not content:
        raise InvalidInput(f"The column {name!r} shows nothing but noise: nothing to draw.")
    axis = panels(1)[1][0] if ax is None else ax
    axis.set_title(name, fontsize=9)
    if isinstance(content, dict):
        most = dict(sorted(content.items(), key=lambda item: -item[1])[:_MOST_BARS])
        axis.barh(range(len(most)), list(most.values()), color=_PALE)
        axis.set_yticks(range(len(most)), list(most), fontsize=7)
        return axis
    borders, heights = content
    axis.stairs(heights, borders, fill=True, color=_PALE)
    axis.set_yticks([])
    if profile.column(name).kind == "date":
        axis.xaxis_date()  # matplotlib counts days from 1970, too
        axis.tick_params(axis="x", labelrotation=30, labelsize=7)
    return axis
