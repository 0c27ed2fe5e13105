"""Small pictures of one column, beside a row of a table: where values lie, or which are common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whitecrow.rendering.page import escaped

WIDE, TALL = 260, 90
_MOST_BARS = 12
_PALE = "#7aa6c2"


def histogram(
    label: str, borders: Sequence[float], heights: Sequence[float], ends: tuple[str, str]
) -> str:
    """Bars between borders, with what stands below the first and the last."""

    def shapes() -> Iterator[str]:
        lower, length, floor = borders[0], borders[-1] - borders[0], TALL - 16
        top = max(heights) or 1.0
        for place, height in enumerate(heights):
            left, right = (WIDE * (one - lower) / length for one in borders[place : place + 2])
            tall = floor * height / top
            yield (
                f'<rect x="{left:.1f}" y="{floor - tall:.1f}" width="{max(0.5, right - left):.1f}" '
                f'height="{tall:.1f}" fill="{_PALE}"/>'
            )
        for at, anchor, words in ((0, "start", ends[0]), (WIDE, "end", ends[1])):
            yield (
                f'<text x="{at}" y="{TALL - 3}" text-anchor="{anchor}" font-size="11" '
                f'fill="currentColor">{escaped(words)}</text>'
            )

    return _svg(label, shapes())


def ranked(label: str, counts: Sequence[tuple[str, float]]) -> str:
    """A bar for each common value, the most common first."""

    def shapes() -> Iterator[str]:
        best = sorted(counts, key=lambda item: -item[1])[:_MOST_BARS]
        top, step = max([*(count for _, count in best), 1e-9]), TALL / max(1, len(best))
        for place, (value, count) in enumerate(best):
            y, words = place * step, value if len(value) <= 24 else value[:23] + "…"
            yield (
                f'<rect x="120" y="{y + 1:.1f}" width="{(WIDE - 120) * max(count, 0) / top:.1f}" '
                f'height="{max(1.0, step - 2):.1f}" fill="{_PALE}"/>'
                f'<text x="114" y="{y + step * 0.75:.1f}" text-anchor="end" '
                f'font-size="{min(11.0, step - 1):.1f}" fill="currentColor">{escaped(words)}</text>'
            )

    return _svg(label, shapes())


def _svg(label: str, shapes: Iterator[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(label)}" '
        f'width="{WIDE}" height="{TALL}" viewBox="0 0 {WIDE} {TALL}">{"".join(shapes)}</svg>'
    )
