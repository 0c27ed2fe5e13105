"""Identify, checked: Lemma 1, Lemma L, the true distance, and the loss on every edge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.graph import Counts
from whitecrow.anomaly.law import discrepancy
from whitecrow.exhaustive import Report
from whitecrow.identify.question import Identify
from whitecrow.place.recount import Recount
from whitecrow_audit.verify.sensitive import (
    Floats,
    Tally,
    Universe,
    flip_losses,
    line,
    ring,
    universes,
)
from whitecrow_audit.verify.universes import Checks

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))

Bound = Callable[[int, int], int | None]


@lru_cache(maxsize=1)
def every_universe() -> tuple[tuple[int, Universe], ...]:
    """Keep the universes, whose edges all checks of sensitive privacy share."""
    return tuple(universes())


def settings(most: int = 6) -> Iterator[tuple[int, int]]:
    """Yield each beta with k from 1 to beyond beta."""
    for beta in range(1, most + 1):
        for k in range(1, beta + 3):
            yield beta, k


def _bound(radius: int, beta: int, k: int, *, tight: bool) -> Bound:
    return partial(discrepancy, beta=beta, k=k, radius_is_zero=radius == 0, tight=tight)


def _number(bound: Bound) -> Callable[[int, int], float]:
    """Return the bound as a float, inf for None, cached from one universe to the next."""

    @cache
    def value(copies: int, neighbours: int) -> float:
        distance = bound(copies, neighbours)
        return math.inf if distance is None else float(distance)

    return value


def _at_place(bound: Bound, universe: Universe, place: int, where: Counts) -> Floats:
    """Return λ at one place for some databases; inf where it is None."""
    value = _number(bound)
    copies, neighbours = universe.databases[where, place], universe.neighbours[where, place]
    return np.array([value(v, b) for v, b in zip(copies, neighbours, strict=True)])


def lemma_one() -> Report:
    """Compare "k insertions or removals can make it normal" with "B >= beta + 1 - k"."""
    tally = Tally()
    for build in (line, ring):
        for radius in (0, 1):
            universe = build(4, radius, 6)
            # Counts up to 3 leave room for the steps: the universe goes to 6.
            inner = np.flatnonzero((universe.databases <= 3).all(axis=1))
            for beta, k in settings(3):
                for place in range(universe.places):
                    normal = (universe.databases[:, place] >= 1) & ~universe.anomalous(place, beta)
                    reached = normal.reshape((universe.most + 1,) * universe.places)
                    for _ in range(k):
                        reached = _one_step(reached)
                    claimed = universe.neighbours[:, place] >= beta + 1 - k
                    wrong = (reached.ravel() != claimed)[inner]
                    tally.add_databases(universe, inner, wrong * 1.0, f"{place=} {beta=} {k=}")
    return tally.report(0.0, "loss: 1 where the definition and the lemma disagree")


def _one_step(reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Add every database one record away from a reached one."""
    grown = reached.copy()
    for axis in range(reached.ndim):
        new, old = np.moveaxis(grown, axis, 0), np.moveaxis(reached, axis, 0)
        new[1:] |= old[:-1]
        new[:-1] |= old[1:]
    return grown


def _everywhere(make: Callable[[int, int, int], Bound]) -> Iterator[_Case]:
    """Yield each universe and setting with its bound; ``make`` gets the radius, beta and k."""
    for beta, k in settings():
        flat, round_ = _number(make(0, beta, k)), _number(make(1, beta, k))
        for radius, universe in every_universe():
            yield _Case(universe, beta, k, flat if radius == 0 else round_)


@dataclass(frozen=True)
class _Case:
    universe: Universe
    beta: int
    k: int
    bound: Callable[[int, int], float]

    @property
    def name(self) -> str:
        return f"beta={self.beta} k={self.k}"

    def add_losses(self, tally: Tally, epsilon: Fraction, tau: int) -> None:
        """Add the loss of Construction 1 with this bound on the edges of a sensitive graph."""
        steps, rate = self.universe.steps(tau), float(epsilon)
        a, b = steps.before_and_after(self.bound)
        log_sum = math.log1p(math.exp(-rate))
        losses = flip_losses((-rate * a - log_sum, -rate * b - log_sum), steps.answers(self.beta))
        tally.add_steps(self.universe, steps, losses, self.name)


