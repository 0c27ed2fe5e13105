"""The tables: means over sets by size, with intervals of paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from whitecrow_research.detection.measures import paired
from whitecrow_research.detection.run import LIMITED, Results
from whitecrow_research.detection.sets import chosen_on

Vector = npt.NDArray[np.float64]
Sizes = Mapping[str, int]

LEAST = (0, 1000, 4000)
FAVOURITE, OURS = "IForest", "(1, 1e-6)"
AUC, AP, SECONDS, FIT = range(4)


def means(results: Results, detector: str, group: list[str], measure: int = AUC) -> Vector:
    """Return a detector's mean over seeds, one figure a set."""
    found = results[detector]
    return np.array([np.mean([row[measure] for row in found[name]]) for name in group])


def _groups(members: list[str], sizes: Sizes, least: Sequence[int] = LEAST) -> list[list[str]]:
    return [[name for name in members if sizes[name] >= size] for size in least]


def _heads(groups: list[list[str]], least: Sequence[int] = LEAST) -> Iterator[str]:
    heads = (f"n >= {size:,} ({len(group)})" for size, group in zip(least, groups, strict=True))
    yield "| | " + " | ".join(heads) + " |"
    yield "|---|" + "---|" * len(groups)


def _gap(one: Vector, other: Vector) -> str:
    if not len(one):
        return "-"
    gap, low, high = paired(one, other)
    return f"{gap:+.3f} ({low:+.3f} to {high:+.3f})"


def summary(results: Results, sizes: Sizes) -> Iterator[str]:
    """Yield a table for all sets, and for those that only report."""
    halves = {
        "All sets": (list(sizes), LEAST),
        "Sets that only report": ([name for name in sizes if not chosen_on(name)], LEAST[1:2]),
    }
    whole = [detector for detector in results if detector not in LIMITED]
    for title, (members, least) in halves.items():
        groups = _groups(members, sizes, least)
        yield f"\n**{title}**: ROC-AUC/AP; difference of AUC to {FAVOURITE}, its 90 % interval\n"
        yield from _heads(groups, least)
        for detector in whole:
            cells = (_cell(results, detector, group) for group in groups)
            yield f"| {detector} | " + " | ".join(cells) + " |"


def _cell(results: Results, detector: str, group: list[str]) -> str:
    if not group:
        return "-"
    found = means(results, detector, group)
    words = f"{found.mean():.3f}/{means(results, detector, group, AP).mean():.3f}"
    if detector == FAVOURITE:
        return words
    return f"{words} {_gap(found, means(results, FAVOURITE, group))}"


def precision(results: Results, sizes: Sizes) -> Iterator[str]:
    """Yield a table of the average precision beside the favourite's."""
    groups = _groups(list(sizes), sizes)
    yield f"\n**Average precision** at {OURS} against {FAVOURITE}\n"
    yield from _heads(groups)
    cells = (
        _gap(means(results, OURS, group, AP), means(results, FAVOURITE, group, AP))
        for group in groups
    )
    yield "| difference | " + " | ".join(cells) + " |"


def beside(results: Results, sizes: Sizes) -> Iterator[str]:
    """Yield a table of peers that take sets of few columns only, on those."""
    others = [detector for detector in results if detector in LIMITED]
    if not others:
        return
    yield "\n**More private peers**, on the sets of few columns that each can take\n"
    yield "| | sets | ROC-AUC/AP | ours there | lead in AUC | seconds to fit, median | ours |"
    yield "|---|---|---|---|---|---|---|"
    for detector in others:
        group = [name for name in sizes if results[detector].get(name)]
        # Peers that take minutes have fewer seeds: ours there are the same ones.
        same = {name: results[OURS][name][: len(results[detector][name])] for name in group}
        alike = {detector: results[detector], OURS: same}
        found, own = means(alike, detector, group), means(alike, OURS, group)
        ap, own_ap = (means(alike, one, group, AP).mean() for one in (detector, OURS))
        fit, own_fit = (np.median(means(alike, one, group, FIT)) for one in (detector, OURS))
        yield (
            f"| {detector} | {len(group)} | {found.mean():.3f}/{ap:.3f} | "
            f"{own.mean():.3f}/{own_ap:.3f} | {_gap(own, found)} | {fit:.2f} | {own_fit:.3f} |"
        )


def by_set(results: Results, sizes: Sizes) -> Iterator[str]:
    """Yield a table of mean ROC-AUC, one row a set; the sets chosen on have a star."""
    yield "\n**By set** (ROC-AUC; a star marks sets that parameters were chosen on)\n"
    yield "| set | n | " + " | ".join(results) + " |"
    yield "|---|---|" + "---|" * len(results)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        row = (
            f"{means(results, detector, [name])[0]:.3f}" if results[detector].get(name) else "-"
            for detector in results
        )
        star = "\\*" if chosen_on(name) else ""
        yield f"| {name}{star} | {sizes[name]:,} | " + " | ".join(row) + " |"
