"""Tables 1 and 2, and figure 2: what the experiments are run on, and the packing in the plane."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np

from whitecrow_research.papers.okada.printed import degrees
from whitecrow_research.papers.okada.sets import (
    Sample,
    adult,
    ionosphere,
    synthetic_one,
    synthetic_two,
)
from whitecrow_research.papers.report import Context, Row, Section, Verdict

K = 3

Settings = tuple[int, int, int, int, float]
"""Outliers, inliers, dimension, k, radius."""

TABLE_1: dict[str, Settings] = {"Synthetic 1": (5, 45, 2, 3, 1.1), "Adult 1": (5, 45, 7, 3, 0.35)}
TABLE_2: dict[str, Settings] = {
    "Synthetic 2": (10, 490, 10, 3, 0.13),
    "Adult 2": (10, 369, 7, 3, 0.02),
    "Ionosphere": (10, 225, 34, 3, 0.06),
}


def tables_1_2(context: Context) -> Section:
    """The data sets as drawn here beside the tables."""
    rows = [
        _row(context, table, name, printed)
        for table, sets in (("Table 1", TABLE_1), ("Table 2", TABLE_2))
        for name, printed in sets.items()
    ]
    rows.append(
        Row(
            "Table 2: inliers of Adult 2 in the table and in the text of 6.1",
            "369 and 490",
            "369",
            "differs",
            "the paper contradicts itself; the table is followed",
        )
    )
    return Section("Tables 1 and 2: data sets and parameters", "", rows)


def _row(context: Context, table: str, name: str, printed: Settings) -> Row:
    sample = _sample(context, name)
    what = f"{table}: {name}: outliers, inliers, dimension, k, radius"
    shown = ", ".join(f"{value:g}" for value in printed)
    if sample is None:
        return Row(what, shown, "-", "needs data", "pass --data with the files")
    outlying, size = int(sample.outlying.sum()), len(sample.points)
    row = (outlying, size - outlying, sample.points.shape[1], *printed[3:])
    why = "settings, copied from the paper"
    if name.startswith("Adult"):
        why += (
            "; not the paper's set, whose seven columns are not named: a stand-in with "
            f"{', '.join(sample.columns)}"
        )
    verdict: Verdict = "not comparable" if row == printed else "differs"
    return Row(what, shown, ", ".join(f"{value:g}" for value in row), verdict, why)


def _sample(context: Context, name: str) -> Sample | None:
    random = np.random.default_rng(context.seed)
    if name == "Synthetic 1":
        return synthetic_one(random)
    if name == "Synthetic 2":
        return synthetic_two(random)
    path = context.dataset("ionosphere.parquet" if name == "Ionosphere" else "adult.parquet")
    if path is None:
        return None
    if name == "Ionosphere":
        return ionosphere(path, random)
    outliers, inliers = (TABLE_1 | TABLE_2)[name][:2]
    return adult(path, inliers, outliers, random)


HEXAGON = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
"""The six nearest places of a triangular lattice: a² + ab + b² is the squared distance, exactly."""


def figure_2(context: Context) -> Section:
    """Six places at distance r, and five: which of them flip when a record comes between them?"""
    six = _flipped_on_lattice()
    angles = 2 * np.pi * np.arange(5) / 5
    ring = np.repeat(np.column_stack([np.cos(angles), np.sin(angles)]), K, axis=0)
    five = _flips(ring, np.zeros((1, 2)), 1.0 + 1e-9)
    rows = [
        Row(
            f"records that flip with {K} records at each of six places r from the centre",
            f"6k = {6 * K}",
            str(six),
            "reproduced" if six == 6 * K else "differs",
            "neighbouring places of the hexagon are exactly r apart, so each is near 3k records "
            "before anything comes",
        ),
        Row(
            "the same with five places",
            f"5k = {5 * K}",
            str(five),
            "reproduced" if five == 5 * K else "differs",
        ),
    ]
    text = (
        "The figure places k records at the centre of each of six balls of radius r/2 that touch a "
        "seventh. In exact arithmetic nothing flips there; a pentagon, whose corners are farther "
        "apart than r, gives 5k, and with the moved record 5k+1, which is what the paper's text "
        "says of the plane. (In doubles a hexagon can come apart by a rounding, so `count` is "
        "calibrated for six.)"
    )
    return Section("Figure 2: the packing in the plane", text, rows, figures=_picture(context))


def _flips(before: np.ndarray, record: np.ndarray, radius: float) -> int:
    after = np.concatenate([before, record])
    counts = degrees(before, radius), degrees(after, radius)[: len(before)]
    return int(((counts[0] <= K) & (counts[1] > K)).sum())


def _flipped_on_lattice() -> int:
    """How many of K records at each corner of the hexagon flip when one comes to the centre."""
    flipped = 0
    for a in HEXAGON:
        near = sum(K for b in HEXAGON if _squared(a[0] - b[0], a[1] - b[1]) <= 1)
        flipped += K if near <= K < near + 1 else 0
    return flipped


def _squared(a: int, b: int) -> int:
    return a * a + a * b + b * b


def _picture(context: Context) -> tuple[Path, ...]:
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle
    except ModuleNotFoundError:
        return ()
    figure = Figure(figsize=(8, 4), layout="constrained")
    for axes, corners in zip(figure.subplots(1, 2), (6, 5), strict=True):
        angles = 2 * math.pi * np.arange(corners) / corners
        points = [(0.0, 0.0), *zip(np.cos(angles), np.sin(angles), strict=True)]
        for x, y in points:
            axes.add_patch(Circle((x, y), 0.5, fill=False, edgecolor="#8b98a5"))
        for (i, a), (j, b) in product(enumerate(points), repeat=2):
            if 0 < i < j and math.dist(a, b) <= 1 + 1e-9:
                axes.plot(*zip(a, b, strict=True), color="#c8553d")
        axes.scatter(*zip(*points[1:], strict=True), color="#22303c", zorder=3)
        axes.scatter(0, 0, facecolors="white", edgecolors="#22303c", zorder=3)
        words = "each near two others (red)" if corners == 6 else "none near another"
        axes.set_title(f"{corners} places at distance r: {words}", fontsize=10)
        axes.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xticks=[], yticks=[])
    path = context.out / "okada-figure-2.png"
    figure.savefig(path, dpi=100)
    return (path,)
