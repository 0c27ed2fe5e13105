"""Count, checked: smooth sensitivity and loss on every pair of small universes; mutants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.counting.ball_cover import ball_cover
from whitecrow.counting.calibration import Calibration, calibrate
from whitecrow.exhaustive import Report, loss
from whitecrow_audit.verify.point_sets import (
    HEXAGON,
    Database,
    Universe,
    as_array,
    count_in,
    degrees,
    law,
    line,
    mixed,
    outliers,
    plane,
    shipped,
    short,
    space,
)
from whitecrow_audit.verify.universes import Checks

Sensitivity = Callable[[Universe, Database, int, Fraction], Fraction | float]
Fact = tuple[int, Fraction]
Cover = Callable[[NDArray[np.float64], float], int]

DECAYS = (Fraction(10, 11), Fraction(3, 4), Fraction(2, 5))
"""Smoothing of about 0.1, 0.3 and 0.9."""

LINES = (line(5, "add_remove"), line(5, "replace_one"))
SPACES = (
    line(4, "add_remove", radius=0.0),
    line(4, "add_remove", radius=2.0),
    plane(3, "add_remove"),
    plane(3, "replace_one"),
    space(4, "add_remove"),
)
MIXED = (mixed(5, "add_remove"), mixed(4, "replace_one"))
SMALL = (line(4, "add_remove", length=4), line(5, "replace_one", length=4))
"""Where the mutants are caught."""


def smooth_and_above(
    universes: Sequence[Universe],
    sensitivity: Sensitivity = shipped,
    decays: Sequence[Fraction] = DECAYS,
) -> Report:
    """S is at least the local sensitivity, and within a factor of 1/decay along every edge.

    The loss of an edge is the larger of (change of the count) / S and decay * (ratio of the S).
    """
    databases, edges, worst, where = 0, 0, 0.0, ""
    for universe, k, decay in itertools.product(universes, (1, 2, 3), decays):
        values = {x: float(sensitivity(universe, x, k, decay)) for x in universe.databases()}
        counts = {x: outliers(universe, x, k) for x in values}
        databases += len(values)
        for x, y in universe.edges():
            edges += 1
            low, high = sorted((values[x], values[y]))
            change = abs(counts[x] - counts[y])
            excess = math.inf if low <= 0 else max(change / low, float(decay) * high / low)
            if excess > worst:
                worst = excess
                where = f"{universe.name}, k={k}, decay={decay}: {short(x)} ~ {short(y)}"
    return Report(databases, edges, worst, 1.0, where, "loss: change / S, or decay * ratio of S")


def global_bound() -> Report:
    """The bound is 2 beta on the line, one more if a record may be replaced; both are attained."""
    worst, where, databases, edges = 0.0, "", 0, 0
    for k, relation in itertools.product((1, 2), ("add_remove", "replace_one")):
        domain = ((0.0,), (1.0,), (2.0,), (9.0,))
        universe = Universe(f"line, {relation}", domain, 1.0, 2 * k + 1, relation)
        moved = [
            abs(outliers(universe, x, k) - outliers(universe, y, k)) for x, y in universe.edges()
        ]
        databases += len(list(universe.databases()))
        edges += len(moved)
        gap = abs(max(moved) - (2 * k if relation == "add_remove" else 2 * k + 1))
        if gap > worst:
            worst, where = float(gap), f"{relation}, k={k}: {max(moved)}"
    return Report(databases, edges, worst, 0.0, where, "loss: distance from the stated bound")


def admissible(cover: Cover, width: int) -> Report:
    """(M1) at least every ball; (M2) grows; (M3) by at most 1: on random points and lattices."""
    generator = np.random.default_rng(7)
    worst, where, tried = 0.0, "", 0
    for trial in range(60):
        n = int(generator.integers(1, 14))
        points = generator.normal(size=(n, width))
        if trial % 2:
            points = np.round(points * 2) / 2
        radius = float(generator.choice([0.5, 1.0, 1.25]))
        whole = cover(points, radius)
        centres = np.concatenate([points, (points[:, None] + points[None]).reshape(-1, width) / 2])
        inside = int(count_in(points, centres, radius).max())
        for i in range(n):
            less = cover(np.delete(points, i, axis=0), radius)
            excess = max(inside - whole, less - whole, whole - less - 1)
            tried += 1
            if excess > worst:
                worst, where = float(excess), f"{n} points, radius {radius:g}, without number {i}"
    return Report(60, tried, worst, 0.0, where, "loss: by how much M1, M2 or M3 fails")


def every_edge(
    mechanism: str,
    universes: Sequence[Universe],
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    *,
    tuned_for: int | None = None,
    choose: Callable[[Calibration, Fraction], Calibration] | None = None,
    ks: Sequence[int] = (1, 2, 3),
) -> Report:
    """The loss of the released number on every edge.

    Edges whose ends have the same counts and sensitivities have the same loss, computed once.
    ``tuned_for`` is the cap the noise is tuned for, where the universe's own is too small for
    the smoothing to play a part; ``choose`` may change the noise after seeing S, as a mutant does.
    """
    databases, edges, worst, where = 0, 0, 0.0, ""
    for universe, k in itertools.product(universes, ks):
        cap = universe.cap(k)
        noise = calibrate(
            mechanism, epsilon, delta, relation=universe.relation, cap=tuned_for or cap
        )
        noise = replace(noise, cap=cap)
        facts: dict[Database, Fact] = {}
        for x in universe.databases():
            s = Fraction(cap) if noise.decay is None else shipped(universe, x, k, noise.decay)
            facts[x] = outliers(universe, x, k), s
        databases += len(facts)
        pairs: dict[tuple[Fact, Fact], tuple[Database, Database]] = {}
        for x, y in universe.edges():
            edges += 1
            pairs.setdefault((facts[x], facts[y]), (x, y))
        drawn = {
            fact: law(*fact, noise if choose is None else choose(noise, fact[1]))
            for fact in set(facts.values())
        }
        for (one, other), (x, y) in pairs.items():
            measured = loss(drawn[one], drawn[other], float(delta))
            if measured > worst:
                worst, where = measured, f"{universe.name}, k={k}: {short(x)} ~ {short(y)}"
    return Report(databases, edges, worst, float(epsilon), where)


def hexagon(exactly: bool) -> Report:
    """Six corners flip at once when the centre comes: the local sensitivity is 6 beta."""
    universe = Universe("hexagon", HEXAGON, 1.4727596271488845, 7, "add_remove", exactly)
    corners = HEXAGON[1:]
    change = abs(outliers(universe, corners, 1) - outliers(universe, HEXAGON, 1))
    least = min(shipped(universe, x, 1, Fraction(2, 5)) for x in (corners, HEXAGON))
    where = "six corners ~ six corners and their centre"
    return Report(2, 1, change / float(least), 1.0, where, "loss: change / S")


def mixed_bound(forget: bool = False) -> Report:
    """beta K bounds every change among numbers and categories, and is attained."""
    worst, where, databases, edges = 0.0, "", 0, 0
    for universe in MIXED[:1]:
        held = replace(universe, categories=(), numbers=1) if forget else universe
        for k in (1, 2):
            moved = [
                abs(outliers(universe, x, k) - outliers(universe, y, k))
                for x, y in universe.edges()
            ]
            databases += len(list(universe.databases()))
            edges += len(moved)
            ratio = max(moved) / held.cap(k)
            if ratio > worst:
                worst, where = ratio, f"{universe.name}, k={k}: {max(moved)}"
    return Report(databases, edges, worst, 1.0, where, "loss: change / bound")


def numbers_only(universe: Universe, x: Database, k: int, decay: Fraction) -> Fraction:
    """S with the cap of the columns of numbers, the categories being forgotten."""
    return shipped(replace(universe, categories=(), numbers=1), x, k, decay)


# Mutants


def from_cover(
    cover: Cover,
    universe: Universe,
    x: Database,
    k: int,
    decay: Fraction,
    *,
    size_is_cap: bool = False,
    capped: bool = True,
    shorter: int = 0,
) -> Fraction:
    """S written out term by term, with a cover, a cap and a range of t of one's choice.

    With the size for a cap it is the paper's Algorithm 2; not ``capped``, as printed: only the
    rule by which it stops has the cap.
    """
    points = as_array(x, len(universe.domain[0]))
    others = np.array(degrees(x, universe.radius)) - 1
    cap = universe.cap(k)
    limit = max(1, len(x)) if size_is_cap else cap
    own = 1 if universe.relation == "replace_one" else 0
    best = Fraction(0)
    for t in range(limit + 1 - own - shorter):
        if not capped and best >= decay**t * limit:
            break
        most = max(
            cover(points[np.abs(others - centre) <= t], universe.radius) if x else 0
            for centre in (k, k - 1)
        )
        value = max(1, most + t + own)
        best = max(best, decay**t * (min(limit, value) if capped else value))
    return best


def centred(points: NDArray[np.float64], radius: float) -> int:
    """The most points within two radii of a point: an upper bound, and not admissible."""
    return int(count_in(points, points, 2 * radius).max()) if len(points) else 0


def all_but_last(points: NDArray[np.float64], radius: float) -> int:
    """What Algorithm 1 finds as printed: it tests i < |P|."""
    return ball_cover(points[:-1], radius)


def stopped(points: NDArray[np.float64], radius: float) -> int:
    """A search with time for two points: exact if they were enough, else all points."""
    return ball_cover(points, radius) if len(points) <= 2 else len(points)


def smaller_noise(noise: Calibration, sensitivity: Fraction) -> Calibration:
    """The global mechanism where S is so large that its noise would be smaller (epsilon 1)."""
    if noise.multiplier * sensitivity <= noise.cap:
        return noise
    return Calibration("global", noise.relation, noise.cap, Fraction(noise.cap) / sensitivity)


def _loss(
    mechanism: str,
    epsilon: str,
    tuned_for: int | None = None,
    universes: Sequence[Universe] = LINES,
) -> Checks:
    tuned = "" if tuned_for is None else f", tuned for a cap of {tuned_for}"
    run = partial(every_edge, mechanism, universes, Fraction(epsilon), tuned_for=tuned_for)
    return {f"loss on every edge, {mechanism}, epsilon {epsilon}{tuned}": run}


_line_6 = partial(from_cover, size_is_cap=True, capped=False)

_SENSITIVITIES: dict[str, tuple[Sensitivity, Sequence[Universe]]] = {
    "Algorithm 1 as printed (the last point is never looked at)": (
        partial(from_cover, all_but_last),
        SMALL,
    ),
    "Algorithms 1 and 2 as printed": (partial(_line_6, all_but_last), SMALL[1:]),
    "line 6 not capped": (partial(_line_6, ball_cover), SMALL[1:]),
    "points within 2r of a data point": (partial(from_cover, centred), LINES[:1]),
    "a search stopped early": (partial(from_cover, stopped), SMALL),
    "the cap N under add/remove": (partial(from_cover, ball_cover, size_is_cap=True), SMALL[:1]),
    "add/remove up to t = cap - 1": (partial(from_cover, ball_cover, shorter=1), SMALL[:1]),
    "a mixed space with the cap of its numbers": (numbers_only, MIXED[:1]),
}
"""Mutants of S, and where they are caught."""

CHECKS: Checks = {
    "S is smooth and above: lines": partial(smooth_and_above, LINES),
    "S is smooth and above: other radii, plane, space": partial(
        smooth_and_above, SPACES, decays=DECAYS[1:2]
    ),
    "the global sensitivity on the line is attained": global_bound,
    "S is smooth and above: numbers and categories": partial(
        smooth_and_above, MIXED, decays=DECAYS[1:2]
    ),
    "the global sensitivity of numbers and categories": mixed_bound,
    "the window is admissible": partial(admissible, ball_cover, 1),
    "the disc search is admissible": partial(admissible, ball_cover, 2),
    "the degeneracy is admissible": partial(admissible, ball_cover, 3),
    "6 beta bounds a hexagon in double precision": partial(hexagon, False),
    **_loss("smooth", "1"),
    **_loss("smooth", "1", tuned_for=402, universes=LINES + SPACES),
    **_loss("smooth", "1/4", tuned_for=402),
    **_loss("smooth", "4", tuned_for=402),
    **_loss("global", "1"),
    **{
        f"loss on every edge, {mechanism}, epsilon 1, delta 1/100": partial(
            every_edge, mechanism, SMALL[:1], Fraction(1), Fraction(1, 100), ks=(1,)
        )
        for mechanism in ("analytic_gaussian", "paper_gaussian")
    },
    "the paper's maximum over t, with the ball cover": partial(
        smooth_and_above, SMALL[1:], partial(from_cover, ball_cover, size_is_cap=True), DECAYS[1:2]
    ),
    **{
        f"mutant: {words}": partial(smooth_and_above, universes, sensitivity, DECAYS[:2])
        for words, (sensitivity, universes) in _SENSITIVITIES.items()
    },
    "mutant: the global sensitivity without the categories": partial(mixed_bound, forget=True),
    "mutant: 5 beta in double precision": partial(hexagon, True),
    "mutant: the smaller noise, chosen after seeing S": partial(
        every_edge, "smooth", LINES[:1], Fraction(1), tuned_for=402, choose=smaller_noise
    ),
}