def lemma_l(tight: bool) -> Report:
    """λ >= 1; steps of at most 1 along edges; 1 at both ends of an edge that changes the answer."""
    tally = Tally()
    for case in _everywhere(partial(_bound, tight=tight)):
        steps = case.universe.steps(case.beta + 1 - case.k)
        a, b = steps.before_and_after(case.bound)
        before, after = steps.answers(case.beta)
        both = np.isinf(a) & np.isinf(b)
        gap = np.abs(np.where(both, 0.0, a) - np.where(both, 0.0, b))
        broken = (before != after) & ((a > 1) | (b > 1)) | (np.minimum(a, b) < 1)
        tally.add_steps(case.universe, steps, np.where(broken, math.inf, gap), case.name)
    return tally.report(1.0, "loss: the largest step of λ along an edge")


def loss_on_every_edge(epsilon: Fraction, tight: bool) -> Report:
    """The loss of Construction 1, uncapped, on every edge of the sensitive graph."""
    tally = Tally()
    for case in _everywhere(partial(_bound, tight=tight)):
        case.add_losses(tally, epsilon, case.beta + 1 - case.k)
    return tally.report(float(epsilon))


def shipped(notion: str) -> Report:
    """The question as users ask it, with its cap: a floor so high that the cap binds early."""

    def question(radius: int, beta: int, k: int) -> Identify:
        model = DistanceAnomaly(beta, radius)
        return Identify({"x": 0}, model=model, k=k, epsilon=1, notion=notion, error_floor="1/20")

    def bound(radius: int, beta: int, k: int) -> Bound:
        return partial(question(radius, beta, k).bound, step=Fraction(1))

    tally = Tally()
    for case in _everywhere(bound):
        case.add_losses(tally, Fraction(1), question(1, case.beta, case.k).tau)
    return tally.report(1.0)


def true_distance(tight: bool) -> Report:
    """λ against the distance found by brute force: never above it on the sensitive graph."""
    tally, gaps = Tally(), 0
    for build in (line, ring):
        for radius in (0, 1):
            universe = build(3, radius, 12)
            inner = np.flatnonzero((universe.databases <= 5).all(axis=1))
            for beta, k in settings(4):
                edges = universe.sensitive_edges(beta + 1 - k)
                for place in range(universe.places):
                    truth = universe.true_discrepancy(place, beta, edges)[inner]
                    claimed = _at_place(
                        _bound(radius, beta, k, tight=tight), universe, place, inner
                    )
                    excess = np.where(truth < 0, 0.0, claimed - truth)
                    gaps += int((excess < 0).sum())
                    tally.add_databases(universe, inner, excess, f"{place=} {beta=} {k=}")
    note = f"loss: how far λ is above the true distance; it is below it in {gaps} cases"
    return tally.report(0.0, note)


def exact_distance() -> Report:
    """Where λ claims to be exact: radius 0, and differential privacy (equation 4)."""
    tally = Tally()
    for radius in (0, 1):
        universe = line(3, radius, 12)
        inner = np.flatnonzero((universe.databases <= 5).all(axis=1))
        for beta, k in settings(4):
            if radius > 0 and k < beta:
                continue
            edges = universe.sensitive_edges(beta + 1 - k)
            for place in range(universe.places):
                truth = universe.true_discrepancy(place, beta, edges)[inner]
                distances = _at_place(_bound(radius, beta, k, tight=False), universe, place, inner)
                wrong = np.where(truth < 0, ~np.isinf(distances), distances != truth)
                tally.add_databases(universe, inner, wrong * 1.0, f"{place=} {beta=} {k=}")
    return tally.report(0.0, "loss: 1 where the formula is not the distance")


