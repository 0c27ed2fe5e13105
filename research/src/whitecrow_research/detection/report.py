"""The tables: means over sets by size, with intervals of the paired difference to a favourite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from whitecrow_research.detection.measures import paired
from whitecrow_research.detection.run import Results
from whitecrow_research.detection.sets import chosen_on

__all__ = ["by_set", "summary"]

SIZES = (0, 1000, 4000)
FAVOURITE = "IForest"


def _mean(results: Results, detector: str, name: str, measure: int) -> float:
    return float(np.mean([row[measure] for row in results[detector][name]]))


def summary(results: Results, sizes: Mapping[str, int]) -> Iterable[str]:
    """Yield a Markdown table a half of the sets: all, those chosen on, those only reported on."""
    halves = {
        "All sets": list(sizes),
        "Sets that parameters were chosen on": [name for name in sizes if chosen_on(name)],
        "Sets that only report": [name for name in sizes if not chosen_on(name)],
    }
    for title, members in halves.items():
        groups = [[name for name in members if sizes[name] >= least] for least in SIZES]
        heads = " | ".join(
            f"n >= {least:,} ({len(group)})" for least, group in zip(SIZES, groups, strict=True)
        )
        yield f"\n**{title}**: ROC-AUC/AP; difference of AUC to {FAVOURITE} and its 90 % interval\n"
        yield f"| | {heads} |"
        yield "|---|" + "---|" * len(SIZES)
        for detector in results:
            yield (
                f"| {detector} | "
                + " | ".join(_cell(results, detector, group) for group in groups)
                + " |"
            )


def _cell(results: Results, detector: str, group: list[str]) -> str:
    if not group:
        return "-"
    found = np.array([[_mean(results, detector, name, m) for m in (0, 1)] for name in group])
    best = np.array([_mean(results, FAVOURITE, name, 0) for name in group])
    words = f"{found[:, 0].mean():.3f}/{found[:, 1].mean():.3f}"
    if detector == FAVOURITE:
        return words
    gap, low, high = paired(found[:, 0], best)
    return f"{words} {gap:+.3f} ({low:+.3f} to {high:+.3f})"


def by_set(results: Results, sizes: Mapping[str, int]) -> Iterable[str]:
    """Yield a table of mean ROC-AUC, one row a set."""
    yield "\n| set | n | " + " | ".join(results) + " |"
    yield "|---|---|" + "---|" * len(results)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        row = " | ".join(f"{_mean(results, detector, name, 0):.3f}" for detector in results)
        yield f"| {name} | {sizes[name]:,} | {row} |"
