"""Subspaces and tune, checked: the loss of every ranked list and radius; mutants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting.calibration import Calibration
from whitecrow.counting.smooth import RELATIONS
from whitecrow.data import Card, Column
from whitecrow.exhaustive import Report, exhaust
from whitecrow.noise import laws
from whitecrow.subspaces import Subspaces
from whitecrow.tune import Tune
from whitecrow_audit.verify.point_sets import Database, Universe, degrees, line, shipped
from whitecrow_audit.verify.universes import Checks

CARD = Card("grid", (Column("x", "integer", 0, 20), Column("y", "integer", 0, 20)))

SWAP: tuple[Database, Database] = (
    ((0.0, 0.0), (2.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0), (40.0, 0.0)),
    ((0.0, 0.0), (1.0, 2.0), (2.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0)),
)
"""A pair that moves the two counts apart as far as one replacement can."""

BOTH = (("x",), ("y",))
MIXED = (("x",), ("x", "y"), ("y",))


@lru_cache(maxsize=100_000)
def _outliers(x: Database, columns: tuple[str, ...], beta: int, radius: float) -> int:
    chosen = [("x", "y").index(name) for name in columns]
    projected = tuple(tuple(point[column] for column in chosen) for point in x)
    return sum(degree <= beta for degree in degrees(projected, radius))


def top_pmf(utilities: Sequence[Fraction], eta: Fraction, h: int) -> dict[tuple[int, ...], float]:
    """Return the probability of every ordered list of ``h`` indices; for few candidates.

    Examples
    --------
    >>> top_pmf([0, 0], eta=1, h=2)
    {(0, 1): 0.5, (1, 0): 0.5}
    """
    best = max(utilities)
    weights = [math.exp(-float(eta * (best - utility))) for utility in utilities]
    law = {}
    for chosen in itertools.permutations(range(len(weights)), h):
        probability = 1.0
        left = set(range(len(weights)))
        for index in chosen:
            probability *= weights[index] / sum(weights[other] for other in left)
            left.remove(index)
        law[chosen] = probability
    return law


def ranking(question: Subspaces, eta: Fraction, x: Database) -> Mapping[Hashable, float]:
    """The exact law of the list of subspaces."""
    utilities = [
        Fraction(_outliers(x, subspace, question.model.beta, question.model.radius), cap)
        for subspace, cap in zip(question.candidates(CARD), question.caps(CARD), strict=True)
    ]
    names = question.candidates(CARD)
    law = top_pmf(utilities, eta, question.top)
    return {tuple(names[i] for i in chosen): chance for chosen, chance in law.items()}


def lists(
    subspaces: Sequence[Sequence[str]],
    top: int,
    relation: str,
    epsilon: Fraction,
    *,
    eta: Callable[[Subspaces], Fraction] = lambda question: question.eta(CARD),
) -> Report:
    """The loss of a ranked list on every edge of a small grid."""
    question = Subspaces(
        top=top,
        subspaces=subspaces,
        model=DistanceAnomaly(1, 1.0),
        epsilon=epsilon,
        relation=relation,
        normalised=False,
    )
    edges = itertools.chain(_grid(relation).edges(), [SWAP] if relation == "replace_one" else [])
    return exhaust(partial(ranking, question, eta(question)), edges, float(epsilon))


def _grid(relation: str) -> Universe:
    """Two columns: outliers far out in the first, where the second is crowded."""
    points = tuple(itertools.product((0.0, 1.0, 2.0, 10.0, 20.0), (0.0, 2.0)))
    return Universe(f"grid, {relation}", points, 1.0, 5, relation)


def printed(question: Subspaces) -> Fraction:
    """Algorithm 3 as printed: draws with weights exp(u ε/h), claimed to cost ε together."""
    return question.epsilon / question.top


# Tune


def _tune(method: str, relation: str) -> Tune:
    return Tune(
        ["x"], share="1/3", radii=[1, 2], beta=1, epsilon=1, relation=relation, method=method
    )


def radius_by_choice(question: Tune, eta: Fraction, x: Database) -> Mapping[Hashable, float]:
    """The exact law of the exponential mechanism over the radii."""
    utilities = [
        -abs(_outliers(x, ("x",), question.beta, radius) - question.share * len(x))
        for radius in question.radii
    ]
    return dict(enumerate(laws.exponential_mechanism_pmf(utilities, eta)))


def radius_by_search(
    question: Tune, noise: Calibration, drift: Fraction, universe: Universe, x: Database
) -> Mapping[Hashable, float]:
    """The exact law of the binary search: the chances of every way through it."""
    law: dict[Hashable, float] = {}
    last = len(question.radii) - 1

    def walk(low: int, high: int, steps: int, chance: float) -> None:
        if steps == 0:
            answer = min(low, last)
            law[answer] = law.get(answer, 0.0) + chance
            return
        middle = min((low + high) // 2, last)
        more = _chance_of_more(question, noise, drift, universe, x, question.radii[middle])
        walk(min(middle + 1, high), high, steps - 1, chance * more)
        walk(low, middle, steps - 1, chance * (1 - more))

    walk(0, len(question.radii), question.steps, 1.0)
    return law


def _chance_of_more(
    question: Tune,
    noise: Calibration,
    drift: Fraction,
    universe: Universe,
    x: Database,
    radius: float,
) -> float:
    """P(the noisy excess of outliers over the share wanted is above 0)."""
    unit = question.share.denominator
    outliers = _outliers(x, ("x",), question.beta, radius)
    excess = unit * outliers - question.share.numerator * len(x)
    if noise.decay is None:
        sensitivity = Fraction(noise.cap)
    else:
        sensitivity = shipped(replace(universe, radius=radius), x, question.beta, noise.decay)
    scale = float(noise.multiplier * unit * (sensitivity + drift))
    # P(noise >= m) for the least m that leaves an excess, by symmetry from m >= 1.
    m = 1 - excess if excess <= 0 else excess
    if noise.decay is None:
        rate = math.exp(-1 / scale)
        beyond = rate**m / (1 + rate)
    else:
        beyond = laws.core_tail_survival((m - 0.5) / scale, noise.tail) / 2
    return beyond if excess <= 0 else 1 - beyond


def tuned(method: str, relation: str) -> Report:
    """The loss of the chosen radius on every edge."""
    question = _tune(method, relation)
    universe = line(4, relation, length=4)
    law: Callable[[Database], Mapping[Hashable, float]]
    if method == "exponential":
        law = partial(radius_by_choice, question, question.eta(CARD))
    else:
        law = partial(radius_by_search, question, question.noise(CARD), question.drift(), universe)
    return exhaust(law, universe.edges(), float(question.epsilon))


CHECKS: Checks = {
    **{
        f"{name}, top {top}, {relation}, epsilon {epsilon}": partial(
            lists, subspaces, top, relation, Fraction(epsilon)
        )
        for name, subspaces, top, epsilon in (
            ("two columns", BOTH, 1, 8),
            ("columns and their plane", MIXED, 2, 2),
        )
        for relation in RELATIONS
    },
    **{
        f"tune by {method}, {relation}": partial(tuned, method, relation)
        for method in ("search", "exponential")
        for relation in RELATIONS
    },
    **{
        f"mutant: Algorithm 3 {words}": partial(lists, BOTH, 1, relation, Fraction(8), eta=printed)
        for words, relation in (
            ("as printed", "replace_one"),
            ("on counts over beta K instead of beta K + 1", "add_remove"),
        )
    },
}