def best_of_two_counts() -> Report:
    """λ* is the largest acceptable bound that knows the two counts alone.

    Two places near each other: one for copies, with its sensitive edges, and one for "another
    record near", with every edge, as if each such record were sensitive. The distance in that
    graph is the largest bound that is acceptable whatever lies around.
    """
    tally = Tally()
    universe = Universe("copies and others", np.ones((2, 2), dtype=np.bool_), 16)
    inner = np.flatnonzero((universe.databases <= 7).all(axis=1))
    for beta, k in settings():
        edges = [universe.sensitive_edges(beta + 1 - k)[0], universe.sensitive_edges(1)[1]]
        truth = universe.true_discrepancy(0, beta, edges)[inner]
        distances = _at_place(_bound(1, beta, k, tight=True), universe, 0, inner)
        tally.add_databases(universe, inner, (distances != truth) * 1.0, f"{beta=} {k=}")
    return tally.report(0.0, "loss: 1 where λ* is not that distance")


def error_bound() -> Report:
    """Theorem 5: a record that is not sensitive gets an error of at most exp(-ε |tau - B|)."""
    tally, rate = Tally(), 1.0
    for case in _everywhere(lambda _, beta, k: _bound(1, beta, k, tight=False)):
        steps, tau = case.universe.steps(1), case.beta + 1 - case.k
        before, _ = steps.before_and_after(case.bound)
        wrong = -rate * before - math.log1p(math.exp(-rate))
        excess = np.maximum(0.0, wrong + rate * np.abs(tau - steps.neighbours))
        losses = np.where(steps.neighbours < tau, excess, 0.0)
        tally.add_steps(case.universe, steps, losses, case.name)
    return tally.report(0.0, "loss: by how much ln(error) exceeds the theorem's bound")


_PLACES_BETA, _PLACES_K, _PLACES_EPSILON = 2, 2, Fraction(1)


def _losses_at_places(universe: Universe) -> list[list[Floats]]:
    """Return, for each place of a record, its loss on every sensitive edge by a question at each.

    Independent answers: their losses add up.
    """
    rate = float(_PLACES_EPSILON)
    log_sum, everything = math.log1p(math.exp(-rate)), np.arange(len(universe.databases))
    wrong, stated = [], []
    for place in range(universe.places):
        bound = _bound(1, _PLACES_BETA, _PLACES_K, tight=True)
        wrong.append(-rate * _at_place(bound, universe, place, everything) - log_sum)
        stated.append(universe.anomalous(place, _PLACES_BETA))
    return [
        [
            flip_losses((wrong[p][before], wrong[p][after]), (stated[p][before], stated[p][after]))
            for p in range(universe.places)
        ]
        for before, after in universe.sensitive_edges(_PLACES_BETA + 1 - _PLACES_K)
    ]


def _price_at(places: list[int]) -> float:
    recount = Recount()
    for place in places:
        recount.add(_ball(place), _PLACES_EPSILON)
    return float(recount.price)


def _subsets(universe: Universe) -> Iterator[list[int]]:
    for chosen in range(1, 2**universe.places):
        yield [place for place in range(universe.places) if chosen >> place & 1]


def many_questions() -> Report:
    """Spatial accounting: the joint loss of a set of questions against the depth of their balls."""
    tally, tight, universe = Tally(), 0, line(5, 1, 3)
    losses = _losses_at_places(universe)
    edges = universe.sensitive_edges(_PLACES_BETA + 1 - _PLACES_K)
    for asked in _subsets(universe):
        price, worst = _price_at(asked), 0.0
        for (_, larger), lost in zip(edges, losses, strict=True):
            joint = np.sum([lost[p] for p in asked], axis=0)
            over = np.maximum(0.0, joint - price)
            tally.add_databases(universe, larger, over, f"asked at {asked}")
            worst = max(worst, float(joint.max()))
        tight += math.isclose(worst, price)
    return tally.report(0.0, f"loss: joint loss above the price; the price is met by {tight} sets")


