"""Screen, checked: the exact distance, and the loss on every edge of the plain graph."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import discrepancy, novelty_discrepancy
from whitecrow.exhaustive import Report
from whitecrow.screen.question import Screen
from whitecrow_audit.verify.identify import every_universe
from whitecrow_audit.verify.sensitive import Tally, flip_losses, line
from whitecrow_audit.verify.universes import Checks


def exact_distance() -> Report:
    """Compare the formula with the brute-force distance to the other answer."""
    tally = Tally()
    universe = line(3, 1, 9)
    inner = np.flatnonzero((universe.databases <= 4).all(axis=1))
    edges = universe.sensitive_edges(1)
    for beta in range(1, 7):
        for place in range(universe.places):
            near = universe.neighbours[:, place]
            yes = near + 1 <= beta
            far = np.where(yes, universe.distances(~yes, edges), universe.distances(yes, edges))
            distances = np.array([novelty_discrepancy(int(b), beta=beta) for b in near[inner]])
            wrong = (distances != far[inner]) * 1.0
            tally.add_databases(universe, inner, wrong, f"{place=} {beta=}")
    return tally.report(0.0, "loss: 1 where the formula is not the distance")


def loss_on_every_edge(epsilon: str, floor: str) -> Report:
    """The question as users ask it, on every pair that differs in one record."""
    tally = Tally()
    for beta in range(1, 7):
        model = DistanceAnomaly(beta, 1)
        question = Screen({"x": 0}, model=model, epsilon=epsilon, error_floor=floor)
        law = lru_cache(maxsize=None)(partial(_wrong, question))
        for _, universe in every_universe():
            steps = universe.steps(1)
            wrong = steps.before_and_after(law)
            before, after = steps.neighbours < beta, steps.neighbours + 1 < beta
            losses = flip_losses(wrong, (before, after))
            tally.add_steps(universe, steps, losses, f"{beta=}")
    return tally.report(float(question.epsilon))


def _wrong(question: Screen, copies: int, neighbours: int) -> float:
    rate = float(question.epsilon)
    bound = question.bound(0, neighbours, question.epsilon) or math.inf
    return -rate * bound - math.log1p(math.exp(-rate))


def member_mutant() -> Report:
    """Screening with the distance of ``identify``, which looks at copies: not the same answer."""
    tally = Tally()
    universe, beta, rate = line(3, 1, 5), 3, 1.0
    steps = universe.steps(1)

    def wrong(copies: int, neighbours: int) -> float:
        bound = discrepancy(copies, neighbours, beta=beta, k=1) or 1
        return -rate * bound - math.log1p(math.exp(-rate))

    answers = steps.neighbours < beta, steps.neighbours + 1 < beta
    tally.add_steps(
        universe, steps, flip_losses(steps.before_and_after(wrong), answers), f"{beta=}"
    )
    return tally.report(rate)


CHECKS: Checks = {
    "the distance is exact": exact_distance,
    **{
        f"loss on every edge, epsilon {epsilon}, floor {floor}": partial(
            loss_on_every_edge, epsilon, floor
        )
        for epsilon in ("1/10", "1", "3")
        for floor in ("1/20", "1e-12")
    },
    "mutant: the distance of identify": member_mutant,
}
