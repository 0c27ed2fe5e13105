"""The tables: means over sets by size, with intervals of paired differences.

Sets count alike in means; intervals are of the bootstrap that draws whole families.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow_research.detection.measures import paired
from whitecrow_research.detection.private import ABLATIONS, SETTINGS
from whitecrow_research.detection.run import LIMITED, Results

Vector = npt.NDArray[np.float64]

REFERENCES, OURS = ("IForest", "KNN"), "(1, 1e-6)"
AUC, AP, SECONDS, FIT = range(4)


@dataclass(frozen=True)
class About:
    """What the tables say of a set: its records, its family, whether it was chosen on."""

    records: int
    family: str
    chosen_on: bool


Sets = Mapping[str, About]

_SIZES: dict[str, Callable[[int], bool]] = {
    "all": lambda records: True,
    "below 1,000": lambda records: records < 1000,
    "1,000 to 4,000": lambda records: 1000 <= records < 4000,
    "4,000 and more": lambda records: records >= 4000,
    "1,000 and more": lambda records: records >= 1000,
}


def means(results: Results, detector: str, group: list[str], measure: int = AUC) -> Vector:
    """Return a detector's mean over seeds, one figure a set."""
    rows = results[detector]
    return np.array([np.mean([row[measure] for row in rows[name]]) for name in group])


def _groups(sets: Sets, wanted: Callable[[About], bool]) -> dict[str, list[str]]:
    return {
        title: [name for name, about in sets.items() if fits(about.records) and wanted(about)]
        for title, fits in _SIZES.items()
    }


def _row(*cells: str) -> str:
    return f"|{'|'.join(cells)}|"


def _heads(groups: Mapping[str, list[str]]) -> Iterator[str]:
    yield _row("", *(f"{title} ({len(group)})" for title, group in groups.items()))
    yield "|---|" + "---|" * len(groups)


def _gap(one: Vector, other: Vector, families: list[str]) -> str:
    if not len(one):
        return "-"
    gap, low, high = paired(one, other, families)
    return f"{gap:+.3f} ({low:+.3f} to {high:+.3f})"


def summary(results: Results, sets: Sets) -> Iterator[str]:
    """Yield the means of all detectors, and how far whitecrow's are ahead of the references."""
    whole = [
        detector for detector in results if detector not in LIMITED and detector not in ABLATIONS
    ]
    own = [detector for detector in whole if detector in SETTINGS and SETTINGS[detector].width == 1]
    groups = _groups(sets, lambda about: True)
    yield "\n**Means** of ROC-AUC/average precision, by the number of records of a set\n"
    yield from _heads(groups)
    for detector in whole:
        cells = (
            f"{means(results, detector, group).mean():.3f}/"
            f"{means(results, detector, group, AP).mean():.3f}"
            if group
            else "-"
            for group in groups.values()
        )
        yield _row(detector, *cells)
    reported = _groups(sets, lambda about: not about.chosen_on)
    columns = {
        "all": (groups["all"], AUC),
        "1,000 and more": (groups["1,000 and more"], AUC),
        "4,000 and more": (groups["4,000 and more"], AUC),
        "1,000 and more, families that only report": (reported["1,000 and more"], AUC),
        "average precision, 1,000 and more": (groups["1,000 and more"], AP),
    }
    for reference in (detector for detector in REFERENCES if detector in results):
        yield f"\n**Lead over {reference}** in ROC-AUC, with a 90 % interval\n"
        yield from _heads({title: group for title, (group, _) in columns.items()})
        for detector in own:
            cells = (
                _lead(results, sets, group, detector, reference, measure)
                for group, measure in columns.values()
            )
            yield _row(detector, *cells)


def _lead(
    results: Results, sets: Sets, group: list[str], one: str, other: str, measure: int
) -> str:
    pair = [means(results, which, group, measure) for which in (one, other)]
    return _gap(pair[0], pair[1], [sets[name].family for name in group])


def ablations(results: Results, sets: Sets) -> Iterator[str]:
    """Yield what each rule is worth: the shipped detector's lead over one without the rule."""
    shown = {
        detector: whole
        for detector, (whole, _) in ABLATIONS.items()
        if detector in results and whole in results
    }
    if not shown:
        return
    parts = {
        "families chosen on": lambda about: about.chosen_on,
        "families that only report": lambda about: not about.chosen_on,
    }
    yield "\n**What each rule brings**: lead in ROC-AUC over the same detector with that changed\n"
    yield _row("", *parts, "average precision, all")
    yield "|---|" + "---|" * (len(parts) + 1)
    for detector, whole in shown.items():
        cells = [
            _lead(results, sets, _groups(sets, wanted)["all"], whole, detector, AUC)
            for wanted in parts.values()
        ]
        cells.append(_lead(results, sets, list(sets), whole, detector, AP))
        yield _row(detector, *cells)


def beside(results: Results, sets: Sets) -> Iterator[str]:
    """Yield a table of peers that take sets of few columns only, on those."""
    others = [detector for detector in results if detector in LIMITED]
    if not others:
        return
    yield "\n**More private peers**, on the sets of few columns that each can take\n"
    yield "||sets|ROC-AUC/AP|ours there|lead in AUC|seconds to fit, median|ours|"
    yield "|---|---|---|---|---|---|---|"
    for detector in others:
        group = [name for name in sets if results[detector].get(name)]
        # Peers that take minutes have fewer seeds: ours there are the same ones.
        same = {name: results[OURS][name][: len(results[detector][name])] for name in group}
        shared = {detector: results[detector], OURS: same}
        theirs, own = means(shared, detector, group), means(shared, OURS, group)
        ap, own_ap = (means(shared, name, group, AP).mean() for name in (detector, OURS))
        fit, own_fit = (np.median(means(shared, name, group, FIT)) for name in (detector, OURS))
        lead = _gap(own, theirs, [sets[name].family for name in group])
        rates = f"{theirs.mean():.3f}/{ap:.3f}", f"{own.mean():.3f}/{own_ap:.3f}"
        yield _row(detector, f"{len(group)}", *rates, lead, f"{fit:.2f}", f"{own_fit:.3f}")


def by_set(results: Results, sets: Sets) -> Iterator[str]:
    """Yield a table of mean ROC-AUC, one row a set; the sets chosen on have a star."""
    yield "\n**By set** (ROC-AUC; a star marks families that parameters were chosen on)\n"
    yield _row("set", "n", *results)
    yield "|---|---|" + "---|" * len(results)
    for name in sorted(sets, key=lambda name: -sets[name].records):
        row = (
            f"{means(results, detector, [name])[0]:.3f}" if results[detector].get(name) else "-"
            for detector in results
        )
        star = "\\*" if sets[name].chosen_on else ""
        yield _row(f"{name}{star}", f"{sets[name].records:,}", *row)
