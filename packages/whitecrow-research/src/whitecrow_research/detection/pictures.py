"""Two pictures as plain SVG: every set a row, and the critical-difference diagram of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import numpy as np

from whitecrow_research.detection.measures import Vector, mean_ranks

_COLOURS = ("#1b6ca8", "#d1603d", "#7a7a7a", "#3a8f5c", "#8d5fb0")
_ROW, _LEFT, _WIDE = 18, 150, 470


def _page(width: float, height: float, parts: Sequence[str], title: str) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="sans-serif" font-size="11" role="img">\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'stroke="white" stroke-width="3" paint-order="stroke">'
        f"{escape(words)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = "#222", wide: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{wide}"/>'
    )


def sets_picture(values: Mapping[str, Mapping[str, float]], order: Sequence[str]) -> str:
    """Return a picture of ROC-AUC: one row a set, one dot a detector.

    Parameters
    ----------
    values : mapping
        By detector, by set.
    order : sequence of str
        The sets, from above; each with its label.
    """

    def across(value: float) -> float:
        return _LEFT + (value - 0.3) / 0.7 * _WIDE

    parts = []
    top = 40
    for tick in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        x = across(tick)
        parts.append(_line(x, top - 10, x, top + _ROW * len(order), "#ddd"))
        parts.append(_text(x, top - 14, f"{tick:.1f}", "middle"))
    for index, name in enumerate(order):
        y = top + _ROW * index + _ROW / 2
        parts.append(_text(_LEFT - 8, y + 4, name, "end"))
        seen = [across(held[name]) for held in values.values() if name in held]
        parts.append(_line(min(seen), y, max(seen), y, "#bbb"))
        for colour, held in zip(_COLOURS, values.values(), strict=False):
            if name in held:
                x = across(max(0.3, held[name]))
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
    foot = top + _ROW * len(order) + 18
    x = float(_LEFT)
    for colour, name in zip(_COLOURS, values, strict=False):
        parts.append(f'<circle cx="{x:.1f}" cy="{foot - 4:.1f}" r="4" fill="{colour}"/>')
        parts.append(_text(x + 8, foot, name))
        x += 24 + 6.2 * len(name)
    return _page(_LEFT + _WIDE + 30, foot + 12, parts, "ROC-AUC by set")


def critical_difference(detectors: int, sets: int) -> float:
    """Return by how much mean ranks must differ to be told apart (Nemenyi, 5 %).

    Examples
    --------
    >>> round(critical_difference(5, 30), 2)
    1.11
    """
    from scipy.stats import studentized_range

    critical = float(studentized_range.ppf(0.95, detectors, np.inf)) / math.sqrt(2)
    return critical * math.sqrt(detectors * (detectors + 1) / (6 * sets))


def ranks_picture(values: Mapping[str, Vector]) -> str:
    """Return the critical-difference diagram: mean ranks over sets, bars over what is not apart.

    Parameters
    ----------
    values : mapping
        By detector, one figure a set, the same sets for all.
    """
    names = list(values)
    ranks = dict(zip(names, mean_ranks(np.stack([values[name] for name in names])), strict=True))
    order = sorted(names, key=lambda name: ranks[name])
    critical = critical_difference(len(names), len(values[names[0]]))
    left, wide, top = 30.0, 560.0, 40.0

    def across(rank: float) -> float:
        return left + (rank - 1) / (len(names) - 1) * wide

    parts = [_line(left, top, left + wide, top)]
    for rank in range(1, len(names) + 1):
        parts.append(_line(across(rank), top - 4, across(rank), top))
        parts.append(_text(across(rank), top - 8, str(rank), "middle"))
    parts.append(_line(left, 14, left + across(1 + critical) - left, 14, "#d1603d", 2))
    parts.append(_text(across(1 + critical) + 6, 18, f"critical difference {critical:.2f}"))
    groups: list[tuple[float, float]] = []
    for name in order:
        last = max(ranks[other] for other in names if ranks[other] - ranks[name] <= critical)
        if last > ranks[name] and (not groups or last > groups[-1][1]):
            groups.append((ranks[name], last))
    y = top + 8
    for first, last in groups:
        parts.append(_line(across(first) - 3, y, across(last) + 3, y, "#222", 4))
        y += 8
    labels = []
    for name in order:
        y += 17
        x = across(ranks[name])
        parts.append(_line(x, top, x, y - 4, "#bbb"))
        near = x > left + wide / 2
        words = f"{name} ({ranks[name]:.2f})"
        labels.append(_text(x - 4 if near else x + 4, y, words, "end" if near else "start"))
    parts.extend(labels)
    return _page(left + wide + 40, y + 16, parts, "Mean ranks over sets")
