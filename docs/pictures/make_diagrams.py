"""Draws the pictures of the documentation: plain SVG, computed from the definitions they show.

Run ``python docs/pictures/make_diagrams.py`` to write them again; a test keeps them up to date.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
INK, QUIET, PAPER = "#22303c", "#8b98a5", "#fcfbf7"
BLUE, ORANGE, RED, GREEN = "#2f6fb0", "#d98a1f", "#c0392b", "#3d8b5f"

Point = tuple[float, float]


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    """Return a picture on its own paper, readable on light and dark pages alike."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>'
    return "\n".join([head, f"<title>{title}</title>", paper, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, *, fill: str = INK, anchor: str = "start") -> str:
    """Return one line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}">{words}</text>'


def small(x: float, y: float, words: str) -> str:
    """Return a warning in small letters."""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{RED}" text-anchor="middle" font-size="10">{words}</text>'
    )


def dot(x: float, y: float, fill: str, radius: float = 4.5) -> str:
    """Return one record."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"/>'


def ring(x: float, y: float, radius: float, stroke: str, *, dashed: bool = False) -> str:
    """Return a ball's border."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{stroke}" fill-opacity="0.09" '
        f'stroke="{stroke}"{dashes}/>'
    )


def line(a: Point, b: Point, stroke: str, *, width: float = 1.6, dashed: bool = False) -> str:
    """Return a straight line."""
    dashes = ' stroke-dasharray="2 4"' if dashed else ""
    return (
        f'<line x1="{a[0]:g}" y1="{a[1]:g}" x2="{b[0]:g}" y2="{b[1]:g}" stroke="{stroke}" '
        f'stroke-width="{width:g}"{dashes}/>'
    )


def arrow(a: Point, b: Point, stroke: str = INK) -> str:
    """Return a straight arrow."""
    angle = math.atan2(b[1] - a[1], b[0] - a[0])
    tips = [
        (b[0] - 8 * math.cos(angle + turn), b[1] - 8 * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    ]
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [b, *tips])
    return line(a, b, stroke) + f'<polygon points="{corners}" fill="{stroke}"/>'


def records() -> list[Point]:
    """A crowd, a small group beside it, and a lone record, on a 20-pixel raster."""
    crowd = [(7, 4), (8, 4), (6, 5), (7, 5), (8, 5), (9, 5), (6, 6), (7, 6), (8, 6), (9, 6), (7, 7)]
    group = [(13, 4), (14, 4.5), (13.5, 5.5)]
    alone = [(18, 8)]
    return [(20 * x + 20, 20 * y + 35) for x, y in [*crowd, *group, *alone]]


def covered() -> str:
    """Who is normal, who is an anomaly, and whom sensitive privacy covers."""
    beta, k, radius = 4, 2, 48.0
    tau = beta + 1 - k
    points = records()
    parts = []
    near = [sum(math.dist(p, q) <= radius for q in points) for p in points]
    for shown in (4, 11, 14):
        parts.append(ring(*points[shown], radius, QUIET, dashed=True))
        x, y = points[shown]
        parts.append(text(x, y - radius - 6, f"{near[shown]} within", fill=INK, anchor="middle"))
    for (x, y), count in zip(points, near, strict=True):
        fill = BLUE if count > beta else ORANGE if count >= tau else RED
        parts.append(dot(x, y, fill))
    legend = [
        (BLUE, f"normal: more than {beta} within the radius"),
        (ORANGE, f"anomaly, still covered: {tau} or {beta} within"),
        (RED, f"anomaly, not covered: fewer than {tau} within"),
    ]
    for row, (fill, words) in enumerate(legend):
        parts += [dot(40, 278 + 22 * row, fill), text(54, 282 + 22 * row, words)]
    parts.append(text(30, 30, f"beta = {beta}, k = {k}, so tau = beta + 1 - k = {tau}"))
    return svg(470, 340, "Normal records, anomalies, and whom sensitive privacy covers", parts)


def graph(left: float, tau: int, name: str) -> list[str]:
    """Databases with 0 to 4 records at each of two far places, and the edges of one notion."""
    step, top, most = 44.0, 245.0, 4

    def at(x: int, y: int) -> Point:
        return left + step * x, top - step * y

    def edge(a: Point, b: Point, count: int) -> str:
        kept = count >= tau
        return line(a, b, BLUE if kept else "#d9dee3", width=2 if kept else 1.2, dashed=not kept)

    parts = [text(left + 2 * step, 40, name, anchor="middle")]
    for x in range(most + 1):
        for y in range(most + 1):
            if x < most:
                parts.append(edge(at(x, y), at(x + 1, y), x + 1))
            if y < most:
                parts.append(edge(at(x, y), at(x, y + 1), y + 1))
    parts += [dot(*at(x, y), INK, 4) for x in range(most + 1) for y in range(most + 1)]
    for n in range(most + 1):
        parts.append(text(at(n, 0)[0], top + 20, str(n), fill=QUIET, anchor="middle"))
        parts.append(text(left - 16, at(0, n)[1] + 4, str(n), fill=QUIET, anchor="middle"))
    parts.append(text(left + 2 * step, top + 38, "records at place A", fill=QUIET, anchor="middle"))
    parts.append(text(left - 16, 56, "at B", fill=QUIET, anchor="middle"))
    return parts


def graphs() -> str:
    """The neighbour graph of differential privacy beside that of sensitive privacy."""
    parts = [
        *graph(60, 1, "differential privacy: every edge"),
        *graph(340, 3, "sensitive privacy, tau = 3"),
    ]
    return svg(560, 300, "Databases as points, pairs that differ in one record as edges", parts)


def way() -> str:
    """A question's way through the house."""
    stops = [
        ("question", "public", 20, 30),
        ("curator", "policy, price", 170, 30),
        ("ledger", "reserve: spend", 320, 30),
        ("engine", "facts (private)", 320, 150),
        ("mechanism", "the crossing", 170, 150),
        ("ledger", "settle: answer", 20, 150),
        ("release", "answer, promise", 20, 250),
    ]
    parts = [
        f'<rect x="160" y="126" width="285" height="94" rx="6" fill="{RED}" fill-opacity="0.07" '
        f'stroke="{RED}" stroke-dasharray="6 4"/>',
        small(302, 214, "the wall: only the mechanism lets anything out"),
    ]
    for name, words, x, y in stops:
        parts.append(
            f'<rect x="{x}" y="{y}" width="115" height="50" rx="6" fill="#ffffff" stroke="{INK}"/>'
        )
        parts.append(text(x + 57, y + 21, name, anchor="middle"))
        parts.append(text(x + 57, y + 39, words, fill=QUIET, anchor="middle"))
    parts += [
        arrow((135, 55), (168, 55)),
        arrow((285, 55), (318, 55)),
        arrow((377, 80), (377, 148)),
        arrow((320, 175), (287, 175)),
        arrow((170, 175), (137, 175)),
        arrow((77, 200), (77, 248)),
    ]
    return svg(465, 320, "A question's way through whitecrow", parts)


def balls() -> str:
    """Spatial accounting: the price is the deepest overlap, not the number of questions."""
    centres = [(95.0, 110.0), (165.0, 110.0), (130.0, 165.0), (330.0, 130.0)]
    parts = [ring(x, y, 62, BLUE) for x, y in centres]
    parts += [dot(x, y, INK, 3) for x, y in centres]
    depth = max(
        sum(math.dist((x, y), c) <= 62 for c in centres)
        for x in range(0, 420, 2)
        for y in range(0, 240, 2)
    )
    parts.append(dot(130, 128, RED, 4.5))
    parts.append(text(140, 132, f"{depth} balls meet here", fill=RED))
    parts.append(text(20, 28, "four questions at epsilon 1/10 each"))
    parts.append(text(20, 262, f"together they cost {depth}/10, not 4/10", fill=GREEN))
    return svg(430, 280, "The price of many questions is the deepest overlap of their balls", parts)


def sensitive() -> str:
    """What k-sensitive means: how many more records would make a record normal?"""
    beta, radius = 4, 46.0
    near = [(0.0, 0.0), (-20.0, 14.0), (16.0, 20.0)]
    extra = [(22.0, -14.0), (-14.0, -22.0)]
    shows = [
        (near[:1], 4, "one record, alone"),
        (near, 2, "three records"),
        ([*near, *extra], 0, "five records: normal"),
    ]
    parts = [text(20, 28, f"an anomaly has at most beta = {beta} records within the radius")]
    for place, (points, missing, words) in enumerate(shows):
        x, y = 95.0 + 165 * place, 110.0
        parts.append(ring(x, y, radius, QUIET, dashed=True))
        count = len(points)
        fill = BLUE if count > beta else ORANGE if missing <= 2 else RED
        parts += [dot(x + dx, y + dy, fill) for dx, dy in points]
        more = [p for p in (*near, *extra) if p not in points]
        parts += [
            f'<circle cx="{x + dx:g}" cy="{y + dy:g}" r="4.5" fill="none" stroke="{QUIET}"/>'
            for dx, dy in more
        ]
        parts.append(text(x, y + 72, words, anchor="middle"))
        needs = f"{missing} more are missing" if missing else "nothing is missing"
        parts.append(text(x, y + 92, needs, fill=QUIET, anchor="middle"))
        verdict = "covered" if missing <= 2 else "not covered"
        parts.append(text(x, y + 116, f"k = 2: {verdict}", fill=fill, anchor="middle"))
    return svg(520, 250, "A record is k-sensitive if k more records can make it normal", parts)


def distances() -> str:
    """Databases as points, coloured by the answer, with the distance to the other answer."""
    beta, most, step = 3, 6, 46.0
    left, top = 70.0, 265.0
    tau = beta  # k = 1

    def answer(copies: int, others: int) -> bool:
        return copies > 0 and copies + others <= beta

    def edges(copies: int, others: int) -> list[tuple[int, int]]:
        """Places one record away whose record has tau around it in the larger database."""
        found = []
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            x, y = copies + dx, others + dy
            larger = max(copies + others, x + y)
            if 0 <= x <= most + 4 and 0 <= y <= most + 4 and larger >= tau:
                found.append((x, y))
        return found

    def far(start: tuple[int, int]) -> int | None:
        """Walk until the answer is another one."""
        seen, border, steps = {start}, [start], 0
        while border:
            steps += 1
            reached = []
            for here in border:
                for there in edges(*here):
                    if there in seen:
                        continue
                    seen.add(there)
                    if answer(*there) != answer(*start):
                        return steps
                    reached.append(there)
            border = reached
        return None

    parts = [text(20, 28, f"beta = {beta}, k = 1: databases by records at a place and beside it")]
    for x in range(most + 1):
        for y in range(most - 1):
            for a, b in ((x + 1, y), (x, y + 1)):
                if a <= most and b <= most - 2:
                    kept = max(x + y, a + b) >= tau
                    one = (left + step * x, top - step * y)
                    two = (left + step * a, top - step * b)
                    colour = QUIET if kept else "#d9dee3"
                    parts.append(line(one, two, colour, width=1.2, dashed=not kept))
    for x in range(most + 1):
        for y in range(most - 1):
            px, py = left + step * x, top - step * y
            fill = RED if answer(x, y) else BLUE
            parts.append(dot(px, py, fill, 13))
            steps = far((x, y))
            shown = "–" if steps is None else str(steps)
            parts.append(text(px, py + 4.5, shown, fill="#ffffff", anchor="middle"))
    parts.append(text(left + 3 * step, top + 36, "records at the place", anchor="middle"))
    parts.append(text(20, top - 4.45 * step, "beside it"))
    parts += [dot(420, 80, RED, 7), text(434, 85, "anomaly")]
    parts += [dot(420, 106, BLUE, 7), text(434, 111, "not")]
    parts.append(text(412, 140, "number: steps to"))
    parts.append(text(412, 157, "the other answer"))
    parts.append(text(412, 184, "dotted: no edge,", fill=QUIET))
    parts.append(text(412, 201, "not promised", fill=QUIET))
    return svg(550, 320, "Distance to the other answer in the sensitive graph", parts)


def badges() -> str:
    """What can be said of the project in a few words, read from where it is decided."""
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    about = project["project"]
    assert project["tool"]["mypy"]["strict"]
    assert "Development Status :: 3 - Alpha" in about["classifiers"]
    said = [
        ("version", about["version"], BLUE),
        ("Python", about["requires-python"].replace(">=", "≥ "), BLUE),
        ("licence", about["license"], BLUE),
        ("types", "strict", GREEN),
        ("status", "alpha, not reviewed by outsiders", ORANGE),
    ]
    parts, x = [], 0.0
    for name, words, fill in said:
        left, right = 7.0 * len(name) + 14, 6.4 * len(words) + 14
        for start, width, colour in ((x, left, INK), (x + left, right, fill)):
            parts.append(
                f'<rect x="{start:g}" y="0" width="{width:g}" height="22" fill="{colour}"/>'
            )
        for middle, shown in ((x + left / 2, name), (x + left + right / 2, words)):
            shown = shown.replace("≥", "&#8805;")
            parts.append(text(middle, 15.5, shown, fill="#ffffff", anchor="middle"))
        x += left + right + 8
    picture = svg(round(x) - 8, 22, "Version, Python, licence, types, status", parts)
    return picture.replace('font-size="13"', 'font-size="12"').replace(
        f'rx="8" fill="{PAPER}"', 'fill="none"'
    )


PICTURES: dict[str, Callable[[], str]] = {
    "covered": covered,
    "graphs": graphs,
    "way": way,
    "balls": balls,
    "sensitive": sensitive,
    "distances": distances,
    "badges": badges,
}


def draw() -> Iterator[tuple[Path, str]]:
    """Yield every picture's file and content."""
    for name, picture in PICTURES.items():
        yield FOLDER / f"{name}.svg", picture()


if __name__ == "__main__":
    for path, content in draw():
        path.write_text(content, encoding="utf-8")