def growing(*, corrected: bool = False) -> Report:
    """The same over two revisions of which the second holds the first, under one depth.

    ``corrected`` lets the person's record move in between: the mutant, which the depth of the balls
    does not cover.
    """
    tally, universe = Tally(), line(4, 1, 2)
    losses, tau = _losses_at_places(universe), _PLACES_BETA + 1 - _PLACES_K
    edges = universe.sensitive_edges(tau)
    for here in range(universe.places):
        for there in range(universe.places) if corrected else (here,):
            # What the others have in the second revision is what they had in the first, and more.
            first, second = (universe.databases[edges[index][0]] for index in (here, there))
            grown = np.argwhere((first[:, None] <= second[None]).all(axis=2))
            for before in _subsets(universe):
                early = np.sum([losses[here][p] for p in before], axis=0)[grown[:, 0]]
                for after in _subsets(universe):
                    late = np.sum([losses[there][p] for p in after], axis=0)[grown[:, 1]]
                    over = np.maximum(0.0, early + late - _price_at([*before, *after]))
                    seen = edges[there][1][grown[:, 1]]
                    tally.add_databases(universe, seen, over, f"asked at {before}, then {after}")
    return tally.report(0.0, "loss: joint loss of two revisions above the price of one")


def _ball(place: int) -> dict[str, object]:
    return {"columns": ["x"], "metric": "euclidean", "center": [float(place)], "radius": 1.0}


def underflow_mutant() -> Report:
    """The error probability as a double, with no cap: it reaches 0 on one side of an edge."""
    universe = Universe("one place", np.array([[True]]), 2000)
    tally, beta, rate = Tally(), 1022, 1.0
    steps = universe.steps(1)

    def wrong(copies: int, neighbours: int) -> float:
        distance = discrepancy(copies, neighbours, beta=beta, k=beta) or 0
        probability = math.exp(-rate * (distance - 1)) / (1 + math.exp(rate))
        return math.log(probability) if probability > 0 else -math.inf

    losses = flip_losses(steps.before_and_after(wrong), steps.answers(beta))
    tally.add_steps(universe, steps, losses, f"{beta=}")
    return tally.report(rate)


def self_left_out_mutant() -> Report:
    """Counting neighbours without the record itself, as a careless reading of the paper would."""

    def bound(copies: int, neighbours: int) -> int | None:
        others = max(copies, neighbours - (1 if copies else 0))
        return discrepancy(copies, others, beta=3, k=1, tight=True)

    tally = Tally()
    _Case(line(3, 1, 5), 3, 1, _number(bound)).add_losses(tally, Fraction(1), 3)
    return tally.report(1.0)


CHECKS: Checks = {
    "Lemma 1: sensitive means B >= beta + 1 - k": lemma_one,
    "Lemma L for equation (5)": partial(lemma_l, False),
    "Lemma L for the tighter bound": partial(lemma_l, True),
    "equation (5) is never above the true distance": partial(true_distance, False),
    "the tighter bound is never above the true distance": partial(true_distance, True),
    "exact at radius 0 and under differential privacy": exact_distance,
    "the tighter bound is the best one of the two counts": best_of_two_counts,
    **{
        f"loss on every edge, {bound}, epsilon {epsilon}": partial(
            loss_on_every_edge, epsilon, bound == "tighter bound"
        )
        for bound in ("equation (5)", "tighter bound")
        for epsilon in EPSILONS
    },
    "the question as asked, capped, sensitive": partial(shipped, "sensitive"),
    "the question as asked, capped, differential": partial(shipped, "differential"),
    "Theorem 5: the error of non-sensitive records": error_bound,
    "many questions cost the depth of their balls": many_questions,
    "data that only grow: two revisions cost the depth of one": growing,
    "mutant: a record that moved between": partial(growing, corrected=True),
    "mutant: error probability in doubles, uncapped": underflow_mutant,
    "mutant: the record itself not counted": self_left_out_mutant,
}
